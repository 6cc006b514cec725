"""What a JobSet says about gangs that wait."""

from typing import Any

import msgspec
import pytest

from jobset.api import extras, types
from jobset.core import plan
from jobset.core.groups import observed
from tests.core import build
from tests.core.groups import test_decisions as made

UNSCHEDULABLE = (
    'pod group is unschedulable, 0/1 placements are available, first placement status: minCount (5) cannot be '
    'satisfied: {} scheduled, {} remaining, pod group preemption: No preemption victims found'
)
CPU = '0/2 nodes are available: 2 Insufficient cpu.'
WHO = 'the gang of the whole set (PodGroup js-set-0): '


def verdict(status: str, reason: str, message: str = '') -> Any:
    return {'type': 'PodGroupInitiallyScheduled', 'status': status, 'reason': reason, 'message': message}


def told(
    *conditions: Any,
    pods: observed.PodTally | None = None,
    at: float = 60,
    status: types.Status | None = None,
    may_retell: bool = True,
) -> plan.Plan:
    """A pass over a set of one gang of five."""
    jobset = build.jobset(made.part('a', 1, 5), metadata=made.asking('set'), status=status)
    job = made.job('a-0', 'js-set-0', completions=5, active=5)
    groups = made.seen(
        made.pod_group('js-set-0', 5, conditions=list(conditions)),
        templates=(('set', 5),),
        pods={} if pods is None else {'js-set-0': pods},
    )
    return made.pass_(jobset, job, groups=groups, at=at, may_retell=may_retell)


def waiting(found: plan.Plan) -> tuple[str, str, str] | None:
    conditions = found.status.conditions if found.status is not None else ()
    return next(((one.status, one.reason, one.message) for one in conditions if one.type == 'Waiting'), None)


@pytest.mark.parametrize(
    ('conditions', 'pods', 'reason', 'message'),
    [
        pytest.param(
            [verdict('False', 'Unschedulable', UNSCHEDULABLE.format(4, 0))],
            made.pods(5, 0, CPU),
            'Unschedulable',
            f'5 of 5 pods exist, 0 have a node; there is room for 4 of them; {CPU}',
            id='how many fit, and what is missing',
        ),
        pytest.param(
            [verdict('False', 'Unschedulable', UNSCHEDULABLE.format(3, 1))],
            made.pods(5, 0, CPU),
            'Unschedulable',
            f'5 of 5 pods exist, 0 have a node; there is room for at least 3 of them; {CPU}',
            id='not all were tried',
        ),
        pytest.param(
            [verdict('False', 'Unschedulable', 'no placement')],
            made.pods(5, 0),
            'Unschedulable',
            '5 of 5 pods exist, 0 have a node; no placement',
            id='other words',
        ),
        pytest.param(
            [verdict('False', 'SchedulerError', 'priorities differ')],
            made.pods(5, 0, CPU),
            'SchedulerError',
            '5 of 5 pods exist, 0 have a node; priorities differ',
            id='an error',
        ),
        pytest.param(
            [],
            made.pods(3, 0),
            'WaitingForPods',
            '3 of 5 pods exist, 0 have a node; a gang is not tried before all of them exist',
            id='pods are missing',
        ),
        pytest.param(
            [],
            made.pods(5, 0),
            'NoAnswer',
            '5 of 5 pods exist, 0 have a node; the scheduler has said nothing yet: does it run, with its gate '
            'GenericWorkload on?',
            id='nobody looks',
        ),
        pytest.param(
            [verdict('True', 'Scheduled')],
            made.pods(5, 4, CPU),
            'Unschedulable',
            f'5 of 5 pods exist, 4 have a node; {CPU}',
            id='one has lost its node',
        ),
    ],
)
def test_why_a_gang_waits(conditions: list[Any], pods: observed.PodTally, reason: str, message: str) -> None:
    found = told(*conditions, pods=pods)

    assert waiting(found) == ('True', reason, WHO + message)
    assert found.events == (plan.Event(plan.EventType.WARNING, reason, WHO + message),)


def test_a_gang_that_was_preempted() -> None:
    tally = made.pods(5, 0, CPU)
    tally.disrupted = 'preempting to accommodate a higher priority pod'

    text = f'it lost them (preempting to accommodate a higher priority pod), and waits anew: {CPU}'
    assert waiting(told(verdict('True', 'Scheduled'), pods=tally)) == (
        'True',
        'Preempted',
        f'{WHO}5 of 5 pods exist, 0 have a node; {text}',
    )


