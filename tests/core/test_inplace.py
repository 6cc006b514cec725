"""All pods of a set restart together: what the controller answers to what they announce."""

import dataclasses

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.api import features, jobs, keys, types
from jobset.api.pods import Pod
from jobset.core import plan, ranks, reconcile
from tests.core import build

ON, OFF = features.FeatureGates(in_place_restart=True), features.FeatureGates()
TWO_BY_TWO = ('js-a-0-0', 'js-a-0-1', 'js-a-1-0', 'js-a-1-1')
LIMIT = 'jobset failed due to reaching max number of restarts'


def pod(
    rank: str,
    attempt: int | str | None = None,
    *,
    phase: str = 'Running',
    restarts: tuple[int, ...] = (),
    suffix: str = 'abcde',
    indexed: bool = True,
    jobset_uid: str = 'js-uid',
) -> Pod:
    """A pod of a rank, as ``js-a-0-1``."""
    annotations = {} if attempt is None else {keys.IN_PLACE_RESTART_ATTEMPT: str(attempt)}
    if indexed:
        annotations[keys.COMPLETION_INDEX] = rank.rpartition('-')[2]
    first, *others = restarts or (0,)
    manifest = {
        'metadata': {
            'name': f'{rank}-{suffix}',
            'namespace': 'default',
            'labels': {keys.JOBSET_UID: jobset_uid},
            'annotations': annotations,
        },
        'status': {
            'phase': phase,
            'initContainerStatuses': [{'name': 'agent', 'restartCount': first}],
            'containerStatuses': [{'name': 'c', 'restartCount': count} for count in others],
        },
    }
    return msgspec.json.decode(msgspec.json.encode(manifest), type=Pod)


def crew(*pods: Pod, seconds: float = 0) -> ranks.Ranks:
    """These pods, last changed so many seconds after the start."""
    made = ranks.Ranks()
    for each in pods:
        made.put(each, build.at(seconds))
    return made


def all_in(*attempts: int | str | None) -> list[Pod]:
    """Four pods, two for each of two Jobs, that announce these attempts."""
    return [pod(rank, attempt) for rank, attempt in zip(TWO_BY_TWO, attempts, strict=True)]


def jobset(
    *,
    current: int | None = None,
    previous: int | None = None,
    max_restarts: int = 3,
    restarts: int = 0,
    counted: int = 0,
    conditions: tuple[types.Condition, ...] = (),
    mode: str = 'Indexed',
    completions: int | None = 2,
    metadata: build.Manifest | None = None,
    **spec: object,
) -> types.JobSet:
    """A set of two Jobs of two pods each that restarts in place, its counters already stored."""
    template = {'spec': build.pods(parallelism=2) | {'completionMode': mode, 'completions': completions}}
    stored = types.Status(
        conditions=conditions,
        restarts=restarts,
        restarts_count_towards_max=counted,
        replicated_jobs_status=(build.counters('a', suspended=2 if spec.get('suspend') else 0),),
        current_in_place_restart_attempt=current,
        previous_in_place_restart_attempt=previous,
    )
    return build.jobset(
        build.part('a', 2, template=template),
        failurePolicy={'maxRestarts': max_restarts, 'restartStrategy': 'InPlaceRestart'},
        metadata={'creationTimestamp': build.stamp(0), **(metadata or {})},
        status=stored,
        **spec,
    )


def members(suspend: bool = False, attempt: int = 0) -> tuple[jobs.Job, ...]:
    return tuple(
        build.job(f'a-{index}', parallelism=2, completions=2, suspend=suspend, attempt=attempt) for index in range(2)
    )


def answer(
    of: types.JobSet, pods: ranks.Ranks, *relatives: jobs.Job, gates: features.FeatureGates = ON, now: float = 100
) -> plan.Plan:
    facts = build.facts(of, *(relatives or members(of.suspended, of.status.restarts)))
    return reconcile.reconcile(dataclasses.replace(facts, pods=pods, gates=gates), build.at(now))


