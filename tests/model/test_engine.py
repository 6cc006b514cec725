"""The restart engine of our own, played on the clock of the simulation."""

import math
from typing import Any

import msgspec
import pytest

from jobset.api import keys, pods
from jobset.kube import errors
from tests.core import build
from tests.model import api, simulation
from tests.model.engine import add_pod, annotated, exited, preempted, told
from tests.model.scenarios import jobset

Object = dict[str, Any]
IGNORING: Object = {'rules': [{'name': 'r', 'action': 'RestartJobSetAndIgnoreMaxRestarts'}]}


def made(cluster: simulation.Simulation) -> list[tuple[float, str, int]]:
    return cluster.checks.made


async def test_scenario_5_done_stays_done(cluster: simulation.Simulation) -> None:
    """A succeeds and is taken away; it is counted for ever, and the set completes with B."""
    cluster.create('jobsets', annotated(jobset(build.part('a'), build.part('b')), done_stays_done='true'))
    await cluster.settle()
    cluster.finish('js-a-0')
    await cluster.settle()
    cluster.delete('jobs', 'js-a-0', foreground=True)
    await cluster.settle()
    cluster.restart()
    await cluster.advance(20)
    assert cluster.condition('Completed') is None

    cluster.finish('js-b-0')
    await cluster.settle()

    assert cluster.condition('Completed') == 'True'
    assert {entry['name']: entry['succeeded'] for entry in cluster.jobset()['status']['replicatedJobsStatus']} == {
        'a': 1,
        'b': 1,
    }
    assert sum(name == 'js-a-0' for _, name, _ in made(cluster)) == 1


async def test_without_the_annotation_a_job_that_is_gone_is_made_again(calm: simulation.Simulation) -> None:
    calm.create('jobsets', jobset(build.part('a'), build.part('b')))
    await calm.settle()
    calm.finish('js-a-0')
    await calm.settle()
    calm.checks.forget_success('js-a-0')
    calm.delete('jobs', 'js-a-0', foreground=True)
    await calm.settle()
    assert [name for _, name, _ in made(calm)] == ['js-a-0', 'js-b-0', 'js-a-0']


async def test_F4_the_time_to_live_of_a_job_is_carried_out_once_its_success_is_noted(
    cluster: simulation.Simulation,
) -> None:
    template = {'spec': {**build.pods(), 'ttlSecondsAfterFinished': 5}}
    sent = jobset(build.part('a', 3, template=template), build.part('b'))
    cluster.create('jobsets', annotated(sent, done_stays_done='true'))
    await cluster.settle()
    assert all('ttlSecondsAfterFinished' not in job['spec'] for job in cluster.server.view('jobs'))
    for name in ('js-a-0', 'js-a-2'):
        cluster.finish(name)
    await cluster.settle()
    await cluster.advance(6)

    assert [job['metadata']['name'] for job in cluster.server.view('jobs')] == ['js-a-1', 'js-b-0']
    assert told(cluster, 'JobsDone') == ('True', 'JobsSucceeded', 'attempt 0: a 0,2')


async def test_F4_what_is_done_is_run_again_in_the_next_attempt(cluster: simulation.Simulation) -> None:
    sent = jobset(build.part('a'), build.part('b'), failurePolicy={'maxRestarts': 1})
    cluster.create('jobsets', annotated(sent, done_stays_done='true'))
    await cluster.settle()
    cluster.finish('js-a-0')
    await cluster.settle()
    cluster.delete('jobs', 'js-a-0', foreground=True)
    await cluster.settle()

    cluster.fail('js-b-0')
    await cluster.settle()

    assert sorted({(name, attempt) for _, name, attempt in made(cluster)}) == [
        ('js-a-0', 0),
        ('js-a-0', 1),
        ('js-b-0', 0),
        ('js-b-0', 1),
    ]
    assert [entry['succeeded'] for entry in cluster.jobset()['status']['replicatedJobsStatus']] == [0, 0]


