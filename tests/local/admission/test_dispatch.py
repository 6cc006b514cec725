"""In which order webhooks are asked, and what becomes of their answers."""

import asyncio

import pytest

from jobset.local import problems
from jobset.local.admission import calling, review
from jobset.local.objects import Object
from tests.kube import virtual
from tests.local.admission import made

LABELLED: Object = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a', 'namespace': 'n', 'labels': {}}}


async def test_order_and_what_the_next_one_sees() -> None:
    recording = made.Recording()
    plane = made.Plane(
        {
            '/1': recording.handler('1', patch=made.label('one', '1')),
            '/2': recording.handler('2', patch=made.label('two', '2')),
            '/3': recording.handler('3'),
        }
    )
    plane.dispatcher.configure(
        mutating=[
            made.configuration('b', made.hook('/3')),
            made.configuration('a', made.hook('/1'), made.hook('/2')),
        ],
        validating=(),
    )
    asked = made.asked(object=LABELLED)

    changed = await plane.dispatcher.mutate(asked)

    assert recording.calls == ['1', '2', '3']
    assert [seen and seen['metadata']['labels'] for seen in recording.seen] == [
        {},
        {'one': '1'},
        {'one': '1', 'two': '2'},
    ]
    assert changed == {**LABELLED, 'metadata': {**LABELLED['metadata'], 'labels': {'one': '1', 'two': '2'}}}
    assert asked.object is LABELLED
    assert LABELLED['metadata']['labels'] == {}


async def test_an_object_that_nobody_changes_stays_the_very_same() -> None:
    plane = made.Plane({'/x': made.Recording().handler('x', patch=made.label('one', '1'))})
    asked = made.asked(object={**LABELLED, 'metadata': {'labels': {'one': '1'}}})
    plane.dispatcher.configure(mutating=[made.configuration('a', made.hook())], validating=())

    assert await plane.dispatcher.mutate(asked) is asked.object


async def test_who_wants_to_see_later_changes_is_asked_once_more() -> None:
    recording = made.Recording()
    plane = made.Plane(
        {
            '/1': recording.handler('1'),
            '/2': recording.handler('2'),
            '/3': recording.handler('3', patch=made.label('three', '3')),
            '/4': recording.handler('4'),
        }
    )
    again = {'reinvocationPolicy': 'IfNeeded'}
    hooks = [made.hook('/1', **again), made.hook('/2'), made.hook('/3', **again), made.hook('/4', **again)]
    plane.dispatcher.configure(mutating=[made.configuration('a', *hooks)], validating=())

    await plane.dispatcher.mutate(made.asked(object=LABELLED))

    assert recording.calls == ['1', '2', '3', '4', '1']


async def test_a_refusal_ends_the_row() -> None:
    recording = made.Recording()
    plane = made.Plane({'/1': recording.handler('1', allowed=False), '/2': recording.handler('2')})
    plane.dispatcher.configure(
        mutating=[made.configuration('a', made.hook('/1'), made.hook('/2'))],
        validating=(),
    )

    with pytest.raises(problems.Problem, match=r'"1\.example\.com" denied the request without explanation'):
        await plane.dispatcher.mutate(made.asked())
    assert recording.calls == ['1']


@virtual.timed
async def test_judges_are_asked_together_and_the_first_in_order_is_heard() -> None:
    times: list[float] = []

    def judge(seconds: float, message: str = '') -> calling.Handler:
        async def handle(_: review.Review, __: str) -> review.Answer:
            await asyncio.sleep(seconds)
            times.append(virtual.now())
            return review.Answer(allowed=not message, status={'message': message} if message else {})

        return handle

    plane = made.Plane({'/1': judge(3), '/2': judge(2, 'two'), '/3': judge(1, 'three')})
    hooks = [made.hook('/1'), made.hook('/2'), made.hook('/3')]
    plane.dispatcher.configure(mutating=(), validating=[made.configuration('a', *hooks)])

    with pytest.raises(problems.Problem, match='two'):
        await plane.dispatcher.validate(made.asked())
    assert times == [1, 2, 3]


@virtual.timed
async def test_a_webhook_that_takes_too_long() -> None:
    async def handle(_: review.Review, __: str) -> review.Answer:
        await asyncio.sleep(100)
        raise AssertionError

    plane = made.Plane({'/x': handle})
    plane.dispatcher.configure(mutating=(), validating=[made.configuration('a', made.hook(timeoutSeconds=3))])

    with pytest.raises(problems.Problem, match='context deadline exceeded') as raised:
        await plane.dispatcher.validate(made.asked())
    assert (raised.value.code, virtual.now()) == (500, 3)


async def test_a_webhook_in_this_process_with_a_fault() -> None:
    async def handle(_: review.Review, __: str) -> review.Answer:
        raise ZeroDivisionError('by zero')

    plane = made.Plane({'/x': handle})
    plane.dispatcher.configure(mutating=(), validating=[made.configuration('a', made.hook())])

    with pytest.raises(problems.Problem, match=r'failed calling webhook "x\.example\.com": failed to call .*: by zero'):
        await plane.dispatcher.validate(made.asked())


@pytest.mark.parametrize(
    ('effects', 'refused'), [('None', False), ('NoneOnDryRun', False), ('Some', True), ('Unknown', True)]
)
async def test_dry_runs(effects: str, refused: bool) -> None:
    recording = made.Recording()
    plane = made.Plane({'/x': recording.handler('x')})
    plane.dispatcher.configure(mutating=(), validating=[made.configuration('a', made.hook(sideEffects=effects))])
    asked = made.asked(dry_run=True)

    if refused:
        with pytest.raises(problems.Problem, match=r'^admission webhook "x.example.com" does not support dry run$'):
            await plane.dispatcher.validate(asked)
    else:
        await plane.dispatcher.validate(asked)
    assert recording.calls == [] if refused else ['x']


async def test_warnings_of_all_are_kept_in_the_review_that_was_given() -> None:
    recording = made.Recording()
    plane = made.Plane({'/1': recording.handler('1', warnings=['one']), '/2': recording.handler('2', warnings=['two'])})
    plane.dispatcher.configure(
        mutating=[made.configuration('a', made.hook('/1'))],
        validating=[made.configuration('a', made.hook('/2'))],
    )
    asked = made.asked()

    await plane.dispatcher.mutate(asked)
    await plane.dispatcher.validate(asked)

    assert asked.warnings == ['one', 'two']
