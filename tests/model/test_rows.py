"""What users reported of other controllers, row by row: each must not happen here."""

from typing import Any

import pytest

from jobset.core import plan
from jobset.kube import errors, requests
from tests.core import build
from tests.model import api, scenarios, simulation
from tests.model.scenarios import jobset

Object = dict[str, Any]


async def test_row_1_a_new_attempt_waits_for_the_pods_of_the_old(calm: simulation.Simulation) -> None:
    slow = build.part('w', 1, template={'spec': build.pods(parallelism=2, terminationGracePeriodSeconds=30)})
    policy = {'maxRestarts': 1, 'restartStrategy': 'BlockingRecreate'}
    calm.create('jobsets', jobset(build.part('l'), slow, failurePolicy=policy))
    await calm.settle()

    calm.fail('js-l-0')
    await calm.settle()

    assert calm.checks.made == [(0, 'js-l-0', 0), (0, 'js-w-0', 0), (30, 'js-l-0', 1), (30, 'js-w-0', 1)]


@pytest.mark.parametrize('foreground', [True, False])
async def test_row_3_a_set_that_is_deleted_gets_nothing_new(
    calm: simulation.Simulation,
    foreground: bool,
) -> None:
    calm.create('jobsets', jobset(build.part('w', 3), network={'enableDNSHostnames': True}))
    await calm.settle()

    calm.delete('jobsets', 'js', foreground=foreground)
    await calm.settle()

    assert len(calm.checks.made) == 3


@pytest.mark.parametrize('foreground', [True, False])
async def test_row_3_a_set_that_is_deleted_leaves_nothing(
    cluster: simulation.Simulation,
    foreground: bool,
) -> None:
    cluster.create('jobsets', jobset(build.part('w', 3), network={'enableDNSHostnames': True}))
    await cluster.settle()

    # Whoever hears that a Job is gone before it hears that the set is makes that Job once more; it does not stay.
    cluster.delete('jobsets', 'js', foreground=foreground)
    await cluster.settle()

    assert [obj for plural in api.KINDS for obj in cluster.server.view(plural)] == []


async def test_row_7_taken_names_are_told_of_at_once_and_never_adopted(calm: simulation.Simulation) -> None:
    scenarios.foreign_job('js-w-0').happen(calm)
    scenarios.foreign_service(selector='other').happen(calm)
    calm.create('jobsets', jobset(build.part('w', 2), network={'enableDNSHostnames': True}))
    await calm.settle()
    (conflict,) = calm.jobset()['status']['conditions']
    assert (conflict['type'], conflict['status'], conflict['reason']) == ('NameConflict', 'True', 'ForeignObject')
    assert plan.EventType.WARNING in {event.type for event in calm.events() if event.reason == 'JobCreationFailed'}

    sent = len(calm.wire.sent)
    await calm.advance(600)
    in_ten_minutes = len(calm.wire.sent) - sent

    assert 0 < in_ten_minutes <= 40
    calm.delete('jobs', 'js-w-0')
    calm.delete('services', 'js')
    await calm.advance(120)
    assert calm.condition('NameConflict') == 'False'
    assert [api.owner_uid(job) for job in calm.server.view('jobs')] == [calm.jobset()['metadata']['uid']] * 2
    service = calm.server.get('services', 'js')
    assert service is not None
    assert api.owner_uid(service) == calm.jobset()['metadata']['uid']


async def test_row_15_a_failure_in_the_moment_of_suspension_is_free(calm: simulation.Simulation) -> None:
    calm.create('jobsets', jobset(build.part('w', 2), failurePolicy={'maxRestarts': 1}))
    await calm.settle()

    calm.suspend('js', to=True)
    calm.fail('js-w-0')
    await calm.settle()
    status = calm.jobset()['status']
    assert (status['restarts'], calm.condition('Failed'), calm.condition('Suspended')) == (0, None, 'True')
    assert status['replicatedJobsStatus'][0]['failed'] == 1

    await calm.advance(5)
    calm.suspend('js', to=False)
    await calm.settle()

    status = calm.jobset()['status']
    assert (status['restarts'], calm.condition('Failed'), calm.condition('Suspended')) == (0, None, 'False')
    assert status['replicatedJobsStatus'][0]['ready'] == 2
    assert [name for _, name, _ in calm.checks.made] == ['js-w-0', 'js-w-1', 'js-w-0']


