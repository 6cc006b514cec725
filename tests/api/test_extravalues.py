"""The values of our own annotations: what is taken, and what refusals say."""

import datetime
import pathlib
from typing import Any

import pytest

from jobset.api import extras, extravalues, features, schedulingextras, validation
from jobset.api.extravalues import FREE, Budgets, Cause, ExtraError, Pause, Trigger
from tests.api import build
from tests.api.build import DEFAULTS, obj, replicated

MISSPELT = 'jobset.x-k8s.io/restart-budget is no annotation of jobset; did you mean jobset.x-k8s.io/restart-budgets?'


ALL = (
    *extras.ON_JOBSET,
    *schedulingextras.ON_JOBSET,
    *schedulingextras.ON_JOB_TEMPLATE,
    *schedulingextras.ON_POD_TEMPLATE,
)
DOCS = pathlib.Path(__file__).parents[2] / 'docs'
PAGES = ('restarts.md', 'gangs.md', 'scheduling-jobs.md')


def key(name: str) -> str:
    return extras.PREFIX + name


@pytest.mark.parametrize('extra', [*ALL, *schedulingextras.OF_KUEUE], ids=lambda extra: extra.key)
def test_every_example_is_taken(extra: extras.Extra[object]) -> None:
    extra.parse(extra.example)


def test_every_annotation_is_documented_with_its_example() -> None:
    pages = [(DOCS / name).read_text().split('\n## ')[0] for name in PAGES]
    rows: dict[str, str] = {}
    for page in pages:
        for row in page.splitlines():
            if row.startswith('| `'):
                rows.setdefault(row.split('`')[1], row)
    for extra in ALL:
        assert rows[extra.key.removeprefix(extras.PREFIX)].endswith(f'| `{extra.example}` |')


def test_keys_are_of_our_prefix_and_differ() -> None:
    keys = [extra.key for extra in ALL]
    assert all(each.startswith(extras.PREFIX) for each in keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        pytest.param('90s', datetime.timedelta(seconds=90)),
        pytest.param('1h30m', datetime.timedelta(minutes=90)),
        pytest.param('876000h', datetime.timedelta(days=36_500)),
    ],
)
def test_durations(text: str, value: datetime.timedelta) -> None:
    assert extravalues.duration(text) == value


@pytest.mark.parametrize('text', ['', '5', '-1s', '0s', '876001h', '1d', '1 s'])
def test_durations_that_are_none(text: str) -> None:
    with pytest.raises(ExtraError, match='write'):
        extravalues.duration(text)


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        pytest.param('disruption=free', {'disruption': FREE}),
        pytest.param('any=0 , node=5', {'any': 0, 'node': 5}),
        pytest.param(
            'driver/application=1,exit-42=free,w/exit-255=2',
            {'driver/application': 1, 'exit-42': FREE, 'w/exit-255': 2},
        ),
    ],
)
def test_budgets(text: str, value: dict[str, int]) -> None:
    assert extravalues.budgets(text) == Budgets(value)


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        pytest.param('node', "'node' is no pair; write key=value", id='no value'),
        pytest.param('node=1,', "'' is no pair", id='an end without a pair'),
        pytest.param('preempted=1', "'preempted' is no cause of a failure; known are disruption, node", id='no cause'),
        pytest.param('node=-1', 'node=-1: a budget is a whole number or "free"', id='negative'),
        pytest.param('node=1.5', 'node=1.5: a budget is a whole number or "free"', id='a fraction'),
        pytest.param('exit-0=1', "'exit-0' is no cause", id='success is no failure'),
        pytest.param('W/node=1', "'W' in 'W/node' is no name of a replicated job", id='no name'),
        pytest.param('node=1,node=2', "'node' stands there twice", id='twice'),
    ],
)
def test_budgets_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(ExtraError) as caught:
        extravalues.budgets(text)
    assert str(caught.value).startswith(problem)


BUDGETS = Budgets({'w/exit-9': 1, 'w/any': 2, 'exit-9': 3, 'application': 4, 'any': 5})


@pytest.mark.parametrize(
    ('job', 'cause', 'code', 'expected'),
    [
        pytest.param('w', Cause.APPLICATION, 9, 'w/exit-9', id='role and exit code'),
        pytest.param('w', Cause.APPLICATION, 1, 'w/any', id='role alone, before causes of all roles'),
        pytest.param('v', Cause.APPLICATION, 9, 'exit-9', id='exit code'),
        pytest.param('v', Cause.APPLICATION, 1, 'application', id='cause'),
        pytest.param('v', Cause.NODE, None, 'any', id='anything'),
    ],
)
def test_the_narrowest_budget_pays(job: str, cause: Cause, code: int | None, expected: str) -> None:
    assert BUDGETS.key(job, cause, code) == expected