@pytest.mark.parametrize(
    ('conditions', 'pods', 'at', 'again'),
    [
        pytest.param([], None, 4, 6, id='pods may still come'),
        pytest.param([verdict('True', 'Scheduled')], made.pods(5, 5), 60, None, id='all have a node'),
        pytest.param([verdict('True', 'Scheduled')], made.pods(3, 3), 60, None, id='some have ended'),
        pytest.param([verdict('True', 'Scheduled')], made.pods(5, 4), 60, None, id='the scheduler has not looked yet'),
    ],
)
def test_nothing_to_tell(conditions: list[Any], pods: observed.PodTally | None, at: float, again: float | None) -> None:
    found = told(*conditions, pods=pods, at=at)

    assert (waiting(found), found.events, found.again_after_seconds) == (None, (), again)


def told_before(message: str) -> types.Status:
    one = build.condition('Waiting', holds=True, reason='Unschedulable', message=message)
    return types.Status(conditions=(one,))


def test_other_words_for_the_same_reason_are_no_event() -> None:
    found = told(
        verdict('False', 'Unschedulable', 'new words'), pods=made.pods(5, 0), status=told_before(f'{WHO}old words')
    )

    assert waiting(found) == ('True', 'Unschedulable', f'{WHO}5 of 5 pods exist, 0 have a node; new words')
    assert found.events == ()


def test_other_words_wait_their_turn() -> None:
    found = told(
        verdict('False', 'Unschedulable', 'new words'),
        pods=made.pods(5, 0),
        status=told_before(f'{WHO}old words'),
        may_retell=False,
    )

    assert waiting(found) == ('True', 'Unschedulable', f'{WHO}old words')
    assert found.again_after_seconds == 15


def test_the_end_of_waiting_is_told() -> None:
    found = told(verdict('True', 'Scheduled'), pods=made.pods(5, 5), status=told_before('x'))

    text = 'nothing holds up the JobSet'
    assert waiting(found) == ('False', 'NothingToWaitFor', text)
    assert found.events == (plan.Event(plan.EventType.NORMAL, 'NothingToWaitFor', text),)


@pytest.mark.parametrize(
    ('shape', 'group', 'who'),
    [
        pytest.param('stage', 'js-stage-0-0', 'stage-0 (a, b) (PodGroup js-stage-0-0)', id='a stage'),
        pytest.param('replicatedJob', 'js-a-0', 'replicated job a (PodGroup js-a-0)', id='a replicated job'),
        pytest.param('job', 'js-a-1-0', 'Job js-a-1 (PodGroup js-a-1-0)', id='a Job'),
    ],
)
def test_who_waits(shape: str, group: str, who: str) -> None:
    jobset = build.jobset(made.part('a', 2), made.part('b'), metadata=made.asking(shape))
    least = 3 if shape == 'stage' else 2 if shape == 'replicatedJob' else 1
    there = made.pod_group(group, least, conditions=[verdict('False', 'Unschedulable', 'no room')])
    job = made.job('a-1', group, active=1)

    found = made.pass_(jobset, job, groups=made.seen(there, templates=(), pods={group: made.pods(1, 0)}))

    told_ = waiting(found)
    assert told_ is not None
    assert told_[2] == f'{who}: 1 of {least} pods exist, 0 have a node; no room'


def test_several_that_wait() -> None:
    jobset = build.jobset(made.part('a'), made.part('b'), metadata=made.asking('replicatedJob'))
    groups = [
        made.pod_group(f'js-{name}-0', 1, conditions=[verdict('False', 'Unschedulable', 'no room')]) for name in 'ab'
    ]
    jobs = [made.job(f'{name}-0', f'js-{name}-0', active=1) for name in 'ab']

    found = made.pass_(jobset, *jobs, groups=made.seen(*groups, templates=(('a', 1), ('b', 1))))

    told_ = waiting(found)
    assert told_ is not None
    assert told_[2].endswith('no room (1 more: Unschedulable)')


@pytest.mark.parametrize('spec', [{'suspend': True}, {}])
def test_nothing_waits_in_a_set_that_is_at_rest(spec: Any) -> None:
    before = told_before('x')
    ended = build.condition('Failed', holds=True, reason='FailedJobs', message='m')
    if not spec:
        before = msgspec.structs.replace(before, conditions=(*before.conditions, ended))
    jobset = build.jobset(made.part('a'), metadata=made.asking('set'), status=before, **spec)

    assert waiting(made.pass_(jobset)) == ('False', 'NothingToWaitFor', 'the JobSet is suspended or has ended')


def test_annotations_are_spelled_as_here() -> None:
    assert extras.GANG.key == 'jobset.x-k8s.io/gang'
