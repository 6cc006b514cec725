"""The policies one by one, in tables."""

import datetime
from typing import Any

import pytest

from jobset.local.jobs import (
    backoff,
    claims,
    conditions,
    failurepolicy,
    indexes,
    perindex,
    removal,
    replacement,
    successpolicy,
    suspension,
)
from jobset.local.jobs.types import Condition, Job, Pod, Status
from tests.local.jobs import made
from tests.local.jobs.made import NOW, at, indexed, job, pod

# Back-off.


@pytest.mark.parametrize(
    ('failures', 'ago', 'left'),
    [
        pytest.param(0, 0, 0, id='no failure'),
        pytest.param(1, 0, 10, id='the first'),
        pytest.param(1, 4, 6, id='some of it is over'),
        pytest.param(1, 11, 0, id='all of it is over'),
        pytest.param(2, 0, 20, id='doubled'),
        pytest.param(6, 0, 320, id='doubled five times'),
        pytest.param(7, 0, 600, id='ten minutes at most'),
        pytest.param(10**6, 0, 600, id='ever so many'),
    ],
)
def test_pause(failures: int, ago: float, left: float) -> None:
    assert backoff.remaining(failures, NOW - datetime.timedelta(seconds=ago), NOW) == left


def _record(failures: int, last: float | None) -> backoff.Record:
    return backoff.Record(failures, None if last is None else NOW + datetime.timedelta(seconds=last))


@pytest.mark.parametrize(
    ('before', 'succeeded', 'failed', 'after'),
    [
        pytest.param((1, -50), [], [], (1, -50), id='nothing has ended'),
        pytest.param((1, -50), [], [-9, -3], (3, -3), id='failures add up, the last counts'),
        pytest.param((4, -50), [-9], [], (0, None), id='a success ends them'),
        pytest.param((4, -50), [-9], [-20, -5, -7], (2, -5), id='failures after the success'),
        pytest.param((4, -50), [-2, -9], [-5], (0, None), id='the latest success counts'),
    ],
)
def test_record(
    before: tuple[int, float | None], succeeded: list[float], failed: list[float], after: tuple[int, float | None]
) -> None:
    found = _record(*before).after(
        succeeded=[pod(f's{end}', 'Succeeded', finished=end) for end in succeeded],
        failed=[pod(f'f{end}', 'Failed', finished=end) for end in failed],
    )

    assert found == _record(*after)


@pytest.mark.parametrize(
    ('ended', 'seconds'),
    [
        pytest.param(pod(phase='Failed', finished=-7), -7, id='its container says'),
        pytest.param(pod(phase='Failed', codes={'a': 1}, created=-44), -44, id='its container does not say when'),
        pytest.param(pod(deleted=True), 0, id='when it was deleted, without its grace'),
        pytest.param(pod(created=-33), -33, id='nothing is known'),
    ],
)
def test_end_of_a_pod(ended: Pod, seconds: float) -> None:
    assert backoff.finished_at(ended) == NOW + datetime.timedelta(seconds=seconds)


# Replacement.


@pytest.mark.parametrize(
    ('spec', 'one', 'failed'),
    [
        pytest.param({}, pod(), False, id='it runs'),
        pytest.param({}, pod(phase='Failed'), True, id='it has failed'),
        pytest.param({}, pod(deleted=True), True, id='it ends, by default'),
        pytest.param({}, pod(phase='Succeeded', deleted=True), False, id='it has succeeded and is deleted'),
        pytest.param({'podReplacementPolicy': 'Failed'}, pod(deleted=True), False, id='its end is awaited'),
        pytest.param({'podFailurePolicy': {'rules': []}}, pod(deleted=True), False, id='its end is awaited for rules'),
        pytest.param(
            {'podFailurePolicy': {'rules': []}, 'podReplacementPolicy': 'TerminatingOrFailed'},
            pod(deleted=True),
            True,
            id='it is not, where that is said',
        ),
    ],
)
def test_failed_pod(spec: dict[str, Any], one: Pod, failed: bool) -> None:
    assert replacement.has_failed(one, job(**spec)) is failed


# Rules about failures.


def _codes(action: str, operator: str, *values: int, container: str | None = None) -> dict[str, Any]:
    return {
        'action': action,
        'onExitCodes': {'operator': operator, 'values': list(values), 'containerName': container},
    }


