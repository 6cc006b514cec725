"""The start barrier of JobSets that are not restarted in place: nothing but agents, and pods that they may read."""

from collections.abc import Sequence

import pytest

from jobset.agent import barrier, groups, settings
from tests.agent.pods import JOBSET, Agent, Pods, jobset, pod
from tests.agent.server import Json, Server

VARIABLE = {'initContainers': [{'name': 'agent', 'env': [{'name': 'JOBSET_START_BARRIER', 'value': '1'}]}]}


def replicated(
    name: str, *, replicas: int = 1, takes_part: bool = True, depends_on: Sequence[Json] = (), **job: int
) -> Json:
    template = {'spec': VARIABLE if takes_part else {'containers': [{'name': 'main'}]}}
    one = {'name': name, 'replicas': replicas, 'template': {'spec': {'template': template, **job}}}
    return one | ({'dependsOn': list(depends_on)} if depends_on else {})


def member(name: str, job: int, index: int, *, attempt: int = 0) -> Json:
    one = pod(jobset_uid='uid-of-set', replicatedjob_name=name, job_index=str(job), restart_attempt=str(attempt))
    one['metadata']['labels'][groups.POD_INDEX] = str(index)
    return one


READY_1 = [{'name': 'a', 'status': 'Ready'}]


@pytest.mark.parametrize(
    ('own', 'jobs', 'spec', 'wanted', 'leader'),
    [
        pytest.param('a', [replicated('a', replicas=2, parallelism=3)], {}, {'a': 6}, 'a', id='all pods of all Jobs'),
        pytest.param('a', [replicated('a')], {}, {'a': 1}, 'a', id='by default one'),
        pytest.param(
            'b', [replicated('a'), replicated('b', parallelism=2)], {}, {'a': 1, 'b': 2}, 'a', id='all replicated jobs'
        ),
        pytest.param(
            'b',
            [replicated('a', takes_part=False), replicated('b')],
            {},
            {'b': 1},
            'b',
            id='but for those without an agent',
        ),
        pytest.param(
            'b',
            [replicated('a'), replicated('b', depends_on=READY_1), replicated('c', depends_on=READY_1)],
            {},
            {'b': 1, 'c': 1},
            'b',
            id='those that wait for the same',
        ),
        pytest.param('a', [replicated('a'), replicated('b', depends_on=READY_1)], {}, {'a': 1}, 'a', id='the others'),
        pytest.param(
            'a',
            [replicated('a'), replicated('b')],
            {'startupPolicy': {'startupPolicyOrder': 'InOrder'}},
            {'a': 1},
            'a',
            id='one after the other',
        ),
        pytest.param(
            'a',
            [replicated('a', parallelism=2, completions=5)],
            {},
            {'a': 2},
            'a',
            id='no more than may be there at once',
        ),
        pytest.param(
            'a', [replicated('a', parallelism=5, completions=2)], {}, {'a': 2}, 'a', id='no more than there will be'
        ),
        pytest.param('b', [replicated('a', replicas=0), replicated('b')], {}, {'b': 1}, 'b', id='none of a'),
        pytest.param(
            'a',
            [
                {'name': 'a', 'template': {'spec': {'completionMode': 'NonIndexed', 'template': {'spec': VARIABLE}}}},
                replicated('b'),
            ],
            {},
            {'a': 1, 'b': 1},
            'b',
            id='who has no number cannot count',
        ),
    ],
)
def test_group(own: str, jobs: list[Json], spec: Json, wanted: dict[str, int], leader: str) -> None:
    group = groups.Group({'replicatedJobs': jobs, **spec}, own)

    assert (group.wanted, group.leader) == (wanted, leader)


@pytest.mark.parametrize(
    ('own', 'mode', 'message'),
    [
        ('a', 'NonIndexed', 'JOBSET_START_BARRIER: none of a has completionMode Indexed'),
        ('b', 'Indexed', 'JOBSET_START_BARRIER: the JobSet has no pods in a replicated job "b"'),
    ],
)
def test_no_group(own: str, mode: str, message: str) -> None:
    job = {'name': 'a', 'template': {'spec': {'completionMode': mode, 'template': {'spec': VARIABLE}}}}

    with pytest.raises(settings.Misused) as caught:
        groups.Group({'replicatedJobs': [job]}, own)

    assert str(caught.value) == message