async def test_scenario_15_storm_brake(calm: simulation.Simulation) -> None:
    """Each attempt fails at once; the pauses double, up to the cap, and begin anew after a healthy time."""
    sent = annotated(jobset(build.part('w'), failurePolicy=IGNORING), restart_pause='base=1s, cap=1m, reset=5m')
    calm.create('jobsets', sent)
    await calm.settle()
    for _ in range(9):
        assert calm.fail('js-w-0')
        await calm.advance(0)
        await _until_made(calm)
    assert [when for when, _, _ in made(calm)] == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]

    await calm.advance(300)
    healthy = calm.time.seconds
    assert calm.fail('js-w-0')
    await _until_made(calm)
    assert made(calm)[-1] == (healthy + 1, 'js-w-0', 10)


async def _until_made(calm: simulation.Simulation) -> None:
    before = len(made(calm))
    for _ in range(100):
        await calm.advance(1)
        if len(made(calm)) > before:
            return
    raise AssertionError('no attempt begins')


async def test_F5_a_pause_survives_the_controller(calm: simulation.Simulation) -> None:
    calm.create('jobsets', annotated(jobset(build.part('w'), failurePolicy=IGNORING), restart_pause='base=40s'))
    await calm.settle()
    calm.fail('js-w-0')
    await calm.advance(20)

    calm.restart()
    await calm.advance(30)

    assert [(when, attempt) for when, _, attempt in made(calm)] == [(0, 0), (40, 1)]


async def test_scenario_2_suspend_is_free(cluster: simulation.Simulation) -> None:
    """Three suspensions, in one of which a pod exits with 143 before it is deleted: nothing is counted."""
    sent = jobset(build.part('w', 2), failurePolicy={'maxRestarts': 1})
    cluster.create('jobsets', annotated(sent, restart_on='PodLost', restart_budgets='any=0'))
    await cluster.settle()
    for round_ in range(3):
        cluster.suspend('js', to=True)
        if round_ == 1:
            cluster.edit('jobs', 'js-w-0', lambda job: job['status'].update(failed=1))
            cluster.fail('js-w-1')
        await cluster.settle()
        await cluster.advance(5)
        cluster.suspend('js', to=False)
        await cluster.settle()
        await cluster.advance(5)

    status = cluster.jobset()['status']
    assert (status['restarts'], status.get('restartsCountTowardsMax', 0)) == (0, 0)
    assert cluster.condition('Failed') is None
    assert [(entry['ready'], entry['suspended']) for entry in status['replicatedJobsStatus']] == [(2, 0)]


async def test_scenario_8_the_decision_does_not_wait_for_pods_that_ignore_their_end(
    calm: simulation.Simulation,
) -> None:
    """A Job that is going to fail is answered at once, and the sums of the counters hold at every moment."""
    sums: set[int] = set()

    def watch(change: api.Change) -> None:
        if change.name.plural == 'jobsets':
            status = msgspec.json.decode(change.raw).get('status', {})
            for entry in status.get('replicatedJobsStatus', []):
                sums.add(entry['active'] + entry['failed'] + entry['succeeded'] + entry['suspended'])

    sent = jobset(build.part('w', 3), failurePolicy={'maxRestarts': 1})
    calm.create('jobsets', annotated(sent, restart_on='FailureTarget'))
    await calm.advance(10)
    calm.server.watchers.append(watch)

    calm.edit('jobs', 'js-w-1', _going_to_fail)
    await calm.settle()

    assert calm.jobset()['status']['restarts'] == 1
    assert calm.time.seconds == 10
    assert sums <= {0, 1, 2, 3}
    assert sorted(name for when, name, attempt in made(calm) if attempt == 1) == ['js-w-0', 'js-w-1', 'js-w-2']


