"""The restart engine of our own, where pods restart in place: real passes, and agents after upstream's protocol."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from jobset.api import features
from tests.core import build
from tests.model import kubelets, simulation, wire
from tests.model.engine import annotated, told
from tests.model.scenarios import jobset

Object = dict[str, Any]
GATES = features.FeatureGates(in_place_restart=True, restart_job=True, elastic_jobset=True)


@pytest.fixture(
    params=[
        pytest.param((0, simulation.Manner(gates=GATES, has_pods=True)), id='calm'),
        pytest.param(
            (
                1,
                simulation.Manner(
                    gates=GATES,
                    has_pods=True,
                    is_calm=False,
                    relist=0.1,
                    trouble=wire.Trouble(crash=0.2, refused=0.1, lost=0.1, budget=15),
                ),
            ),
            id='the controller dies',
        ),
    ]
)
def cluster(request: pytest.FixtureRequest) -> simulation.Simulation:
    """An empty cluster with pods and agents."""
    seed, manner = request.param
    return simulation.Simulation(seed, manner)


@pytest.fixture
def calm() -> simulation.Simulation:
    """The same, with nothing going wrong."""
    return simulation.Simulation(manner=simulation.Manner(gates=GATES, has_pods=True))


def part(name: str, pods: int, *, replicas: int = 1) -> Object:
    settings = {'backoffLimit': 2**31 - 1, 'podReplacementPolicy': 'Failed', 'completionMode': 'Indexed'}
    return build.part(name, replicas, template={'spec': build.pods(parallelism=pods) | settings})


def policy(most: int, *rules: Object) -> Object:
    return {'maxRestarts': most, 'restartStrategy': 'InPlaceRestart', 'rules': list(rules)}


def running(cluster: simulation.Simulation) -> dict[str, int]:
    """The ranks whose main containers run, and in which attempt."""
    return {
        kubelets.rank_of(pod): pod['status']['announced']
        for pod in cluster.server.view('pods')
        if pod['status']['phase'] == 'Running' and pod['status'].get('runs')
    }


def pod_of(cluster: simulation.Simulation, rank: str) -> str:
    """The living pod of a rank."""
    name: str = next(
        pod['metadata']['name']
        for pod in cluster.server.view('pods')
        if kubelets.rank_of(pod) == rank and pod['status']['phase'] == 'Running'
    )
    return name


def strike(cluster: simulation.Simulation, rank: str, exit_code: int | None) -> None:
    """A rank exits, or its pod makes room for another one."""
    pods = cluster.environment.pods
    assert pods is not None
    if exit_code is None:
        pods.fail(pod_of(cluster, rank))
    else:
        pods.restart(pod_of(cluster, rank), exit_code)


@pytest.mark.parametrize(
    ('budgets', 'most', 'exit_code', 'expected'),
    [
        pytest.param('disruption=free', 1, None, (None, 5, 'disruption=5', (0, 5)), id='preemption is free'),
        pytest.param('application=5', 0, 1, (None, 5, 'application=5', (0, 5)), id='paid for by a budget'),
        pytest.param(
            'application=2', 9, 1, ('RestartBudgetExhausted', 2, 'application=2', (0, 2)), id='which is used up'
        ),
        pytest.param('disruption=free', 1, 1, ('ReachedMaxRestarts', 1, None, (1, 0)), id='not named: maxRestarts'),
        pytest.param('w/any=3, any=0', 0, 9, ('RestartBudgetExhausted', 3, 'w/any=3', (0, 3)), id='by role'),
        pytest.param('exit-42=free, application=0', 0, 42, (None, 5, 'exit-42=5', (0, 5)), id='by exit code'),
    ],
)
async def test_F5_budgets_of_restarts_in_place(
    cluster: simulation.Simulation,
    budgets: str,
    most: int,
    exit_code: int | None,
    expected: tuple[str | None, int, str | None, tuple[int, int]],
) -> None:
    sent = jobset(part('w', 2), part('l', 1), failurePolicy=policy(most))
    cluster.create('jobsets', annotated(sent, restart_budgets=budgets))
    await cluster.settle()
    for _ in range(5):
        if cluster.condition('Failed') is None:
            strike(cluster, 'js-w-0-1', exit_code)
            cluster.restart()
            await cluster.advance(1)

    status = cluster.jobset()['status']
    conditions = {c['type']: c for c in status['conditions']}
    reason, attempt, charged, (counted, free) = expected
    assert conditions.get('Failed', {}).get('reason') == reason
    assert status['currentInPlaceRestartAttempt'] == attempt
    assert conditions.get('RestartsCharged', {}).get('message') == charged
    assert f'answered: {counted} restarts count, {free} do not' in conditions['InPlaceRestartsCounted']['message']
    assert status['restarts'] == 0
    if reason is None:
        assert running(cluster) == dict.fromkeys(['js-l-0-0', 'js-w-0-0', 'js-w-0-1'], attempt)


async def test_restarts_of_the_set_of_single_jobs_and_in_place_count_once_each(calm: simulation.Simulation) -> None:
    rule = {'name': 'r', 'action': 'RestartJob', 'targetReplicatedJobs': ['w']}
    sent = jobset(part('w', 1), part('l', 1), failurePolicy=policy(3, rule))
    calm.create('jobsets', annotated(sent, restart_budgets='disruption=free'))
    await calm.settle()
    strike(calm, 'js-l-0-0', 1)
    await calm.advance(1)
    calm.fail('js-w-0')
    await calm.advance(1)
    calm.fail('js-l-0')
    await calm.advance(1)
    status = calm.jobset()['status']
    assert (status['restarts'], status['restartsCountTowardsMax'], status['currentInPlaceRestartAttempt']) == (1, 1, 3)
    assert told(calm, 'InPlaceRestartsCounted')[2].startswith('attempts up to 3 are answered: 1 restarts count')
    assert running(calm) == {'js-l-0-0': 3, 'js-w-0-0': 3}

    strike(calm, 'js-w-0-0', 1)
    await calm.advance(1)
    assert told(calm, 'Failed')[1] == 'ReachedMaxRestarts'


async def test_F5_suspension_and_scaling_cost_nothing_in_place(cluster: simulation.Simulation) -> None:
    cluster.create('jobsets', annotated(jobset(part('w', 2), failurePolicy=policy(0)), restart_budgets='any=0'))
    await cluster.settle()
    for size in (3, 2, 4):

        def scale(found: Object, size: int = size) -> None:
            found['spec']['replicatedJobs'][0]['template']['spec'].update(parallelism=size, completions=size)

        cluster.suspend('js', to=True)
        await cluster.advance(2)
        cluster.suspend('js', to=False)
        await cluster.advance(2)
        cluster.edit('jobsets', 'js', scale)
        await cluster.advance(2)

    assert cluster.condition('Failed') is None
    assert sorted(running(cluster)) == [f'js-w-0-{index}' for index in range(4)]
    assert len(set(running(cluster).values())) == 1

    strike(cluster, 'js-w-0-3', 1)
    await cluster.advance(2)
    assert told(cluster, 'Failed')[1] == 'RestartBudgetExhausted'


async def test_scenario_15_storm_brake_in_place(calm: simulation.Simulation) -> None:
    """One rank fails at once, again and again: the barrier opens after pauses that double, up to the cap."""
    sent = jobset(part('w', 2), failurePolicy=policy(100))
    calm.create('jobsets', annotated(sent, restart_pause='base=1s, cap=1m, reset=5m'))
    await calm.settle()
    opened = []
    for attempt in range(1, 9):
        strike(calm, 'js-w-0-0', 1)
        opened.append(await _until_all_run(calm, attempt))
    assert opened == [1, 3, 7, 15, 31, 63, 123, 183]

    await calm.advance(300)
    healthy = calm.time.seconds
    strike(calm, 'js-w-0-1', 1)
    assert await _until_all_run(calm, 9) == healthy + 1


async def _until_all_run(calm: simulation.Simulation, attempt: int) -> float:
    """The second in which all do."""
    for _ in range(100):
        await calm.advance(1)
        if running(calm) == {'js-w-0-0': attempt, 'js-w-0-1': attempt}:
            break
    assert running(calm) == {'js-w-0-0': attempt, 'js-w-0-1': attempt}
    return calm.time.seconds


async def test_F5_the_pause_in_place_survives_the_controller(calm: simulation.Simulation) -> None:
    sent = jobset(part('w', 2), failurePolicy=policy(9))
    calm.create('jobsets', annotated(sent, restart_pause='base=40s'))
    await calm.settle()
    strike(calm, 'js-w-0-0', 1)
    await calm.advance(20)
    assert running(calm) == {}
    calm.restart()
    await calm.advance(19)
    assert running(calm) == {}
    await calm.advance(1)
    assert running(calm) == {'js-w-0-0': 1, 'js-w-0-1': 1}


async def test_new_pods_of_a_restart_of_the_set_pause_once(calm: simulation.Simulation) -> None:
    sent = jobset(part('w', 2), failurePolicy=policy(9))
    calm.create('jobsets', annotated(sent, restart_pause='base=10s'))
    await calm.settle()
    calm.fail('js-w-0')
    await calm.advance(10)
    assert running(calm) == {'js-w-0-0': 1, 'js-w-0-1': 1}
    assert [event.note for event in calm.events() if event.reason == 'RestartPause'] == [
        'attempt 1 begins after a pause of 10 s (pause 1 in a row)'
    ]


async def test_a_cause_that_the_kubelet_tells_late_is_waited_for(calm: simulation.Simulation) -> None:
    """The agent has announced its attempt before anybody says how the container ended."""
    sent = jobset(part('w', 2), failurePolicy=policy(0))
    calm.create('jobsets', annotated(sent, restart_budgets='exit-42=free'))
    await calm.settle()
    name = pod_of(calm, 'js-w-0-0')
    strike(calm, 'js-w-0-0', 42)
    late = calm.server.get('pods', name)
    assert late is not None
    calm.edit('pods', name, lambda pod: pod['status'].update(containerStatuses=[{'name': 'main', 'restartCount': 0}]))
    await calm.advance(1)
    assert calm.jobset()['status'].get('previousInPlaceRestartAttempt') is None

    calm.edit('pods', name, lambda pod: pod['status'].update(containerStatuses=late['status']['containerStatuses']))
    await calm.advance(0)
    assert running(calm) == {'js-w-0-0': 1, 'js-w-0-1': 1}
    assert told(calm, 'RestartsCharged')[2] == 'exit-42=1'


async def test_a_cause_that_nobody_ever_tells_is_waited_for_three_seconds(calm: simulation.Simulation) -> None:
    sent = jobset(part('w', 2), failurePolicy=policy(0))
    calm.create('jobsets', annotated(sent, restart_budgets='unknown=1'))
    await calm.settle()
    calm.server.release('pods', pod_of(calm, 'js-w-0-0'))
    await calm.advance(2)
    assert running(calm) == {'js-w-0-1': 0}
    await calm.advance(1)
    assert running(calm) == {'js-w-0-0': 1, 'js-w-0-1': 1}
    assert told(calm, 'RestartsCharged')[2] == 'unknown=1'


async def test_a_lost_pod_is_answered_once_though_somebody_asked_for_more(cluster: simulation.Simulation) -> None:
    """Admission refuses to have lost pods answered by new Jobs as well, but may be off."""
    sent = jobset(part('w', 2), failurePolicy=policy(9))
    cluster.create('jobsets', annotated(sent, restart_on='PodLost'))
    await cluster.settle()
    strike(cluster, 'js-w-0-0', None)
    await cluster.advance(1)
    assert running(cluster) == {'js-w-0-0': 1, 'js-w-0-1': 1}
    assert cluster.jobset()['status']['restarts'] == 0


async def test_the_last_pod_of_a_rank_tells_why_there_is_a_new_one(calm: simulation.Simulation) -> None:
    """Not one before it: that was preempted, and this one has failed by itself."""
    sent = jobset(part('w', 2), failurePolicy=policy(0))
    calm.create('jobsets', annotated(sent, restart_budgets='disruption=free, application=1'))
    await calm.advance(5)
    strike(calm, 'js-w-0-0', None)
    await calm.advance(5)
    pods = calm.environment.pods
    assert pods is not None
    pods.fail(pod_of(calm, 'js-w-0-0'), exit_code=1)
    await calm.advance(5)
    assert running(calm) == {'js-w-0-0': 2, 'js-w-0-1': 2}
    assert told(calm, 'RestartsCharged')[2] == 'application=1, disruption=1'


async def test_F17_attempts_in_place_are_archived(cluster: simulation.Simulation) -> None:
    sent = jobset(part('w', 2), failurePolicy=policy(2))
    cluster.create('jobsets', annotated(sent, archive_attempts='true'))
    await cluster.settle()
    names, nodes = [], []
    for exit_code in (3, 4, 5):
        names.append(pod_of(cluster, 'js-w-0-1'))
        nodes.append(_node(cluster, names[-1]))
        strike(cluster, 'js-w-0-1', exit_code)
        await cluster.advance(1)

    archived = cluster.server.get('configmaps', 'js-attempts')
    assert archived is not None
    assert told(cluster, 'Failed')[1] == 'ReachedMaxRestarts'
    entries = {key: msgspec.json.decode(text) for key, text in archived['data'].items()}
    for entry in entries.values():
        del entry['endedAt']
    common = {'attempt': 0, 'job': 'js-w-0', 'cause': 'application', 'container': 'main'}
    assert [*entries.items()] == [
        (
            f'0.in-place.{attempt}',
            common
            | {'inPlaceAttempt': attempt, 'reason': 'RestartedInPlace', 'text': f'Error: exit code {3 + attempt}'}
            | {'pod': names[attempt], 'node': nodes[attempt], 'exitCode': 3 + attempt},
        )
        for attempt in (0, 1)
    ] + [
        (
            '0',
            common
            | {'reason': 'ReachedMaxRestarts', 'text': 'Error: exit code 5', 'jobsetFailed': True}
            | {'pod': names[2], 'node': nodes[2], 'exitCode': 5},
        )
    ]


def _node(cluster: simulation.Simulation, name: str) -> str:
    pod = cluster.server.get('pods', name)
    assert pod is not None
    node: str = pod['spec']['nodeName']
    return node


async def test_ranks_of_a_job_that_succeeded_and_is_gone_are_not_waited_for(cluster: simulation.Simulation) -> None:
    sent = jobset(part('w', 2), part('l', 1), failurePolicy=policy(9))
    cluster.create('jobsets', annotated(sent, done_stays_done='true'))
    await cluster.settle()
    cluster.finish('js-l-0')
    await cluster.settle()
    cluster.delete('jobs', 'js-l-0', foreground=True)
    await cluster.settle()

    strike(cluster, 'js-w-0-0', 1)
    await cluster.advance(1)
    assert running(cluster) == {'js-w-0-0': 1, 'js-w-0-1': 1}


async def test_F3_in_place_a_pod_on_a_dead_node_is_fenced_and_its_successor_opens_the_barrier(
    calm: simulation.Simulation,
) -> None:
    """Its Job waits until the pod has failed, and nobody would ever say so."""
    slow = part('w', 2)
    slow['template']['spec']['template']['spec'] = build.POD | {'terminationGracePeriodSeconds': 10**6}
    calm.create('jobsets', annotated(jobset(slow, failurePolicy=policy(9)), fence_after='1m'))
    await calm.settle()
    name = pod_of(calm, 'js-w-0-0')
    calm.server.delete('pods', name, {})
    calm.edit('pods', name, lambda pod: pod['metadata'].update(deletionTimestamp=calm.time.stamp(after=30)))
    calm.environment.pods = _Stuck(calm, name)
    await calm.advance(89)
    assert calm.server.get('pods', name) is not None

    await calm.advance(3)
    assert calm.server.get('pods', name) is None
    assert [event.reason for event in calm.events() if event.reason == 'PodFenced'] == ['PodFenced']
    assert running(calm) == {'js-w-0-0': 1, 'js-w-0-1': 1}


class _Stuck(kubelets.Pods):
    """Nodes of which one does not answer."""

    def __init__(self, calm: simulation.Simulation, name: str) -> None:
        super().__init__(calm.server, calm.time)
        self._made = 10
        self._name = name

    def on_nodes(self) -> Iterator[kubelets.Step]:
        """What happens to pods, but for the one that nobody ends."""
        return (step for step in super().on_nodes() if step.what != f'{self._name} is gone')


async def test_without_annotations_the_number_of_the_attempt_counts(calm: simulation.Simulation) -> None:
    calm.create('jobsets', jobset(part('w', 2), failurePolicy=policy(1)))
    await calm.settle()
    strike(calm, 'js-w-0-0', 1)
    await calm.advance(1)
    assert running(calm) == {'js-w-0-0': 1, 'js-w-0-1': 1}
    strike(calm, 'js-w-0-0', 1)
    await calm.advance(1)
    assert told(calm, 'Failed')[1] == 'ReachedMaxRestarts'
    assert all(c['type'] != 'InPlaceRestartsCounted' for c in calm.jobset()['status']['conditions'])


async def test_scenario_14_the_start_barrier_opens_for_all_at_once(calm: simulation.Simulation) -> None:
    """The node of the second Job comes after 60 s: until then no main container runs, and nothing is restarted."""
    calm.create('jobsets', jobset(part('w', 2, replicas=2), failurePolicy=policy(0)))
    pods = calm.environment.pods
    assert pods is not None
    calm.environment.pods = _Late(calm)
    started: dict[str, float] = {}

    def watch(_: object) -> None:
        for rank in running(calm):
            started.setdefault(rank, calm.time.seconds)

    calm.server.watchers.append(watch)
    await calm.advance(80)
    assert sorted(started) == ['js-w-0-0', 'js-w-0-1', 'js-w-1-0', 'js-w-1-1']
    assert max(started.values()) - min(started.values()) <= 1
    assert min(started.values()) == 60
    status = calm.jobset()['status']
    assert (status['restarts'], status['currentInPlaceRestartAttempt']) == (0, 0)


class _Late(kubelets.Pods):
    """A node for the second Job comes after a minute."""

    def __init__(self, calm: simulation.Simulation) -> None:
        super().__init__(calm.server, calm.time)

    def on_nodes(self) -> Iterator[kubelets.Step]:
        """What happens to pods."""
        for step in super().on_nodes():
            late = step.what.startswith('js-w-1-') and step.what.endswith(' runs')
            yield step._replace(due=60) if late else step