def told(made: plan.Plan, stored: types.JobSet) -> tuple[int | None, int | None]:
    """The two numbers after a pass: previous, current."""
    status = made.status or stored.status
    return status.previous_in_place_restart_attempt, status.current_in_place_restart_attempt


@pytest.mark.parametrize(
    ('stored', 'pods', 'expected'),
    [
        pytest.param((None, None), [], (None, None), id='nobody has announced anything'),
        pytest.param((None, None), all_in(0, 0, None, 0), (None, None), id='at the first start all are waited for'),
        pytest.param((None, None), all_in(0, 0, 0, 0), (None, 0), id='all have come: the barrier opens'),
        pytest.param((None, 0), all_in(1, 0, 0, 0), (0, 0), id='one starts again: the others are to follow'),
        pytest.param((0, 0), all_in(1, 1, 0, 1), (0, 0), id='the last one is waited for'),
        pytest.param((0, 0), all_in(1, 1, 1, 1), (0, 1), id='all have followed: the barrier opens'),
        pytest.param((0, 1), all_in(1, 1, 1, 1), (0, 1), id='and stays open'),
        pytest.param((0, 1), all_in(2, 1, 2, 1), (1, 1), id='two start again in one round'),
        pytest.param((None, 3), all_in(1, 1, 1, 1), (None, 1), id='the common attempt may go down'),
        pytest.param((3, None), all_in(2, 0, 0, 0), (3, None), id='the attempt to be left never goes down'),
        pytest.param((0, 1), all_in(1, None, 1, 1), (0, 1), id='a pod was lost: nothing before its successor comes'),
        pytest.param((0, 1), all_in(1, 2, 1, 1), (1, 1), id='the successor of a lost pod starts a round'),
        pytest.param((0, 0), all_in(1, 1, None, 1), (0, 0), id='a pod was lost within a round'),
        pytest.param(
            (None, None),
            [*all_in(0, 0, 0, 0)[:3], pod('js-a-1-1', 0, phase='Failed')],
            (None, None),
            id='a pod that failed has announced nothing',
        ),
        pytest.param(
            (None, None),
            [*all_in(0, 0, 0, 0), pod('js-a-1-1', 0, phase='Failed', suffix='older')],
            (None, 0),
            id='a pod that failed is not counted beside its successor',
        ),
        pytest.param(
            (None, 0),
            [*all_in(0, 0, 0, 0), pod('js-a-1-1', 1, suffix='newer')],
            (0, 0),
            id='an old pod beside its successor still counts: it may run',
        ),
        pytest.param(
            (None, None),
            [*all_in(0, 0, 0, 0)[:3], pod('js-a-0-0', 0, suffix='twin')],
            (None, None),
            id='two pods of one rank do not stand for two ranks',
        ),
        pytest.param(
            (None, None),
            [*all_in(0, 0, 0, 0)[:3], pod('js-a-1-2', 0)],
            (None, None),
            id='nor does a stray rank for a missing one',
        ),
        pytest.param(
            (0, 0),
            [*all_in(1, 1, 1, 1)[:3], pod('js-a-1-1', 0, phase='Succeeded')],
            (0, 1),
            id='a rank that has succeeded is not waited for',
        ),
        pytest.param(
            (None, None),
            [pod(rank, 0, phase='Succeeded') for rank in TWO_BY_TWO],
            (None, 0),
            id='all have succeeded already',
        ),
        pytest.param((None, 0), all_in(1, 0, 'x', 0), (None, 0), id='an announcement that cannot be read stops all'),
        pytest.param((None, 0), all_in(1, 0, -1, 0), (None, 0), id='a negative one'),
        pytest.param((None, 0), all_in(1, 0, 2**31, 0), (None, 0), id='one that is too large'),
        pytest.param((None, 0), all_in(1, 0, '', 0), (None, 0), id='an empty one'),
        pytest.param(
            (None, 0),
            [*all_in(1, 0, 0, 0), pod('js-a-1-1', 'x', phase='Failed', suffix='older')],
            (0, 0),
            id='of a pod that failed nobody reads it',
        ),
        pytest.param((None, None), all_in('+0', '00', 0, 0), (None, 0), id='numbers as Go reads them'),
    ],
)
def test_answers(
    stored: tuple[int | None, int | None],
    pods: list[Pod],
    expected: tuple[int | None, int | None],
) -> None:
    of = jobset(previous=stored[0], current=stored[1])

    made = answer(of, crew(*pods, seconds=99))

    assert told(made, of) == expected
    assert made.events == ()
    assert made.is_empty is (expected == stored)


