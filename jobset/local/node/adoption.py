"""What a node that was started anew makes of a pod that it has run before, from the status it wrote then.

Nothing of the pod runs any more. What ran then has ended, nobody knows how; what had ended before stays as it was. The
status may be behind by what happened in the last moment: a run that was begun counts as one that ran, because a pod
that is never to be restarted must not run twice.
"""

import datetime
from collections.abc import Mapping
from typing import Any, Final

from jobset.local import objects
from jobset.local.node import specs
from jobset.local.node.model import Container, Ended, Facts, Pod, Step

LOST: Final = 'ContainerStatusUnknown'


def adopt(pod: Pod, now: datetime.datetime, begun: Mapping[str, int]) -> Facts:
    """The facts to go on from; those of a fresh pod when nothing of it was ever started.

    ``begun`` has the number of the last run of each container that was begun, counted from zero.
    """
    shown = {
        one['name']: one for key in ('initContainerStatuses', 'containerStatuses') for one in pod.status.get(key) or ()
    }
    started = pod.status.get('startTime')
    return Facts(
        containers={
            name: _container(name, shown.get(name) or {}, now, begun.get(name, -1))
            for name in (str(container['name']) for container in specs.containers(pod.spec))
        },
        seen_at=objects.moment(started) if started else now,
    )


def was_cut(facts: Facts) -> bool:
    """Whether any container ran when the node ended."""
    return any(one.ended is not None and one.ended.reason == LOST for one in facts.containers.values())


def _container(name: str, shown: dict[str, Any], now: datetime.datetime, begun: int) -> Container:
    state = shown.get('state') or {}
    last = _ended((shown.get('lastState') or {}).get('terminated'))
    restarts = int(shown.get('restartCount') or 0)
    if 'running' in state:
        lost = _lost(now, _moment(state['running'].get('startedAt')), shown.get('containerID') or '')
        return Container(name=name, step=Step.ENDED, ended=lost, last=last, restarts=max(restarts, begun))
    ended = _ended(state.get('terminated'))
    if ended is None and last is not None and last.reason != 'RestartingAllContainers':
        # It waited to be started again.
        ended, last = last, None
    if begun >= (restarts if ended is None else restarts + 1):
        return Container(name=name, step=Step.ENDED, ended=_lost(now), last=ended or last, restarts=begun)
    if ended is None:
        return Container(name=name, last=last, restarts=restarts)
    return Container(name=name, step=Step.ENDED, ended=ended, last=last, restarts=restarts)


def _lost(now: datetime.datetime, started_at: datetime.datetime | None = None, container_id: str = '') -> Ended:
    return Ended(
        exit_code=137,
        reason=LOST,
        message='The container could not be located when the node was restarted',
        started_at=started_at,
        finished_at=now,
        container_id=container_id,
    )


def _ended(shown: dict[str, Any] | None) -> Ended | None:
    if not shown:
        return None
    return Ended(
        exit_code=int(shown.get('exitCode') or 0),
        reason=shown.get('reason') or '',
        message=shown.get('message') or '',
        started_at=_moment(shown.get('startedAt')),
        finished_at=_moment(shown.get('finishedAt')),
        container_id=shown.get('containerID') or '',
    )


def _moment(text: str | None) -> datetime.datetime | None:
    return objects.moment(text) if text else None
