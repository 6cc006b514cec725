"""Stories that users' reports were condensed into, on the clock of the simulation."""

from typing import Any

from jobset.api import keys
from tests.core import build
from tests.model import api, simulation
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
