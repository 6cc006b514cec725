"""The restart engine of our own, where single Jobs are made anew while the rest of their set runs on."""

import math
from typing import Any

import msgspec
import pytest

from jobset.api import features, keys
from tests.core import build
from tests.model import simulation, wire
from tests.model.engine import add_pod, annotated, exited, preempted, told
from tests.model.scenarios import jobset

Object = dict[str, Any]
GATES = features.FeatureGates(restart_job=True)
SINGLY: Object = {'name': 'r', 'action': 'RestartJob'}
FREELY: Object = {'name': 'r', 'action': 'RestartJobAndIgnoreMaxRestarts'}


@pytest.fixture(
    params=[
        pytest.param((0, simulation.Manner(gates=GATES)), id='calm'),
        pytest.param(
            (
                1,
                simulation.Manner(
                    gates=GATES, is_calm=False, trouble=wire.Trouble(crash=0.2, refused=0.1, lost=0.1, budget=15)
                ),
            ),
            id='the controller dies',
        ),
    ]
)
def cluster(request: pytest.FixtureRequest) -> simulation.Simulation:
    """An empty cluster in which single Jobs may be restarted."""
    seed, manner = request.param
    return simulation.Simulation(seed, manner)


@pytest.fixture
def calm() -> simulation.Simulation:
    """The same, with nothing going wrong."""
    return simulation.Simulation(manner=simulation.Manner(gates=GATES))


def policy(*rules: Object, most: int = 0) -> Object:
    return {'maxRestarts': most, 'rules': list(rules)}


def restarts(cluster: simulation.Simulation) -> tuple[list[int], list[int]]:
    """Those of each Job of the first replicated job, and how many of them count."""
    entry = next(each for each in cluster.jobset()['status']['replicatedJobsStatus'] if each['name'] == 'w')
    return entry.get('jobRestarts', []), entry.get('jobRestartsCountTowardsMax', [])


@pytest.mark.parametrize(
    ('budgets', 'rule', 'status', 'expected'),
    [
        pytest.param('disruption=free', SINGLY, preempted(), (None, 5, 0, 'disruption=5'), id='preemption is free'),
        pytest.param(
            'application=2', SINGLY, exited(1), ('RestartBudgetExhausted', 2, 0, 'application=2'), id='used up'
        ),
        pytest.param('node=free', SINGLY, exited(1), ('ReachedMaxRestarts', 1, 1, None), id='not named: maxRestarts'),
        pytest.param('w/any=3, any=0', SINGLY, exited(9), ('RestartBudgetExhausted', 3, 0, 'w/any=3'), id='by role'),
        pytest.param('any=0', FREELY, exited(9), (None, 5, 0, None), id='what a rule lets go free is not charged'),
    ],
)
async def test_F5_budgets_of_single_jobs(
    cluster: simulation.Simulation,
    budgets: str,
    rule: Object,
    status: Object,
    expected: tuple[str | None, int, int, str | None],
) -> None:
    sent = jobset(build.part('w', 2), failurePolicy=policy(rule, most=1))
    cluster.create('jobsets', annotated(sent, restart_budgets=budgets))
    await cluster.settle()
    for attempt in range(5):
        if cluster.condition('Failed') is None:
            add_pod(cluster, 'js-w-1', f'pod-{attempt}', **build.copy(status))
            cluster.fail('js-w-1')
            cluster.restart()
            await cluster.settle()

    conditions = {c['type']: c for c in cluster.jobset()['status'].get('conditions', [])}
    reason, singly, counted, charged = expected
    all_of_them, counted_of_them = restarts(cluster)
    assert conditions.get('Failed', {}).get('reason') == reason
    assert (sum(all_of_them), sum(counted_of_them)) == (singly, counted)
    assert cluster.jobset()['status']['restarts'] == 0
    assert conditions.get('RestartsCharged', {}).get('message') == charged
    assert [name for _, name, _ in cluster.checks.made].count('js-w-0') == 1