def _going_to_fail(job: Object) -> None:
    condition = {
        'type': 'FailureTarget',
        'status': 'True',
        'reason': 'BackoffLimitExceeded',
        'message': 'gave up',
        'lastTransitionTime': '2026-01-01T00:00:10Z',
    }
    job['status']['conditions'] = [condition]


async def test_by_default_a_job_that_is_going_to_fail_is_waited_for(calm: simulation.Simulation) -> None:
    calm.create('jobsets', jobset(build.part('w', 3), failurePolicy={'maxRestarts': 1}))
    await calm.settle()
    calm.edit('jobs', 'js-w-1', _going_to_fail)
    await calm.settle()
    assert calm.jobset()['status']['restarts'] == 0


async def test_a_lost_rank_restarts_the_set_every_time(cluster: simulation.Simulation) -> None:
    """However it is lost, and whatever news of it come: the Job has counted it."""
    sent = jobset(build.part('w', 2), failurePolicy=IGNORING)
    cluster.create('jobsets', annotated(sent, restart_on='PodLost'))
    await cluster.settle()

    for round_ in range(1, 21):
        cluster.edit('jobs', f'js-w-{round_ % 2}', lambda job: job['status'].update(failed=1))
        await cluster.settle()
        await cluster.advance(1)
        assert cluster.jobset()['status']['restarts'] == round_


@pytest.mark.parametrize(
    ('budgets', 'status', 'expected'),
    [
        pytest.param('disruption=free', preempted(), (None, 5, 0, 'disruption=5'), id='preemption is free'),
        pytest.param('application=2', exited(1), ('RestartBudgetExhausted', 2, 0, 'application=2'), id='used up'),
        pytest.param('disruption=free', exited(1), ('ReachedMaxRestarts', 1, 1, None), id='not named: maxRestarts'),
        pytest.param('w/any=3, any=0', exited(9), ('RestartBudgetExhausted', 3, 0, 'w/any=3'), id='by role'),
        pytest.param('exit-42=free, application=0', exited(42), (None, 5, 0, 'exit-42=5'), id='by exit code'),
    ],
)
async def test_F5_budgets(
    cluster: simulation.Simulation, budgets: str, status: Object, expected: tuple[str | None, int, int, str | None]
) -> None:
    sent = annotated(jobset(build.part('w'), failurePolicy={'maxRestarts': 1}), restart_budgets=budgets)
    cluster.create('jobsets', sent)
    await cluster.settle()
    for attempt in range(5):
        if cluster.condition('Failed') is None:
            add_pod(cluster, 'js-w-0', f'pod-{attempt}', **build.copy(status))
            cluster.fail('js-w-0')
            cluster.restart()
            await cluster.settle()

    found = cluster.jobset()['status']
    conditions = {c['type']: c for c in found['conditions']}
    reason, restarts, counted, charged = expected
    assert conditions.get('Failed', {}).get('reason') == reason
    assert (found['restarts'], found.get('restartsCountTowardsMax', 0)) == (restarts, counted)
    assert conditions.get('RestartsCharged', {}).get('message') == charged


async def test_a_budget_allows_restarts_to_a_set_without_a_failure_policy(calm: simulation.Simulation) -> None:
    calm.create('jobsets', annotated(jobset(build.part('w')), restart_budgets='disruption=free'))
    await calm.settle()
    add_pod(calm, 'js-w-0', 'p0', **preempted())
    calm.fail('js-w-0')
    await calm.settle()
    assert (calm.jobset()['status']['restarts'], calm.condition('Failed')) == (1, None)

    add_pod(calm, 'js-w-0', 'p1', **exited(1))
    calm.fail('js-w-0')
    await calm.settle()
    assert told(calm, 'Failed')[1] == 'FailedJobs'


