"""What a node that was started anew makes of a pod that it has run before, from the status it wrote then.

Nothing of the pod runs any more. What ran then has ended, nobody knows how; what had ended before stays as it was.
"""

import datetime
from typing import Any

from jobset.local import objects
from jobset.local.node import specs
from jobset.local.node.model import Container, Ended, Facts, Pod, Step


def adopt(pod: Pod, now: datetime.datetime) -> Facts:
    """The facts to go on from; those of a fresh pod when nothing of it was ever started."""
    shown = {
        one['name']: one for key in ('initContainerStatuses', 'containerStatuses') for one in pod.status.get(key) or ()
    }
    started = pod.status.get('startTime')
    return Facts(
        containers={
            str(container['name']): _container(str(container['name']), shown.get(container['name']) or {}, now)
            for container in specs.containers(pod.spec)
        },
        seen_at=objects.moment(started) if started else now,
    )


def was_cut(pod: Pod) -> bool:
    """Whether any container ran when the node ended."""
    return any(
        'running' in (one.get('state') or {})
        for key in ('initContainerStatuses', 'containerStatuses')
        for one in pod.status.get(key) or ()
    )


def _container(name: str, shown: dict[str, Any], now: datetime.datetime) -> Container:
    state = shown.get('state') or {}
    last = _ended((shown.get('lastState') or {}).get('terminated'))
    restarts = int(shown.get('restartCount') or 0)
    if 'running' in state:
        lost = Ended(
            exit_code=137,
            reason='ContainerStatusUnknown',
            message='The container could not be located when the node was restarted',
            started_at=_moment(state['running'].get('startedAt')),
            finished_at=now,
            container_id=shown.get('containerID') or '',
        )
        return Container(name=name, step=Step.ENDED, ended=lost, last=last, restarts=restarts)
    ended = _ended(state.get('terminated'))
    if ended is None and last is not None and last.reason != 'RestartingAllContainers':
        # It waited to be started again.
        ended, last = last, None
    if ended is None:
        return Container(name=name, last=last, restarts=restarts)
    return Container(name=name, step=Step.ENDED, ended=ended, last=last, restarts=restarts)


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
