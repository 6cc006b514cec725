"""Nodes that are objects only, with somebody who keeps them ready and says of their pods that they run.

For tests of scheduling that need more nodes than there are machines. Nothing but pods that ask for the pool goes there.
"""

import contextlib
import datetime
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.scenarios.api import ApiError, Object, Objects
from tests.scenarios.space import Space

POOL: Final = 'jobset.test/pool'
"""The label, and the key of the taint, by which pods ask for a pool."""

HEARTBEAT_SECONDS: Final = 10
"""Nodes that say nothing for 50 s are taken for lost."""

_STRATEGIC: Final = 'application/strategic-merge-patch+json'


@dataclass
class Pool:
    """The nodes of one test, and their pods in its namespace."""

    here: Space
    nodes: list[str] = field(default_factory=list)
    failure: Exception | None = None

    def add(self, count: int, *, cpu: int, labels: Mapping[str, str] | None = None) -> list[str]:
        """Make so many equal nodes; returns their names."""
        made = []
        for _ in range(count):
            name = f'{self.here.name}-{len(self.nodes)}'
            body: Object = {
                'metadata': {'name': name, 'labels': {POOL: self.here.name, **(labels or {})}},
                'spec': {'taints': [{'key': POOL, 'value': self.here.name, 'effect': 'NoSchedule'}]},
            }
            self.here.server.request('POST', '/api/v1/nodes', body)
            amounts = {'cpu': str(cpu), 'memory': '64Gi', 'pods': '110'}
            self._tell(name, {'capacity': amounts, 'allocatable': amounts})
            self.nodes.append(name)
            made.append(name)
        return made

    def wanted(self) -> Object:
        """What a pod spec has to say to get there."""
        toleration = {'key': POOL, 'operator': 'Equal', 'value': self.here.name, 'effect': 'NoSchedule'}
        return {'nodeSelector': {POOL: self.here.name}, 'tolerations': [toleration]}

    def succeed(self, pods: Sequence[str]) -> None:
        """Have running pods end well."""
        for pod in pods:
            terminated = {'exitCode': 0, 'reason': 'Completed', 'finishedAt': _now()}
            self._status(pod, {'phase': 'Succeeded', 'containerStatuses': [_container({'terminated': terminated})]})

    def fail(self, pods: Sequence[str]) -> None:
        """Have running pods fail."""
        for pod in pods:
            terminated = {'exitCode': 1, 'reason': 'Error', 'finishedAt': _now()}
            self._status(pod, {'phase': 'Failed', 'containerStatuses': [_container({'terminated': terminated})]})

    def keep_ready(self) -> None:
        """One beat of every node's heart."""
        for name in self.nodes:
            self._tell(name, {})

    def _tell(self, name: str, status: Object) -> None:
        now = _now()
        ready = {
            'type': 'Ready',
            'status': 'True',
            'reason': 'Fake',
            'lastHeartbeatTime': now,
            'lastTransitionTime': now,
        }
        self.here.server.request(
            'PATCH',
            f'/api/v1/nodes/{name}/status',
            {'status': {**status, 'conditions': [ready]}},
            content_type=_STRATEGIC,
        )

    def tend(self, pods: Objects) -> None:
        """Do for pods of ours what a kubelet would."""
        for name, pod in pods.items():
            phase = pod['status'].get('phase')
            if pod['spec'].get('nodeName') not in self.nodes:
                continue
            with contextlib.suppress(ApiError):  # it is gone, or has changed: then there is another look
                if 'deletionTimestamp' in pod['metadata']:
                    if phase not in ('Failed', 'Succeeded'):
                        self._status(name, {'phase': 'Failed'})
                    body: Object = {'gracePeriodSeconds': 0}
                    self.here.server.request('DELETE', self.here.path('pods', name), body)
                elif phase == 'Pending':
                    ready = {'type': 'Ready', 'status': 'True', 'lastTransitionTime': _now()}
                    running = _container({'running': {'startedAt': _now()}}, ready=True)
                    self._status(
                        name,
                        {
                            'phase': 'Running',
                            'startTime': _now(),
                            'conditions': [ready, {**ready, 'type': 'ContainersReady'}],
                            'containerStatuses': [running],
                        },
                    )

    def _status(self, pod: str, status: Object) -> None:
        path = f'{self.here.path("pods", pod)}/status'
        self.here.server.request('PATCH', path, {'status': status}, content_type=_STRATEGIC)


@contextlib.contextmanager
def pool(here: Space) -> Iterator[Pool]:
    """Nodes for the length of the block; what goes wrong behind the scenes is raised at its end."""
    made = Pool(here)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            made.keep_ready()

    def tend() -> None:
        while not ended.is_set():
            # Short looks: each is asked to end soon, so that the thread ends soon after the block.
            for pods in here.server.moments(here.path('pods'), seconds=2):
                made.tend(pods)

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            made.failure = error

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in (beat, tend)]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        for jobset in here.all('jobsets'):
            here.delete('jobsets', jobset, 'Foreground')
        with contextlib.suppress(AssertionError):
            here.until('pods', lambda seen: not seen, what='its pods to go')
        ended.set()
        for thread in threads:
            thread.join(60)
        for name in made.nodes:
            here.server.request('DELETE', f'/api/v1/nodes/{name}')
    if made.failure is not None:
        raise made.failure


def bound(pods: Objects, prefix: str = '') -> set[str]:
    """The pods that have a node and have not ended."""
    return {
        name
        for name, pod in pods.items()
        if name.startswith(prefix)
        and pod['spec'].get('nodeName')
        and pod['status'].get('phase') not in ('Failed', 'Succeeded')
        and 'deletionTimestamp' not in pod['metadata']
    }


def is_disrupted(pod: Object) -> bool:
    """Whether somebody has taken it away who is not to blame on it, such as the scheduler for a more important one."""
    held = pod['status'].get('conditions', [])
    return any(each['type'] == 'DisruptionTarget' and each['status'] == 'True' for each in held)


def until_bound(here: Space, prefix: str, count: int) -> Objects:
    """All pods, once so many of these have a node."""
    return here.until('pods', lambda seen: len(bound(seen, prefix)) == count, what=f'{count} pods of {prefix} to run')


@contextlib.contextmanager
def priorities(here: Space, *names: str) -> Iterator[dict[str, str]]:
    """Priority classes for the length of the block, each above the one before it: their names in the cluster."""
    made = {name: f'{here.name}-{name}' for name in names}
    try:
        for value, name in enumerate(made.values(), start=1000):
            body: Object = {'metadata': {'name': name}, 'value': value}
            here.server.request('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', body)
        yield made
    finally:
        for name in made.values():
            with contextlib.suppress(ApiError):
                here.server.request('DELETE', f'/apis/scheduling.k8s.io/v1/priorityclasses/{name}')


def _container(state: Object, *, ready: bool = False) -> Object:
    return {'name': 'main', 'image': 'busybox', 'imageID': '', 'restartCount': 0, 'ready': ready, 'state': state}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