def _condition(action: str, kind: str, status: str = 'True') -> dict[str, Any]:
    return {'action': action, 'onPodConditions': [{'type': kind, 'status': status}]}


@pytest.mark.parametrize(
    ('rules', 'one', 'action', 'message'),
    [
        pytest.param([], pod(codes={'a': 1}), None, '', id='no rule'),
        pytest.param(
            [_codes('FailJob', 'In', 1, 2)],
            pod(codes={'a': 2}),
            'FailJob',
            'Container a for pod ns/j-p failed with exit code 2 matching FailJob rule at index 0',
            id='a code that is listed',
        ),
        pytest.param([_codes('FailJob', 'In', 1)], pod(codes={'a': 3}), None, '', id='a code that is not'),
        pytest.param(
            [_codes('Ignore', 'NotIn', 1)], pod(codes={'a': 3}), 'Ignore', '', id='a code that is not excluded'
        ),
        pytest.param([_codes('Ignore', 'NotIn', 1)], pod(codes={'a': 0}), None, '', id='success is never a fault'),
        pytest.param(
            [_codes('FailJob', 'In', 9, container='b')], pod(codes={'a': 9, 'b': 0}), None, '', id='another container'
        ),
        pytest.param(
            [_codes('FailJob', 'In', 9, container='b')],
            pod(codes={'a': 1, 'b': 9}),
            'FailJob',
            'Container b for pod ns/j-p failed with exit code 9 matching FailJob rule at index 0',
            id='that container',
        ),
        pytest.param(
            [_codes('Count', 'In', 1), _codes('FailJob', 'In', 1)],
            pod(codes={'a': 1}),
            'Count',
            '',
            id='the first decides',
        ),
        pytest.param(
            [_condition('Ignore', 'Other'), _condition('FailJob', 'DisruptionTarget')],
            pod(conditions={'DisruptionTarget': 'True'}),
            'FailJob',
            'Pod ns/j-p has condition DisruptionTarget matching FailJob rule at index 1',
            id='a condition',
        ),
        pytest.param(
            [_condition('FailJob', 'DisruptionTarget')],
            pod(conditions={'DisruptionTarget': 'False'}),
            None,
            '',
            id='a condition that is not true',
        ),
        pytest.param(
            [_condition('FailIndex', 'Odd', 'Unknown')],
            pod(conditions={'Odd': 'Unknown'}),
            'FailIndex',
            '',
            id='a condition that is not known',
        ),
    ],
)
def test_rules_about_failures(rules: list[Any], one: Pod, action: str | None, message: str) -> None:
    policy = job(podFailurePolicy={'rules': rules}).spec.pod_failure_policy

    found = failurepolicy.judge(policy, one)

    assert (found.action, found.message) == (action, message)
    assert found.counts is (action != 'Ignore')


# Rules about success.


@pytest.mark.parametrize(
    ('rules', 'succeeded', 'message'),
    [
        pytest.param([{'succeededIndexes': '0,2'}], '0-1', None, id='one of them is missing'),
        pytest.param([{'succeededIndexes': '0,2'}], '0-2', 'Matched rules at index 0', id='all of them'),
        pytest.param([{'succeededCount': 2}], '3', None, id='too few'),
        pytest.param([{'succeededCount': 2}], '3,4', 'Matched rules at index 0', id='enough'),
        pytest.param([{'succeededIndexes': '0-2', 'succeededCount': 2}], '0,3', None, id='too few of those'),
        pytest.param(
            [{'succeededIndexes': '0-2', 'succeededCount': 2}], '0,2', 'Matched rules at index 0', id='enough of them'
        ),
        pytest.param(
            [{'succeededIndexes': '0'}, {'succeededCount': 1}], '4', 'Matched rules at index 1', id='the second rule'
        ),
    ],
)
def test_rules_about_success(rules: list[Any], succeeded: str, message: str | None) -> None:
    policy = indexed(5, successPolicy={'rules': rules}).spec.success_policy

    assert successpolicy.met(policy, indexes.parse(succeeded), 5) == message


# Failures of an index.