async def test_scenario_14_an_image_that_is_not_there_ends_at_the_start_limit(calm: simulation.Simulation) -> None:
    """The second Job comes 60 s late and that is no failure; a bad image is one, at the limit, with its reason."""
    calm.environment.ready_after = 60
    calm.create('jobsets', annotated(jobset(build.part('w', 2)), start_limit='90s'))
    await calm.advance(600)
    assert (calm.jobset()['status']['restarts'], calm.condition('Failed')) == (0, None)
    calm.delete('jobsets', 'js')
    await calm.settle()

    calm.environment.ready_after = math.inf
    begun = calm.time.seconds
    calm.create('jobsets', annotated(jobset(build.part('w', 2)), start_limit='90s'))
    await calm.advance(89)
    waiting = {'reason': 'ImagePullBackOff', 'message': 'Back-off pulling image "typo"'}
    add_pod(calm, 'js-w-0', 'p', phase='Pending', containerStatuses=[{'name': 'main', 'state': {'waiting': waiting}}])
    assert calm.condition('Failed') is None
    await calm.advance(1)

    assert calm.time.seconds == begun + 90
    assert told(calm, 'Failed') == (
        'True',
        'StartLimitExceeded',
        (
            'pods were not all ready within 0:01:30 of the start of their job (first late job: js-w-0); '
            'pod p: ImagePullBackOff: Back-off pulling image "typo"'
        ),
    )
    assert calm.environment.active() == 0


async def test_the_start_limit_counts_stage_by_stage_and_not_for_replaced_pods(calm: simulation.Simulation) -> None:
    second = build.part('b', dependsOn=[build.needs('a', 'Complete')])
    calm.create('jobsets', annotated(jobset(build.part('a'), second), start_limit='10s'))
    await calm.advance(100)
    calm.edit('jobs', 'js-a-0', lambda job: job['status'].update(ready=0))
    calm.environment.ready_after = math.inf
    await calm.advance(100)
    assert calm.condition('Failed') is None
    calm.environment.ready_after = 5
    calm.finish('js-a-0')
    await calm.advance(50)
    assert calm.condition('Failed') is None
    assert told(calm, 'PodsStarted')[2] == 'attempt 0: a, b'


async def test_the_run_limit_spans_restarts_and_not_suspensions(calm: simulation.Simulation) -> None:
    calm.create('jobsets', annotated(jobset(build.part('w'), failurePolicy=IGNORING), run_limit='100s'))
    await calm.advance(90)
    calm.suspend('js', to=True)
    await calm.advance(50)
    calm.suspend('js', to=False)
    await calm.advance(50)
    calm.fail('js-w-0')
    await calm.advance(49)
    assert calm.condition('Failed') is None
    await calm.advance(1)
    assert told(calm, 'Failed') == ('True', 'RunLimitExceeded', 'jobset ran for longer than 0:01:40')
    assert (calm.time.seconds, calm.environment.active()) == (240, 0)


async def test_the_wait_limit_ends_a_set_that_nobody_admits(calm: simulation.Simulation) -> None:
    calm.create('jobsets', annotated(jobset(build.part('w'), suspend=True), wait_limit='1h'))
    await calm.advance(3599)
    assert calm.condition('Failed') is None
    await calm.advance(1)
    assert told(calm, 'Failed')[1:] == ('WaitLimitExceeded', 'jobset was suspended for longer than 1:00:00')


async def test_the_wait_limit_ends_a_set_whose_jobs_cannot_be_made(calm: simulation.Simulation) -> None:
    def full(name: api.Name, obj: Object) -> str | None:
        return 'exceeded quota' if name.plural == 'jobs' else None

    calm.server.admission = full
    calm.create('jobsets', annotated(jobset(build.part('w')), wait_limit='1m'))
    await calm.settle()
    await calm.advance(121)
    assert told(calm, 'Failed')[1] == 'WaitLimitExceeded'