async def test_one_budget_pays_for_restarts_of_the_set_and_of_single_jobs(calm: simulation.Simulation) -> None:
    rule = {**SINGLY, 'targetReplicatedJobs': ['w']}
    sent = jobset(build.part('w'), build.part('l'), failurePolicy=policy(rule))
    calm.create('jobsets', annotated(sent, restart_budgets='unknown=2'))
    await calm.settle()
    for job in ('js-w-0', 'js-l-0'):
        calm.fail(job)
        await calm.settle()
    assert (calm.jobset()['status']['restarts'], restarts(calm)[0]) == (1, [1])
    assert told(calm, 'RestartsCharged')[2] == 'unknown=2'

    calm.fail('js-w-0')
    await calm.settle()
    assert told(calm, 'Failed')[1] == 'RestartBudgetExhausted'


async def test_scenario_15_storm_brake_of_a_single_job(calm: simulation.Simulation) -> None:
    """One Job fails at once, again and again; the pauses are its own, and begin anew after it has run well."""
    sent = jobset(build.part('w', 2), failurePolicy=policy(FREELY))
    calm.create('jobsets', annotated(sent, restart_pause='base=1s, cap=1m, reset=5m'))
    await calm.settle()
    for _ in range(7):
        assert calm.fail('js-w-1')
        await _until_made(calm)
    assert [when for when, name, _ in calm.checks.made if name == 'js-w-1'] == [0, 1, 3, 7, 15, 31, 63, 123]
    assert [when for when, name, _ in calm.checks.made if name == 'js-w-0'] == [0]

    calm.fail('js-w-0')
    await _until_made(calm)
    assert calm.checks.made[-1:] == [(124, 'js-w-0', 0)]

    await calm.advance(400)
    healthy = calm.time.seconds
    calm.fail('js-w-1')
    await _until_made(calm)
    assert calm.checks.made[-1:] == [(healthy + 1, 'js-w-1', 0)]


async def _until_made(calm: simulation.Simulation) -> None:
    """Until the next Job is made, by the second."""
    before, made = len(calm.checks.made), 0
    for _ in range(100):
        await calm.advance(1)
        made = len(calm.checks.made)
        if made > before:
            break
    assert made > before, 'no attempt begins'


async def test_F5_the_pause_of_a_single_job_survives_the_controller(calm: simulation.Simulation) -> None:
    sent = jobset(build.part('w', 2), failurePolicy=policy(FREELY))
    calm.create('jobsets', annotated(sent, restart_pause='base=40s'))
    await calm.settle()
    calm.fail('js-w-1')
    await calm.advance(20)

    calm.restart()
    await calm.advance(30)

    assert [(when, name) for when, name, _ in calm.checks.made] == [(0, 'js-w-0'), (0, 'js-w-1'), (40, 'js-w-1')]


async def test_F5_losses_of_a_suspended_job_are_not_set_off_against_those_of_its_successor(
    calm: simulation.Simulation,
) -> None:
    sent = jobset(build.part('w'), failurePolicy=policy(FREELY))
    calm.create('jobsets', annotated(sent, restart_on='PodLost'))
    await calm.settle()
    calm.suspend('js', to=True)
    calm.edit('jobs', 'js-w-0', lambda job: job['status'].update(failed=1))
    await calm.settle()
    calm.suspend('js', to=False)
    await calm.advance(2)
    assert restarts(calm)[0] == []

    for round_ in (1, 2):
        lost = 2 if round_ == 1 else 1
        calm.edit('jobs', 'js-w-0', lambda job, lost=lost: job['status'].update(failed=lost))  # type: ignore[misc]
        await calm.settle()
        assert restarts(calm)[0] == [round_]