def test_pods_without_an_index_are_counted() -> None:
    of = jobset(mode='NonIndexed')
    pods = [pod(f'js-a-{job}', 0, suffix=suffix, indexed=False) for job in (0, 1) for suffix in ('vwxyz', 'abcde')]

    assert told(answer(of, crew(*pods[:3])), of) == (None, None)
    assert told(answer(of, crew(*pods)), of) == (None, 0)


def test_with_the_gate_off_nobody_answers() -> None:
    of = jobset()

    assert answer(of, crew(*all_in(9, 9, 9, 9)), gates=OFF) == plan.Plan()


def test_other_strategies_are_left_alone() -> None:
    of = build.jobset(build.part('a'), failurePolicy={'maxRestarts': 0, 'restartStrategy': 'Recreate'})
    stored = msgspec.structs.replace(of, status=types.Status(replicated_jobs_status=(build.counters('a'),)))

    assert answer(stored, crew(pod('js-a-0-0', 7, restarts=(9,))), build.job('a-0')) == plan.Plan()


@pytest.mark.parametrize(
    ('settings', 'pods', 'fails'),
    [
        pytest.param({'max_restarts': 2}, all_in(2, 2, 2, 2), False, id='as many attempts as are allowed'),
        pytest.param({'max_restarts': 1}, all_in(1, 2, 1, 1), True, id='one attempt too many'),
        pytest.param({'max_restarts': 0}, all_in(0, 0, 0, 0), False, id='the first one is none'),
        pytest.param(
            {'max_restarts': 1, 'restarts': 2, 'counted': 1},
            all_in(3, 3, 3, 3),
            True,
            id='3 - 1 free restart is over 1',
        ),
        pytest.param(
            {'max_restarts': 1, 'restarts': 2, 'counted': 1}, all_in(2, 2, 2, 2), False, id='2 - 1 free restart is not'
        ),
        pytest.param(
            {'max_restarts': 1}, [pod('js-a-0-0', restarts=(0, 2))], True, id='a container was restarted too often'
        ),
        pytest.param({'max_restarts': 1}, [pod('js-a-0-0', restarts=(2,))], True, id='also one of the initial ones'),
        pytest.param({'max_restarts': 2}, [pod('js-a-0-0', restarts=(1, 2))], False, id='just often enough'),
        pytest.param(
            {'max_restarts': 1},
            [pod('js-a-0-0', phase='Failed', restarts=(2,))],
            True,
            id='whatever became of the pod',
        ),
        pytest.param(
            {'max_restarts': 1}, all_in(9, 'x', 0, 0), False, id='attempts mean nothing while one cannot be read'
        ),
    ],
)
def test_max_restarts(settings: build.Manifest, pods: list[Pod], fails: bool) -> None:
    of = jobset(**settings)

    made = answer(of, crew(*pods, seconds=99))

    failed = build.condition('Failed', holds=True, reason='ReachedMaxRestarts', message=LIMIT, seconds=100)
    found = made.status or of.status
    assert found.conditions == ((failed,) if fails else ())
    assert found.terminal_state == ('Failed' if fails else '')
    assert made.events == ((plan.Event(plan.EventType.WARNING, 'ReachedMaxRestarts', LIMIT),) if fails else ())
    if fails:
        assert (found.previous_in_place_restart_attempt, found.current_in_place_restart_attempt) == (None, None)


