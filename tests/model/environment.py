"""What a cluster does beside the controller: Jobs run, pods end, and what belongs to nobody is collected.

Everything happens in single steps, each at a time that something else decides.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.model import api, clock, kubelets
from tests.model.kubelets import NOW, Step

Object = dict[str, Any]


class Environment:
    """The Job controller, the kubelets and the garbage collector over one API server."""

    def __init__(
        self, server: api.Server, time: clock.Clock, *, ready_after: float = 0, has_pods: bool = False
    ) -> None:
        self.pods = kubelets.Pods(server, time) if has_pods else None
        """None where a Job stands for its pods."""

        self._server = server
        self._time = time
        self.ready_after = ready_after
        """Seconds that a Job takes to become ready after its start."""

        self._known: tuple[int, tuple[Step, ...]] = (-1, ())

    def steps(self) -> tuple[Step, ...]:
        """All that may happen, now or later."""
        if self._known[0] != self._server.version:
            self._known = (self._server.version, tuple(self._find()))
        return self._known[1]

    def _find(self) -> Iterator[Step]:
        for job in self._server.view('jobs'):
            yield from self._job_steps(job)
        if self.pods is not None:
            yield from self.pods.on_nodes()
        living = {obj['metadata']['uid'] for plural in api.KINDS for obj in self._server.view(plural)}
        for plural in api.KINDS:
            for obj in self._server.view(plural):
                yield from self._collect(plural, obj, living)

    def finish(self, name: str, kind: str, *, reason: str = '', message: str = '') -> None:
        """A Job ends as ``Complete`` or ``Failed``."""

        def change(job: Object) -> None:
            status = job['status']
            condition = {'type': kind, 'status': 'True', 'lastTransitionTime': self._time.stamp()}
            if reason:
                condition |= {'reason': reason, 'message': message}
            status['conditions'] = [*status.get('conditions', []), condition]
            status.pop('active', None)
            status.pop('ready', None)

        self._server.change('jobs', name, change)
        found = self._server.get('jobs', name)
        if self.pods is not None and found is not None:
            self.pods.finish(found, succeeded=kind == 'Complete')

    def active(self) -> int:
        """How many pods of Jobs run, or wait to run."""
        jobs = (job for job in self._server.view('jobs') if 'deletionTimestamp' not in job['metadata'])
        return sum(job['status'].get('active') or 0 for job in jobs)

    def _job_steps(self, job: Object) -> Iterator[Step]:
        metadata, status = job['metadata'], job['status']
        name = metadata['name']
        if 'deletionTimestamp' in metadata:
            if any(api.owner_uid(pod) == metadata['uid'] for pod in self._server.view('pods')):
                yield from self._pod_steps(metadata['uid'])
            elif api.FOREGROUND in metadata.get('finalizers', []):
                due = clock.seconds(metadata['deletionTimestamp']) + _grace(job)
                yield Step(f'pods of {name} are gone', due, lambda: self._server.release('jobs', name))
            return
        if any(c['type'] in ('Complete', 'Failed') and c['status'] == 'True' for c in status.get('conditions', [])):
            return
        if self.pods is not None:
            yield from self.pods.of_job(job)
        if job['spec'].get('suspend'):
            if status.get('active') or not _suspended(status):
                yield Step(f'{name} stops', NOW, lambda: self._change(name, self._stop))
        elif not status.get('startTime') or _suspended(status):
            yield Step(f'{name} starts', NOW, lambda: self._change(name, self._start))
        elif status.get('active') != _parallelism(job):
            yield Step(f'{name} changes its size', NOW, lambda: self._change(name, _resize))
        elif (status.get('ready') or 0) < _parallelism(job) and (self.pods is None or self.pods.are_ready(job)):
            due = clock.seconds(status['startTime']) + self.ready_after
            yield Step(f'{name} becomes ready', due, lambda: self._change(name, _become_ready))

    def _pod_steps(self, job_uid: str) -> Iterator[Step]:
        """Pods of a Job that is going are asked to go; who ends them is for the story to say."""
        for pod in self._server.view('pods'):
            name = pod['metadata']['name']
            if api.owner_uid(pod) == job_uid and 'deletionTimestamp' not in pod['metadata']:
                yield Step(f'{name} is asked to go', NOW, _bound(self._delete, 'pods', name))

    def _collect(self, plural: str, obj: Object, living: set[str]) -> Iterator[Step]:
        metadata = obj['metadata']
        name = metadata['name']
        owner = api.owner_uid(obj)
        if owner is not None and owner not in living:
            if 'deletionTimestamp' not in metadata:
                yield Step(f'{plural}/{name} is an orphan', NOW, lambda: self._delete(plural, name))
            return
        if plural == 'jobsets' and api.FOREGROUND in metadata.get('finalizers', []):
            dependants = [
                (kind, other['metadata'])
                for kind in api.KINDS
                for other in self._server.view(kind)
                if api.owner_uid(other) == metadata['uid']
            ]
            for kind, other in dependants:
                if 'deletionTimestamp' not in other:
                    yield Step(f'{kind}/{other["name"]} follows', NOW, _bound(self._delete, kind, other['name']))
            if not dependants:
                yield Step(f'{name} is gone', NOW, lambda: self._server.release(plural, name))

    def _delete(self, plural: str, name: str) -> None:
        policy = {'propagationPolicy': 'Foreground'} if plural == 'jobs' else {}
        self._server.delete(plural, name, policy)

    def _change(self, name: str, change: Callable[[Object], None]) -> None:
        self._server.change('jobs', name, change, manager='kube-controller-manager')

    def _start(self, job: Object) -> None:
        status = job['status']
        status['startTime'] = self._time.stamp()
        status['active'] = _parallelism(job)
        _set_suspended(status, 'False')

    def _stop(self, job: Object) -> None:
        status = job['status']
        status.pop('active', None)
        status.pop('ready', None)
        if self._server.is_modern:
            status.pop('startTime', None)
        _set_suspended(status, 'True')


def _bound(act: Callable[[str, str], None], plural: str, name: str) -> Callable[[], None]:
    return lambda: act(plural, name)


def _grace(job: Object) -> float:
    """How long its pods take to end; a Job that has finished, or never ran, has none."""
    if not job['status'].get('active'):
        return 0
    pod = job['spec']['template'].get('spec') or {}
    return float(pod.get('terminationGracePeriodSeconds') or 0)


def _parallelism(job: Object) -> int:
    found = job['spec'].get('parallelism')
    return 1 if found is None else int(found)


def _suspended(status: Object) -> bool:
    return any(c['type'] == 'Suspended' and c['status'] == 'True' for c in status.get('conditions', []))


def _set_suspended(status: Object, value: str) -> None:
    others = [c for c in status.get('conditions', []) if c['type'] != 'Suspended']
    if value == 'True' or len(others) < len(status.get('conditions', [])):
        status['conditions'] = [*others, {'type': 'Suspended', 'status': value}]


def _resize(job: Object) -> None:
    status = job['status']
    status['active'] = _parallelism(job)
    status['ready'] = min(status.get('ready') or 0, _parallelism(job))


def _become_ready(job: Object) -> None:
    job['status']['ready'] = _parallelism(job)
