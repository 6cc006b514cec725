"""Endpoint slices: which pods stand behind a service. Kept as kube-controller-manager keeps them.

What slices there should be is decided in :mod:`slicing`, which pods a service has is known in :mod:`matching`, and
:mod:`controller` writes.
"""