def test_after_the_end_nobody_answers() -> None:
    ended = build.condition('Completed', holds=True, reason='AllJobsCompleted', message='m')
    of = jobset(conditions=(ended,), current=0)
    done = [build.job(f'a-{index}', completions=2, ended=build.completed()) for index in range(2)]

    made = answer(of, crew(*all_in(1, 0, 0, 0)), *done)

    assert told(made, of) == (None, 0)


def test_a_failed_job_comes_first() -> None:
    """Then the whole set restarts, with new pods; their agents go on counting."""
    of = jobset(current=0)

    made = answer(of, crew(*all_in(1, 0, 0, 0)), members()[0], build.job('a-1', ended=build.failed()))

    assert made.status is not None
    assert (told(made, of), made.status.restarts) == ((None, 0), 1)


# Suspension is free.


SUSPENDED = build.condition('Suspended', holds=True, reason='SuspendedJobs', message='jobset is suspended')


@pytest.mark.parametrize(
    ('stored', 'expected'),
    [
        pytest.param((None, None), (None, None), id='before the first start'),
        pytest.param((None, 0), (None, None), id='in the first attempt: it begins again'),
        pytest.param((1, 2), (1, 1), id='in a later one: pods announce it again'),
        pytest.param((None, 2), (1, 1), id='though nobody had to leave the one before'),
        pytest.param((2, 2), (2, 2), id='within a round: they announce what they were about to'),
    ],
)
def test_pods_that_suspension_ended_announce_the_same_attempt_again(
    stored: tuple[int | None, int | None], expected: tuple[int | None, int | None]
) -> None:
    of = jobset(previous=stored[0], current=stored[1], suspend=True, conditions=(SUSPENDED,))

    made = answer(of, crew())
    assert told(made, of) == expected
    again = jobset(previous=expected[0], current=expected[1], suspend=True, conditions=(SUSPENDED,))
    assert told(answer(again, crew()), again) == expected, 'once is enough'

    previous, current = expected
    announced = 0 if current is None else current + 1
    assert previous is None or announced > previous, 'pods that start must not be told to start again'


def test_while_pods_of_a_suspended_set_are_left_nothing_is_taken_back() -> None:
    of = jobset(current=2, previous=1, suspend=True, conditions=(SUSPENDED,))

    assert answer(of, crew(pod('js-a-0-0', 2))).is_empty


# Who does not announce anything is named.


def stalled(reason: str, message: str, *, holds: bool = True, seconds: float = 1000) -> types.Condition:
    return build.condition('InPlaceRestartStalled', holds=holds, reason=reason, message=message, seconds=seconds)


def waiting(attempt: int, names: str) -> str:
    return (
        f'not all of 4 ranks have announced attempt {attempt}, and nothing has changed for 300 s; waiting for {names}'
    )


