"""One property for each kind of fault that users report of systems like this one."""

from typing import Any

import pytest

from jobset.api import keys
from jobset.kube import errors, requests
from tests.core import build
from tests.model import api, rest, scenarios, simulation
from tests.model.scenarios import jobset

Object = dict[str, Any]
BLOCKING: Object = {'maxRestarts': 3, 'restartStrategy': 'BlockingRecreate'}


def _labels(sim: simulation.Simulation) -> set[str]:
    return {job['metadata']['labels'][keys.RESTART_ATTEMPT] for job in sim.server.view('jobs')}


async def test_F1_identity_is_the_uid(cluster: simulation.Simulation) -> None:
    """A set of the same name inherits nothing: not the Jobs of the first, not their failures."""
    cluster.create('jobsets', jobset(build.part('w', 2)))
    await cluster.settle()
    cluster.fail('js-w-0')
    cluster.delete('jobsets', 'js')
    cluster.create('jobsets', jobset(build.part('w', 2), failurePolicy=BLOCKING))

    await cluster.advance(61)

    second = cluster.jobset()
    assert {api.owner_uid(job) for job in cluster.server.view('jobs')} == {second['metadata']['uid']}
    assert [job['metadata']['name'] for job in cluster.server.view('jobs')] == ['js-w-0', 'js-w-1']
    assert (second['status']['restarts'], cluster.condition('Failed')) == (0, None)


async def test_F1_what_is_terminating_or_foreign_does_not_count(cluster: simulation.Simulation) -> None:
    """A Job with our labels and no owner is none of ours."""
    stray: Object = {
        'metadata': {
            'name': 'stray',
            'labels': {keys.REPLICATED_JOB_NAME: 'w', keys.JOB_INDEX: '0', keys.RESTART_ATTEMPT: '0'},
        },
        'spec': {'suspend': False, 'template': {}},
    }
    cluster.create('jobs', stray)
    cluster.create('jobsets', jobset(build.part('w', 1), failurePolicy=BLOCKING))
    await cluster.settle()

    cluster.fail('stray')
    await cluster.settle()

    assert cluster.jobset()['status'] == {
        'restarts': 0,
        'replicatedJobsStatus': [{'name': 'w', 'ready': 1, 'succeeded': 0, 'failed': 0, 'active': 1, 'suspended': 0}],
    }


async def test_F1_another_object_under_the_name_is_not_deleted(calm: simulation.Simulation) -> None:
    """Between the decision and the request the Job goes and somebody else takes its name."""
    calm.create('jobsets', jobset(build.part('w', 2), successPolicy={'operator': 'Any'}))
    await calm.settle()

    def swap(request: requests.Request) -> None:
        if (
            request.method == 'DELETE'
            and api.owner_uid(calm.server.get('jobs', 'js-w-1') or {'metadata': {}}) is not None
        ):
            calm.delete('jobs', 'js-w-1', foreground=True)
            calm.server.release('jobs', 'js-w-1')
            scenarios.foreign_job('js-w-1').happen(calm)

    calm.wire.refuse = swap
    calm.finish('js-w-0')
    await calm.settle()

    assert calm.condition('Completed') == 'True'
    foreign = calm.server.get('jobs', 'js-w-1')
    assert foreign is not None
    assert 'deletionTimestamp' not in foreign['metadata']
    assert api.owner_uid(foreign) is None


@pytest.mark.parametrize('rounds', [1, 3])
async def test_F2_generations_overlap(cluster: simulation.Simulation, rounds: int) -> None:
    """With BlockingRecreate no two attempts live at once; the cluster checks that after every step."""
    parts = (build.part('leader'), build.part('w', 2, template={'spec': build.pods(terminationGracePeriodSeconds=30)}))
    cluster.create('jobsets', jobset(*parts, failurePolicy=BLOCKING))
    await cluster.settle()

    for attempt in range(rounds):
        assert _labels(cluster) == {str(attempt)}
        cluster.fail('js-leader-0')
        await cluster.settle()

    assert _labels(cluster) == {str(rounds)}
    assert cluster.jobset()['status']['restarts'] == rounds
    assert [attempt for _, _, attempt in cluster.checks.made] == sorted(
        attempt for _, _, attempt in cluster.checks.made
    )


async def test_F2_otherwise_each_job_waits_for_its_own_predecessor(calm: simulation.Simulation) -> None:
    slow = build.part('w', 1, template={'spec': build.pods(terminationGracePeriodSeconds=30)})
    calm.create('jobsets', jobset(build.part('leader'), slow, failurePolicy={'maxRestarts': 1}))
    await calm.settle()

    calm.fail('js-leader-0')
    await calm.settle()

    assert calm.checks.made[2:] == [(0, 'js-leader-0', 1), (30, 'js-w-0', 1)]