async def test_row_21_a_restart_is_told_of_until_it_is_over(calm: simulation.Simulation) -> None:
    calm.environment.ready_after = 10
    calm.create('jobsets', jobset(build.part('w'), failurePolicy={'maxRestarts': 1}))
    await calm.settle()

    calm.fail('js-w-0')
    await calm.settle_until(calm.time.seconds + 5)
    while_restarting = calm.condition('RestartingJobSet')
    await calm.settle()
    when_ready = calm.condition('RestartingJobSet')
    calm.fail('js-w-0')
    await calm.settle()

    assert (while_restarting, when_ready) == ('True', 'False')
    assert (calm.condition('RestartingJobSet'), calm.condition('Failed')) == ('False', 'True')
    assert [event.reason for event in calm.events()] == [
        'DefaultFailurePolicy',
        'RestartJobSetFailurePolicyAction',
        'JobsReady',
        'ReachedMaxRestarts',
        'JobSetFailed',
    ]


async def test_row_25_time_to_live_counts_whoever_manages_the_set(calm: simulation.Simulation) -> None:
    calm.create('jobsets', jobset(build.part('w'), managedBy='example.com/other', ttlSecondsAfterFinished=5))
    await calm.settle()
    assert calm.wire.sent == []
    ended = {
        'type': 'Completed',
        'status': 'True',
        'reason': 'Done',
        'message': 'by the other',
        'lastTransitionTime': calm.time.stamp(),
    }
    calm.edit('jobsets', 'js', lambda obj: obj.update(status={'conditions': [ended], 'terminalState': 'Completed'}))

    await calm.advance(4)
    after_four = calm.server.get('jobsets', 'js')
    await calm.advance(1)

    assert after_four is not None
    assert calm.server.get('jobsets', 'js') is None
    assert [request.method for request in calm.wire.sent] == ['DELETE']


async def test_row_29_the_budget_binds_and_the_end_stays(cluster: simulation.Simulation) -> None:
    cluster.create('jobsets', jobset(build.part('w'), failurePolicy={'maxRestarts': 1}, ttlSecondsAfterFinished=5000))
    await cluster.settle()

    for _ in range(5):
        cluster.fail('js-w-0')
        await cluster.settle()

    assert [attempt for _, _, attempt in cluster.checks.made] == [0, 1]
    assert cluster.condition('Failed') == 'True'
    await cluster.advance(6000)
    assert (cluster.server.get('jobsets', 'js'), cluster.server.view('jobs')) == (None, [])
    assert len(cluster.checks.made) == 2


async def test_row_33_any_means_any_job_not_any_pod(cluster: simulation.Simulation) -> None:
    wide = build.part('w', 1, template={'spec': build.pods(parallelism=5)})
    cluster.create('jobsets', jobset(wide, successPolicy={'operator': 'Any'}))
    await cluster.settle()

    cluster.edit('jobs', 'js-w-0', lambda job: job['status'].update(active=1, ready=1, succeeded=4))
    await cluster.settle()
    with_four_pods_done = cluster.condition('Completed')
    cluster.fail('js-w-0')
    await cluster.settle()

    assert with_four_pods_done is None
    assert (cluster.condition('Completed'), cluster.condition('Failed')) == (None, 'True')


async def test_row_35_zero_targets_kill_nothing_and_wait_for_nothing(cluster: simulation.Simulation) -> None:
    policy = {'operator': 'All', 'targetReplicatedJobs': ['z']}
    parts = (build.part('z', 0), build.part('a'), build.part('b'))
    cluster.create('jobsets', jobset(*parts, successPolicy=policy))
    cluster.create('jobsets', jobset(build.part('z', 0), name='nothing'))
    await cluster.settle()

    cluster.finish('js-a-0')
    await cluster.settle()
    after_the_first = cluster.condition('Completed')
    cluster.finish('js-b-0')
    await cluster.settle()

    assert after_the_first is None
    assert (cluster.condition('Completed'), cluster.condition('Completed', 'nothing')) == ('True', 'True')


async def test_row_37_a_job_on_its_way_to_failure_is_still_counted(cluster: simulation.Simulation) -> None:
    """It is active until it has failed, and each Job is in one bucket at any time."""
    cluster.create('jobsets', jobset(build.part('w', 3)))
    await cluster.settle()

    target = {'type': 'FailureTarget', 'status': 'True', 'reason': 'PodFailurePolicy'}
    cluster.edit('jobs', 'js-w-1', lambda job: job['status'].update(conditions=[target]))
    await cluster.settle()

    (entry,) = cluster.jobset()['status']['replicatedJobsStatus']
    assert entry == {'name': 'w', 'ready': 3, 'succeeded': 0, 'failed': 0, 'active': 3, 'suspended': 0}
    assert cluster.condition('Failed') is None
    cohort = cluster.controller.family('js').current(0)
    assert (len(cohort.members), len(cohort.active), len(cohort.failed), cohort.succeeded) == (3, 3, 0, 0)


