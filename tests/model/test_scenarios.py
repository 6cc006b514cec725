"""Stories that users' reports were condensed into, on the clock of the simulation."""

from typing import Any

from jobset.api import features, keys
from tests.core import build
from tests.model import api, simulation
from tests.model.engine import annotated
from tests.model.scenarios import jobset

Object = dict[str, Any]


async def test_scenario_1_attempts_never_mix(calm: simulation.Simulation) -> None:
    """At every moment the attempts that live are one at most, and the second begins when the last pod has gone."""
    living: list[set[str]] = []

    def watch(change: api.Change) -> None:
        jobs = calm.server.view('jobs')
        living.append({job['metadata']['labels'][keys.RESTART_ATTEMPT] for job in jobs})

    calm.server.watchers.append(watch)
    slow = build.part('w', 1, template={'spec': build.pods(parallelism=2, terminationGracePeriodSeconds=30)})
    policy = {'maxRestarts': 1, 'restartStrategy': 'BlockingRecreate'}
    calm.create('jobsets', jobset(build.part('l'), slow, failurePolicy=policy))
    await calm.advance(10)

    calm.fail('js-l-0')
    await calm.settle()

    assert max(len(attempts) for attempts in living) == 1
    assert [(when, name) for when, name, attempt in calm.checks.made if attempt == 1] == [
        (40, 'js-l-0'),
        (40, 'js-w-0'),
    ]
    assert calm.jobset()['status']['restarts'] == 1
    assert calm.condition('RestartingJobSet') == 'False'


async def test_scenario_4_ambiguous_names(cluster: simulation.Simulation) -> None:
    """Two sets that want one name: the first has it, and the second is told so and touches nothing."""
    cluster.create('jobsets', jobset(build.part('b-c'), name='a'))
    await cluster.settle()
    cluster.create('jobsets', jobset(build.part('c'), name='a-b'))
    await cluster.advance(120)

    (job,) = cluster.server.view('jobs')
    assert job['metadata']['name'] == 'a-b-c-0'
    assert api.owner_uid(job) == cluster.jobset('a')['metadata']['uid']
    assert (cluster.condition('NameConflict', 'a'), cluster.condition('NameConflict', 'a-b')) == (None, 'True')
    assert cluster.jobset('a')['status']['replicatedJobsStatus'][0]['ready'] == 1
    assert cluster.jobset('a-b')['status']['replicatedJobsStatus'][0]['ready'] == 0

    cluster.delete('jobsets', 'a')
    await cluster.advance(120)

    (job,) = cluster.server.view('jobs')
    assert api.owner_uid(job) == cluster.jobset('a-b')['metadata']['uid']
    assert cluster.condition('NameConflict', 'a-b') == 'False'


async def test_scenario_7_zero_targets(calm: simulation.Simulation) -> None:
    """Completed when the last Job ends and never earlier; a set with nothing to run at once."""
    policy = {'operator': 'All', 'targetReplicatedJobs': ['z']}
    calm.create('jobsets', jobset(build.part('z', 0), build.part('a'), build.part('b'), successPolicy=policy))
    calm.create('jobsets', jobset(build.part('y', 0), build.part('z', 0), name='nothing'))
    await calm.advance(1)
    calm.finish('js-a-0')
    await calm.advance(9)
    before = (calm.condition('Completed'), [job['metadata']['name'] for job in calm.server.view('jobs')])
    calm.finish('js-b-0')
    await calm.settle()

    assert before == (None, ['js-a-0', 'js-b-0'])
    (ended,) = calm.jobset()['status']['conditions']
    assert (ended['type'], ended['lastTransitionTime']) == ('Completed', '2026-01-01T00:00:10Z')
    (ended,) = calm.jobset('nothing')['status']['conditions']
    assert (ended['type'], ended['lastTransitionTime']) == ('Completed', '2026-01-01T00:00:00Z')


async def test_scenario_1_attempts_never_mix_pod_by_pod() -> None:
    """The same with pods that take their time: no pod of the second attempt is made before the last of the first."""
    sim = simulation.Simulation(manner=simulation.Manner(has_pods=True))
    living: dict[float, set[str]] = {}
    made: list[float] = []

    def watch(change: api.Change) -> None:
        if change.name.plural == 'pods':
            attempts = {pod['metadata']['labels'][keys.RESTART_ATTEMPT] for pod in sim.server.view('pods')}
            living.setdefault(sim.time.seconds, set()).update(attempts)
            if change.before is None and '1' in attempts:
                made.append(sim.time.seconds)
            assert len(attempts) <= 1, f'{attempts} at {sim.time.seconds}'

    sim.server.watchers.append(watch)
    leader = build.part('l', template={'spec': build.pods() | {'backoffLimit': 0}})
    slow = {'spec': build.pods(parallelism=2, terminationGracePeriodSeconds=30) | {'backoffLimit': 0}}
    policy = {'maxRestarts': 1, 'restartStrategy': 'BlockingRecreate'}
    sim.create('jobsets', jobset(leader, build.part('w', template=slow), failurePolicy=policy))
    await sim.advance(10)
    pods = sim.environment.pods
    assert pods is not None
    pods.fail(next(pod['metadata']['name'] for pod in sim.server.view('pods') if '-l-' in pod['metadata']['name']))
    await sim.settle()

    assert made == [40, 40, 40]
    assert sorted(living) == [0, 10, 40]
    assert sim.jobset()['status']['restarts'] == 1