def test_a_group_is_complete_when_each_job_is() -> None:
    group = groups.Group({'replicatedJobs': [replicated('a', parallelism=2), replicated('b')]}, 'a')

    assert not group.is_complete({('a', '0', '0'), ('a', '0', '1'), ('a', '0', '2')})
    assert group.is_complete({('a', '0', '0'), ('a', '0', '1'), ('b', '0', '0')})


SET = [replicated('a', replicas=2, parallelism=2)]
MEMBERS = {f'pod-{job}-{index}': member('a', job, index) for job in range(2) for index in range(2)}


@pytest.fixture
def stored(plane: Server) -> None:
    one = jobset(strategy='Recreate', replicatedJobs=SET)
    one['metadata']['uid'] = 'uid-of-set'
    plane.put('jobsets', JOBSET, one)


def start(plane: Server, agents: Pods, name: str, **changes: Json) -> Agent:
    plane.put('pods', name, MEMBERS[name] | changes)
    return agents.start(name, environment={'JOBSET_START_BARRIER': '1'})


def mark(plane: Server, name: str) -> str | None:
    return plane.annotation(name, barrier.BARRIER)


def is_held(agent: Agent) -> bool:
    try:
        agent.probe(seconds=0.2)
    except TimeoutError:
        return True
    return False


@pytest.mark.usefixtures('stored')
@pytest.mark.parametrize('last', list(MEMBERS))
def test_all_start_when_the_last_one_is_there(plane: Server, agents: Pods, last: str) -> None:
    others = {name: start(plane, agents, name) for name in MEMBERS if name != last}
    plane.until(lambda: all(mark(plane, name) == 'here' for name in others), 'three of four')
    assert all(is_held(agent) for agent in others.values())

    late = start(plane, agents, last)

    for agent in (*others.values(), late):
        agent.until_line('all pods are there: the barrier is down')
        assert agent.probe() == 200
    assert {name: mark(plane, name) for name in MEMBERS} == {
        'pod-0-0': 'open',
        'pod-0-1': 'here',
        'pod-1-0': 'here',
        'pod-1-1': 'here',
    }


@pytest.mark.usefixtures('stored')
def test_each_follower_watches_one_pod_only(plane: Server, agents: Pods) -> None:
    started = [start(plane, agents, name) for name in MEMBERS]
    for agent in started:
        agent.until_line('barrier is down')

    watches = [one.query for one in plane.watches() if one.path.endswith('/pods')]
    whole = (
        f'jobset.sigs.k8s.io/jobset-name={JOBSET},jobset.sigs.k8s.io/jobset-uid=uid-of-set,'
        'jobset.sigs.k8s.io/restart-attempt=0'
    )
    leader = (
        f'{whole},jobset.sigs.k8s.io/replicatedjob-name=a,jobset.sigs.k8s.io/job-index=0,'
        'batch.kubernetes.io/job-completion-index=0'
    )
    assert {watch['labelSelector'] for watch in watches} <= {whole, leader}
    assert {watch['fieldSelector'] for watch in watches} <= {'status.phase!=Failed'}
    assert [one.body['metadata']['annotations'] for one in plane.asked if one.method == 'PATCH'].count(
        {barrier.BARRIER: 'open'}
    ) == 1