@pytest.mark.parametrize(
    ('of', 'pods', 'relatives', 'text'),
    [
        pytest.param(
            jobset(),
            [pod('js-a-0-0', 0), pod('js-a-0-1', phase='Pending'), pod('js-a-1-0', 'x')],
            (build.job('a-0'), build.job('a-1')),
            waiting(0, "js-a-0-1 (Pending, nothing announced), js-a-1-0 ('x' is no attempt), js-a-1-1 (no pod)"),
            id='no announcement, one that cannot be read, no pod',
        ),
        pytest.param(
            jobset(),
            [],
            (build.job('a-0'),),
            waiting(0, 'js-a-0-0 (no pod), js-a-0-1 (no pod), js-a-1-0 (no Job), js-a-1-1 (no Job)'),
            id='no Job, as one that waits for another',
        ),
        pytest.param(
            jobset(current=0, previous=0),
            [*all_in(1, 1, 0, 1)[:3], pod('js-a-1-1', 1, phase='Failed')],
            members(),
            waiting(1, 'js-a-1-0 (Running, still in attempt 0), js-a-1-1 (Failed, nothing announced)'),
            id='in the old attempt, and failed',
        ),
        pytest.param(
            jobset(current=1),
            all_in(1, 1, None, 1),
            members(),
            waiting(1, 'js-a-1-0 (Running, nothing announced)'),
            id='the successor of a lost pod',
        ),
        pytest.param(
            jobset(),
            [*all_in(0, 0, 0, 0), pod('js-a-0-1', 0, suffix='twin'), pod('js-a-0-2', 0)],
            members(),
            waiting(0, 'js-a-0-1 (2 pods), js-a-0-2 to go (not a rank of the set any more)'),
            id='a pod too many',
        ),
        pytest.param(
            jobset(mode='NonIndexed'),
            [pod('js-a-0', 0, suffix='vwxyz', indexed=False), pod('js-a-1', suffix='abcde', indexed=False)],
            members(),
            waiting(0, 'js-a-1-abcde (Running, nothing announced)'),
            id='pods without an index go by their names',
        ),
    ],
)
def test_ranks_that_are_waited_for_too_long_are_named(
    of: types.JobSet, pods: list[Pod], relatives: tuple[jobs.Job, ...], text: str
) -> None:
    seen = crew(*pods, seconds=500)

    early = answer(of, seen, *relatives, now=790)
    late = answer(of, seen, *relatives, now=1000)

    since = 500 if pods else 0
    assert early.again_after_seconds == (300 + since - 790 if pods else None)
    assert late.status is not None
    assert late.status.conditions == (stalled('RanksNotReported', text),)
    assert late.events == (plan.Event(plan.EventType.WARNING, 'RanksNotReported', text),)
    assert late.again_after_seconds is None


def test_of_many_ranks_ten_are_named() -> None:
    template = {'spec': build.pods(parallelism=20) | {'completionMode': 'Indexed'}}
    of = build.jobset(
        build.part('a', template=template),
        failurePolicy={'restartStrategy': 'InPlaceRestart'},
        metadata={'creationTimestamp': build.stamp(0)},
    )

    made = answer(of, crew(), build.job('a-0', parallelism=20), now=1000)

    assert made.status is not None
    message = made.status.conditions[0].message
    assert message.count('no pod') == 10
    assert message.endswith('js-a-0-9 (no pod) and 10 more')


def test_a_resumed_set_gets_its_time() -> None:
    resumed = build.condition('Suspended', holds=False, reason='ResumeJobs', message='m', seconds=950)

    made = answer(jobset(conditions=(resumed,)), crew(), now=1000)

    assert made.again_after_seconds == 250


@pytest.mark.parametrize(
    ('fields', 'reason', 'events'),
    [
        pytest.param({}, 'RanksReported', 1, id='all have announced the same'),
        pytest.param({'suspend': True}, 'NotWaiting', 0, id='suspended'),
        pytest.param(
            {'metadata': {'annotations': {keys.DISABLE_IN_PLACE_RESTART: ''}}}, 'NotWaiting', 0, id='switched off'
        ),
    ],
)
def test_the_condition_ends(fields: build.Manifest, reason: str, events: int) -> None:
    told_suspended = (SUSPENDED,) if 'suspend' in fields else ()
    of = jobset(current=0, conditions=(stalled('RanksNotReported', 'm', seconds=0), *told_suspended), **fields)

    made = answer(of, crew(*all_in(0, 0, 0, 0)), now=1000)

    assert made.status is not None
    condition = made.status.conditions[0]
    assert (condition.type, condition.status, condition.reason) == ('InPlaceRestartStalled', 'False', reason)
    assert len(made.events) == events


@pytest.mark.parametrize(
    'fields', [{'suspend': True}, {'metadata': {'annotations': {keys.DISABLE_IN_PLACE_RESTART: ''}}}]
)
def test_sets_that_are_not_to_announce_anything_are_not_named(fields: build.Manifest) -> None:
    of = jobset(conditions=(SUSPENDED,) if 'suspend' in fields else (), **fields)

    made = answer(of, crew(*all_in(None, None, None, None)), now=1000)

    assert made.is_empty
    assert made.again_after_seconds is None


