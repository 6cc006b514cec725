"""How important a JobSet is."""

import itertools
from typing import Any

import msgspec
import pytest

from jobset.api import types
from jobset.scheduler import priorities
from jobset.scheduler.priorities import Classes, Limit, Priority, PriorityClass, Reason, Rules, Source, Unresolved
from tests.scheduler.jobsets import job, jobset


def classes(*all_: PriorityClass) -> dict[str, PriorityClass]:
    return {one.name: one for one in all_}


FEDERATED = classes(
    PriorityClass(name='urgent', value=1000), PriorityClass(name='careful', value=500, may_preempt=False)
)
KUBERNETES = classes(
    PriorityClass(name='low', value=10),
    PriorityClass(name='high', value=200),
    PriorityClass(name='also-high', value=200, may_preempt=False),
)
ALL = Classes(federated=FEDERATED, kubernetes=KUBERNETES)


def named(*names: str, **fields: Any) -> types.JobSet:
    """A JobSet with one replicated job for each class that pod templates name."""
    jobs = [job(f'r{i}', pod={'priorityClassName': name} if name else {}) for i, name in enumerate(names)]
    return jobset(*jobs, **fields)


def priority(made: types.JobSet, **fields: Any) -> Priority:
    found = priorities.resolve(made, **{'classes': ALL, **fields})
    assert isinstance(found, Priority), found
    return found


def unresolved(made: types.JobSet, **fields: Any) -> Unresolved:
    found = priorities.resolve(made, **{'classes': ALL, **fields})
    assert isinstance(found, Unresolved), found
    return found


URGENT = {'priority-class': 'urgent'}
NUMBER = {'priority': '-7'}


@pytest.mark.parametrize(
    ('made', 'value', 'source', 'name'),
    [
        pytest.param(named('low', labels=URGENT, asks=NUMBER), 1000, Source.FEDERATED, 'urgent', id='all three'),
        pytest.param(named('low', asks=NUMBER), 10, Source.KUBERNETES, 'low', id='class and number'),
        pytest.param(named('', asks=NUMBER), -7, Source.ANNOTATION, None, id='number'),
        pytest.param(named('', labels={'priority-class': ''}), 0, Source.NOBODY, None, id='nothing'),
        pytest.param(named('', asks={'priority': 'x'}), 0, Source.NOBODY, None, id='unreadable, told elsewhere'),
    ],
)
def test_B_11_precedence(made: types.JobSet, value: int, source: Source, name: str | None) -> None:
    found = priority(made)
    assert (found.value, found.source, found.name, found.may_preempt, found.note) == (value, source, name, True, '')


@pytest.mark.parametrize(
    ('made', 'text'),
    [
        pytest.param(
            named('low', labels={'priority-class': 'gone'}, asks=NUMBER),
            'metadata.labels[jobset.x-k8s.io/priority-class]: there is no FederatedPriorityClass "gone"; '
            'create it, or name another',
            id='federated',
        ),
        pytest.param(
            named('low', 'gone', 'lost', asks=NUMBER),
            'priorityClassName of pod templates: there is no PriorityClass "gone", "lost"; create it, or name another',
            id='of pods',
        ),
        pytest.param(
            named('urgent'),
            'priorityClassName of pod templates: there is no PriorityClass "urgent"; create it, or name another',
            id='of the other kind',
        ),
    ],
)
def test_B_11_a_missing_class_is_waited_for(made: types.JobSet, text: str) -> None:
    assert unresolved(made) == Unresolved(reason=Reason.MISSING, text=text)


def test_B_11_it_goes_on_once_the_class_is_there() -> None:
    made = named('gone')
    unresolved(made)
    assert priority(made, classes=Classes(kubernetes=classes(PriorityClass(name='gone', value=3)))).value == 3


@pytest.mark.parametrize(
    ('federated', 'kubernetes', 'value', 'name', 'note'),
    [
        pytest.param({}, {'a': 5}, 5, 'a', '', id='the only one'),
        pytest.param({'f': 9}, {'a': 5}, 9, 'f', '', id='of all clusters'),
        pytest.param(
            {}, {'b': 5, 'a': 7, 'c': 5}, 5, 'b', 'a, b, c are all the global default; the lowest counts', id='several'
        ),
        pytest.param({}, {}, 0, None, '', id='none'),
    ],
)
def test_B_11_global_default(
    federated: dict[str, int], kubernetes: dict[str, int], value: int, name: str | None, note: str
) -> None:
    def made(of: dict[str, int]) -> dict[str, PriorityClass]:
        return classes(*(PriorityClass(name=one, value=number, is_default=True) for one, number in of.items()))

    source = Source.NOBODY if name is None else Source.DEFAULT
    known = Classes(federated=made(federated), kubernetes=made(kubernetes))
    assert priority(named(''), classes=known) == Priority(value=value, source=source, name=name, note=note)


@pytest.mark.parametrize('names', list(itertools.permutations(['low', 'high', 'also-high', ''])))
def test_B_11_of_conflicting_classes_the_highest_counts(names: tuple[str, ...]) -> None:
    assert priority(named(*names)) == Priority(
        value=200,
        source=Source.KUBERNETES,
        name='also-high',
        may_preempt=False,
        asked='PriorityClass also-high,high,low',
        note='priorityClassName of pod templates are "also-high", "high", "low"; the highest, "also-high", counts',
    )


@pytest.mark.parametrize(
    ('made', 'may_preempt'),
    [
        pytest.param(named('low'), True, id='as the class has it'),
        pytest.param(named('also-high'), False, id='not as the class has it'),
        pytest.param(named('', labels={'priority-class': 'careful'}), False, id='of all clusters'),
        pytest.param(jobset(job('a', pod={'preemptionPolicy': 'Never'}), asks=NUMBER), False, id='by its pods'),
    ],
)
def test_B_08_who_may_not_preempt(made: types.JobSet, may_preempt: bool) -> None:
    found = priority(made)
    assert (found.may_preempt, found.is_protected) == (may_preempt, False)


