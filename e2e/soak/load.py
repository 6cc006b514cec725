"""Twenty JobSets at a time, one after the other in each place: driven to their ends, and judged there."""

import asyncio
import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from e2e.soak import kinds, roles
from e2e.soak.kinds import Kind
from e2e.soak.server import Object, RefusedError, Server, Story
from jobset.api import keys

PLACES: Final = 20
"""JobSets that run at the same time."""

END_SECONDS: Final = 300
"""How long a JobSet may take, kills and all."""

CALM_SECONDS: Final = 0.4
"""How long the Job controller that we play may take for one thing, at most."""


@dataclass
class Account:
    """What the load has seen in all."""

    ended: Counter[str] = field(default_factory=Counter)
    """JobSets by kind."""

    jobs: int = 0
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name of the JobSet and reason of its end, by uid."""

    def __str__(self) -> str:
        return f'{self.ended.total()} JobSets with {self.jobs} Jobs'


class Load:
    """Keeps the places busy until it is told that it is enough."""

    def __init__(self, server: Server, story: Story, *, seed: str) -> None:
        self.account = Account()
        self.enough = False
        self._server = server
        self._story = story
        self._seed = seed

    async def run(self, places: int = PLACES) -> None:
        """All places at once; returns when the last JobSet of each has ended as it must."""
        bystanders = await self._bystanders()
        async with asyncio.TaskGroup() as group:
            for place in range(places):
                group.create_task(self._place(place))
        assert await self._seen(bystanders) == bystanders

    async def untold(self) -> list[str]:
        """The JobSets of whose end no Event tells; to be asked when all Events have been sent.

        That one is missing is what a kill costs that comes between the status and its Event. None is sent twice.
        """
        told = Counter((each['regarding'].get('uid'), each['reason']) for each in await self._server.all('events'))
        times = {name: told[uid, reason] for uid, (name, reason) in self.account.ends.items()}
        assert {name: count for name, count in times.items() if count > 1} == {}
        return [name for name, count in times.items() if count == 0]

    async def _place(self, place: int) -> None:
        chance = random.Random(f'{self._seed}/{place}')
        kind = kinds.KINDS[place % len(kinds.KINDS)]
        turn = 0
        while turn == 0 or not self.enough:
            one = One(self._server, self._story, kind, f'{kind.name}-{place}-{turn}', chance)
            await one.run(self.account)
            turn += 1

    async def _bystanders(self) -> list[Object]:
        """Objects that look like ours and are not."""
        marks = {keys.JOBSET_NAME: 'chain-0-0', keys.REPLICATED_JOB_NAME: 'data', keys.RESTART_ATTEMPT: '0'}
        meta = {'name': 'bystander', 'labels': marks}
        pod = {'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'c', 'image': 'localhost/nothing'}]}}
        await self._server.create('jobs', {'metadata': meta, 'spec': {'template': pod}})
        await self._server.create('services', {'metadata': meta, 'spec': {'clusterIP': 'None'}})
        return await self._seen([{'kind': 'jobs'}, {'kind': 'services'}])

    async def _seen(self, bystanders: list[Object]) -> list[Object]:
        return [
            {'kind': each['kind'], 'now': await self._server.find(each['kind'], 'bystander')} for each in bystanders
        ]


class One:
    """One JobSet from its creation to its end."""

    def __init__(self, server: Server, story: Story, kind: Kind, name: str, chance: random.Random) -> None:
        self._server = server
        self._story = story
        self._kind = kind
        self._name = name
        self._chance = chance
        self._pauses = kind.pauses
        self._uid = ''

    async def run(self, account: Account) -> None:
        """Raises AssertionError when the JobSet does not end as it must."""
        made = await self._server.create('jobsets', self._kind.manifest(self._name))
        self._uid = made['metadata']['uid']
        async with asyncio.timeout(END_SECONDS):
            while not self._has_ended():
                await self._story.until(lambda: self._has_ended() or bool(self._wishes()), what=self._name)
                await self._fulfil()
        await self._judge(account)
        await self._server.delete('jobsets', self._name)

    async def _fulfil(self) -> None:
        for act in self._wishes():
            await asyncio.sleep(self._chance.uniform(0, CALM_SECONDS))
            try:
                await act()
            except RefusedError as error:
                # Somebody was faster: the next look says what is to be done now.
                if error.code not in {404, 409}:
                    raise

    @property
    def _jobset(self) -> Object:
        return self._story.objects.get(('jobsets', self._name), {'spec': {}})

    def _has_ended(self) -> bool:
        return bool(self._jobset.get('status', {}).get('terminalState'))

    def _condition(self, kind: str) -> str:
        conditions = self._jobset.get('status', {}).get('conditions', [])
        return next((str(each['status']) for each in conditions if each['type'] == kind), '')

    def _wishes(self) -> list[Callable[[], Any]]:
        """What the Job controller, or the user, would do now."""
        return [*self._user(), *self._job_controller()]

    def _user(self) -> Iterator[Callable[[], Any]]:
        if self._kind.pauses == 0 or 'suspend' not in self._jobset['spec']:
            return
        jobs, told = self._current(), self._condition('Suspended')
        if self._jobset['spec']['suspend']:
            if self._whole(jobs) and all(map(roles.rests, jobs)) and told == 'True':
                yield self._resume
        elif self._pauses and self._whole(jobs) and all(map(roles.runs, jobs)) and told == 'False':
            yield lambda: self._suspend(suspended=True)

    async def _resume(self) -> None:
        await self._suspend(suspended=False)
        self._pauses -= 1

    async def _suspend(self, *, suspended: bool) -> None:
        """Returns when it is seen, so that nobody wishes it again."""
        await self._server.patch('jobsets', self._name, {'spec': {'suspend': suspended}})
        await self._story.until(lambda: self._jobset['spec']['suspend'] == suspended, what=f'{self._name} to be seen')

    def _job_controller(self) -> Iterator[Callable[[], Any]]:
        for job in self._story.jobs(self._uid):
            status = self._next(job)
            if status is not None:
                yield functools.partial(self._write, job, status)

    def _next(self, job: Object) -> Object | None:
        """The status that a Job has next, if it changes."""
        if roles.ended(job) or 'deletionTimestamp' in job['metadata']:
            return None
        if job['spec'].get('suspend'):
            return None if roles.rests(job) else roles.suspended(job)
        if not roles.runs(job):
            return roles.running(job)
        if attempt(job) != self._jobset.get('status', {}).get('restarts', 0):
            return None
        short = job['metadata']['name'].removeprefix(self._name + '-')
        fate = self._kind.fate(attempt(job), short)
        if fate == kinds.STAY or not self._may_end(short):
            return None
        return roles.complete(job) if fate == kinds.COMPLETE else roles.failed(job, 'PodFailurePolicy', kinds.MESSAGE)

    def _may_end(self, short: str) -> bool:
        if self._kind.startup and short.startswith(list(self._kind.parts)[-1]):
            return self._condition('StartupPolicyCompleted') == 'True'
        if self._kind.stages:
            return True
        if self._pauses or (self._kind.pauses and self._condition('Suspended') != 'False'):
            return False
        jobs = self._current()
        return self._whole(jobs) and all(roles.runs(job) or roles.ended(job) for job in jobs)

    def _current(self) -> list[Object]:
        now = self._jobset.get('status', {}).get('restarts', 0)
        return [job for job in self._story.jobs(self._uid) if attempt(job) == now]

    def _whole(self, jobs: list[Object]) -> bool:
        return {job['metadata']['name'] for job in jobs} == set(self._kind.jobs(self._name))

    async def _write(self, job: Object, status: Object) -> None:
        metadata = {key: job['metadata'][key] for key in ('uid', 'resourceVersion')}
        change = {'metadata': metadata, 'status': status}
        await self._server.patch('jobs', job['metadata']['name'], change, 'status')

    async def _judge(self, account: Account) -> None:
        """At the end, and when what was left running is gone."""
        wanted = {each['name']: each for each in self._kind.counters()}
        await self._story.until(
            lambda: all(roles.ended(job) for job in self._story.jobs(self._uid)) and self._counters() == wanted,
            what=f'{self._name}: nothing left running, and counters {wanted}',
        )
        self._judge_status()
        self._judge_births()
        await self._judge_claims()
        account.ended[self._kind.name] += 1
        account.jobs += len(self._story.births[self._uid])
        account.ends[self._uid] = (self._name, kinds.ENDED[self._kind.end][1])

    def _counters(self) -> dict[str, Object]:
        return {each['name']: each for each in self._jobset.get('status', {}).get('replicatedJobsStatus', [])}

    def _judge_status(self) -> None:
        status, kind = self._jobset['status'], self._kind
        type_, reason, message = kinds.ENDED[kind.end]
        restarts = len(kind.attempts) - 1
        conditions = {type_: ('True', reason)}
        if restarts:
            conditions['RestartingJobSet'] = ('False', f'JobSet{type_}')
        if kind.pauses:
            conditions['Suspended'] = ('False', 'ResumeJobs')
        if kind.startup:
            conditions['StartupPolicyCompleted'] = ('True', kind.startup)
        assert status['terminalState'] == type_, self._name
        seen = {each['type']: (each['status'], each['reason']) for each in status['conditions']}
        # Kills may come between all stages and what would have told of them; then it is never told that they began.
        progress = seen.pop('StartupPolicyInProgress', ('False', ''))
        assert progress[0] == 'False', self._name
        # Whether anything is waited for so long that it is told depends on the weather.
        assert seen.pop('Waiting', ('False', 'NothingToWaitFor')) == ('False', 'NothingToWaitFor'), self._name
        assert seen == conditions, self._name
        messages = {each['type']: each['message'] for each in status['conditions']}
        assert messages[type_] == message.format(first=kind.first(self._name)), self._name
        counted = status.get('restartsCountTowardsMax', 0)
        assert (status['restarts'], counted) == (restarts, kind.counted), self._name

    def _judge_births(self) -> None:
        """Each Job was made once in each attempt, and none was that nobody wanted."""
        births = self._story.births[self._uid].values()
        born = Counter((attempt(job), job['metadata']['name']) for job in births)
        wanted = {(number, job): 1 for number in range(len(self._kind.attempts)) for job in self._kind.jobs(self._name)}
        assert born == wanted, self._name

    async def _judge_claims(self) -> None:
        for claim in self._kind.claims:
            found = await self._server.find('persistentvolumeclaims', f'{claim}-{self._name}')
            assert found is not None, self._name
            owners = [each['uid'] for each in found['metadata'].get('ownerReferences', [])]
            assert owners == ([self._uid] if claim == 'gone' else []), self._name


def attempt(job: Object) -> int:
    """The attempt that a Job was made for."""
    return int(job['metadata']['labels'][keys.RESTART_ATTEMPT])
