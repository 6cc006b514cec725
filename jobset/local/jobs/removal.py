"""Which active pods go when there are too many: those that would be missed the least.

Pods without a node before those with one, pending before running, not ready before ready; of equals, the one that was
ready for the shorter time, that restarted more often, that is younger. In an indexed Job, before all others, those
whose index is not wanted any more, and all but the best of several pods of one index.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from jobset.local.jobs.types import Job, Pod, moment

_PHASES: Final = {'Pending': 0, 'Unknown': 1, 'Running': 2}


def choose(job: Job, active: Sequence[Pod], at_least: int) -> tuple[Pod, ...]:
    """The pods to delete: ``at_least`` so many, and more where indexes are not wanted or doubled."""
    superfluous, left = _split(job, active) if job.is_indexed else ([], list(active))
    missing = at_least - len(superfluous)
    if missing > 0:
        superfluous += sorted(left, key=_worth)[:missing]
    return tuple(superfluous)


def _split(job: Job, active: Iterable[Pod]) -> tuple[list[Pod], list[Pod]]:
    by_index: dict[int, list[Pod]] = {}
    superfluous, left = [], []
    completions = job.spec.completions or 0
    for pod in active:
        index = pod.index
        if index is None or index >= completions:
            superfluous.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    for pods in by_index.values():
        ordered = sorted(pods, key=_worth) if len(pods) > 1 else pods
        superfluous += ordered[:-1]
        left.append(ordered[-1])
    return superfluous, left


def _worth(pod: Pod) -> tuple[float, ...]:
    ready = pod.ready if pod.is_ready else None
    restarts = max((status.restart_count for status in pod.status.container_statuses or ()), default=0)
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        ready is not None,
        _age(ready.last_transition_time) if ready is not None else 0.0,
        -restarts,
        _age(pod.metadata.creation_timestamp),
    )


def _age(text: str | None) -> float:
    """The older, the more; no time at all counts as the very youngest."""
    found = moment(text)
    return -found.timestamp() if found is not None else float('-inf')
