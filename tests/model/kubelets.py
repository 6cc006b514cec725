"""The pods of a simulation: the Job controller makes them, nodes run them, agents in them restart in place.

Only simulations that say so have pods; in the others a Job stands for its pods. What an agent knows beside its
annotation stands in the status of its pod, where only this module looks: ``announced`` since its containers started,
and whether it ``runs``, which is when the barrier has opened.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from jobset.api import keys, pods
from tests.core import agents
from tests.model import api, clock

Object = dict[str, Any]

NOW: Final = 0.0
"""When what waits for nothing may happen."""

RESTART_EXIT_CODE: Final = 1
_NO_LIMIT: Final = 2**31 - 1


class Step(NamedTuple):
    """Something that may happen from ``due`` on, in seconds since the start."""

    what: str
    due: float
    act: Callable[[], None]


class Pods:
    """The pods over one API server."""

    def __init__(self, server: api.Server, time: clock.Clock) -> None:
        self._server = server
        self._time = time
        self._made = 0

    # What happens by itself.

    def of_job(self, job: Object) -> Iterator[Step]:
        """What the Job controller does about the pods of a Job that has not ended and is not being deleted."""
        name, spec, status = job['metadata']['name'], job['spec'], job['status']
        mine = pods_of(self._server, job)
        if spec.get('suspend'):
            for pod in mine:
                if not _ended(pod) and 'deletionTimestamp' not in pod['metadata']:
                    yield self._asked_to_go(pod)
            return
        if not status.get('startTime') or status.get('active') is None:
            return
        failed = sum(pod['status']['phase'] == 'Failed' for pod in mine)
        if failed > (status.get('failed') or 0):
            yield Step(f'{name} counts a failed pod', NOW, lambda: self._count_failed(name, failed))
            return
        waits = spec.get('podReplacementPolicy') == 'Failed'
        held = {
            index_of(pod)
            for pod in mine
            if pod['status']['phase'] != 'Failed' and (waits or 'deletionTimestamp' not in pod['metadata'])
        }
        size = 1 if spec.get('parallelism') is None else int(spec['parallelism'])
        for index in range(size):
            if index not in held:
                yield Step(f'{name} makes pod {index}', NOW, _bound(self._make, name, index))
        for pod in mine:
            if index_of(pod) >= size and not _ended(pod) and 'deletionTimestamp' not in pod['metadata']:
                yield self._asked_to_go(pod)

    def are_ready(self, job: Object) -> bool:
        """Whether as many pods of a Job run as should."""
        running = sum(pod['status']['phase'] in ('Running', 'Succeeded') for pod in pods_of(self._server, job))
        return running >= (1 if job['spec'].get('parallelism') is None else int(job['spec']['parallelism']))

    def on_nodes(self) -> Iterator[Step]:
        """What happens to pods once they are there."""
        for pod in self._server.view('pods'):
            metadata, status = pod['metadata'], pod['status']
            name = metadata['name']
            if 'deletionTimestamp' in metadata:
                due = clock.seconds(metadata['deletionTimestamp'])
                yield Step(f'{name} is gone', due, _bound(self._server.release, 'pods', name))
            elif self._owner_is_gone(pod):
                yield Step(f'{name} is an orphan', NOW, _bound(self._go, name))
            elif status['phase'] == 'Pending' and self._has_its_gang(pod):
                yield Step(f'{name} runs', NOW, _bound(self._change, name, _run))
            elif status['phase'] == 'Running':
                yield from self._of_agent(pod)

    def _has_its_gang(self, pod: Object) -> bool:
        """Whether as many pods of its group are there as have to be, before any of them gets a node."""
        group = (pod['metadata'].get('labels') or {}).get(keys.POD_GROUP)
        if group is None:
            return True
        found = self._server.get('podgroups', group)
        if found is None:
            return False
        size: int = (found['spec']['schedulingPolicy'].get('gang') or {}).get('minCount', 0)
        living = [
            other
            for other in self._server.view('pods')
            if (other['metadata'].get('labels') or {}).get(keys.POD_GROUP) == group and not _ended(other)
        ]
        return len(living) >= size

    def _of_agent(self, pod: Object) -> Iterator[Step]:
        numbers = self._numbers(pod)
        if numbers is None:
            return
        name, status = pod['metadata']['name'], pod['status']
        agent = agents.Agent(status.get('announced'), status.get('runs', False))
        if agent.attempt is None:
            attempt = agent.begin(numbers)
            yield Step(f'{name} announces {attempt}', NOW, lambda: self._change(name, _announcing(attempt)))
        elif agent.must_leave(numbers):
            yield Step(f'{name} leaves {agent.attempt}', NOW, lambda: self.restart(name, RESTART_EXIT_CODE))
        elif agent.may_open(numbers):
            yield Step(f'{name} runs in {agent.attempt}', NOW, lambda: self._change(name, _open))

    def _numbers(self, pod: Object) -> agents.Numbers | None:
        """What an agent reads; None where there is none."""
        uid = (pod['metadata'].get('labels') or {}).get(keys.JOBSET_UID)
        for jobset in self._server.view('jobsets'):
            policy = jobset['spec'].get('failurePolicy') or {}
            if jobset['metadata']['uid'] == uid and policy.get('restartStrategy') == 'InPlaceRestart':
                status = jobset.get('status') or {}
                return agents.Numbers(
                    status.get('previousInPlaceRestartAttempt'), status.get('currentInPlaceRestartAttempt')
                )
        return None

    # What stories do.

    def restart(self, name: str, exit_code: int) -> None:
        """All containers of a pod start again, because one has ended."""
        ended = {'exitCode': exit_code, 'reason': 'Error', 'finishedAt': self._time.stamp()}

        def change(pod: Object) -> None:
            status = pod['status']
            count = status['containerStatuses'][0]['restartCount'] + 1
            status['containerStatuses'] = [
                {'name': 'main', 'restartCount': count, 'state': {}, 'lastState': {'terminated': ended}}
            ]
            status.pop('announced', None)
            status.pop('runs', None)

        self._change(name, change)

    def fail(self, name: str, *, exit_code: int | None = None) -> None:
        """A pod ends for good: its container fails, or it makes room for another one."""
        ended = {'exitCode': exit_code, 'reason': 'Error', 'finishedAt': self._time.stamp()}
        condition = {'type': 'DisruptionTarget', 'status': 'True', 'reason': 'PreemptionByScheduler', 'message': 'room'}

        def change(pod: Object) -> None:
            pod['status']['phase'] = 'Failed'
            if exit_code is None:
                pod['status']['conditions'] = [condition]
            else:
                pod['status']['containerStatuses'][0]['state'] = {'terminated': ended}

        self._change(name, change)

    def finish(self, job: Object, *, succeeded: bool) -> None:
        """All pods of a Job end, as it does."""
        for pod in pods_of(self._server, job):
            if _ended(pod):
                continue
            if succeeded:
                self._change(pod['metadata']['name'], lambda found: found['status'].update(phase='Succeeded'))
            elif 'deletionTimestamp' not in pod['metadata']:
                self._go(pod['metadata']['name'])

    # How.

    def _make(self, job: str, index: int) -> None:
        owner = self._server.get('jobs', job)
        assert owner is not None
        self._made += 1
        template = owner['spec']['template']
        labels = dict(template['metadata'].get('labels') or {})
        labels[pods.JOB_UID] = labels.pop('batch.kubernetes.io/controller-uid')
        notes = dict(template['metadata'].get('annotations') or {})
        self._server.create(
            'pods',
            {
                'metadata': {
                    'name': f'{job}-{index}-p{self._made}',
                    'labels': labels,
                    'annotations': {**notes, keys.COMPLETION_INDEX: str(index)},
                    'ownerReferences': [{'uid': owner['metadata']['uid'], 'kind': 'Job', 'controller': True}],
                },
                'spec': {
                    'terminationGracePeriodSeconds': template['spec'].get('terminationGracePeriodSeconds') or 0,
                },
                'status': {
                    'phase': 'Pending',
                    'containerStatuses': [{'name': 'main', 'restartCount': 0, 'state': {}}],
                },
            },
            manager='kube-controller-manager',
        )

    def _count_failed(self, job: str, failed: int) -> None:
        def change(found: Object) -> None:
            status = found['status']
            status['failed'] = failed
            limit = found['spec'].get('backoffLimit')
            if failed > (_NO_LIMIT if limit is None else limit):
                ended = {'type': 'Failed', 'status': 'True', 'lastTransitionTime': self._time.stamp()}
                ended |= {'reason': 'BackoffLimitExceeded', 'message': 'gave up'}
                status['conditions'] = [*status.get('conditions', []), ended]
                status.pop('active', None)
                status.pop('ready', None)

        self._server.change('jobs', job, change, manager='kube-controller-manager')
        found = self._server.get('jobs', job)
        if found is not None and 'active' not in found['status']:
            self.finish(found, succeeded=False)

    def _asked_to_go(self, pod: Object) -> Step:
        name = pod['metadata']['name']
        return Step(f'{name} is asked to go', NOW, _bound(self._go, name))

    def _go(self, name: str) -> None:
        self._server.delete('pods', name, {})

    def _owner_is_gone(self, pod: Object) -> bool:
        owners = {owner['uid'] for owner in pod['metadata'].get('ownerReferences', [])}
        living = {obj['metadata']['uid'] for plural in ('jobs', 'jobsets') for obj in self._server.view(plural)}
        return bool(owners) and not owners & living

    def _change(self, name: str, change: Callable[[Object], None]) -> None:
        self._server.change('pods', name, change, manager='kubelet')


def pods_of(server: api.Server, job: Object) -> list[Object]:
    """The pods that a Job controls, ended or not."""
    return [pod for pod in server.view('pods') if api.owner_uid(pod) == job['metadata']['uid']]


def index_of(pod: Object) -> int:
    """Which pod of its Job."""
    return int(pod['metadata']['annotations'][keys.COMPLETION_INDEX])


def rank_of(pod: Object) -> str:
    """Which place in the set a pod has."""
    rank: str = pod['metadata']['name'].rpartition('-')[0]
    return rank


def _ended(pod: Object) -> bool:
    return pod['status']['phase'] in ('Succeeded', 'Failed')


def _run(pod: Object) -> None:
    pod['spec']['nodeName'] = f'node-of-{pod["metadata"]["name"]}'
    pod['status']['phase'] = 'Running'


def _open(pod: Object) -> None:
    pod['status']['runs'] = True


def _announcing(attempt: int) -> Callable[[Object], None]:
    def change(pod: Object) -> None:
        pod['metadata']['annotations'][keys.IN_PLACE_RESTART_ATTEMPT] = str(attempt)
        pod['status']['announced'] = attempt

    return change


def _bound(act: Callable[..., object], *arguments: object) -> Callable[[], None]:
    def do() -> None:
        act(*arguments)

    return do
