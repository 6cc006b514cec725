"""What a JobSet says that it waits for, to the letter."""

import dataclasses
from typing import Any

import msgspec
import pytest

from jobset.api import extras, features, jobs, keys, pods, types
from jobset.core import domains, fencing, plan, reconcile, waiting
from jobset.core.groups import observed
from tests.core import build, placing

FEW = domains.Domains(3, {'r0': domains.Holder('default', 'other'), 'r1': domains.Holder('else', 'secret')})
Told = tuple[str, str, str] | None


def pass_(jobset: types.JobSet, *members: jobs.Job, at: float = 100, **more: Any) -> plan.Plan:
    facts = dataclasses.replace(build.facts(jobset, *members, seen=build.service()), **more)
    return reconcile.reconcile(facts, build.at(at))


def told(found: plan.Plan) -> Told:
    conditions = found.status.conditions if found.status is not None else ()
    return next(((one.status, one.reason, one.message) for one in conditions if one.type == 'Waiting'), None)


def events(found: plan.Plan) -> list[plan.Event]:
    return [event for event in found.events if event.reason != 'SuspendedJobs']


def metadata(**annotations: str) -> Any:
    return {'metadata': {'annotations': annotations, 'creationTimestamp': build.stamp(0)}}


def waits(reason: str, message: str = 'old words') -> types.Status:
    return types.Status(conditions=(build.condition('Waiting', holds=True, reason=reason, message=message),))


# Replicated jobs that wait for others.

NEEDY = (
    build.part('a', 2),
    build.part('b', dependsOn=[build.needs('a', 'Ready')]),
    build.part('c', dependsOn=[build.needs('b', 'Complete')]),
)
A_READY = (build.job('a-0', active=1, ready=1), build.job('a-1', active=1))


def test_replicated_jobs_wait_for_those_that_they_depend_on() -> None:
    found = pass_(build.jobset(*NEEDY, **metadata()), *A_READY)

    text = 'replicated job b waits for a to be ready (1 of 2 Jobs ready) (1 more: DependsOn)'
    assert told(found) == ('True', 'DependsOn', text)
    assert events(found) == [plan.Event(plan.EventType.NORMAL, 'DependsOn', text)]


def test_replicated_jobs_wait_for_the_end_of_others() -> None:
    ready = (build.job('a-0', active=1, ready=1), build.job('a-1', active=1, ready=1), build.job('b-0', active=1))

    assert told(pass_(build.jobset(*NEEDY, **metadata()), *ready)) == (
        'True',
        'DependsOn',
        'replicated job c waits for b to be complete (0 of 1 Jobs succeeded)',
    )


def test_one_that_has_begun_waits_no_more_though_what_it_needs_is_not_ready_any_more() -> None:
    begun = (*A_READY, build.job('b-0', active=1), build.job('c-0', active=1))

    assert told(pass_(build.jobset(*NEEDY, **metadata()), *begun)) is None


@pytest.mark.parametrize(
    ('status', 'at', 'again'),
    [
        pytest.param(None, 10, 20, id='made just now'),
        pytest.param(
            types.Status(
                conditions=(build.condition('Suspended', holds=False, reason='ResumeJobs', message='m', seconds=95),)
            ),
            100,
            25,
            id='resumed just now',
        ),
        pytest.param(
            types.Status(
                restarts=1,
                conditions=(build.condition('RestartingJobSet', holds=True, reason='r', message='m', seconds=90),),
            ),
            100,
            20,
            id='restarted just now',
        ),
    ],
)
def test_what_has_just_begun_to_wait_is_not_told(status: types.Status | None, at: float, again: float) -> None:
    attempt = status.restarts if status is not None else 0
    members = (build.job('a-0', attempt=attempt, active=1), build.job('a-1', attempt=attempt, active=1))

    found = pass_(build.jobset(*NEEDY, status=status, **metadata()), *members, at=at)

    assert (told(found), found.again_after_seconds) == (None, again)


