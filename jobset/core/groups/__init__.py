"""Native groups of pods: which Workload and PodGroups a JobSet should have, and why its gangs wait.

Source: ``scheduling.k8s.io`` (v1beta1 of Kubernetes 1.37, v1alpha2 of 1.36) and what kube-scheduler makes of it. We
make the groups and name them in the pod templates of the Jobs; the Job controller then stays out of it, whatever its
own gate says. :mod:`jobset.api.gangs` says which groups were asked for.
"""
