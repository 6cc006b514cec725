"""Which features this process has switched on.

A value, made once from the configuration file and passed to whoever needs it: two settings can live in one process.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


class Gate(enum.StrEnum):
    """The names that the configuration file knows."""

    IN_PLACE_RESTART = 'InPlaceRestart'
    RESTART_JOB = 'RestartJob'
    ELASTIC_JOBSET = 'ElasticJobSet'
    WORKLOAD_AWARE_SCHEDULING = 'JobSetWorkloadAwareSchedulingAPI'
    ACTIVE_DEADLINE = 'JobSetActiveDeadlineSeconds'
    EXECUTION_ATTEMPTS = 'ExecutionAttemptsTracking'
    MUTABLE_RESOURCES = 'MutablePodResourcesForSuspendedJobSets'
    TLS_OPTIONS = 'TLSOptions'


@dataclass(frozen=True, kw_only=True)
class FeatureGates:
    """The gates and their defaults."""

    in_place_restart: bool = False
    """Alpha. The restart strategy ``InPlaceRestart`` is admitted, and pods are watched for it."""

    restart_job: bool = False
    """Alpha. The failure-policy actions ``RestartJob`` and ``RestartJobAndIgnoreMaxRestarts`` are admitted."""

    elastic_jobset: bool = False
    """Alpha. Parallelism and completions of Indexed Jobs may change while the JobSet runs."""

    workload_aware_scheduling: bool = False
    """Alpha. ``spec.scheduling`` is admitted, and groups of pods are made as it says; else it is dropped."""

    active_deadline: bool = False
    """Alpha. ``spec.activeDeadlineSeconds`` is admitted and kept to; else it is dropped."""

    execution_attempts: bool = False
    """Alpha. Starts, resumes and restarts are counted in ``status.executionAttempts``."""

    mutable_resources: bool = False
    """Alpha. Requests and limits of containers may change while the JobSet is suspended."""

    tls_options: bool = True
    """Stable and locked: the ``tls`` section of the configuration file is honoured."""


DEFAULTS: Final = FeatureGates()
"""The gates as they are where nobody changes them."""


class FeatureGateError(ValueError):
    """A gate that does not exist, or that can no longer be changed. The text says which."""


_LOCKED = {Gate.TLS_OPTIONS: True}


def parse(wanted: Mapping[str, bool]) -> FeatureGates:
    """The gates with the given ones changed; raises :class:`FeatureGateError` naming the first that is wrong."""
    known = {gate.value: gate for gate in Gate}
    given: dict[Gate, bool] = {}
    for name, on in wanted.items():
        if name not in known:
            raise FeatureGateError(f'unrecognized feature gate: {name}; known ones are: {", ".join(sorted(known))}')
        gate = known[name]
        if _LOCKED.get(gate, on) != on:
            locked = str(_LOCKED[gate]).lower()
            raise FeatureGateError(
                f'cannot set feature gate {name} to {str(on).lower()}, feature is locked to {locked}; remove the line'
            )
        given[gate] = on
    return FeatureGates(
        in_place_restart=given.get(Gate.IN_PLACE_RESTART, False),
        restart_job=given.get(Gate.RESTART_JOB, False),
        elastic_jobset=given.get(Gate.ELASTIC_JOBSET, False),
        workload_aware_scheduling=given.get(Gate.WORKLOAD_AWARE_SCHEDULING, False),
        active_deadline=given.get(Gate.ACTIVE_DEADLINE, False),
        execution_attempts=given.get(Gate.EXECUTION_ATTEMPTS, False),
        mutable_resources=given.get(Gate.MUTABLE_RESOURCES, False),
        tls_options=given.get(Gate.TLS_OPTIONS, True),
    )