@pytest.mark.parametrize(
    ('strategy', 'made_meanwhile'),
    [
        pytest.param('Recreate', ['js-l-0'], id='Recreate goes on with the rest of the set'),
        pytest.param('BlockingRecreate', [], id='BlockingRecreate waits with the whole set'),
    ],
)
async def test_F3_a_pod_that_does_not_end_holds_up_no_more_than_it_must(
    calm: simulation.Simulation,
    strategy: str,
    made_meanwhile: list[str],
) -> None:
    """While its end is waited for nothing is asked again and again, other sets go on, and the user is obeyed."""
    stuck = build.part('w', template={'spec': build.pods(terminationGracePeriodSeconds=100_000)})
    policy = {'maxRestarts': 1, 'restartStrategy': strategy}
    calm.create('jobsets', jobset(build.part('l'), stuck, failurePolicy=policy))
    calm.create('jobsets', jobset(build.part('x'), name='other'))
    await calm.settle_until(10)

    calm.fail('js-l-0')
    await calm.settle_until(1000)
    made = [name for _, name, attempt in calm.checks.made if attempt == 1]
    sent = len(calm.wire.sent)
    await calm.settle_until(50_000)
    asked_meanwhile = len(calm.wire.sent) - sent
    calm.finish('other-x-0')
    calm.suspend('js', to=True)
    await calm.settle_until(50_001)
    meanwhile = (calm.condition('Completed', 'other'), calm.condition('Suspended'))
    calm.suspend('js', to=False)
    await calm.settle()

    assert (made, asked_meanwhile, meanwhile) == (made_meanwhile, 0, ('True', 'True'))
    assert [(when, name) for when, name, attempt in calm.checks.made if attempt == 1][-1] == (100_010, 'js-w-0')
    assert [entry['ready'] for entry in calm.jobset()['status']['replicatedJobsStatus']] == [1, 1]


@pytest.mark.parametrize('ending', ['Complete', 'Failed'])
async def test_F4_terminal_is_final(cluster: simulation.Simulation, ending: str) -> None:
    """After the end nothing starts again, whatever becomes of the Jobs; what still runs is stopped."""
    policy = {'operator': 'Any', 'targetReplicatedJobs': ['w']}
    cluster.create('jobsets', jobset(build.part('w', 2), build.part('z', 1), successPolicy=policy))
    await cluster.settle()

    cluster.finish('js-w-0', ending, reason='BackoffLimitExceeded' if ending == 'Failed' else '')
    await cluster.settle()

    end = 'Completed' if ending == 'Complete' else 'Failed'
    made = list(cluster.checks.made)
    assert [job['metadata']['name'] for job in cluster.server.view('jobs')] == ['js-w-0']
    cluster.checks.forget_success('js-w-0')
    cluster.delete('jobs', 'js-w-0')
    cluster.suspend('js', to=True)
    await cluster.settle()
    cluster.suspend('js', to=False)
    await cluster.advance(600)

    assert (cluster.condition(end), cluster.jobset()['status']['terminalState']) == ('True', end)
    assert cluster.checks.made == made
    assert cluster.server.view('jobs') == []


async def test_F5_late_failures_of_an_earlier_attempt_are_free(cluster: simulation.Simulation) -> None:
    slow = {'spec': build.pods(terminationGracePeriodSeconds=30)}
    cluster.create('jobsets', jobset(build.part('w', 2, template=slow), failurePolicy=BLOCKING))
    await cluster.settle()

    cluster.fail('js-w-0')
    cluster.fail('js-w-1')
    await cluster.settle()

    status = cluster.jobset()['status']
    assert (status['restarts'], status['restartsCountTowardsMax']) == (1, 1)
    assert _labels(cluster) == {'1'}


async def test_F5_suspension_is_free_and_failures_count_once(cluster: simulation.Simulation) -> None:
    cluster.create('jobsets', jobset(build.part('w', 2), failurePolicy={'maxRestarts': 1}))
    await cluster.settle()
    for _ in range(3):
        cluster.fail('js-w-0')
        cluster.suspend('js', to=True)
        # Whether the failure was seen first is the cluster's secret; here it is not.
        cluster.suspend('js', to=False)
        cluster.suspend('js', to=True)
        await cluster.settle()
        await cluster.advance(5)
        cluster.suspend('js', to=False)
        await cluster.settle()
        await cluster.advance(5)

    restarts = cluster.jobset()['status'].get('restartsCountTowardsMax', 0)
    assert restarts <= 1
    if cluster.manner.is_calm:
        assert restarts == 0
        assert cluster.condition('Failed') is None


