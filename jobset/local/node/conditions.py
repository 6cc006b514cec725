"""The conditions of a pod that are the node's to write.

Source: the kubelet's rules, reasons and messages.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobset.local import objects
from jobset.local.node import phases, restarts, specs
from jobset.local.node.model import Facts, Pod

Shown = Mapping[str, Any]

OWN: Final = frozenset(
    {'PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled', 'AllContainersRestarting'}
)
"""Types that only the node writes; PodScheduled after the scheduler."""


def build(
    pod: Pod,
    facts: Facts,
    phase: phases.Phase,
    *,
    inits: Sequence[Shown],
    mains: Sequence[Shown],
    now: datetime.datetime,
) -> list[dict[str, Any]]:
    """The conditions, with the time of their last change taken over from ``pod.status`` where they are as before."""
    ready = _containers_ready(pod, phase, inits, mains)
    judged = {
        'PodReadyToStartContainers': ('True' if facts.is_prepared and not phase.is_final else 'False', '', ''),
        'Initialized': _initialized(pod, phase, inits, mains),
        'Ready': _ready(pod, ready),
        'ContainersReady': ready,
        'PodScheduled': ('True', '', ''),
    }
    if restarts.could_restart_all(pod.spec):
        judged['AllContainersRestarting'] = _restarting(facts, phase)
    old = {condition['type']: condition for condition in pod.status.get('conditions') or ()}
    return [
        _condition(kind, judgement, old.get(kind), now=now, generation=pod.metadata.generation)
        for kind, judgement in judged.items()
    ]


def _condition(
    kind: str,
    judgement: tuple[str, str, str],
    old: Shown | None,
    *,
    now: datetime.datetime,
    generation: int,
) -> dict[str, Any]:
    status, reason, message = judgement
    since = objects.stamp(now)
    if old is not None and old.get('status') == status:
        since = old.get('lastTransitionTime') or since
    made: dict[str, Any] = {'type': kind}
    if generation:
        made['observedGeneration'] = generation
    made |= {'status': status, 'lastProbeTime': None, 'lastTransitionTime': since}
    return made | {key: value for key, value in (('reason', reason), ('message', message)) if value}


def _containers_ready(
    pod: Pod,
    phase: phases.Phase,
    inits: Sequence[Shown],
    mains: Sequence[Shown],
) -> tuple[str, str, str]:
    if phase.is_final:
        return 'False', 'PodCompleted' if phase is phases.Phase.SUCCEEDED else 'PodFailed', ''
    sidecars = {sidecar['name'] for sidecar in specs.sidecars(pod.spec)}
    counted = [*(init for init in inits if init['name'] in sidecars), *mains]
    unready = [str(shown['name']) for shown in counted if not shown['ready']]
    if unready:
        return 'False', 'ContainersNotReady', f'containers with unready status: [{" ".join(unready)}]'
    return 'True', '', ''


def _ready(pod: Pod, containers_ready: tuple[str, str, str]) -> tuple[str, str, str]:
    if containers_ready[0] != 'True':
        return containers_ready
    have = {condition['type']: condition['status'] for condition in pod.status.get('conditions') or ()}
    missing = []
    for gate in pod.spec.get('readinessGates') or ():
        kind = gate['conditionType']
        if kind not in have:
            missing.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif have[kind] != 'True':
            missing.append(f'the status of pod readiness gate "{kind}" is not "True", but {have[kind]}')
    return ('False', 'ReadinessGatesNotReady', ', '.join(missing)) if missing else ('True', '', '')


def _initialized(
    pod: Pod,
    phase: phases.Phase,
    inits: Sequence[Shown],
    mains: Sequence[Shown],
) -> tuple[str, str, str]:
    if phase is phases.Phase.SUCCEEDED:
        return 'True', 'PodCompleted', ''
    sidecars = {sidecar['name'] for sidecar in specs.sidecars(pod.spec)}
    incomplete = [
        str(shown['name']) for shown in inits if not shown['started' if shown['name'] in sidecars else 'ready']
    ]
    was = any(
        condition['type'] == 'Initialized' and condition['status'] == 'True'
        for condition in pod.status.get('conditions') or ()
    )
    has_begun = any(shown['restartCount'] or 'waiting' not in shown['state'] for shown in mains)
    if incomplete and not was and not has_begun:
        return 'False', 'ContainersNotInitialized', f'containers with incomplete status: [{" ".join(incomplete)}]'
    return 'True', '', ''


def _restarting(facts: Facts, phase: phases.Phase) -> tuple[str, str, str]:
    if phase.is_final:
        return 'False', 'PodCompleted' if phase is phases.Phase.SUCCEEDED else 'PodFailed', ''
    if facts.is_restarting:
        return 'True', 'RestartAllContainersStarted', 'container exited with restart policy rule'
    return 'False', '', ''