@pytest.mark.parametrize(
    ('others', 'ending'),
    [
        pytest.param({}, ('Completed', 'AllJobsCompleted'), id='success comes before a limit'),
        pytest.param({'fails': True}, ('Failed', 'RunLimitExceeded'), id='a limit comes before a failure'),
    ],
)
async def test_F18_precedence(calm: simulation.Simulation, others: Object, ending: tuple[str, str]) -> None:
    calm.create('jobsets', annotated(jobset(build.part('w')), run_limit='10s'))
    await calm.advance(9)
    calm.held.add('jobs')
    calm.fail('js-w-0') if others else calm.finish('js-w-0')
    calm.time.advance(11)
    calm.held.clear()
    await calm.settle()
    kind, reason = ending
    assert told(calm, kind)[1] == reason


async def test_F17_each_attempt_leaves_its_first_cause(cluster: simulation.Simulation) -> None:
    sent = jobset(build.part('w', 2), failurePolicy={'maxRestarts': 1})
    cluster.create('jobsets', annotated(sent, archive_attempts='true'))
    await cluster.settle()
    for attempt in range(2):
        add_pod(cluster, 'js-w-1', f'p{attempt}', node=f'n{attempt}', **exited(3 + attempt, said='Traceback\nboom'))
        cluster.fail('js-w-1')
        await cluster.settle()

    kept = cluster.server.get('configmaps', 'js-attempts')
    assert kept is not None
    assert kept['metadata']['ownerReferences'][0]['uid'] == cluster.jobset()['metadata']['uid']
    common = {
        'job': 'js-w-1',
        'cause': 'application',
        'container': 'main',
        'lastLines': 'Traceback\nboom',
    }
    entries = {key: msgspec.json.decode(value) for key, value in kept['data'].items()}
    for entry in entries.values():
        del entry['endedAt']
    assert entries == {
        '0': common
        | {'attempt': 0, 'reason': 'DefaultFailurePolicy', 'text': 'Error: exit code 3', 'pod': 'p0'}
        | {'node': 'n0', 'exitCode': 3},
        '1': common
        | {'attempt': 1, 'reason': 'ReachedMaxRestarts', 'text': 'Error: exit code 4', 'pod': 'p1'}
        | {'node': 'n1', 'exitCode': 4, 'jobsetFailed': True},
    }


async def test_a_foreign_archive_is_left_alone_and_nothing_waits_for_it(calm: simulation.Simulation) -> None:
    calm.create('configmaps', {'metadata': {'name': 'js-attempts'}, 'data': {'theirs': 'x'}})
    sent = jobset(build.part('w'), failurePolicy={'maxRestarts': 1})
    calm.create('jobsets', annotated(sent, archive_attempts='true'))
    await calm.settle()
    calm.fail('js-w-0')
    await calm.settle()
    found = calm.server.get('configmaps', 'js-attempts')
    assert found is not None
    assert found['data'] == {'theirs': 'x'}
    assert calm.jobset()['status']['restarts'] == 1
    assert 'AttemptNotArchived' in [event.reason for event in calm.events()]


async def test_F17_failed_pods_of_the_last_attempts_stay_and_belong_to_no_attempt(
    cluster: simulation.Simulation,
) -> None:
    sent = jobset(build.part('w'), failurePolicy=IGNORING)
    cluster.create('jobsets', annotated(sent, keep_failed_attempts='2'))
    await cluster.settle()
    for attempt in range(4):
        add_pod(cluster, 'js-w-0', f'p{attempt}', **exited(1))
        cluster.fail('js-w-0')
        await cluster.settle()

    kept = {pod['metadata']['name']: pod['metadata'] for pod in cluster.server.view('pods')}
    assert sorted(kept) == ['p2', 'p3']
    for name, metadata in kept.items():
        labels = metadata['labels']
        assert (labels[keys.RESTART_ATTEMPT], labels[keys.KEPT_OF]) == (name[1], 'js')
        assert labels.keys() & {keys.JOBSET_NAME, keys.JOBSET_UID, keys.JOB_KEY, pods.JOB_UID} == set()
    assert {owner['kind'] for metadata in kept.values() for owner in metadata['ownerReferences']} == {'JobSet'}
    assert [attempt for _, _, attempt in made(cluster)][-1] == 4


