"""Plans as a whole, where the stories cannot show them: bounds, and what could not be done."""

from typing import Any

import pytest

from jobset.local.jobs import backoff, sync
from jobset.local.jobs.plan import Plan, Undone
from jobset.local.jobs.types import Job, Pod, Uncounted
from jobset.local.jobs.view import Facts
from tests.local.jobs.made import NOW, at, indexed, job, pod


def _sync(its: Job, *pods: Pod, strangers: tuple[Pod, ...] = (), undone: Undone = sync.DONE, **more: Any) -> Plan:
    return sync.sync(Facts(job=its, pods=pods, strangers=strangers, now=NOW, **more), undone)


def _running(**spec: Any) -> Job:
    status = {'startTime': at(-60), 'active': 1, 'ready': 0, 'terminating': 0, 'uncountedTerminatedPods': {}}
    return job(status=status, **spec)


def test_settled_job_wants_nothing() -> None:
    assert _sync(_running(), pod()) == Plan()


@pytest.mark.parametrize(
    'its',
    [
        pytest.param(job(managedBy='example.com/other'), id='of another controller'),
        pytest.param(job(status={'conditions': [{'type': 'Complete', 'status': 'True'}]}), id='complete'),
        pytest.param(job(status={'conditions': [{'type': 'Failed', 'status': 'True'}]}), id='failed'),
    ],
)
def test_job_that_is_left_alone(its: Job) -> None:
    assert _sync(its, pod(phase='Failed')) == Plan()


def test_unknown_mode_is_only_told() -> None:
    found = _sync(job(completionMode='Future'))

    assert [event.reason for event in found.events] == ['UnknownCompletionMode']
    assert found.is_empty


def test_pod_is_noted_before_it_is_released_and_counted_after() -> None:
    found = _sync(_running(), pod(phase='Succeeded', finished=-1))

    assert found.noted is not None
    assert found.status is not None
    assert found.noted.uncounted == Uncounted(succeeded=('p',))
    assert found.noted.succeeded == 0
    assert [one.uid for one in found.release] == ['p']
    assert found.status.uncounted == Uncounted()
    assert found.status.succeeded == 1
    assert found.status.completion_time == at(0)


def test_pod_that_was_noted_is_not_noted_again() -> None:
    status = {'startTime': at(-60), 'uncountedTerminatedPods': {'failed': ['p', 'gone']}}

    found = _sync(job(status=status), pod(phase='Failed', finished=-1))

    assert found.noted is not None
    assert found.noted.uncounted == Uncounted(failed=('p',))
    assert (found.noted.failed, found.status and found.status.failed) == (1, 2)


def test_at_most_500_pods_are_counted_in_one_pass() -> None:
    pods = [pod(f'p{number}', 'Succeeded', finished=-1) for number in range(510)]

    found = _sync(job(completions=510, parallelism=510), *pods)

    assert len(found.release) == 500
    assert found.is_partial
    assert found.status is not None
    assert (found.status.succeeded, found.status.completion_time) == (500, None)


def test_at_most_500_pods_are_made_or_deleted_in_one_pass() -> None:
    made = _sync(job(completions=510, parallelism=510))
    deleted = _sync(job(completions=510, parallelism=0), *(pod(f'p{number}') for number in range(510)))

    assert len(made.create) == 500
    assert len(deleted.delete) == 500


def test_status_without_the_pods_that_could_not_be_made() -> None:
    found = _sync(job(completions=5, parallelism=5), undone=Undone(created=2))

    assert found.noted is not None
    assert found.noted.active == 3


def test_job_does_not_fail_before_all_pods_are_told() -> None:
    pods = [pod('failed', 'Failed', finished=-1), pod('a'), pod('b')]
    its = job(completions=3, parallelism=3, backoffLimit=0)

    whole, partial = _sync(its, *pods), _sync(its, *pods, undone=Undone(deleted=('b',)))

    assert whole.noted is not None
    assert whole.noted.has('FailureTarget')
    assert partial.noted is not None
    assert partial.noted.conditions is None
    assert (partial.noted.active, partial.noted.terminating) == (1, 1)
    assert [one.uid for one in partial.release] == ['failed']


def test_more_successes_than_wanted_are_told() -> None:
    pods = [pod(uid, 'Succeeded', finished=-1) for uid in 'ab']

    found = _sync(job(completions=1, parallelism=2), *pods)

    assert [event.reason for event in found.events] == ['TooManySucceededPods', 'Completed']


def test_deleted_job_makes_no_pods_and_holds_none() -> None:
    found = _sync(job(deleted=True, completions=2, parallelism=2), pod(), pod('q', 'Failed', finished=-1))

    assert (found.create, found.delete) == ((), ())
    assert [one.uid for one in found.release] == ['p', 'q']
    assert found.status is not None
    assert found.status.failed == 1


def test_adoption_comes_before_all_else() -> None:
    stranger, other = pod('s', owned=False, tracked=False), pod('o', owned=False, labels={'job': 'k'})
    leaving = pod('l', labels={})

    record = backoff.Record(2, NOW)

    found = _sync(job(), leaving, strangers=(stranger, other, pod('d', owned=False, deleted=True)), record=record)

    assert found == Plan(adopt=(stranger,), disown=(leaving,), record=record)


def test_duplicated_index_is_removed_before_others_are_made() -> None:
    found = _sync(indexed(3), pod('a', index=0, ready=-5), pod('b', index=0))

    assert [removal.pod.uid for removal in found.delete] == ['b']
    assert found.create == ()


@pytest.mark.parametrize('policy', ['Failed', 'TerminatingOrFailed'])
def test_pod_that_is_ending_takes_no_other_one_with_it_when_a_job_shrinks(policy: str) -> None:
    its = indexed(2, podReplacementPolicy=policy)

    found = _sync(its, pod('a', index=0), pod('b', index=1), pod('c', index=2, deleted=True))

    assert (found.delete, found.create) == ((), ())


def test_record_is_of_the_pods_that_are_counted() -> None:
    found = _sync(_running(), pod(phase='Failed', finished=-3))

    assert found.record.failures == 1
    assert found.create == ()
    assert found.again is not None
    assert (found.again - NOW).total_seconds() == 7


def test_earlier_failures_lengthen_the_pause() -> None:
    found = _sync(_running(), pod(phase='Failed', finished=-3), record=backoff.Record(2, NOW))

    assert found.record.failures == 3
    assert found.again is not None
    assert (found.again - NOW).total_seconds() == 37


def test_deadline_is_waited_for() -> None:
    found = _sync(_running(activeDeadlineSeconds=100), pod())

    assert found.again is not None
    assert (found.again - NOW).total_seconds() == 40


def test_replacement_of_an_index_carries_its_failures_on() -> None:
    its = indexed(1, backoffLimitPerIndex=3)
    failed = pod('a', 'Failed', index=0, failures=1, finished=-21)

    waiting, due = _sync(its, pod('a', 'Failed', index=0, failures=1, finished=-19)), _sync(its, failed)

    assert (waiting.create, waiting.release, waiting.again and (waiting.again - NOW).total_seconds()) == ((), (), 1)
    assert [(new.index, new.failures) for new in due.create] == [(0, 2)]
    assert due.release == ()
    replaced = _sync(its, failed, pod('b', 'Pending', index=0, failures=2))
    assert [one.uid for one in replaced.release] == ['a']
