"""The scheduler of the plane: which pod runs on which node.

:class:`~jobset.local.scheduling.scheduler.Scheduler` watches and binds, like kube-scheduler and under its name.
:class:`~jobset.local.scheduling.planner.Planner` decides, and :func:`~jobset.local.scheduling.placement.place` asks it
once, for those who have all facts at hand.
"""