def test_replicated_jobs_wait_their_turn() -> None:
    jobset = build.jobset(
        build.part('a', 2),
        build.part('b'),
        build.part('c'),
        startupPolicy={'startupPolicyOrder': 'InOrder'},
        status=types.Status(
            conditions=(build.condition('StartupPolicyInProgress', holds=True, reason='r', message='m', seconds=0),)
        ),
        **metadata(),
    )

    assert told(pass_(jobset, *A_READY)) == (
        'True',
        'StartupOrder',
        'replicated job b waits its turn after a (1 of 2 Jobs ready)',
    )


# A queue manager.


def test_a_suspended_set_of_a_queue() -> None:
    queued: Any = {'metadata': {'labels': {keys.KUEUE_QUEUE: 'team-a'}}}

    found = pass_(build.jobset(build.part('a'), suspend=True, **queued))

    text = 'suspended until Kueue admits it from the queue team-a; its Workload says what is missing'
    assert told(found) == ('True', 'Queued', text)
    assert events(found) == [plan.Event(plan.EventType.NORMAL, 'Queued', text)]

    resumed = pass_(build.jobset(build.part('a'), status=waits('Queued'), **queued))
    assert told(resumed) == ('False', 'NothingToWaitFor', 'nothing holds up the JobSet')
    assert events(resumed) == []


def test_a_set_that_a_person_has_suspended_waits_for_nothing() -> None:
    found = pass_(build.jobset(build.part('a'), suspend=True, status=waits('DependsOn')))

    assert told(found) == ('False', 'NothingToWaitFor', 'the JobSet is suspended or has ended')
    assert events(found) == []


def test_a_suspended_set_whose_groups_cannot_be_seen() -> None:
    """Its Jobs are not made either, and it says why."""
    gang = metadata(**{extras.GANG.key: 'set'})

    found = pass_(build.jobset(build.part('a'), suspend=True, **gang), groups=observed.Seen(trouble='403 Forbidden'))

    assert told(found) == ('True', 'GroupsUnknown', 'Workloads and PodGroups cannot be seen: 403 Forbidden')


# The end of earlier attempts.


def restarted(*conditions: types.Condition, **annotations: str) -> types.JobSet:
    status = types.Status(restarts=1, restarts_count_towards_max=1, conditions=conditions)
    return build.jobset(build.part('a', 2), failurePolicy={'maxRestarts': 3}, status=status, **metadata(**annotations))


def test_jobs_of_earlier_attempts_that_do_not_go() -> None:
    found = pass_(restarted(), build.job('a-0', deleting=True), build.job('a-1', deleting=True), at=60)

    text = (
        'new Jobs wait for the end of earlier ones: Job js-a-0 is there though it was told to go at '
        '2026-01-01T00:00:00Z (and 1 more); jobset.x-k8s.io/fence-after would have pods judged that do not go'
    )
    assert told(found) == ('True', 'OldPodsStay', text)
    assert events(found) == [plan.Event(plan.EventType.WARNING, 'OldPodsStay', text)]


def test_jobs_of_earlier_attempts_have_a_minute_to_go() -> None:
    found = pass_(restarted(), build.job('a-0', deleting=True), at=20)

    assert (told(found), found.again_after_seconds) == (None, 40)


def old_pod(**more: Any) -> pods.Pod:
    labels = {keys.JOBSET_UID: 'js-uid', keys.RESTART_ATTEMPT: '0', pods.JOB_UID: 'gone'}
    identity = {'name': 'js-a-0-0-x', 'namespace': 'default', 'uid': 'p', 'labels': labels}
    manifest = {'metadata': identity | more, 'spec': {'nodeName': 'n1'}, 'status': {'phase': 'Running'}}
    return msgspec.json.decode(msgspec.json.encode(manifest), type=pods.Pod)