@pytest.mark.parametrize(
    ('one', 'fails', 'then'),
    [
        pytest.param(pod(phase='Failed', index=0, failures=0), False, (1, 0), id='may try again'),
        pytest.param(pod(phase='Failed', index=0, failures=1), True, (2, 0), id='has tried often enough'),
        pytest.param(pod(phase='Failed', index=0), False, (1, 0), id='without a number'),
        pytest.param(
            pod(phase='Failed', index=0, failures=1, conditions={'Disrupted': 'True'}),
            False,
            (1, 1),
            id='does not count',
        ),
        pytest.param(pod(phase='Failed', index=0, failures=0, codes={'a': 5}), True, (1, 0), id='a rule fails it'),
        pytest.param(pod(index=0, failures=1), False, (2, 0), id='runs'),
    ],
)
def test_failures_of_an_index(one: Pod, fails: bool, then: tuple[int, int]) -> None:
    rules = [_condition('Ignore', 'Disrupted'), _codes('FailIndex', 'In', 5)]
    its = indexed(2, backoffLimitPerIndex=1, podFailurePolicy={'rules': rules})

    assert perindex.fails_index(one, its) is fails
    assert perindex.with_failed(one, its) == then


def test_newest_failed_pod_of_an_index_is_kept() -> None:
    failed = [
        pod('old', 'Failed', index=0, failures=0, finished=-30),
        pod('new', 'Failed', index=0, failures=1, finished=-10),
        pod('ignored', 'Failed', index=0, failures=1, ignored=1, finished=-5),
        pod('settled', 'Failed', index=1, failures=0, finished=-5),
        pod('replaced', 'Failed', index=2, failures=0, finished=-5),
    ]

    found = perindex.kept(failed, settled={1}, active={2})

    assert {index: one.uid for index, one in found.items()} == {0: 'ignored'}


def test_indexes_wait_on_their_own() -> None:
    replaced = {
        1: pod('a', 'Failed', index=1, failures=0, finished=-4),
        2: pod('b', 'Failed', index=2, failures=1, ignored=1, finished=-4),
        3: pod('c', 'Failed', index=3, failures=0, finished=-10),
    }

    assert perindex.due(range(4), replaced, NOW) == ((0, 3), 6)


# Which pods go.


@pytest.mark.parametrize(
    ('active', 'order'),
    [
        pytest.param([pod('a', node='n'), pod('b')], 'ba', id='without a node first'),
        pytest.param([pod('a', 'Running', node='n'), pod('b', 'Pending', node='n')], 'ba', id='pending first'),
        pytest.param([pod('a', ready=-5), pod('b')], 'ba', id='not ready first'),
        pytest.param([pod('a', ready=-50), pod('b', ready=-5)], 'ba', id='the one that was ready later'),
        pytest.param([pod('a', restarts=1), pod('b', restarts=3)], 'ba', id='the one that restarted more often'),
        pytest.param([pod('a', created=-50), pod('b', created=-5)], 'ba', id='the younger one'),
        pytest.param([pod('a', created=-5, ready=-5), pod('b', 'Pending', created=-500)], 'ba', id='age counts last'),
    ],
)
def test_order_of_removal(active: list[Pod], order: str) -> None:
    chosen = removal.choose(job(), active, 2)

    assert ''.join(one.uid for one in chosen) == order
    assert removal.choose(job(), active, 1) == chosen[:1]
    assert removal.choose(job(), active, 0) == ()


@pytest.mark.parametrize(
    ('active', 'at_least', 'gone'),
    [
        pytest.param([pod('a', index=0), pod('b', index=1)], 0, '', id='nothing is too much'),
        pytest.param([pod('a', index=0), pod('b', index=2)], 0, 'b', id='an index that is not wanted'),
        pytest.param([pod('a', index=0), pod('b')], 0, 'b', id='no index'),
        pytest.param([pod('a', index=0), pod('b', index='x')], 0, 'b', id='an index that cannot be read'),
        pytest.param(
            [pod('a', index=0, ready=-1), pod('b', index=0), pod('c', index=1)], 0, 'b', id='two of one index'
        ),
        pytest.param([pod('a', index=0, ready=-1), pod('b', index=1), pod('c', index=3)], 2, 'cb', id='one more'),
    ],
)
def test_removal_of_indexes(active: list[Pod], at_least: int, gone: str) -> None:
    assert ''.join(one.uid for one in removal.choose(indexed(2), active, at_least)) == gone