LATER = Classes(kubernetes=classes(PriorityClass(name='low', value=999, may_preempt=False)))


@pytest.mark.parametrize('then', [pytest.param(Classes(), id='deleted'), pytest.param(LATER, id='made anew')])
def test_B_10_what_was_found_stays(then: Classes) -> None:
    first = priority(named('low'))
    assert priority(named('low'), classes=then, recorded=first) == first


def test_B_10_new_ones_get_the_new_class() -> None:
    assert priority(named('low'), classes=LATER).value == 999


@pytest.mark.parametrize(
    ('before', 'after'),
    [
        pytest.param(named('low'), named('high'), id='another class'),
        pytest.param(named('', asks={'priority': '1'}), named('', asks={'priority': '2'}), id='another number'),
        pytest.param(named('low'), named('low', labels=URGENT), id='another source'),
        pytest.param(named('low', labels=URGENT), named('low'), id='back'),
    ],
)
def test_B_12_who_names_something_else_is_resolved_anew(before: types.JobSet, after: types.JobSet) -> None:
    assert priority(after, recorded=priority(before)) == priority(after)
    assert priority(after).value != priority(before).value


def test_B_12_the_record_survives_a_restart() -> None:
    first = priority(named('high', 'low'))
    read = msgspec.json.decode(msgspec.json.encode(first), type=Priority)
    assert priority(named('high', 'low'), classes=Classes(), recorded=read) == first


BASE = PriorityClass(name='a', value=100, description='old')


@pytest.mark.parametrize(
    ('change', 'strict', 'wanted'),
    [
        pytest.param({'description': 'new'}, True, [], id='description'),
        pytest.param({'value': 200}, False, [('value', 'is 100 and cannot become 200')], id='value'),
        pytest.param(
            {'may_preempt': False},
            False,
            [('preemptionPolicy', 'is PreemptLowerPriority and cannot become Never')],
            id='policy',
        ),
        pytest.param({'is_default': True}, False, [], id='default'),
        pytest.param(
            {'is_default': True}, True, [('globalDefault', 'is False and cannot become True')], id='default, strictly'
        ),
    ],
)
def test_B_10_changes_of_a_class(change: dict[str, Any], strict: bool, wanted: list[tuple[str, str]]) -> None:
    after = msgspec.structs.replace(BASE, **change)
    assert [(problem.path, problem.rule) for problem in priorities.changes(BASE, after, strict=strict)] == [
        (path, f'{text}; delete the class and create it anew') for path, text in wanted
    ]


HIGH = Limit(name='urgent-for-ops', namespaces=('ops', 'prod'), at_least=500)
NAMED = Limit(name='careful-for-none', classes=('careful',))


@pytest.mark.parametrize(
    ('made', 'limits', 'text'),
    [
        pytest.param(
            named('', labels=URGENT),
            (HIGH,),
            'rule "urgent-for-ops" allows priority 1000 of class "urgent" in namespaces "ops", "prod" only, '
            'not in "team"; choose a lower one',
            id='a class',
        ),
        pytest.param(
            named('', asks={'priority': '500'}),
            (NAMED, HIGH),
            'rule "urgent-for-ops" allows priority 500 in namespaces "ops", "prod" only, not in "team"; '
            'choose a lower one',
            id='a number is no way around',
        ),
        pytest.param(
            named('', labels={'priority-class': 'careful'}),
            (NAMED,),
            'rule "careful-for-none" allows priority 500 of class "careful" in namespaces none only, not in "team"; '
            'choose a lower one',
            id='by name',
        ),
    ],
)
def test_B_26_refusal_names_the_rule(made: types.JobSet, limits: tuple[Limit, ...], text: str) -> None:
    assert unresolved(made, rules=Rules(limits=limits)) == Unresolved(reason=Reason.FORBIDDEN, text=text)


@pytest.mark.parametrize(
    ('made', 'limit'),
    [
        pytest.param(named('', labels=URGENT), Limit(name='x', namespaces=('team',), at_least=500), id='listed'),
        pytest.param(named('high'), HIGH, id='below'),
        pytest.param(named(''), NAMED, id='of no class'),
    ],
)
def test_B_26_who_is_allowed(made: types.JobSet, limit: Limit) -> None:
    assert priority(made, rules=Rules(limits=(limit,))).value == priority(made).value


PROTECTED = named('high', asks={'protected': 'true'})


@pytest.mark.parametrize(
    'rules',
    [
        pytest.param(Rules(protecting_namespaces=('team',)), id='namespace'),
        pytest.param(Rules(protecting_classes=('high',)), id='class'),
    ],
)
def test_B_08_protected_where_allowed(rules: Rules) -> None:
    assert priority(PROTECTED, rules=rules).is_protected


def test_B_08_protected_is_refused_elsewhere() -> None:
    text = (
        'metadata.annotations[jobset.x-k8s.io/protected]: rule "protected" allows it in namespaces "ops" '
        'and to classes "urgent" only; remove it'
    )
    rules = Rules(protecting_namespaces=('ops',), protecting_classes=('urgent',))
    assert unresolved(PROTECTED, rules=rules) == Unresolved(reason=Reason.FORBIDDEN, text=text)


def test_B_08_both_at_once() -> None:
    found = priority(named('also-high', asks={'protected': 'true'}), rules=Rules(protecting_namespaces=('team',)))
    assert (found.may_preempt, found.is_protected) == (False, True)