def test_pods_of_earlier_attempts_that_do_not_go() -> None:
    scene = fencing.Scene((old_pod(deletionTimestamp=build.stamp(30)),), {'n1': fencing.Node.THERE})

    found = pass_(restarted(**{extras.FENCE_AFTER.key: '5m'}), scene=scene)

    text = (
        'new Jobs wait for the end of earlier ones: pod js-a-0-0-x on node n1 is there though it had to be gone by '
        '2026-01-01T00:00:30Z'
    )
    assert told(found) == ('True', 'OldPodsStay', text)


def test_pods_that_have_been_judged() -> None:
    scene = fencing.Scene((old_pod(deletionTimestamp=build.stamp(30)),), {'n1': fencing.Node.THERE})

    found = pass_(restarted(**{extras.FENCE_AFTER.key: '10s'}), scene=scene)

    why = 'pod js-a-0-0-x: node n1 is there and has not ended it'
    assert told(found) == ('True', 'NodeKeepsPod', f'new Jobs wait for the end of earlier ones: {why}')
    assert events(found) == [plan.Event(plan.EventType.WARNING, 'NodeKeepsPod', why)]


# A pause.


def test_a_pause_is_told_with_the_restart_that_it_follows() -> None:
    asking = metadata(**{extras.RESTART_PAUSE.key: 'base=30s, cap=1m, reset=5m'})
    jobset = build.jobset(build.part('a'), failurePolicy={'maxRestarts': 3}, **asking)

    found = pass_(jobset, build.job('a-0', ended=build.failed(99)))

    assert told(found) == ('True', 'RestartPaused', 'attempt 1 begins at 2026-01-01T00:02:10Z (pause 1 in a row)')
    assert [event.reason for event in events(found)] == [
        'DefaultFailurePolicy',
        'RestartJobSetFailurePolicyAction',
        'RestartPause',
    ]

    assert found.status is not None
    paused = build.jobset(build.part('a'), failurePolicy={'maxRestarts': 3}, status=found.status, **asking)
    during = pass_(paused, at=110)
    assert during.status is not None, 'the old Job is not counted any more'
    assert (during.status.conditions, events(during)) == (found.status.conditions, [])
    over = pass_(paused, at=130)
    assert told(over) == ('False', 'NothingToWaitFor', 'nothing holds up the JobSet')
    assert events(over) == []


# Exclusive placement.


def unplaced(job: str, counted: domains.Domains = FEW) -> domains.Unplaced:
    return domains.Unplaced(job, 'rack', '0/6 nodes are available', counted)