async def test_scenario_2_executions_are_counted_and_suspensions_are_free() -> None:
    """Three suspensions; in the second a Job reports that it failed in the same update: three executions more."""
    sim = simulation.Simulation(manner=simulation.Manner(gates=features.FeatureGates(execution_attempts=True)))
    sim.create('jobsets', jobset(build.part('w', 2), failurePolicy={'maxRestarts': 1}))
    await sim.settle()
    for round_ in range(3):
        await sim.advance(5)
        sim.suspend('js', to=True)
        if round_ == 1:
            sim.fail('js-w-0')
        await sim.settle()
        await sim.advance(5)
        sim.suspend('js', to=False)
        await sim.settle()

    status = sim.jobset()['status']
    assert (status['restarts'], status.get('restartsCountTowardsMax', 0), status['executionAttempts']) == (0, 0, 3)
    assert [entry['ready'] for entry in status['replicatedJobsStatus']] == [2]
    assert sim.condition('Failed') is None


async def test_scenario_8_counts_add_up() -> None:
    """A Job that is going to fail, and whose pod ignores that for 60 s: at all times each Job is in one bucket."""
    sim = simulation.Simulation()
    wrong: list[Object] = []

    def watch(change: api.Change) -> None:
        # What still runs when the set has failed is deleted, and counted nowhere then.
        if change.name.plural == 'jobsets' and sim.time.seconds >= 10 and sim.condition('Failed') is None:
            wrong.extend(
                entry
                for entry in sim.jobset().get('status', {}).get('replicatedJobsStatus', [])
                if entry['active'] + entry['succeeded'] + entry['failed'] + entry['suspended'] != 3
            )

    sim.server.watchers.append(watch)
    sim.create('jobsets', jobset(build.part('w', 3), failurePolicy={'maxRestarts': 0}))
    await sim.advance(10)
    target = {'type': 'FailureTarget', 'status': 'True', 'reason': 'BackoffLimitExceeded', 'message': 'gave up'}
    sim.edit('jobs', 'js-w-1', lambda job: job['status'].update(conditions=[target]))
    await sim.advance(30)
    sim.finish('js-w-0')
    await sim.advance(30)
    assert (wrong, sim.condition('Failed')) == ([], None)

    sim.fail('js-w-1')
    await sim.settle()
    (entry,) = sim.jobset()['status']['replicatedJobsStatus']
    assert (wrong, sim.condition('Failed')) == ([], 'True')
    assert (entry['active'], entry['succeeded'], entry['failed']) == (0, 1, 1)
    assert sorted(job['metadata']['name'] for job in sim.server.view('jobs')) == ['js-w-0', 'js-w-1']


async def test_scenario_12_staged_readiness() -> None:
    """The gang of the first stage is one pod, that of the second three, which begins when the first has completed."""
    sim = simulation.Simulation(manner=simulation.Manner(has_pods=True, has_groups=True))
    first = build.part('a')
    second = build.part('b', template={'spec': build.pods(parallelism=3)}, dependsOn=[build.needs('a', 'Complete')])
    sim.create('jobsets', annotated(jobset(first, second), gang='stage'))
    await sim.advance(100)
    before = _gangs(sim)
    assert [(when, name) for when, name, _ in sim.checks.made] == [(0, 'js-a-0')]

    sim.finish('js-a-0')
    await sim.advance(10)

    assert before == {'js-stage-0-0': 1}
    assert _gangs(sim) == {'js-stage-0-0': 1, 'js-stage-1-0': 3}
    assert [(when, name) for when, name, _ in sim.checks.made] == [(0, 'js-a-0'), (100, 'js-b-0')]
    running = [pod['metadata']['name'] for pod in sim.server.view('pods') if pod['status']['phase'] == 'Running']
    assert len(running) == 3
    assert sim.jobset()['status']['restarts'] == 0


def _gangs(sim: simulation.Simulation) -> dict[str, int]:
    """The groups, and how many pods each waits for."""
    return {
        group['metadata']['name']: group['spec']['schedulingPolicy']['gang']['minCount']
        for group in sim.server.view('podgroups')
    }
