"""The start barrier of JobSets whose pods are not restarted in place: the first pod counts the others.

Each pod marks itself as being there. The first pod of the group watches all of them, and marks itself as open once
they are complete; the others watch that one pod. So a group of n pods costs the API server n writes and n events for
each change of one pod, and nothing of it needs a controller that knows about it.
"""

from __future__ import annotations

from jobset.agent import api, following, groups, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

BARRIER = 'jobset.x-k8s.io/start-barrier'
HERE = 'here'
OPEN = 'open'


class StartBarrier:
    """Calls ``opened`` once all pods of this one's group are there."""

    def __init__(self, pod: settings.Settings, jobset: Any, *, opened: Callable[[], None]) -> None:
        self._pod = pod
        self._opened = opened
        self._server = api.Api(pod)
        self._jobset = jobset
        self._there: set[tuple[str, str, str]] | None = None
        """The ranks that are there, for the pod that counts them."""

    def run(self) -> None:
        own = following.insist(lambda: self._mark(HERE))
        labels = own['metadata'].get('labels') or {}
        self._own = labels.get(groups.REPLICATED_JOB, '')
        if self._group().is_leader(labels):
            self._follow(labels, kept=_rank_there, told=self._counted)
        else:
            leader = {groups.REPLICATED_JOB: self._group().leader, groups.JOB_INDEX: '0', groups.POD_INDEX: '0'}
            self._follow({**labels, **leader}, also=leader, kept=_is_open, told=lambda found: any(found.values()))
        self._opened()

    def update(self, jobset: Any, server: api.Api) -> None:
        """Take in a change of the JobSet: its width may change while pods wait. For the thread of ``server``."""
        self._jobset = jobset
        if self._there is not None and self._group().is_complete(self._there):
            self._mark(OPEN, server)
            self._opened()

    def _group(self) -> groups.Group:
        return groups.Group(self._jobset['spec'], self._own)

    def _mark(self, value: str, server: api.Api | None = None) -> Any:
        return (server or self._server).annotate(BARRIER, value, manager='jobset-start-barrier')

    def _counted(self, found: dict[str, Any]) -> bool:
        self._there = {each for each in found.values() if each}
        if not self._group().is_complete(self._there):
            return False
        self._mark(OPEN)
        return True

    def _follow(
        self,
        labels: Mapping[str, str],
        *,
        also: Mapping[str, str] = {},
        kept: Callable[[Any], Any],
        told: Callable[[dict[str, Any]], bool],
    ) -> None:
        """Follow the pods of this attempt of this JobSet until ``told`` is content."""
        chosen = [f'{key}={labels[key]}' for key in (*groups.OF_ONE_ATTEMPT, *also) if labels.get(key)]
        path = (
            f'/api/v1/namespaces/{self._pod.namespace}/pods?labelSelector={",".join(chosen)}'
            # A failed pod is not there; the one that replaces it is another.
            '&fieldSelector=status.phase!=Failed'
        )
        following.Follower(self._server, path, kept=kept, told=told, metadata_only=True).run()


def _rank_there(pod: Any) -> tuple[str, str, str] | None:
    meta = pod['metadata']
    is_there = 'deletionTimestamp' not in meta and (meta.get('annotations') or {}).get(BARRIER) in (HERE, OPEN)
    return groups.rank(meta['labels'], meta['uid']) if is_there else None


def _is_open(pod: Any) -> bool:
    meta = pod['metadata']
    return 'deletionTimestamp' not in meta and (meta.get('annotations') or {}).get(BARRIER) == OPEN
