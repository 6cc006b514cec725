"""Gangs under any order of events and any crash: pods find their group, and no gang waits for pods that cannot come.

A small cluster on paper: passes whose writes may stop after any of them, a Job controller, and a scheduler that tries a
group only while as many of its pods exist as ``minCount`` says.
"""

import dataclasses
import itertools
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.api import extras, features, jobs, keys, types
from jobset.core import jobs as building
from jobset.core import plan, reconcile
from jobset.core.groups import observed
from tests.core import build

GATES = features.FeatureGates()
ROUNDS = 400
"""In so many rounds everything has come to rest, or something waits for ever."""

LAYOUTS: dict[str, Any] = {
    'one': {'parts': [('a', 2, 2, '')]},
    'two': {'parts': [('a', 1, 2, ''), ('b', 2, 1, '')]},
    'ready': {'parts': [('a', 1, 2, ''), ('b', 2, 2, 'a:Ready'), ('c', 1, 1, 'a:Ready')]},
    'complete': {'parts': [('a', 1, 1, ''), ('b', 1, 3, 'a:Complete')]},
    'order': {'parts': [('a', 1, 2, ''), ('b', 1, 2, '')], 'startupPolicy': {'startupPolicyOrder': 'InOrder'}},
}
ACTIONS = (
    'pass',
    'pass',
    'pass',
    'jobs',
    'jobs',
    'scheduler',
    'succeed',
    'lose',
    'fail',
    'suspend',
    'resume',
    'collect',
)


class CrashError(Exception):
    """The controller ended in the middle of a pass."""


@dataclasses.dataclass
class Pod:
    group: str
    job: str
    bound: bool = False
    ended: bool = False