async def test_F5_a_failure_during_a_resume_in_order_counts(cluster: simulation.Simulation) -> None:
    """In order, a resume takes until all have started; what fails before that is a failure like any other."""
    cluster.environment.ready_after = 100_000
    cluster.create(
        'jobsets',
        jobset(
            build.part('a'),
            build.part('b'),
            startupPolicy={'startupPolicyOrder': 'InOrder'},
            failurePolicy={'maxRestarts': 1},
            suspend=True,
        ),
    )
    await cluster.settle_until(cluster.time.seconds + 1000)
    cluster.suspend('js', to=False)
    await cluster.settle_until(cluster.time.seconds + 1000)

    for _ in range(2):
        assert cluster.fail('js-a-0')
        await cluster.settle_until(cluster.time.seconds + 1000)

    assert cluster.jobset()['status']['restartsCountTowardsMax'] == 1
    assert cluster.condition('Failed') == 'True'


async def test_F6_resume_drift(cluster: simulation.Simulation) -> None:
    """After each resume the placement of a Job is that of the template, and what others put there."""
    cluster.create('jobsets', jobset(build.part('w', 2), suspend=True))
    await cluster.settle()

    def inject(job: Object) -> None:
        job['spec']['template']['metadata']['labels']['quota'] = 'theirs'

    for name in ('js-w-0', 'js-w-1'):
        cluster.edit('jobs', name, inject, manager='queue')
    for selector in ({'pool': 'a'}, {'pool': 'b', 'gen': '2'}, {'gen': '3'}, {}):
        pod = {'metadata': {'labels': {f'key-{len(selector)}': 'x'}}, 'spec': build.POD | {'nodeSelector': selector}}

        def admit(obj: Object, pod: Object = pod) -> None:
            obj['spec']['replicatedJobs'][0]['template']['spec']['template'] = pod
            obj['spec']['suspend'] = False

        cluster.edit('jobsets', 'js', admit)
        await cluster.settle()
        await cluster.advance(5)
        for job in cluster.server.view('jobs'):
            template = job['spec']['template']
            assert not job['spec']['suspend']
            assert template['spec'].get('nodeSelector', {}) == selector
            own = {key for key in template['metadata']['labels'] if '/' not in key}
            assert own == {'quota', 'job-name', f'key-{len(selector)}'}
        cluster.suspend('js', to=True)
        await cluster.settle()
        await cluster.advance(5)


async def test_F8_names_that_are_taken_are_told_of(cluster: simulation.Simulation) -> None:
    scenarios.foreign_job('js-w-1').happen(cluster)
    await cluster.settle()
    foreign = cluster.server.get('jobs', 'js-w-1')
    cluster.create('jobsets', jobset(build.part('w', 2)))

    await cluster.settle()

    conflict = next(c for c in cluster.jobset()['status']['conditions'] if c['type'] == 'NameConflict')
    assert conflict['status'] == 'True'
    assert 'Job "js-w-1"' in conflict['message']
    # Everything else goes on as if nothing were wrong.
    assert [job['metadata']['name'] for job in cluster.server.view('jobs')] == ['js-w-0', 'js-w-1']
    assert cluster.server.get('jobs', 'js-w-1') == foreign


async def test_F9_status_is_true_and_written_once_a_pass(cluster: simulation.Simulation) -> None:
    """The cluster checks each write; here the sums are checked whenever all is at rest."""
    cluster.create('jobsets', jobset(build.part('w', 3), failurePolicy=BLOCKING))
    await cluster.settle()
    for act in (
        lambda: cluster.finish('js-w-0'),
        lambda: cluster.fail('js-w-1'),
        lambda: cluster.suspend('js', to=True),
        lambda: cluster.suspend('js', to=False),
    ):
        act()
        await cluster.settle()
        await cluster.advance(2)
        rest.check(cluster.server)
        (entry,) = cluster.jobset()['status']['replicatedJobsStatus']
        assert entry['ready'] + entry['suspended'] + entry['succeeded'] + entry['failed'] == 3


