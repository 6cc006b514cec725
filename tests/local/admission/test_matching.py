"""Which webhooks are asked about a request."""

import functools
from typing import Any

import cel
import pytest

from jobset.local import problems, resources
from jobset.local.admission import conditions
from tests.local.admission import made


def _rule(**options: Any) -> dict[str, Any]:
    return {
        'apiGroups': [''],
        'apiVersions': ['v1'],
        'operations': ['CREATE'],
        'resources': ['pods'],
        **options,
    }


@pytest.mark.parametrize(
    ('rule', 'kind', 'operation', 'subresource', 'wanted'),
    [
        pytest.param(_rule(), made.PODS, 'CREATE', '', True, id='named'),
        pytest.param(_rule(), made.PODS, 'UPDATE', '', False, id='other operation'),
        pytest.param(_rule(operations=['*']), made.PODS, 'DELETE', '', True, id='any operation'),
        pytest.param(_rule(), made.CONFIG_MAPS, 'CREATE', '', False, id='other resource'),
        pytest.param(_rule(), made.PODS, 'CREATE', 'binding', False, id='a part is not the whole'),
        pytest.param(_rule(resources=['pods/binding']), made.PODS, 'CREATE', 'binding', True, id='a part'),
        pytest.param(_rule(resources=['pods/binding']), made.PODS, 'CREATE', '', False, id='the whole is not a part'),
        pytest.param(_rule(resources=['pods/*']), made.PODS, 'CREATE', '', True, id='all parts and the whole'),
        pytest.param(_rule(resources=['pods/*']), made.PODS, 'CREATE', 'eviction', True, id='all parts'),
        pytest.param(_rule(resources=['*']), made.CONFIG_MAPS, 'CREATE', '', True, id='all resources'),
        pytest.param(_rule(resources=['*']), made.PODS, 'CREATE', 'status', False, id='all resources but no parts'),
        pytest.param(_rule(resources=['*/status']), made.PODS, 'CREATE', 'status', True, id='one part of all'),
        pytest.param(_rule(resources=['*/*']), made.PODS, 'CREATE', 'status', True, id='everything'),
        pytest.param(_rule(resources=['*']), made.JOBSETS, 'CREATE', '', False, id='other group'),
        pytest.param(_rule(apiGroups=['*'], resources=['*']), made.JOBSETS, 'CREATE', '', False, id='other version'),
        pytest.param(
            _rule(apiGroups=['*'], apiVersions=['*'], resources=['*']), made.JOBSETS, 'CREATE', '', True, id='any group'
        ),
        pytest.param(_rule(scope='Namespaced'), made.PODS, 'CREATE', '', True, id='in a namespace'),
        pytest.param(_rule(scope='Cluster'), made.PODS, 'CREATE', '', False, id='of the cluster only'),
        pytest.param(
            _rule(scope='Cluster', resources=['namespaces']), made.NAMESPACES, 'CREATE', '', True, id='of the cluster'
        ),
        pytest.param(
            _rule(apiGroups=['*'], resources=['*']), made.CONFIGURATIONS, 'CREATE', '', False, id='configurations never'
        ),
    ],
)
def test_rules(rule: dict[str, Any], kind: resources.Kind, operation: str, subresource: str, wanted: bool) -> None:
    dispatcher = made.Plane().dispatcher
    dispatcher.configure(mutating=(), validating=[made.configuration('one', made.hook(rules=[_rule(), rule][1:]))])

    assert dispatcher.is_validating(kind, operation, subresource) is wanted
    assert dispatcher.is_mutating(kind, operation, subresource) is False


def test_new_configurations_are_looked_at_anew() -> None:
    dispatcher = made.Plane().dispatcher
    assert not dispatcher.is_mutating(made.PODS, 'CREATE')
    dispatcher.configure(mutating=[made.configuration('one', made.hook())], validating=())
    assert dispatcher.is_mutating(made.PODS, 'CREATE')
    dispatcher.configure(mutating=(), validating=())
    assert not dispatcher.is_mutating(made.PODS, 'CREATE')