@pytest.mark.parametrize('code', [500, 503])
async def test_row_39_a_failed_status_write_is_repeated(calm: simulation.Simulation, code: int) -> None:
    refused: list[str] = []

    def refuse(request: requests.Request) -> errors.ApiError | None:
        if request.path.endswith('/status') and not refused:
            refused.append(request.method)
            return errors.ServerError(code, 'InternalError', 'try again')
        return None

    calm.wire.refuse = refuse
    calm.create('jobsets', jobset(build.part('w')))
    await calm.settle()

    assert refused == ['PUT']
    assert calm.jobset()['status']['replicatedJobsStatus'][0]['ready'] == 1

    refused.clear()
    calm.fail('js-w-0')
    await calm.settle()

    # Nothing is told before it is stored, so a write that failed tells nothing.
    assert refused == ['PUT']
    assert calm.condition('Failed') == 'True'
    assert [event.reason for event in calm.events()] == ['FailedJobs']


def _admit(sim: simulation.Simulation, **pod: object) -> None:
    def change(obj: Object) -> None:
        obj['spec']['suspend'] = False
        for part in obj['spec']['replicatedJobs']:
            part['template']['spec']['template']['spec'].update(pod)

    sim.edit('jobsets', 'js', change)


async def _evict(sim: simulation.Simulation) -> None:
    await sim.settle()
    sim.suspend('js', to=True)
    await sim.settle()


def _pod(sim: simulation.Simulation, job: str) -> Object:
    found = sim.server.get('jobs', job)
    assert found is not None
    spec: Object = found['spec']['template']['spec']
    return spec


@pytest.mark.parametrize('is_modern', [True, False])
async def test_row_43_the_last_admission_leaves_nothing_behind(is_modern: bool) -> None:
    sim = simulation.Simulation(0, simulation.Manner(is_modern=is_modern))
    toleration = {'key': 'a', 'operator': 'Exists'}
    sim.create('jobsets', jobset(build.part('w'), suspend=True))
    await sim.settle()
    _admit(sim, nodeSelector={'pool': 'a', 'only-a': 'x'}, tolerations=[toleration], schedulingGates=[{'name': 'a/a'}])
    await _evict(sim)

    _admit(sim, nodeSelector={'pool': 'b'}, tolerations=[], schedulingGates=[{'name': 'b/b'}])
    await sim.settle()

    pod = _pod(sim, 'js-w-0')
    assert pod['nodeSelector'] == {'pool': 'b'}
    assert pod.get('tolerations', []) == []
    assert pod['schedulingGates'] == [{'name': 'b/b'}]


async def test_row_45_edits_made_while_suspended_arrive(cluster: simulation.Simulation) -> None:
    toleration = {'key': 'gpu', 'operator': 'Exists'}
    cluster.create('jobsets', jobset(build.part('w')))
    await _evict(cluster)

    _admit(cluster, tolerations=[toleration])
    await cluster.settle()

    job = cluster.server.get('jobs', 'js-w-0')
    assert job is not None
    assert (job['spec']['suspend'], _pod(cluster, 'js-w-0')['tolerations']) == (False, [toleration])


async def test_row_47_the_start_time_is_cleared_before_the_template_changes() -> None:
    """Before Kubernetes 1.36 the template of a Job that has once started can be changed in no other order."""
    sim = simulation.Simulation(0, simulation.Manner(is_modern=False))
    sim.create('jobsets', jobset(build.part('w')))
    await _evict(sim)
    job = sim.server.get('jobs', 'js-w-0')
    assert job is not None
    assert job['status']['startTime'] == '2026-01-01T00:00:00Z'
    sent = len(sim.wire.sent)

    _admit(sim, nodeSelector={'pool': 'b'})
    await sim.settle()

    writes = [request for request in sim.wire.sent[sent:] if '/jobs/js-w-0' in request.path]
    assert [request.path.rpartition('/')[2] for request in writes] == ['status', 'js-w-0']
    assert _pod(sim, 'js-w-0')['nodeSelector'] == {'pool': 'b'}


async def test_row_49_each_replicated_job_keeps_its_own_selector(cluster: simulation.Simulation) -> None:
    parts = [
        build.part(name, template={'spec': build.pods(nodeSelector={'role': name})}) for name in ('driver', 'worker')
    ]
    cluster.create('jobsets', jobset(*parts))
    await _evict(cluster)

    def admit(obj: Object) -> None:
        obj['spec']['suspend'] = False
        for part in obj['spec']['replicatedJobs']:
            part['template']['spec']['template']['spec']['nodeSelector']['pool'] = f'for-{part["name"]}'

    cluster.edit('jobsets', 'js', admit)
    await cluster.settle()

    assert {name: _pod(cluster, f'js-{name}-0')['nodeSelector'] for name in ('driver', 'worker')} == {
        'driver': {'role': 'driver', 'pool': 'for-driver'},
        'worker': {'role': 'worker', 'pool': 'for-worker'},
    }