def _stuck(cluster: simulation.Simulation, *, node: str, finalizers: tuple[str, ...] = ()) -> None:
    """A pod of the leader's Job that will not go."""
    add_pod(cluster, 'js-l-0', 'stuck', node=node)
    if finalizers:
        cluster.edit('pods', 'stuck', lambda pod: pod['metadata'].update(finalizers=list(finalizers)))


def _node(cluster: simulation.Simulation, name: str, *, ready: str = 'True', taint: str = '') -> None:
    taints = [{'key': taint}] if taint else []
    status = {'conditions': [{'type': 'Ready', 'status': ready}]}
    cluster.create('nodes', {'metadata': {'name': name}, 'spec': {'taints': taints}, 'status': status})


async def _fail_with_a_stuck_pod(cluster: simulation.Simulation, *finalizers: str, **more: str) -> None:
    sent = jobset(build.part('l'), build.part('w', 2), failurePolicy={'maxRestarts': 3})
    cluster.create('jobsets', annotated(sent, fence_after='1m', **more))
    await cluster.settle()
    _stuck(cluster, node='n1', finalizers=finalizers)
    cluster.fail('js-w-0')
    await cluster.settle()


@pytest.mark.parametrize(
    ('node', 'why'),
    [
        pytest.param(None, 'is gone', id='the node is gone'),
        pytest.param({'ready': 'Unknown'}, 'is unreachable', id='the node is unreachable'),
        pytest.param({'taint': 'node.kubernetes.io/unreachable'}, 'is unreachable', id='the node is tainted so'),
        pytest.param(
            {'taint': 'node.kubernetes.io/out-of-service'}, 'is out of service', id='somebody has marked the node'
        ),
    ],
)
async def test_F3_a_pod_on_a_dead_node_is_fenced_within_the_bound(
    calm: simulation.Simulation, node: dict[str, str] | None, why: str
) -> None:
    if node is not None:
        _node(calm, 'n1', **node)
    await _fail_with_a_stuck_pod(calm)

    await calm.advance(59)
    assert {attempt for _, _, attempt in made(calm)} == {0}
    await calm.advance(2)

    assert {(when, attempt) for when, _, attempt in made(calm) if attempt} == {(60, 1)}
    assert calm.server.get('pods', 'stuck') is None
    assert [event.note for event in calm.events() if event.reason == 'PodFenced'] == [
        f'pod stuck was on node n1, which {why}, and was overdue'
    ]


async def test_F2_a_pod_whose_node_is_there_is_never_forced_and_the_next_attempt_waits(
    calm: simulation.Simulation,
) -> None:
    _node(calm, 'n1')
    await _fail_with_a_stuck_pod(calm)
    await calm.advance(600)
    assert {attempt for _, _, attempt in made(calm)} == {0}
    assert told(calm, 'EndingBlocked') == (
        'True',
        'NodeKeepsPod',
        'pod stuck: node n1 is there and has not ended it',
    )

    calm.server.release('pods', 'stuck')
    await calm.advance(60)
    assert {attempt for _, _, attempt in made(calm)} == {0, 1}
    assert told(calm, 'EndingBlocked')[:2] == ('False', 'EndingsAreOver')


async def test_F3_finalizers_of_others_are_named_and_stay(calm: simulation.Simulation) -> None:
    await _fail_with_a_stuck_pod(calm, 'example.com/theirs')
    await calm.advance(120)
    found = calm.server.get('pods', 'stuck')
    assert found is not None
    assert found['metadata']['finalizers'] == ['example.com/theirs']
    assert told(calm, 'EndingBlocked') == (
        'True',
        'ForeignFinalizers',
        'pod stuck: held by example.com/theirs; ask who put them there',
    )