@pytest.mark.usefixtures('stored')
@pytest.mark.parametrize(
    'changes',
    [
        pytest.param({'status': {'phase': 'Failed'}}, id='failed'),
        pytest.param({'metadata': {'deletionTimestamp': '2026-01-01T00:00:00Z'}}, id='on its way out'),
        pytest.param({'metadata': member('a', 1, 1, attempt=1)['metadata']}, id='of another attempt'),
    ],
)
def test_who_does_not_count(plane: Server, agents: Pods, changes: Json) -> None:
    others = {name: start(plane, agents, name) for name in list(MEMBERS)[:3]}
    lost = member('a', 1, 1)
    changed = lost | {key: lost.get(key, {}) | value for key, value in changes.items()}
    changed['metadata']['annotations'] = {barrier.BARRIER: 'here'}
    plane.put('pods', 'pod-lost', changed)
    plane.until(lambda: all(mark(plane, name) == 'here' for name in others), 'three of four')
    assert all(is_held(agent) for agent in others.values())

    start(plane, agents, 'pod-1-1')

    for agent in others.values():
        agent.until_line('all pods are there: the barrier is down')


@pytest.mark.usefixtures('stored')
def test_a_pod_that_is_replaced_later_starts_at_once(plane: Server, agents: Pods) -> None:
    for agent in [start(plane, agents, name) for name in MEMBERS]:
        agent.until_line('barrier is down')

    for name in ('pod-1-1', 'pod-0-0'):
        plane.delete('pods', name)
        start(plane, agents, name).until_line('all pods are there: the barrier is down')


@pytest.mark.usefixtures('stored')
def test_the_first_pod_is_replaced_while_others_wait(plane: Server, agents: Pods) -> None:
    others = {name: start(plane, agents, name) for name in list(MEMBERS)[:3]}
    plane.until(lambda: all(mark(plane, name) == 'here' for name in others), 'three of four')
    plane.delete('pods', 'pod-0-0')
    others['pod-0-0'].process.kill()
    assert others['pod-0-0'].ended() == -9

    late = [start(plane, agents, name) for name in ('pod-1-1', 'pod-0-0')]

    for agent in (others['pod-0-1'], others['pod-1-0'], *late):
        agent.until_line('all pods are there: the barrier is down')


def test_a_set_that_becomes_smaller_waits_for_fewer(plane: Server, agents: Pods) -> None:
    one = jobset(strategy='Recreate', replicatedJobs=[replicated('a', parallelism=3)])
    one['metadata']['uid'] = 'uid-of-set'
    plane.put('jobsets', JOBSET, one)
    waiting = [start(plane, agents, 'pod-0-1')]
    plane.until(lambda: mark(plane, 'pod-0-1') == 'here', 'one of three')
    waiting.append(start(plane, agents, 'pod-0-0'))
    # The one that counts has counted when it watches what follows.
    plane.until(
        lambda: any('job-index' not in one.query.get('labelSelector', 'job-index') for one in plane.watches()), 'two'
    )

    plane.put('jobsets', JOBSET, one | {'spec': one['spec'] | {'replicatedJobs': [replicated('a', parallelism=2)]}})

    for agent in waiting:
        agent.until_line('all pods are there: the barrier is down')


def test_in_place_needs_no_other_barrier(plane: Server, agents: Pods) -> None:
    one = jobset(replicatedJobs=SET)
    one['metadata']['uid'] = 'uid-of-set'
    plane.put('jobsets', JOBSET, one)
    agent = start(plane, agents, 'pod-0-0')
    plane.until(lambda: plane.annotation('pod-0-0') == '0', 'an announcement')

    plane.status(JOBSET, currentInPlaceRestartAttempt=0)

    agent.until_line('attempt 0 runs')
    assert mark(plane, 'pod-0-0') is None


def test_without_the_variable_nobody_waits(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, jobset(strategy='Recreate', replicatedJobs=SET))
    plane.put('pods', 'pod-0-0', MEMBERS['pod-0-0'])

    agents.start('pod-0-0').until_line('the barrier is down')


def test_what_cannot_be_counted_ends_the_agent(plane: Server, agents: Pods) -> None:
    job = {'name': 'a', 'template': {'spec': {'completionMode': 'NonIndexed', 'template': {'spec': VARIABLE}}}}
    plane.put('jobsets', JOBSET, jobset(strategy='Recreate', replicatedJobs=[job]))

    agent = start(plane, agents, 'pod-0-0')

    assert agent.ended() == 1
    assert agent.lines[-1].endswith('none of a has completionMode Indexed; exit code 1')