async def test_row_53_a_resumed_set_tells_that_it_runs(cluster: simulation.Simulation) -> None:
    cluster.create('jobsets', jobset(build.part('w', 2)))
    await _evict(cluster)
    suspended = (cluster.condition('Suspended'), cluster.jobset()['status']['replicatedJobsStatus'][0])

    cluster.suspend('js', to=False)
    await cluster.settle()

    zeros = {'name': 'w', 'ready': 0, 'succeeded': 0, 'failed': 0, 'active': 0, 'suspended': 0}
    assert suspended == ('True', zeros | {'suspended': 2})
    assert (cluster.condition('Suspended'), cluster.jobset()['status']['replicatedJobsStatus'][0]) == (
        'False',
        zeros | {'ready': 2, 'active': 2},
    )


async def test_row_55_a_queued_set_never_starts_a_pod(cluster: simulation.Simulation) -> None:
    started: list[str] = []

    def watch(change: api.Change) -> None:
        if change.name.plural == 'jobs' and b'"startTime"' in change.raw:
            started.append(change.name.name)

    cluster.server.watchers.append(watch)
    cluster.create('jobsets', jobset(build.part('w', 2), suspend=True))
    await cluster.settle()
    await cluster.advance(600)
    while_queued = list(started)
    cluster.suspend('js', to=False)
    await cluster.settle()

    assert while_queued == []
    assert set(started) == {'js-w-0', 'js-w-1'}


async def test_row_71_an_error_on_reading_is_not_absence(calm: simulation.Simulation) -> None:
    """The one thing that a pass reads is a Job in its way: while it cannot be read, nobody says that it is foreign."""
    asked: list[requests.Request] = []
    lost: list[requests.Request] = []

    def lose(request: requests.Request) -> bool:
        if request.method == 'POST' and not lost:
            lost.append(request)
            return True
        return False

    def refuse(request: requests.Request) -> errors.ApiError | None:
        if request.method == 'GET':
            asked.append(request)
            return errors.ServerError(500, 'InternalError', 'try again')
        return None

    calm.held.add('jobs')
    calm.wire.lose, calm.wire.refuse = lose, refuse
    calm.create('jobsets', jobset(build.part('w')))
    await calm.settle()
    while_unreadable = (len(asked) > 0, calm.jobset().get('status'), len(calm.server.view('jobs')))

    calm.wire.refuse = lambda request: None
    await calm.settle()
    when_readable = calm.jobset()['status']
    calm.held.clear()
    await calm.settle()

    assert while_unreadable == (True, None, 1)
    assert 'conditions' not in when_readable
    assert len(calm.checks.made) == 1
    assert calm.jobset()['status']['replicatedJobsStatus'][0]['ready'] == 1


@pytest.mark.parametrize(
    'spec',
    [
        pytest.param({}, id='nothing at all'),
        pytest.param({'replicatedJobs': []}, id='no replicated jobs'),
        pytest.param({'replicatedJobs': [{'name': 'w', 'template': {}}]}, id='an empty template'),
        pytest.param(
            {
                'replicatedJobs': [{'name': 'w', 'template': {}}],
                'network': {},
                'failurePolicy': {},
                'coordinator': None,
            },
            id='empty policies and nulls',
        ),
    ],
)
async def test_row_91_a_set_without_defaults_does_not_crash(cluster: simulation.Simulation, spec: Object) -> None:
    cluster.create('jobsets', {'metadata': {'name': 'js'}, 'spec': spec})
    await cluster.settle()
    for job in cluster.server.view('jobs'):
        cluster.fail(job['metadata']['name'])
    await cluster.settle()

    ended = cluster.jobset()['status']['terminalState']
    assert ended == ('Failed' if spec.get('replicatedJobs') else 'Completed')


async def test_row_93_a_template_that_is_refused_is_told_of_with_the_cause(calm: simulation.Simulation) -> None:
    reason = 'Job "js-w-0" is invalid: spec.completions: Required value: when completion mode is Indexed'
    calm.server.admission = lambda name, obj: reason if name.plural == 'jobs' else None
    calm.create('jobsets', jobset(build.part('w', 200)))
    await calm.settle()

    told = [event for event in calm.events() if event.reason == 'JobCreationFailed']
    assert told
    assert all(event.type == plan.EventType.WARNING and reason in event.note for event in told)
    sent = len(calm.wire.sent)
    await calm.advance(600)
    assert len(calm.wire.sent) - sent <= 20

    calm.server.admission = lambda name, obj: None
    await calm.advance(61)
    assert len(calm.server.view('jobs')) == 200
