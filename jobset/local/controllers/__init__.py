"""Controllers of the plane beside the one of Jobs: what kube-controller-manager does for the kinds that are here.

Each one has a pure part that decides and a thin shell over :mod:`jobset.kube`, and so works on a real API server, too.
"""