async def test_F4_a_success_in_an_attempt_that_is_over_is_not_done(calm: simulation.Simulation) -> None:
    """The Job lost a pod and is to be made anew; that it completes before it is deleted changes nothing."""
    sent = jobset(build.part('w'), build.part('l'), failurePolicy=policy(FREELY))
    calm.create('jobsets', annotated(sent, restart_on='PodLost', done_stays_done='true'))
    await calm.settle()
    calm.edit('jobs', 'js-w-0', lambda job: job['status'].update(failed=1))
    await calm.glimpse()
    calm.finish('js-w-0')
    await calm.settle()
    assert [name for _, name, _ in calm.checks.made].count('js-w-0') == 2
    assert [entry['succeeded'] for entry in calm.jobset()['status']['replicatedJobsStatus']] == [0, 0]


async def test_F17_attempts_of_single_jobs_are_archived_and_their_failed_pods_kept(
    cluster: simulation.Simulation,
) -> None:
    sent = jobset(build.part('w', 2), failurePolicy=policy(FREELY))
    cluster.create('jobsets', annotated(sent, archive_attempts='true', keep_failed_attempts='2'))
    await cluster.settle()
    for attempt in range(4):
        add_pod(cluster, 'js-w-1', f'p{attempt}', node=f'n{attempt}', **exited(3 + attempt, said='boom'))
        cluster.fail('js-w-1')
        await cluster.settle()

    archived = cluster.server.get('configmaps', 'js-attempts')
    assert archived is not None
    assert list(archived['data']) == [f'0.js-w-1.{attempt}' for attempt in range(4)]
    entry = msgspec.json.decode(archived['data']['0.js-w-1.2'])
    del entry['endedAt']
    assert entry == {
        'attempt': 0,
        'ownAttempt': 2,
        'reason': 'JobRestarted',
        'job': 'js-w-1',
        'cause': 'application',
        'text': 'Error: exit code 5',
        'pod': 'p2',
        'node': 'n2',
        'container': 'main',
        'exitCode': 5,
        'lastLines': 'boom',
    }
    kept = [pod for pod in cluster.server.view('pods') if keys.KEPT_OF in pod['metadata']['labels']]
    assert [pod['metadata']['name'] for pod in kept] == ['p2', 'p3']


async def test_F2_a_pod_without_its_job_keeps_that_job_from_being_made_and_no_other(
    calm: simulation.Simulation,
) -> None:
    sent = jobset(build.part('w', 2), failurePolicy=policy(FREELY))
    calm.create('jobsets', annotated(sent, fence_after='1m'))
    await calm.settle()
    add_pod(calm, 'js-w-0', 'orphan')
    calm.edit('pods', 'orphan', lambda pod: pod['metadata'].update(ownerReferences=[]))
    for job in ('js-w-0', 'js-w-1'):
        calm.fail(job)
        await calm.advance(5)
    orphan = calm.server.get('pods', 'orphan')
    assert orphan is not None
    assert 'deletionTimestamp' in orphan['metadata']
    assert [name for _, name, _ in calm.checks.made] == ['js-w-0', 'js-w-1', 'js-w-1']

    calm.server.release('pods', 'orphan')
    await calm.advance(5)
    assert [name for _, name, _ in calm.checks.made] == ['js-w-0', 'js-w-1', 'js-w-1', 'js-w-0']


async def test_F18_the_start_limit_watches_a_job_that_is_made_anew(calm: simulation.Simulation) -> None:
    sent = jobset(build.part('w', 2), failurePolicy=policy(FREELY))
    calm.create('jobsets', annotated(sent, start_limit='30s'))
    await calm.advance(100)
    assert told(calm, 'PodsStarted')[2] == 'attempt 0: w'
    calm.environment.ready_after = math.inf
    calm.fail('js-w-1')
    await calm.settle()
    assert told(calm, 'PodsStarted')[2] == 'attempt 0: w but for js-w-1'
    calm.edit('jobs', 'js-w-0', lambda job: job['status'].update(ready=0))

    await calm.advance(29)
    assert calm.condition('Failed') is None
    await calm.advance(1)
    assert told(calm, 'Failed')[1:] == (
        'StartLimitExceeded',
        'pods were not all ready within 0:00:30 of the start of their job (first late job: js-w-1)',
    )
