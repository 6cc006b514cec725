"""The Job controller of the plane: makes the pods of ``batch/v1`` Jobs, counts how they end, and says so in the status.

It behaves as the Job controller of kube-controller-manager 1.37 does. What it decides is pure: :mod:`sync` makes a
:mod:`plan` of what was observed, with one module for each policy; :mod:`controller` observes and carries out.
"""