class Cluster:
    def __init__(self, layout: Any, shape: str) -> None:
        parts = []
        for name, replicas, pods, needs in layout['parts']:
            target, _, status = needs.partition(':')
            more = {'dependsOn': [build.needs(target, status)]} if needs else {}
            parts.append(build.part(name, replicas, template={'spec': build.pods(parallelism=pods)}, **more))
        rest = {key: value for key, value in layout.items() if key != 'parts'}
        self.jobset = build.jobset(
            *parts,
            metadata={'annotations': {extras.GANG.key: shape}},
            failurePolicy={'maxRestarts': 100},
            **rest,
        )
        self.jobs: dict[str, Any] = {}
        self.pods: list[Pod] = []
        self.groups: dict[str, dict[str, Any]] = {'Workload': {}, 'PodGroup': {}}
        self.uids = itertools.count()
        self.left = -1

    # The controller.

    def seen(self) -> observed.Seen:
        models: dict[str, Any] = {'Workload': observed.Workload, 'PodGroup': observed.PodGroup}
        found = {
            kind: {name: msgspec.convert(one, type=models[kind]) for name, one in there.items()}
            for kind, there in self.groups.items()
        }
        tallies: dict[str, observed.PodTally] = {}
        for pod in self.pods:
            if not pod.ended:
                tally = tallies.setdefault(pod.group, observed.PodTally())
                tally.exist += 1
                tally.bound += pod.bound
        return observed.Seen(
            state=observed.State.READY, workloads=found['Workload'], pod_groups=found['PodGroup'], pods=tallies
        )

    def pass_(self, crash_after: int = -1) -> bool:
        """One pass, which ends after so many writes; whether it had anything to do."""
        family = build.relatives(*(msgspec.convert(one, type=jobs.Job) for one in self.jobs.values()))
        facts = reconcile.Facts(
            jobset=self.jobset, family=family, gates=GATES, groups=self.seen(), service=build.service()
        )
        wanted = reconcile.reconcile(facts, build.at(5))
        self.left = crash_after
        try:
            self.carry_out(wanted)
        except CrashError:
            return True
        return not wanted.is_empty

    def write(self) -> None:
        if self.left == 0:
            raise CrashError
        self.left -= 1

    def carry_out(self, wanted: plan.Plan) -> None:
        """As the executor does: in its order."""
        for job in wanted.delete:
            self.write()
            self.jobs[job.name]['metadata']['deletionTimestamp'] = build.stamp(5)
        for resize in wanted.groups.resize:
            self.write()
            spec = self.groups[resize.group.kind][resize.group.name]['spec']
            target = spec if resize.template is None else spec['podGroupTemplates'][resize.template]
            target['schedulingPolicy'] = {'gang': {'minCount': resize.min_count}}
            self.check_size(resize.group.kind, resize.group.name)
        for group in wanted.groups.create:
            self.write()
            assert group.name not in self.groups[group.kind]
            self.groups[group.kind][group.name] = build.copy(group.body)
            self.groups[group.kind][group.name]['metadata']['uid'] = f'uid-{next(self.uids)}'
            self.check_size(group.kind, group.name)
        factory = building.Factory(self.jobset, grouped=wanted.grouped)
        for child in wanted.create:
            self.write()
            assert child.name not in self.jobs
            body = build.copy(factory.build(child))
            body['metadata']['uid'] = f'uid-{next(self.uids)}'
            self.jobs[child.name] = body | {'status': {}}
        for job in wanted.suspend:
            self.write()
            self.jobs[job.name]['spec']['suspend'] = True
        for one in wanted.resume:
            self.write()
            self.jobs[one.job.name]['spec']['suspend'] = False
        for ref in wanted.groups.delete:
            self.write()
            self.groups[ref.kind][ref.name]['metadata']['deletionTimestamp'] = build.stamp(5)
        if wanted.status is not None:
            self.write()
            self.jobset = msgspec.structs.replace(self.jobset, status=wanted.status)

    def check_size(self, kind: str, name: str) -> None:
        """A gang never waits for more pods than may exist, by a count of our own."""
        if kind == 'Workload':
            return
        spec = self.groups[kind][name]['spec']
        possible = sum(_pods_left(job) for job in self.jobs.values() if self.group_of(job) == name and _lives(job))
        for replicated in self.jobset.spec.replicated_jobs:
            for index in range(replicated.count):
                job = self.jobs.get(f'js-{replicated.name}-{index}')
                current = job is not None and self.attempt_of(job) >= self.jobset.status.restarts
                if not current and self.is_member(name, replicated, index) and self.may_start(replicated):
                    possible += replicated.job.spec.parallelism or 0
        assert spec['schedulingPolicy']['gang']['minCount'] <= possible

    def is_member(self, name: str, replicated: types.ReplicatedJob, index: int) -> bool:
        (shape,) = (self.jobset.metadata.annotations[extras.GANG.key],)
        attempt = self.jobset.status.restarts
        match shape:
            case 'set':
                return name == f'js-set-{attempt}'
            case 'replicatedJob':
                return name == f'js-{replicated.name}-{attempt}'
            case 'job':
                return name == f'js-{replicated.name}-{index}-{attempt}'
        number = {job.name: at for at, jobs_ in enumerate(self.stages()) for job in jobs_}[replicated.name]
        return name == f'js-stage-{number}-{attempt}'

    def stages(self) -> list[list[types.ReplicatedJob]]:
        if self.jobset.spec.startup_policy is not None:
            return [[job] for job in self.jobset.spec.replicated_jobs]
        found: dict[Any, list[types.ReplicatedJob]] = {}
        for job in self.jobset.spec.replicated_jobs:
            found.setdefault(job.depends_on, []).append(job)
        return list(found.values())

    def may_start(self, replicated: types.ReplicatedJob) -> bool:
        def counts(name: str) -> list[Any]:
            found = [job for job in self.jobs.values() if job['metadata']['labels'][keys.REPLICATED_JOB_NAME] == name]
            return [job for job in found if self.attempt_of(job) >= self.jobset.status.restarts]

        def reached(name: str, status: str) -> bool:
            target = next(job for job in self.jobset.spec.replicated_jobs if job.name == name)
            done = [job for job in counts(name) if _ended(job) or (status == 'Ready' and _is_ready(job))]
            return len(done) == target.count

        if self.jobset.spec.startup_policy is not None:
            names = [job.name for job in self.jobset.spec.replicated_jobs]
            return all(reached(name, 'Ready') for name in names[: names.index(replicated.name)])
        return all(reached(one.name, one.status) for one in replicated.depends_on or ())

    # The rest of the cluster.

    def group_of(self, job: Any) -> str:
        return str(job['metadata']['labels'][keys.POD_GROUP])

    def attempt_of(self, job: Any) -> int:
        return int(job['metadata']['labels'][keys.RESTART_ATTEMPT])

    def of(self, job: Any) -> list[Pod]:
        return [pod for pod in self.pods if pod.job == job['metadata']['uid']]

    def sync_jobs(self) -> bool:
        """The Job controller, for all Jobs."""
        before = msgspec.json.encode(self.jobs), len(self.pods)
        for name, job in list(self.jobs.items()):
            if 'deletionTimestamp' in job['metadata']:
                self.pods = [pod for pod in self.pods if pod.job != job['metadata']['uid']]
                del self.jobs[name]
                continue
            job['status']['succeeded'] = sum(pod.ended for pod in self.of(job))
            if _ended(job):
                self.pods = [pod for pod in self.pods if pod.ended or pod.job != job['metadata']['uid']]
                continue
            live = [pod for pod in self.of(job) if not pod.ended]
            if job['spec']['suspend']:
                self.pods = [pod for pod in self.pods if pod not in live]
                live = []
            else:
                for _ in range(_pods_left(job) - len(live)):
                    # The point of it all: the group is there before its first pod.
                    assert self.group_of(job) in self.groups['PodGroup']
                    live.append(Pod(self.group_of(job), job['metadata']['uid']))
                    self.pods.append(live[-1])
            status = job['status']
            status['active'], status['ready'] = len(live), sum(pod.bound for pod in live)
            if status['succeeded'] == job['spec']['completions']:
                status['conditions'] = [build.completed()]
        return before != (msgspec.json.encode(self.jobs), len(self.pods))

    def schedule(self) -> bool:
        """The scheduler, with room for everything."""
        found = False
        for name, group in self.groups['PodGroup'].items():
            there = [pod for pod in self.pods if pod.group == name and not pod.ended]
            if len(there) >= group['spec']['schedulingPolicy']['gang']['minCount']:
                found = found or not all(pod.bound for pod in there)
                for pod in there:
                    pod.bound = True
        return found

    def collect(self) -> bool:
        """Groups that are being deleted, and whose pods have gone."""
        used = {pod.group for pod in self.pods if not pod.ended}
        found = False
        for there in self.groups.values():
            for name in [one for one in there if 'deletionTimestamp' in there[one]['metadata'] and one not in used]:
                del there[name]
                found = True
        return found

    def act(self, action: str, number: int) -> None:
        bound = [pod for pod in self.pods if pod.bound and not pod.ended]
        live = [job for job in self.jobs.values() if _lives(job)]
        match action:
            case 'pass':
                self.pass_(crash_after=number % 12 - 1)
            case 'jobs':
                self.sync_jobs()
            case 'scheduler':
                self.schedule()
            case 'collect':
                self.collect()
            case 'succeed' if bound:
                bound[number % len(bound)].ended = True
            case 'lose' if bound:
                self.pods.remove(bound[number % len(bound)])
            case 'fail' if live:
                live[number % len(live)]['status']['conditions'] = [build.failed()]
            case 'suspend' | 'resume':
                spec = msgspec.structs.replace(self.jobset.spec, suspend=action == 'suspend')
                self.jobset = msgspec.structs.replace(self.jobset, spec=spec)

    def come_to_rest(self) -> None:
        for _ in range(ROUNDS):
            worked = [self.pass_(), self.sync_jobs(), self.schedule(), self.collect()]
            if not any(worked):
                return
        raise AssertionError(f'no rest after {ROUNDS} rounds')


