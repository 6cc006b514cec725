"""JobSets with real pods, each of a kind that must end in one way whatever is killed meanwhile."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from jobset.api import keys
from tests.recovery.diary import Diary
from tests.recovery.processes import MARK
from tests.recovery.server import PAUSE, Object, RefusedError, Server, UnansweredError

NAMESPACE: Final = 'recovery'

OFTEN: Final = 10_000
"""Restarts that are allowed where each kill may cost one."""

_TRAIL: Final = '/trail'

_FIELDS: Final = {
    'POD': 'metadata.uid',
    'NAME': "metadata.labels['batch.kubernetes.io/job-name']",
    'JOB': "metadata.labels['batch.kubernetes.io/controller-uid']",
    'INDEX': "metadata.annotations['batch.kubernetes.io/job-completion-index']",
    'ATTEMPT': f"metadata.annotations['{keys.RESTART_ATTEMPT}']",
}

_IGNORED: Final = {'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget', 'status': 'True'}]}
"""The end of the node costs no Job anything."""


class Run(NamedTuple):
    """What a pod tells of one of its runs."""

    place: int
    word: str
    name: str
    job: str
    pod: str

    @property
    def may_repeat(self) -> bool:
        """Whether its pod is of a kind whose containers are started again."""
        return any(self.name.startswith(f'{kind.name}-') for kind in KINDS if kind.again)


@dataclass(frozen=True)
class Trail:
    """What pods have done, told by themselves in a file that no plane knows: ``start`` and ``end`` of each run."""

    file: Path

    def size(self) -> int:
        """So far, in bytes."""
        return self.file.stat().st_size if self.file.exists() else 0

    def runs(self) -> list[Run]:
        """All of them, in their order."""
        found, place = [], 0
        for line in self.file.read_bytes().splitlines(keepends=True):
            found.append(Run(place, *line.decode().split()))
            place += len(line)
        return found


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A JobSet and its end."""

    name: str
    spec: Callable[['Maker'], Object]
    end: tuple[str, str] = ('Completed', 'AllJobsCompleted')
    restarts: Callable[[int], bool] = lambda count: count == 0
    again: bool = False
    """Whether a pod may run more than once."""


@dataclass(frozen=True)
class Maker:
    """Makes pods that leave a trail."""

    trail: Path
    mark: str

    def group(self, name: str, command: str, *, pods: int = 1, job: Object | None = None, **more: object) -> Object:
        """A replicated job; each pod leaves a process behind that only its node can end."""
        told = f'echo "start $NAME $JOB $POD" >> {_TRAIL}\nsetsid sleep 1000 &\n{command}\n'
        env = [{'name': key, 'valueFrom': {'fieldRef': {'fieldPath': path}}} for key, path in _FIELDS.items()]
        container: Object = {
            'name': 'main',
            'image': 'busybox',
            'command': ['sh', '-c', f'{told}echo "end $NAME $JOB $POD" >> {_TRAIL}'],
            'env': [*env, {'name': MARK, 'value': self.mark}],
        }
        mounts: list[object] = [{'name': 'trail', 'mountPath': _TRAIL}]
        volumes: list[object] = [{'name': 'trail', 'hostPath': {'path': str(self.trail), 'type': 'FileOrCreate'}}]
        if claim := more.pop('mount', None):
            mounts.append({'name': claim, 'mountPath': '/shared'})
        if more.pop('empty', False):
            volumes.append({'name': 'work', 'emptyDir': {}})
        container['volumeMounts'] = mounts
        pod: Object = {
            'restartPolicy': more.pop('policy', 'Never'),
            'terminationGracePeriodSeconds': 1,
            'containers': [container],
            'volumes': volumes,
        }
        spec = {'backoffLimit': 0, 'completions': pods, 'parallelism': pods, 'completionMode': 'Indexed', **(job or {})}
        return {'name': name, 'template': {'spec': spec | {'template': {'spec': pod}}}, **more}


def _chain(make: Maker) -> Object:
    """Three stages with a volume; every kill of a running pod is a restart of all of them."""
    claim = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Mi'}}}
    policy = {
        'templates': [{'metadata': {'name': 'work'}, 'spec': claim}],
        'retentionPolicy': {'whenDeleted': 'Delete'},
    }
    read = 'test "$(cat /shared/data)" -le "$ATTEMPT" || exit 9\n'
    data = make.group('data', 'echo $ATTEMPT > /shared/data', mount='work')
    server = make.group(
        'server',
        f'{read}sleep 0.4',
        pods=2,
        mount='work',
        dependsOn=[{'name': 'data', 'status': 'Complete'}],
    )
    client = make.group('client', f'{read}sleep 0.1', mount='work', dependsOn=[{'name': 'server', 'status': 'Ready'}])
    return {
        'volumeClaimPolicies': [policy],
        'replicatedJobs': [data, server, client],
        'failurePolicy': {'maxRestarts': OFTEN},
    }