IN = {'matchExpressions': [{'key': 'team', 'operator': 'In', 'values': ['a', 'b']}]}
NOT_IN = {'matchExpressions': [{'key': 'team', 'operator': 'NotIn', 'values': ['a', 'b']}]}
EXISTS = {'matchExpressions': [{'key': 'team', 'operator': 'Exists'}]}
ABSENT = {'matchExpressions': [{'key': 'team', 'operator': 'DoesNotExist'}]}
BOTH = {'matchLabels': {'team': 'a'}, 'matchExpressions': [{'key': 'x', 'operator': 'Exists'}]}
SELECTIONS = [
    pytest.param({}, {}, True, id='empty'),
    pytest.param({'matchLabels': {'team': 'a'}}, {'team': 'a', 'x': 'y'}, True, id='label'),
    pytest.param({'matchLabels': {'team': 'a'}}, {'team': 'b'}, False, id='other label'),
    pytest.param({'matchLabels': {'team': 'a'}}, {}, False, id='no label'),
    pytest.param(IN, {'team': 'b'}, True, id='in'),
    pytest.param(IN, {'team': 'c'}, False, id='not in'),
    pytest.param(IN, {}, False, id='in, without'),
    pytest.param(NOT_IN, {'team': 'a'}, False, id='notin, but is'),
    pytest.param(NOT_IN, {'team': 'c'}, True, id='notin'),
    pytest.param(NOT_IN, {}, True, id='notin, without'),
    pytest.param(EXISTS, {'team': ''}, True, id='exists'),
    pytest.param(EXISTS, {}, False, id='exists, without'),
    pytest.param(ABSENT, {'team': ''}, False, id='absent, but is'),
    pytest.param(ABSENT, {}, True, id='absent'),
    pytest.param(BOTH, {'team': 'a'}, False, id='only one of two'),
    pytest.param(BOTH, {'team': 'a', 'x': ''}, True, id='both'),
]


async def _is_asked(plane: made.Plane, recording: made.Recording, hook: dict[str, Any], asked: Any) -> bool:
    plane.dispatcher.configure(mutating=(), validating=[made.configuration('one', hook)])
    await plane.dispatcher.validate(asked)
    return bool(recording.calls)


@pytest.mark.parametrize(('selector', 'labels', 'wanted'), SELECTIONS)
async def test_namespace_selector(selector: dict[str, Any], labels: dict[str, str], wanted: bool) -> None:
    recording = made.Recording()
    plane = made.Plane({'/x': recording.handler('x')})
    plane.namespaces = {'n': labels}

    assert await _is_asked(plane, recording, made.hook(namespaceSelector=selector), made.asked()) is wanted


@pytest.mark.parametrize(('selector', 'labels', 'wanted'), SELECTIONS)
async def test_object_selector(selector: dict[str, Any], labels: dict[str, str], wanted: bool) -> None:
    recording = made.Recording()
    plane = made.Plane({'/x': recording.handler('x')})
    asked = made.asked(object={'metadata': {'name': 'a', 'labels': labels}})

    assert await _is_asked(plane, recording, made.hook(objectSelector=selector), asked) is wanted


@pytest.mark.parametrize(
    ('new', 'old', 'wanted'),
    [
        pytest.param({'team': 'a'}, {}, True, id='new'),
        pytest.param({}, {'team': 'a'}, True, id='old'),
        pytest.param({}, {}, False, id='neither'),
        pytest.param(None, {'team': 'a'}, True, id='deleted'),
    ],
)
async def test_object_selector_looks_at_both_states(
    new: dict[str, str] | None, old: dict[str, str], wanted: bool
) -> None:
    recording = made.Recording()
    plane = made.Plane({'/x': recording.handler('x')})
    asked = made.asked(
        operation='UPDATE' if new is not None else 'DELETE',
        object=None if new is None else {'metadata': {'labels': new}},
        old_object={'metadata': {'labels': old}},
    )

    assert await _is_asked(plane, recording, made.hook(objectSelector=EXISTS), asked) is wanted


@pytest.mark.parametrize(('labels', 'wanted'), [({'team': 'a'}, True), ({}, False)])
async def test_a_namespace_is_selected_by_its_own_labels(labels: dict[str, str], wanted: bool) -> None:
    recording = made.Recording()
    plane = made.Plane({'/x': recording.handler('x')})
    asked = made.asked(made.NAMESPACES, object={'metadata': {'name': 'new', 'labels': labels}})

    assert await _is_asked(plane, recording, made.hook(namespaceSelector=EXISTS), asked) is wanted