async def test_F3_finalizers_that_the_set_names_are_taken_off(calm: simulation.Simulation) -> None:
    await _fail_with_a_stuck_pod(calm, 'example.com/theirs', fence_finalizers='example.com/theirs')
    await calm.advance(61)
    assert calm.server.get('pods', 'stuck') is None
    assert {attempt for _, _, attempt in made(calm)} == {0, 1}


async def test_F2_a_pod_without_its_job_keeps_the_next_attempt_from_beginning(calm: simulation.Simulation) -> None:
    """Somebody has orphaned it: the Job is gone, and the pod would go on beside the next attempt."""
    sent = jobset(build.part('l'), failurePolicy={'maxRestarts': 3})
    calm.create('jobsets', annotated(sent, fence_after='1m', restart_pause='base=5s'))
    await calm.settle()
    add_pod(calm, 'js-l-0', 'orphan')
    calm.edit('pods', 'orphan', lambda pod: pod['metadata'].update(ownerReferences=[]))
    calm.fail('js-l-0')
    await calm.advance(30)
    orphan = calm.server.get('pods', 'orphan')
    assert orphan is not None
    assert 'deletionTimestamp' in orphan['metadata']
    assert {attempt for _, _, attempt in made(calm)} == {0}

    calm.server.release('pods', 'orphan')
    await calm.advance(5)
    assert {attempt for _, _, attempt in made(calm)} == {0, 1}


async def test_F3_a_set_that_is_deleted_does_not_wait_for_a_dead_node(calm: simulation.Simulation) -> None:
    calm.create('jobsets', annotated(jobset(build.part('l')), fence_after='1m'))
    await calm.settle()
    _stuck(calm, node='gone')
    calm.delete('jobsets', 'js', foreground=True)
    await calm.advance(59)
    assert calm.server.get('jobsets', 'js') is not None
    await calm.advance(2)
    assert [calm.server.view(plural) for plural in ('jobsets', 'jobs', 'pods')] == [[], [], []]


async def test_F3_an_eviction_does_not_wait_for_a_dead_node(calm: simulation.Simulation) -> None:
    calm.create('jobsets', annotated(jobset(build.part('l')), fence_after='1m'))
    await calm.settle()
    _stuck(calm, node='gone')
    calm.suspend('js', to=True)
    await calm.settle()
    calm.delete('pods', 'stuck')
    calm.edit('jobs', 'js-l-0', lambda job: job['status'].update(terminating=1))
    await calm.advance(59)
    assert calm.server.get('pods', 'stuck') is not None
    await calm.advance(2)
    assert calm.server.get('pods', 'stuck') is None
    assert calm.jobset()['status']['restarts'] == 0


async def test_F3_after_the_end_nothing_is_left_on_a_dead_node(calm: simulation.Simulation) -> None:
    calm.create('jobsets', annotated(jobset(build.part('l'), build.part('w')), fence_after='1m'))
    await calm.settle()
    _stuck(calm, node='gone')
    calm.fail('js-w-0')
    await calm.advance(61)
    assert calm.condition('Failed') == 'True'
    assert [calm.server.get('pods', 'stuck'), calm.server.get('jobs', 'js-l-0')] == [None, None]


async def test_what_may_not_be_read_stops_nothing(calm: simulation.Simulation) -> None:
    def refuse(request: Any) -> errors.ApiError | None:
        return errors.Forbidden(403, 'Forbidden', 'no pods for you') if '/pods' in request.path else None

    calm.wire.refuse = refuse
    sent = jobset(build.part('w'), failurePolicy={'maxRestarts': 1})
    calm.create('jobsets', annotated(sent, restart_budgets='application=0', fence_after='1m'))
    await calm.settle()
    calm.fail('js-w-0')
    await calm.advance(120)
    assert calm.jobset()['status']['restarts'] == 1
    assert [event.reason for event in calm.events()].count('PodsNotReadable') == 1