# Conditions.


def test_conditions_keep_their_place() -> None:
    suspended = conditions.make('Suspended', 'JobSuspended', 'Job suspended', NOW)
    target = conditions.make('FailureTarget', 'Why', 'Because', NOW)
    resumed = conditions.make('Suspended', 'JobResumed', 'Job resumed', NOW, holds=False)

    both = conditions.put(conditions.put((), suspended), target)

    assert conditions.put(both, resumed) == (resumed, target)
    assert conditions.put((), resumed) == ()
    later = conditions.make('FailureTarget', 'Why', 'Because', NOW + datetime.timedelta(seconds=9))
    assert conditions.put(both, later) is both


def test_final_condition_gives_the_same_reason() -> None:
    found = conditions.final(Condition(type='FailureTarget', status='True', reason='R', message='m'), NOW)

    assert found == Condition(
        type='Failed', status='True', reason='R', message='m', last_probe_time=at(0), last_transition_time=at(0)
    )


# Suspension.


@pytest.mark.parametrize(
    ('before', 'suspend', 'start', 'told'),
    [
        pytest.param(None, False, at(-50), [], id='runs as ever'),
        pytest.param(None, True, None, ['Suspended'], id='is suspended'),
        pytest.param('True', True, at(-50), [], id='was suspended before'),
        pytest.param('True', False, at(0), ['Resumed'], id='goes on'),
        pytest.param('False', False, at(-50), [], id='went on before'),
    ],
)
def test_suspension(before: str | None, suspend: bool, start: str | None, told: list[str]) -> None:
    word = 'suspended' if before == 'True' else 'resumed'
    known = Condition(type='Suspended', status=before or '', reason=f'Job{word.title()}', message=f'Job {word}')
    status = Status(start_time=at(-50), conditions=None if before is None else (known,))

    changed, events = suspension.applied(status, suspend=suspend, now=NOW)

    assert changed.start_time == start
    assert [event.reason for event in events] == told


# Whose pods.


@pytest.mark.parametrize(
    ('selector', 'labels', 'selects'),
    [
        pytest.param(None, {}, False, id='no selector'),
        pytest.param({'matchLabels': {'a': '1'}}, {'a': '1', 'b': '2'}, True, id='all labels'),
        pytest.param({'matchLabels': {'a': '1', 'c': '3'}}, {'a': '1'}, False, id='one is missing'),
        pytest.param(
            {'matchExpressions': [{'key': 'a', 'operator': 'In', 'values': ['1', '2']}]}, {'a': '2'}, True, id='in'
        ),
        pytest.param({'matchExpressions': [{'key': 'a', 'operator': 'In', 'values': ['1']}]}, {}, False, id='not in'),
        pytest.param({'matchExpressions': [{'key': 'a', 'operator': 'NotIn', 'values': ['1']}]}, {}, True, id='absent'),
        pytest.param({'matchExpressions': [{'key': 'a', 'operator': 'Exists'}]}, {'a': ''}, True, id='exists'),
        pytest.param(
            {'matchExpressions': [{'key': 'a', 'operator': 'DoesNotExist'}]}, {'a': ''}, False, id='should not'
        ),
    ],
)
def test_selector(selector: dict[str, Any] | None, labels: dict[str, str], selects: bool) -> None:
    assert claims.matches(job(selector=selector).spec.selector, labels) is selects


@pytest.mark.parametrize(
    ('one', 'its', 'stray'),
    [
        pytest.param(pod(tracked=False), None, False, id='it is free'),
        pytest.param(pod(), None, True, id='there is no Job'),
        pytest.param(pod(), made.job(), False, id='its Job will count it'),
        pytest.param(
            pod(),
            made.job(status={'conditions': [{'type': 'Complete', 'status': 'True'}]}),
            True,
            id='its Job has ended',
        ),
        pytest.param(
            pod(),
            made.job(managedBy='a/b', status={'conditions': [{'type': 'Failed', 'status': 'True'}]}),
            False,
            id='another controller looks after it',
        ),
    ],
)
def test_stray(one: Pod, its: Job | None, stray: bool) -> None:
    assert claims.is_stray(one, its) is stray