def _patient(make: Maker) -> Object:
    """No restart is allowed, and no kill is one."""
    job = {'parallelism': 2, 'podFailurePolicy': {'rules': [_IGNORED]}}
    return {'replicatedJobs': [make.group('main', 'sleep 0.2', pods=4, job=job, replicas=2)]}


def _flaky(make: Maker) -> Object:
    """Two attempts that fail by themselves."""
    return {
        'replicatedJobs': [make.group('main', 'sleep 0.1; test $ATTEMPT -ge 2 || exit 3', pods=2)],
        'failurePolicy': {'maxRestarts': OFTEN},
    }


def _doomed(make: Maker) -> Object:
    """An exit code that ends all."""
    fatal = {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [7]}}
    rules = [{'name': 'fatal', 'action': 'FailJobSet', 'onJobFailureReasons': ['PodFailurePolicy']}]
    job = {'podFailurePolicy': {'rules': [fatal, _IGNORED]}}
    return {
        'replicatedJobs': [make.group('main', 'sleep 0.3; exit 7', job=job), make.group('other', 'sleep 60')],
        'failurePolicy': {'maxRestarts': OFTEN, 'rules': rules},
    }


def _in_place(make: Maker) -> Object:
    """Containers that are started again in their pods, which keep their folders."""
    command = 'test -e /shared/seen || { touch /shared/seen; exit 1; }; sleep 0.2'
    job = {'backoffLimit': OFTEN}
    group = make.group('main', command, pods=2, job=job, mount='work', empty=True, policy='OnFailure')
    return {'replicatedJobs': [group]}


KINDS: Final = (
    Kind(name='chain', spec=_chain, restarts=lambda count: count < OFTEN),
    Kind(name='patient', spec=_patient),
    Kind(name='flaky', spec=_flaky, restarts=lambda count: 2 <= count < OFTEN),
    Kind(
        name='doomed',
        spec=_doomed,
        end=('Failed', 'FailJobSetFailurePolicyAction'),
        restarts=lambda count: count < OFTEN,
    ),
    Kind(name='in-place', spec=_in_place, again=True),
)


@dataclass
class Work:
    """JobSets, one after the other in each place, until it is enough."""

    server: Server
    diary: Diary
    maker: Maker
    enough: bool = False
    ended: Counter[str] = field(default_factory=Counter)
    restarts: int = 0

    async def run(self) -> None:
        """All kinds at once; returns when the last JobSet of each has ended as it must."""
        async with asyncio.TaskGroup() as group:
            for kind in KINDS:
                group.create_task(self._place(kind))

    async def _place(self, kind: Kind) -> None:
        turn = 0
        while turn == 0 or not self.enough:
            await self._one(kind, f'{kind.name}-{turn}')
            turn += 1

    async def _one(self, kind: Kind, name: str) -> None:
        uid = await self._create(kind, name)
        await self.diary.until(lambda: self._terminal(name), what=f'the end of {name}')
        found = self.diary.get('jobsets', name)
        assert found is not None
        assert found['metadata']['uid'] == uid, f'{name} is another one'
        self._judge(kind, found)
        await self._delete(name)

    async def _create(self, kind: Kind, name: str) -> str:
        body = {
            'apiVersion': keys.API_VERSION,
            'kind': keys.KIND,
            'metadata': {'name': name},
            'spec': kind.spec(self.maker),
        }
        while True:
            try:
                made = await self.server.once('POST', self.server.path('jobsets'), body)
            except UnansweredError:
                found = await self.server.find('jobsets', name)
                if found is not None:
                    return str(found['metadata']['uid'])
                await asyncio.sleep(PAUSE)
            else:
                self.diary.note(made)
                return str(made['metadata']['uid'])

    def _terminal(self, name: str) -> bool:
        found = self.diary.get('jobsets', name)
        return found is not None and bool(found.get('status', {}).get('terminalState'))

    def _judge(self, kind: Kind, found: Object) -> None:
        name, status = found['metadata']['name'], found['status']
        ends = [
            (each['type'], each['reason'])
            for each in status['conditions']
            if each['type'] in ('Completed', 'Failed') and each['status'] == 'True'
        ]
        assert ends == [kind.end], f'{name}: {status}'
        assert kind.restarts(status.get('restarts', 0)), f'{name}: {status}'
        self.ended[kind.name] += 1
        self.restarts += status.get('restarts', 0)

    async def _delete(self, name: str) -> None:
        """With all that belongs to it."""
        wish = {'propagationPolicy': 'Foreground'}
        with contextlib.suppress(RefusedError):
            await self.server.ask('DELETE', self.server.path('jobsets', name), wish)
        await self.diary.until(lambda: not self.left(name), what=f'{name} to go: {self.left(name)}')

    def left(self, name: str) -> list[tuple[str, str]]:
        """What there is of a JobSet."""
        return [
            (plural, each)
            for (plural, each), obj in self.diary.objects.items()
            if each == name or _labels(obj).get(keys.JOBSET_NAME) == name or each.endswith(f'-{name}')
        ]


def _labels(obj: Object) -> Mapping[str, str]:
    return obj['metadata'].get('labels') or {}
