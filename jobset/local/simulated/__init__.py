"""Nodes that only exist on paper, and pods that run by a script: a day of a large cluster in seconds.

:mod:`~jobset.local.simulated.nodes` makes the nodes, :class:`~jobset.local.simulated.kubelet.Kubelet` stands in for all
of their kubelets, :mod:`~jobset.local.simulated.outcomes` says how pods fare, and
:class:`~jobset.local.simulated.simulation.Simulation` puts them together with the rest of the plane, in virtual time
(:mod:`jobset.local.clock`).
"""