@pytest.mark.parametrize(
    ('seen', 'text'),
    [
        pytest.param(
            [unplaced('js-a-1')],
            'Job js-a-1 waits for a domain of rack to itself: 2 of 3 are taken (1 by JobSet other, 1 in other '
            'namespaces); the scheduler says of its leader: 0/6 nodes are available',
            id='taken by others',
        ),
        pytest.param(
            [unplaced('js-a-1'), unplaced('js-a-0', domains.Domains(2, {'r0': domains.Holder('default', 'js')}))],
            'Job js-a-0 waits for a domain of rack to itself (so do 1 more of its Jobs): 1 of 2 are taken (1 by this '
            'one); the scheduler says of its leader: 0/6 nodes are available',
            id='several wait',
        ),
        pytest.param(
            [unplaced('js-a-0', domains.Domains(0, {}))],
            'Job js-a-0 waits for a domain of rack to itself: no node has that label; the scheduler says of its '
            'leader: 0/6 nodes are available',
            id='no domains',
        ),
        pytest.param(
            [unplaced('js-a-0', domains.Domains(2, {}))],
            'Job js-a-0 waits for a domain of rack to itself: 0 of 2 are taken; the scheduler says of its leader: '
            '0/6 nodes are available',
            id='none is taken, but there is no room',
        ),
        pytest.param(
            [
                unplaced(
                    'js-a-0',
                    domains.Domains(7, {f'r{n}': domains.Holder('default', 'vwxyz'[n // 2]) for n in range(7)}),
                )
            ],
            'Job js-a-0 waits for a domain of rack to itself: 7 of 7 are taken (2 by JobSet v, 2 by JobSet w, 2 by '
            'JobSet x, 1 by 1 more JobSets of this namespace); the scheduler says of its leader: 0/6 nodes are '
            'available',
            id='taken by many',
        ),
    ],
)
def test_leaders_without_a_domain(seen: list[domains.Unplaced], text: str) -> None:
    found = pass_(build.jobset(build.part('a', 2)), build.job('a-0'), build.job('a-1'), unplaced=seen)

    assert told(found) == ('True', 'NoExclusiveDomain', text)
    assert events(found) == [plan.Event(plan.EventType.WARNING, 'NoExclusiveDomain', text)]


def test_which_domains_are_taken() -> None:
    nodes = {f'n{number}': {'rack': f'r{number // 2}'} for number in range(6)} | {'bare': {}}
    leaders = [
        placing.pod('one', node='n0'),
        placing.pod('two', node='n1'),
        placing.pod('going', node='n2', ending=True),
        placing.pod('done', node='n2', phase='Succeeded'),
        placing.pod('elsewhere', node='n4', topology='zone'),
        placing.pod('nowhere', node='bare'),
    ]

    counted = domains.domains(leaders, nodes, topology='rack', priority=None)

    assert counted == domains.Domains(3, {'r0': domains.Holder('ns', 'js')})
    assert domains.domains(leaders, nodes, topology='rack', priority='5') == domains.Domains(3, {})


# Together.


def test_what_matters_most_comes_first() -> None:
    found = pass_(build.jobset(*NEEDY, **metadata()), *A_READY, unplaced=[unplaced('js-a-1')])

    seen = told(found)
    assert seen is not None
    assert seen[1] == 'NoExclusiveDomain'
    assert seen[2].endswith('0/6 nodes are available (2 more: DependsOn)')


def test_other_words_for_the_same_reason_wait_their_turn() -> None:
    jobset = build.jobset(*NEEDY, status=waits('DependsOn'), **metadata())

    early = pass_(jobset, *A_READY, may_retell=False)
    late = pass_(jobset, *A_READY, may_retell=True)

    assert (told(early), early.again_after_seconds) == (('True', 'DependsOn', 'old words'), waiting.RETELL_SECONDS)
    text = 'replicated job b waits for a to be ready (1 of 2 Jobs ready) (1 more: DependsOn)'
    assert (told(late), events(late)) == (('True', 'DependsOn', text), [])


def test_another_reason_does_not_wait() -> None:
    jobset = build.jobset(*NEEDY, status=waits('Unschedulable'), **metadata())

    found = pass_(jobset, *A_READY, may_retell=False)

    assert [event.reason for event in events(found)] == ['DependsOn']


def test_the_end_of_waiting_is_told() -> None:
    found = pass_(build.jobset(build.part('a'), status=waits('DependsOn'), **metadata()), build.job('a-0', active=1))

    text = 'nothing holds up the JobSet'
    assert told(found) == ('False', 'NothingToWaitFor', text)
    assert events(found) == [plan.Event(plan.EventType.NORMAL, 'NothingToWaitFor', text)]


def test_a_set_that_has_ended_waits_for_nothing() -> None:
    held = waits('DependsOn')
    ended = build.condition('Completed', holds=True, reason='AllJobsCompleted', message='m')
    status = msgspec.structs.replace(held, conditions=(*held.conditions, ended))

    found = pass_(build.jobset(build.part('a'), status=status))

    assert told(found) == ('False', 'NothingToWaitFor', 'the JobSet is suspended or has ended')


def test_a_plain_set_says_nothing() -> None:
    for gates in (features.FeatureGates(), features.FeatureGates(restart_job=True)):
        found = pass_(build.jobset(build.part('a'), **metadata()), build.job('a-0', active=1), gates=gates)
        assert told(found) is None
        assert found.again_after_seconds is None