async def test_what_is_in_no_namespace_is_not_held_back_by_a_namespace_selector() -> None:
    recording = made.Recording()
    plane = made.Plane({'/x': recording.handler('x')})
    nodes = made.kind('', 'v1', 'nodes', 'Node', namespaced=False)

    assert await _is_asked(plane, recording, made.hook(namespaceSelector=EXISTS), made.asked(nodes))


async def test_a_namespace_that_is_not_there() -> None:
    plane = made.Plane()
    plane.dispatcher.configure(mutating=(), validating=[made.configuration('one', made.hook(namespaceSelector=EXISTS))])

    with pytest.raises(problems.Problem, match='namespaces "gone" not found'):
        await plane.dispatcher.validate(made.asked(namespace='gone'))


def _conditions(*expressions: str) -> list[dict[str, str]]:
    return [{'name': f'c{i}', 'expression': expression} for i, expression in enumerate(expressions)]


@pytest.mark.parametrize(
    ('expressions', 'policy', 'wanted'),
    [
        pytest.param(['object.metadata.name == "a"'], 'Fail', True, id='true'),
        pytest.param(['object.metadata.name == "b"'], 'Fail', False, id='false'),
        pytest.param(['request.operation == "CREATE"', 'oldObject == null'], 'Fail', True, id='both'),
        pytest.param(['object.nothing == 1', 'false'], 'Fail', False, id='one that is false decides'),
        pytest.param(['object.nothing == 1', 'true'], 'Ignore', False, id='cannot be evaluated, and may'),
    ],
)
async def test_match_conditions(expressions: list[str], policy: str, wanted: bool) -> None:
    recording = made.Recording()
    plane = made.Plane({'/x': recording.handler('x')})
    hook = made.hook(matchConditions=_conditions(*expressions), failurePolicy=policy)

    assert await _is_asked(plane, recording, hook, made.asked()) is wanted


@pytest.mark.parametrize(
    'expression',
    [
        'has(object.metadata.annotations) && "a" in object.metadata.annotations',
        'has(object.metadata.labels)',
        '!has(object.metadata.labels) || ("z" in object.metadata.labels || \'c\' in object.metadata.labels)',
        '"a" in object.metadata.annotations && object.metadata.annotations.size() == 2',
        'has(object.metadata) && object.metadata.annotations == {"a": "b", "c": "d"}',
        '"a" in object.metadata.annotations && object.metadata.annotations["c"] == "d"',
        '"main" in object.spec.containers.map(each, each.name)',
        '"b" in object.metadata.annotations ? false : size(object.metadata.annotations) == 2',
        'has(object.metadata.annotations.a) && object.metadata.annotations.c == "d"',
        'object.metadata.annotations.exists(key, key == "a")',
        'object.metadata.annotations.size() == 2 && size(object.spec.containers) == 1',
        'object.metadata.name.startsWith("n") && object.metadata.name.size () == 4',
        'object["spec"].containers[0].name == "main"',
        'object == oldObject',
        '(oldObject != null && object.metadata == oldObject.metadata) || object.metadata.name == "name"',
        'object.spec.containers.all(object, object.name == "main")',
        'object . metadata . name == "name"',
        '"object.spec" != "" && object.metadata.name == "name"',
        'request.operation == "CREATE" && request.object.metadata.name == "name"',
        'request.object == object',
    ],
)
def test_a_condition_gets_all_that_it_looks_at(expression: str) -> None:
    pod = {
        'metadata': {'name': 'name', 'annotations': {'a': 'b', 'c': 'd'}},
        'spec': {'containers': [{'name': 'main'}]},
    }
    known = {'object': pod, 'oldObject': None, 'request': {'operation': 'CREATE', 'object': pod}}

    found = conditions.Condition({'expression': expression}).holds(
        {key: functools.partial(known.get, key) for key in known}
    )

    assert found is cel.compile(expression).execute(known)


def test_a_condition_is_not_given_the_rest() -> None:
    def refuse() -> Any:
        raise AssertionError('not needed')

    condition = conditions.Condition({'expression': 'object.metadata.name == "name"'})

    assert condition.holds({'object': lambda: {'metadata': {'name': 'name'}, 'spec': object()}, 'request': refuse})
