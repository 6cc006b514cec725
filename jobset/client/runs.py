"""Which runs of a pod's containers there have been: a container that is started anew begins another one.

A status tells of the present run and of the one before. What lies further back is known by its number alone: runs are
counted from 0, and a pod that fails over and over may be through several of them between two of its states.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jobset.client import observed

LOCAL: Final = 'local://'
"""How the ids of containers begin whose node is that of an embedded control plane."""

_CREATING: Final = 'ContainerCreating'
_RESTARTING: Final = 'RestartingAllContainers'


@dataclass(frozen=True, slots=True)
class Container:
    """One container of one pod."""

    namespace: str
    pod: str
    uid: str
    name: str
    rank: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Begun:
    """How far a container has come."""

    container: Container
    last: int
    """The last run that has begun."""

    is_kept: bool
    """Whether its node keeps the logs of all runs, and gives out each one by its number."""


def begun(pod: observed.Pod, names: list[str]) -> Iterator[Begun]:
    """Those of the containers that have run, or run."""
    statuses = {status.name: status for status in pod.containers}
    for name in names:
        status = statuses.get(name)
        last = -1 if status is None else last_begun(status)
        if status is None or last < 0:
            continue
        container = Container(
            namespace=pod.metadata.namespace,
            pod=pod.metadata.name,
            uid=pod.metadata.uid,
            name=name,
            rank=pod.rank if len(names) == 1 else f'{pod.rank} {name}',
            attempt=pod.attempt,
        )
        yield Begun(container, last, is_kept=_is_local(status))


def last_begun(status: observed.ContainerStatus) -> int:
    """The number of the last run that has begun; -1 before the first one."""
    waiting = status.state.waiting
    if waiting is None and status.state.running is None and status.state.terminated is None:
        return status.restart_count - 1
    if waiting is None:
        return status.restart_count
    ended = status.last_state.terminated
    if ended is None:
        return status.restart_count - 1
    # While it waits to start again, the count is still that of the run that ended; unless the next one is being made.
    is_counted = waiting.reason == _CREATING or ended.reason == _RESTARTING
    return status.restart_count - 1 if is_counted else status.restart_count


def _is_local(status: observed.ContainerStatus) -> bool:
    ends = (status.state.terminated, status.last_state.terminated)
    ids = (status.container_id, *(end.container_id for end in ends if end is not None))
    return any(each.startswith(LOCAL) for each in ids)