def _lives(job: Any) -> bool:
    return not _ended(job) and 'deletionTimestamp' not in job['metadata']


def _ended(job: Any) -> bool:
    return bool(job['status'].get('conditions'))


def _is_ready(job: Any) -> bool:
    status = job['status']
    return bool(status.get('ready', 0) + status.get('succeeded', 0) >= job['spec']['parallelism'])


def _pods_left(job: Any) -> int:
    return int(min(job['spec']['parallelism'], job['spec']['completions'] - job['status'].get('succeeded', 0)))


@settings(max_examples=120, deadline=None)
@given(
    layout=st.sampled_from(sorted(LAYOUTS)),
    shape=st.sampled_from(['set', 'replicatedJob', 'job', 'stage']),
    is_running=st.booleans(),
    script=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1000)), max_size=60),
)
def test_F7_no_pod_is_without_its_group_and_no_gang_waits_for_ever(
    layout: str, shape: str, is_running: bool, script: list[tuple[str, int]]
) -> None:
    cluster = Cluster(LAYOUTS[layout], shape)
    if is_running:
        cluster.come_to_rest()
    for action, number in script:
        cluster.act(action, number)
    cluster.act('resume', 0)
    cluster.come_to_rest()

    assert [pod for pod in cluster.pods if not (pod.bound or pod.ended)] == []
    for _ in range(ROUNDS):
        for pod in cluster.pods:
            pod.ended = pod.ended or pod.bound
        cluster.come_to_rest()
        if cluster.jobset.status.terminal_state:
            break
    assert cluster.jobset.status.terminal_state in ('Completed', 'Failed')
    assert cluster.groups == {'Workload': {}, 'PodGroup': {}}