async def test_F15_what_exists_is_used_and_never_adopted(cluster: simulation.Simulation) -> None:
    claim = {'metadata': {'name': 'data-js', 'labels': {'made-by': 'user'}}, 'spec': {'storageClassName': 'theirs'}}
    cluster.create('persistentvolumeclaims', build.copy(claim))
    scenarios.foreign_service(selector='js').happen(cluster)
    before = (cluster.server.get('persistentvolumeclaims', 'data-js'), cluster.server.get('services', 'js'))
    policies = [
        {
            'templates': [{'metadata': {'name': name}, 'spec': {}} for name in ('data', 'scratch')],
            'retentionPolicy': {'whenDeleted': 'Delete'},
        },
        {
            'templates': [{'metadata': {'name': 'kept'}, 'spec': {}}],
            'retentionPolicy': {'whenDeleted': 'Retain'},
        },
    ]
    cluster.create(
        'jobsets', jobset(build.part('w'), network={'enableDNSHostnames': True}, volumeClaimPolicies=policies)
    )
    await cluster.settle()
    assert [claim['metadata']['name'] for claim in cluster.server.view('persistentvolumeclaims')] == [
        'data-js',
        'kept-js',
        'scratch-js',
    ]
    assert cluster.condition('NameConflict') is None

    cluster.delete('jobsets', 'js')
    await cluster.settle()

    # Ours go with the set, the retained one stays, and those of others are as they were.
    assert [claim['metadata']['name'] for claim in cluster.server.view('persistentvolumeclaims')] == [
        'data-js',
        'kept-js',
    ]
    assert (cluster.server.get('persistentvolumeclaims', 'data-js'), cluster.server.get('services', 'js')) == before


@pytest.mark.parametrize(
    ('limit', 'failures', 'ended', 'restarts'),
    [
        pytest.param(0, 1, 'True', 0, id='no restart is allowed'),
        pytest.param(2, 2, None, 2, id='the limit is not reached'),
        pytest.param(2, 3, 'True', 2, id='one failure more than restarts'),
    ],
)
async def test_F18_limits_hold(
    cluster: simulation.Simulation,
    limit: int,
    failures: int,
    ended: str | None,
    restarts: int,
) -> None:
    cluster.create('jobsets', jobset(build.part('w', 2), failurePolicy={'maxRestarts': limit}))
    await cluster.settle()

    for _ in range(failures):
        cluster.fail('js-w-1')
        await cluster.settle()

    assert (cluster.condition('Failed'), cluster.jobset()['status']['restarts']) == (ended, restarts)


async def test_F18_failure_comes_before_success_in_the_same_pass(calm: simulation.Simulation) -> None:
    calm.create('jobsets', jobset(build.part('w', 2), successPolicy={'operator': 'Any'}))
    await calm.settle()

    calm.finish('js-w-0')
    calm.fail('js-w-1')
    await calm.settle()

    assert (calm.condition('Failed'), calm.condition('Completed')) == ('True', None)


_FAULTS = [
    errors.ServerError(500, 'InternalError', 'try again'),
    errors.TooManyRequests(429, 'TooManyRequests', 'slow down'),
    errors.Forbidden(403, 'Forbidden', 'not yet'),
    errors.Unreachable('cut', sent=False),
]


async def _eventful(sim: simulation.Simulation) -> Object:
    claims = [{'templates': [{'metadata': {'name': 'data'}, 'spec': {}}]}]
    sim.create(
        'jobsets',
        jobset(
            build.part('a', 2),
            build.part('b', dependsOn=[build.needs('a', 'Ready')]),
            failurePolicy=BLOCKING,
            network={'enableDNSHostnames': True},
            volumeClaimPolicies=claims,
        ),
    )
    await sim.settle()
    for act in (
        lambda: sim.fail('js-a-1'),
        lambda: sim.suspend('js', to=True),
        lambda: sim.suspend('js', to=False),
        lambda: [sim.finish(f'js-{child}') for child in ('a-0', 'a-1', 'b-0')],
    ):
        act()
        await sim.settle()
        await sim.advance(2)
    return scenarios.picture(sim)


@pytest.mark.parametrize('fault', _FAULTS, ids=lambda fault: fault.reason)
async def test_F19_every_request_may_fail_once(fault: errors.ApiError) -> None:
    """Whichever request meets the error, the pass is repeated and the end is the same."""
    undisturbed = simulation.Simulation()
    expected = await _eventful(undisturbed)
    count = len(undisturbed.wire.sent)
    assert count > 20

    for place in range(count):
        sim, seen = simulation.Simulation(), 0

        def refuse(request: requests.Request, place: int = place) -> errors.ApiError | None:
            nonlocal seen
            seen += 1
            return fault if seen == place + 1 else None

        sim.wire.refuse = refuse
        assert await _eventful(sim) == expected, f'the error met request {place}'
        rest.check(sim.server)


async def test_F19_a_set_without_defaults_does_not_stop_the_others(cluster: simulation.Simulation) -> None:
    bare: Object = {'metadata': {'name': 'bare'}, 'spec': {'replicatedJobs': [{'name': 'w', 'template': {}}]}}
    cluster.create('jobsets', bare)
    cluster.create('jobsets', {'metadata': {'name': 'empty'}, 'spec': {}})
    cluster.create('jobsets', jobset(build.part('w')))

    await cluster.settle()

    assert [job['metadata']['name'] for job in cluster.server.view('jobs')] == ['bare-w-0', 'js-w-0']
    assert cluster.condition('Completed', 'empty') == 'True'
