"""What is known of the child Jobs of one JobSet."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.api import jobs, types
from jobset.core import children, family
from tests.core import build

COMPLETE = build.completed()
FAILED = build.failed()


@pytest.mark.parametrize(
    ('job', 'bucket'),
    [
        pytest.param(build.job('a-0'), 'active', id='without conditions it is active'),
        pytest.param(build.job('a-0', ended=COMPLETE), 'succeeded', id='complete'),
        pytest.param(build.job('a-0', ended=FAILED), 'failed', id='failed'),
        pytest.param(
            build.job('a-0', ended=build.job_condition('Complete', holds=False)),
            'active',
            id='a false condition is none',
        ),
        pytest.param(
            build.job('a-0', conditions=(FAILED, COMPLETE)), 'failed', id='of two endings the first that stands there'
        ),
        pytest.param(
            build.job('a-0', conditions=(build.job_condition('Failed', holds=False), COMPLETE)),
            'succeeded',
            id='a false condition is passed over',
        ),
        pytest.param(
            build.job('a-0', ended=build.job_condition('FailureTarget')), 'active', id='on its way to failure'
        ),
        pytest.param(
            build.job('a-0', ended=build.job_condition('SuccessCriteriaMet')), 'active', id='on its way to success'
        ),
        pytest.param(build.job('a-0', ended=build.job_condition('Suspended')), 'active', id='suspended by condition'),
        pytest.param(build.job('a-0', deleting=True), 'active', id='being deleted it still counts'),
        pytest.param(build.job('a-0', deleting=True, ended=FAILED), 'failed', id='failed and being deleted'),
    ],
)
def test_a_job_is_in_one_bucket(job: jobs.Job, bucket: str) -> None:
    cohort = build.relatives(job).current(0)

    found = {
        'active': len(cohort.active),
        'failed': len(cohort.failed),
        'succeeded': cohort.succeeded,
    }

    assert found == dict.fromkeys(found, 0) | {bucket: 1}
    assert list(cohort.members) == ['js-a-0']
    assert list(cohort.staying) == ([] if job.metadata.deletion_timestamp else ['js-a-0'])


@pytest.mark.parametrize(
    ('parallelism', 'completions', 'ready', 'succeeded', 'counts'),
    [
        pytest.param(1, 2, 1, 1, True, id='one runs of two, one is done'),
        pytest.param(5, None, 2, 3, True, id='without completions all that run at a time count'),
        pytest.param(3, 2, 1, 1, True, id='completions limit what is wanted'),
        pytest.param(2, 3, 2, 1, True, id='more than wanted'),
        pytest.param(4, 5, 2, 1, False, id='one is missing'),
        pytest.param(0, None, None, None, True, id='without parallelism it is ready at once'),
        pytest.param(None, None, 1, None, True, id='an absent parallelism is one'),
        pytest.param(None, None, None, None, False, id='and needs one pod'),
        pytest.param(3, 0, None, None, True, id='nothing to complete is ready at once'),
    ],
)
def test_is_ready(
    parallelism: int | None,
    completions: int | None,
    ready: int | None,
    succeeded: int | None,
    counts: bool,
) -> None:
    job = build.job('a-0', parallelism=parallelism, completions=completions, ready=ready, succeeded=succeeded)

    assert family.is_ready(job) is counts


@pytest.mark.parametrize(
    ('job', 'tally'),
    [
        pytest.param(build.job('a-0'), family.Tally(), id='nothing runs yet'),
        pytest.param(build.job('a-0', active=1), family.Tally(active=1), id='pods run'),
        pytest.param(build.job('a-0', active=1, ready=1), family.Tally(active=1, ready=1), id='ready is active, too'),
        pytest.param(build.job('a-0', active=0), family.Tally(), id='zero pods are not active'),
        pytest.param(build.job('a-0', suspend=True), family.Tally(suspended=1), id='suspended by its spec'),
        pytest.param(
            build.job('a-0', suspend=True, parallelism=0), family.Tally(suspended=1, ready=1), id='counters overlap'
        ),
        pytest.param(
            build.job('a-0', active=1, ready=1, suspend=True, ended=COMPLETE),
            family.Tally(succeeded=1),
            id='a finished Job is nothing else',
        ),
        pytest.param(build.job('a-0', active=1, ended=FAILED), family.Tally(failed=1), id='a failed Job neither'),
        pytest.param(
            build.job('a-0', active=1, ready=1, ended=build.job_condition('FailureTarget')),
            family.Tally(active=1, ready=1),
            id='on its way to failure it still counts as active',
        ),
    ],
)
def test_tally(job: jobs.Job, tally: family.Tally) -> None:
    assert build.relatives(job).current(0).tally('a') == tally


def test_tallies_are_kept_by_replicated_job() -> None:
    cohort = build.relatives(
        build.job('a-0', active=1), build.job('a-1', ended=COMPLETE), build.job('b-0', ended=FAILED)
    ).current(0)

    assert cohort.tallies == {'a': family.Tally(active=1, succeeded=1), 'b': family.Tally(failed=1)}
    assert cohort.tally('unknown') == family.Tally()


@pytest.mark.parametrize(
    ('restarts', 'current', 'previous'),
    [
        pytest.param(0, {'js-a-0', 'js-a-1', 'js-a-2'}, set(), id='an attempt of the future counts as current'),
        pytest.param(1, {'js-a-1', 'js-a-2'}, {'js-a-0'}, id='smaller labels are previous'),
        pytest.param(2, {'js-a-2'}, {'js-a-0', 'js-a-1'}, id='all smaller labels are previous'),
        pytest.param(3, set(), {'js-a-0', 'js-a-1', 'js-a-2'}, id='after the last one all are'),
    ],
)
def test_attempts(restarts: int, current: set[str], previous: set[str]) -> None:
    relatives = build.relatives(*(build.job(f'a-{attempt}', attempt=attempt) for attempt in range(3)))

    assert set(relatives.current(restarts).members) == current
    assert {name for cohort in relatives.previous(restarts) for name in cohort.members} == previous


@pytest.mark.parametrize(
    ('label', 'attempt'),
    [
        pytest.param('0', 0, id='zero'),
        pytest.param('12', 12, id='a number'),
        pytest.param('+1', 1, id='with a sign'),
        pytest.param('-1', -1, id='negative'),
        pytest.param('', None, id='empty or absent'),
        pytest.param('one', None, id='a word'),
        pytest.param('1.0', None, id='a fraction'),
        pytest.param(' 1', None, id='with a space'),
        pytest.param('1_0', None, id='with an underscore'),
        pytest.param('١', None, id='in digits of another script'),
    ],
)
def test_attempt_of(label: str, attempt: int | None) -> None:
    job = build.job('a-0', attempt=label)
    relatives = build.relatives(job)

    assert family.attempt_of(job) == attempt
    assert relatives.malformed == ({} if attempt is not None else {'js-a-0': job})

    relatives.drop(job)

    assert relatives.malformed == {}
    assert relatives.jobs == {}


def test_a_corrected_label_is_malformed_no_longer() -> None:
    relatives = build.relatives(build.job('a-0', attempt='x', uid='u'))

    relatives.put(build.job('a-0', attempt=0, uid='u'))

    assert relatives.malformed == {}
    assert list(relatives.current(0).members) == ['js-a-0']


def test_the_end_of_an_earlier_job_leaves_its_successor_alone() -> None:
    successor = build.job('a-0', uid='new', attempt=1)
    relatives = build.relatives(successor)

    relatives.drop(build.job('a-0', uid='old'))

    assert relatives.jobs == {'js-a-0': successor}


JOBSET = build.jobset(build.part('a', 2), build.part('b', 1))
A0, A1, B0 = children.Child('js-a-0', 0, 0), children.Child('js-a-1', 0, 1), children.Child('js-b-0', 1, 0)


def _missing(relatives: family.Family, jobset: types.JobSet) -> tuple[tuple[children.Child, ...], ...]:
    return tuple(relatives.missing(jobset, position) for position in range(len(jobset.spec.replicated_jobs)))


def test_a_number_that_nobody_can_run_is_not_spelled_out() -> None:
    """Two thousand million names would take more memory than there is."""
    jobset = build.jobset(build.part('a', 2**31 - 1))
    relatives = build.relatives(build.job('a-1'))

    missing = relatives.missing(jobset, 0)

    assert len(missing) == family.MOST_AT_ONCE
    assert [child.job_index for child in missing[:3]] == [0, 2, 3]


def test_missing_follows_membership_and_spec() -> None:
    relatives = family.Family()
    first = build.job('a-0')
    assert _missing(relatives, JOBSET) == ((A0, A1), (B0,))

    relatives.put(first)
    relatives.put(build.job('foreign-0'))
    assert _missing(relatives, JOBSET) == ((A1,), (B0,))

    relatives.put(build.job('a-0', ended=COMPLETE))
    assert _missing(relatives, JOBSET) == ((A1,), (B0,))

    relatives.drop(first)
    assert _missing(relatives, JOBSET) == ((A0, A1), (B0,))

    fewer = build.jobset(build.part('a', 1), metadata={'generation': 2})
    assert _missing(relatives, fewer) == ((A0,),)

    other = build.jobset(build.part('z', 1), metadata={'generation': 3})
    assert _missing(relatives, other) == ((children.Child('js-z-0', 0, 0),),)


_ENDINGS = (None, COMPLETE, FAILED, build.job_condition('FailureTarget'))


@st.composite
def _jobs(draw: st.DrawFn) -> jobs.Job:
    return build.job(
        draw(st.sampled_from(['a-0', 'a-1', 'b-0'])),
        uid=draw(st.sampled_from(['u', 'v'])),
        attempt=draw(st.sampled_from(['0', '1', '2', 'x'])),
        part=draw(st.sampled_from(['a', 'b', ''])),
        own=draw(st.sampled_from([None, '0', '1', 'x'])),
        suspend=draw(st.booleans()),
        ended=draw(st.sampled_from(_ENDINGS)),
        deleting=draw(st.booleans()),
        active=draw(st.integers(0, 1)),
        ready=draw(st.integers(0, 1)),
    )


def _seen(relatives: family.Family) -> object:
    """All that others can learn of a family. An empty tally and none at all tell the same."""
    return (
        relatives.jobs,
        relatives.malformed,
        {attempt: _cohort(cohort) for attempt, cohort in relatives.cohorts.items()},
        relatives.mislabelled,
        [_cohort(relatives.current(restarts)) for restarts in range(4)],
        [
            {frozenset(cohort.members): _cohort(cohort) for cohort in relatives.previous(restarts)}
            for restarts in range(4)
        ],
        _missing(relatives, JOBSET),
    )


def _cohort(cohort: family.Cohort) -> dict[str, object]:
    groups = {field.name: getattr(cohort, field.name) for field in dataclasses.fields(cohort)}
    tallies = {name: tally for name, tally in cohort.tallies.items() if tally != family.Tally()}
    return groups | {'tallies': tallies, 'succeeded': cohort.succeeded}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(['put', 'drop', 'ask', 'expect']), _jobs(), st.integers(0, 2)), max_size=25))
def test_a_family_equals_one_made_afresh_of_the_same_jobs(changes: list[tuple[str, jobs.Job, int]]) -> None:
    relatives = family.Family()
    here: dict[str, jobs.Job] = {}
    expected: dict[str, int] = {}
    for change, job, own in changes:
        name = job.metadata.name
        if change == 'put':
            relatives.put(job)
            here[name] = job
        elif change == 'drop':
            relatives.drop(job)
            if name in here and here[name].metadata.uid == job.metadata.uid:
                del here[name]
        elif change == 'expect':
            expected[name] = own
            relatives.expect(expected)
        else:
            # Asked in between, so that an answer that is kept too long shows.
            _missing(relatives, JOBSET)

    afresh = build.relatives(*here.values())
    afresh.expect(expected)
    assert _seen(relatives) == _seen(afresh)


def test_a_family_without_jobs() -> None:
    relatives = family.Family()

    assert relatives.current(0) == family.Cohort()
    assert list(relatives.previous(9)) == []
    assert _missing(relatives, build.jobset()) == ()
    assert _missing(relatives, types.JobSet(metadata=JOBSET.metadata)) == ()
