"""A node of the embedded control plane: it runs the pods that are bound to it as processes of this machine.

It is to the API server what a kubelet is, and uses nothing but the API, so that it works with any server. What decides
is pure (:mod:`decisions`, :mod:`statuses`, :mod:`restarts`, :mod:`probing`, :mod:`environment`, :mod:`mounts`,
:mod:`names`); what acts is :mod:`agent` (the node), :mod:`lives` (one pod), :mod:`attempts` (one run of a container)
and :mod:`launching` (the small process that stands between this one and those of a container).

A container has a user and a mount namespace of its own where the machine allows that, without root: its volumes are at
their paths, ``/tmp`` and ``/dev/shm`` are its own, its host name and the names of the cluster's pods are known to every
program. Where it does not, volumes are where the variables ``JOBSET_VOLUME_<NAME>`` say, ``TMPDIR`` is its own, names
are known to Python only, and an event says so.

Each pod has a loopback address of its own, and where the kernel allows that (seccomp), all ports of it: who listens on
all addresses or on localhost listens there. Where it does not, such a one takes the port from all other pods, also
those of other clusters, and an event says so.

What it is not:

* Containers share the machine's programs, files and network.
* Images are not run, users and capabilities not changed, limits of memory and CPU not enforced.
* A Service has no address that works: its name stands for the addresses of its ready pods, at the ports of these.
* SIGTERM goes to the whole process group of a container, not to its first process only.
* Probes by gRPC fail; use a command, HTTP or TCP.
"""