def test_ranks_of_jobs_that_succeeded_are_not_waited_for() -> None:
    of = jobset(current=0)
    done = build.job('a-1', parallelism=2, completions=2, ended=build.completed())

    made = answer(of, crew(*all_in(0, 0, 0, 0)[:2]), members()[0], done, now=1000)

    assert made.again_after_seconds is None
    assert made.status is not None
    assert made.status.conditions == ()


def test_wrong_job_settings_are_told_and_the_rest_goes_on() -> None:
    """Admission refuses them, but may have been off, or the gate."""
    of = jobset(completions=3)

    made = answer(of, crew(*all_in(0, 0, 0, 0)), members()[0])

    text = (
        'spec.replicatedJobs[0].template.spec: parallelism 2 and completions 3 must be set and equal; '
        'delete the JobSet and make it again'
    )
    assert made.status is not None
    assert made.status.conditions == (stalled('WrongJobSettings', text, seconds=100),)
    assert [child.name for child in made.create] == ['js-a-1']
    assert told(made, of) == (None, None)


# Counters of large sets may wait.


def large(attempts: range | list[int], *, current: int, previous: int | None = None) -> float:
    """The patience with a set of so many pods."""
    template = {'spec': build.pods(parallelism=len(attempts)) | {'completionMode': 'Indexed'}}
    stored = types.Status(current_in_place_restart_attempt=current, previous_in_place_restart_attempt=previous)
    of = build.jobset(
        build.part('a', template=template),
        failurePolicy={'restartStrategy': 'InPlaceRestart', 'maxRestarts': 9},
        status=stored,
    )
    pods = [pod(f'js-a-0-{index}', attempt) for index, attempt in enumerate(attempts)]
    return answer(
        of, crew(*pods), build.job('a-0', parallelism=len(attempts), completions=len(attempts))
    ).patience_seconds


def test_patience_grows_with_the_set() -> None:
    assert large([0] * 4, current=0) == 0.04
    assert large([0] * 1000, current=0) == 2.0
    assert large([1] + [0] * 999, current=0) == 10.0


# What is counted as pods come and go.


_PODS = st.builds(
    pod,
    st.sampled_from(['js-a-0-0', 'js-a-0-1', 'js-a-1-0']),
    st.sampled_from([None, 0, 1, 2, 'x', '-1']),
    phase=st.sampled_from(['Pending', 'Running', 'Succeeded', 'Failed']),
    restarts=st.sampled_from([(), (1,), (0, 3)]),
    suffix=st.sampled_from(['abcde', 'fghij']),
    indexed=st.booleans(),
)


def seen_of(made: ranks.Ranks) -> dict[str, object]:
    history = ('changed_at', 'risen_at', '_highest')
    return {name: value for name, value in vars(made).items() if name not in history}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(['put', 'drop']), _PODS), max_size=20))
def test_ranks_equal_those_made_afresh_of_the_same_pods(changes: list[tuple[str, Pod]]) -> None:
    made = ranks.Ranks()
    here: dict[str, Pod] = {}
    for change, each in changes:
        if change == 'put':
            before = seen_of(crew(*here.values()))
            here[each.metadata.name] = each
            assert made.put(each, build.at(0)) is (before['reports'] != seen_of(crew(*here.values()))['reports'])
        else:
            made.drop(each, build.at(0))
            here.pop(each.metadata.name, None)

    assert seen_of(made) == seen_of(crew(*here.values()))


def test_only_what_counts_moves_the_clock() -> None:
    made = crew(pod('js-a-0-0', 0), seconds=10)

    assert not made.put(pod('js-a-0-0', 0, jobset_uid='js-uid'), build.at(20))
    assert made.changed_at == build.at(10)
    assert made.put(pod('js-a-0-0', 0, restarts=(1,)), build.at(30))
    assert made.changed_at == build.at(30)
    made.drop(pod('js-a-0-0'), build.at(40))
    made.drop(pod('js-a-0-0'), build.at(50))
    assert made.changed_at == build.at(40)