def test_what_no_budget_names_is_left_to_others() -> None:
    assert Budgets({'node': 1}).key('w', Cause.APPLICATION, 1) is None


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        pytest.param('base=1s', Pause(base=1, cap=300, reset=600)),
        pytest.param('base=10m', Pause(base=600, cap=600, reset=600)),
        pytest.param('base=1s,cap=1m,reset=5m,jitter=25%', Pause(base=1, cap=60, reset=300, jitter=0.25)),
    ],
)
def test_pauses(text: str, value: Pause) -> None:
    assert extravalues.pause(text) == value


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        pytest.param('cap=1m', '"base" is missing; a pause is written as base=1s'),
        pytest.param('base=1s,max=1m', "'max' is unknown; a pause is written as"),
        pytest.param('base=2m,cap=1m', 'cap=1m is less than base=2m'),
        pytest.param('base=1s,jitter=2', 'jitter=2: write a part in percent'),
        pytest.param('base=1s,jitter=101%', 'jitter=101%: write a part in percent'),
        pytest.param('base=soon', "'soon' is no duration"),
    ],
)
def test_pauses_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(ExtraError) as caught:
        extravalues.pause(text)
    assert str(caught.value).startswith(problem)


def test_other_values() -> None:
    assert (extravalues.switch('true'), extravalues.switch('false')) == (True, False)
    assert extravalues.one_of(Trigger)('PodLost') is Trigger.POD_LOST
    assert extravalues.number('10', most=10) == 10
    assert extravalues.finalizers('a.io/x, b.io/y') == {'a.io/x', 'b.io/y'}


@pytest.mark.parametrize(
    ('name', 'value', 'problem'),
    [
        pytest.param('done-stays-done', 'yes', '\'yes\' is neither "true" nor "false"'),
        pytest.param('restart-on', 'Lost', "'Lost' is none of JobFailed, FailureTarget, PodLost"),
        pytest.param('keep-failed-attempts', '0', "'0' is no number from 1 to 10"),
        pytest.param('keep-failed-attempts', '11', "'11' is no number from 1 to 10"),
        pytest.param(
            'fence-finalizers', 'x', "'x' is no name of a finalizer; write example.com/name, several with commas"
        ),
        pytest.param('start-limit', '0s', "'0s' is not between 0 and 100 years; write a duration such as 90s or 1h30m"),
        pytest.param('restart-budget', 'any=1', MISSPELT),
        pytest.param('restart-budgets', 'v/any=1', "'v' in 'v/any' is no replicated job of this set; they are workers"),
    ],
)
def test_admission_refuses_with_place_and_fix(name: str, value: str, problem: str) -> None:
    sent: Any = obj([replicated('workers')])
    sent['metadata']['annotations'] = {key(name): value, key('fence-after'): '1m'}
    found = validation.create(build.typed(sent), gates=DEFAULTS, existing_claims={})
    assert [(error.path, error.detail) for error in found] == [(f'metadata.annotations[{key(name)}]', problem)]


def test_what_makes_no_sense_alone_is_refused() -> None:
    sent: Any = obj([replicated('workers')])
    sent['metadata']['annotations'] = {key('fence-finalizers'): 'a.io/x'}
    found = validation.create(build.typed(sent), gates=DEFAULTS, existing_claims={})
    assert [(error.path, error.detail) for error in found] == [
        (f'metadata.annotations[{key("fence-finalizers")}]', f'does nothing without {key("fence-after")}; add it')
    ]
    assert validation.update(build.typed(sent), build.typed(sent), gates=DEFAULTS) == []


def test_what_contradicts_the_way_of_restarting_is_refused() -> None:
    """In place, a lost pod restarts all ranks; that it makes them anew, too, would be two answers to one loss."""
    sent: Any = obj([replicated('workers')])
    job = sent['spec']['replicatedJobs'][0]['template']['spec']
    job |= {'parallelism': 2, 'completions': 2, 'backoffLimit': 2**31 - 1, 'podReplacementPolicy': 'Failed'}
    sent['spec']['failurePolicy'] = {'restartStrategy': 'InPlaceRestart'}
    gates = features.FeatureGates(in_place_restart=True)

    def problems(value: str) -> list[tuple[str, str]]:
        sent['metadata']['annotations'] = {key('restart-on'): value}
        found = validation.create(build.typed(sent), gates=gates, existing_claims={})
        return [(error.path, error.detail) for error in found]

    assert problems('PodLost') == [
        (
            f'metadata.annotations[{key("restart-on")}]',
            (
                'PodLost cannot be answered beside spec.failurePolicy.restartStrategy InPlaceRestart, which restarts '
                'all ranks when a pod is lost; use FailureTarget, or leave it out'
            ),
        )
    ]
    assert problems('FailureTarget') == []


@pytest.mark.parametrize(
    ('text', 'value'), [('0', 0), ('-7', -7), ('2147483647', 2**31 - 1), ('-2147483648', -(2**31))]
)
def test_integers(text: str, value: int) -> None:
    assert extravalues.integer(text) == value


@pytest.mark.parametrize('text', ['', '+1', '1.0', 'x', '2147483648', '-2147483649', '99999999999', '٣'])
def test_integers_that_are_none(text: str) -> None:
    with pytest.raises(ExtraError, match='is no whole number of 32 bits; write digits'):
        extravalues.integer(text)


def test_moments() -> None:
    noon = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
    assert extravalues.moment('2026-01-31T12:00:00Z') == extravalues.moment('2026-01-31T14:00:00.0+02:00') == noon


@pytest.mark.parametrize('text', ['', 'now', '2026-01-31', '2026-01-31T12:00:00', '2026-13-31T12:00:00Z', '1769860800'])
def test_moments_that_are_none(text: str) -> None:
    with pytest.raises(ExtraError, match='is no time; write one such as 2026-01-31T12:00:00Z'):
        extravalues.moment(text)
