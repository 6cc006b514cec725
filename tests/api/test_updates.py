"""What may change after creation."""

import copy
from typing import Any

import pytest

from jobset.api import defaulting, features, validation
from tests.api import build, plane
from tests.api.build import DEFAULTS, EVERYTHING, obj, replicated

Json = Any

POD = ('template', 'spec', 'template')
CONTAINERS = [{'name': 'c', 'image': 'i'}]


def changed(job: Json, path: tuple[str, ...], value: Json) -> Json:
    """The replicated job with another value at ``path``; null takes the field away."""
    *parents, last = path
    made = at = copy.deepcopy(job)
    for parent in parents:
        at = at.setdefault(parent, {})
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return made


def errors(old: Json, new: Json, gates: features.FeatureGates = DEFAULTS) -> list[tuple[str, str]]:
    found = validation.update(build.typed(old), build.typed(new), gates=gates)
    return [(error.path, error.detail) for error in found]


IMMUTABLE = [('spec.replicatedJobs', 'field is immutable')]

SCHEDULING = [
    pytest.param((*POD, 'metadata', 'labels'), {'x': 'y'}, id='pod labels'),
    pytest.param((*POD, 'metadata', 'annotations'), {'x': 'y'}, id='pod annotations'),
    pytest.param((*POD, 'spec', 'nodeSelector'), {'x': 'y'}, id='node selector'),
    pytest.param((*POD, 'spec', 'tolerations'), [{'key': 'x', 'operator': 'Exists'}], id='tolerations'),
    pytest.param((*POD, 'spec', 'schedulingGates'), [{'name': 'x'}], id='scheduling gates'),
]
OTHERS = [
    pytest.param(('replicas',), 2, id='replicas'),
    pytest.param(('groupName',), 'g', id='group'),
    pytest.param(('name',), 'z', id='name'),
    pytest.param(('dependsOn',), [{'name': 'a', 'status': 'Ready'}], id='dependencies'),
    pytest.param(('template', 'metadata', 'labels'), {'x': 'y'}, id='Job labels'),
    pytest.param(('template', 'spec', 'parallelism'), 2, id='parallelism'),
    pytest.param(('template', 'spec', 'completions'), None, id='completions taken away'),
    pytest.param(('template', 'spec', 'fieldOfALaterVersion'), 1, id='a field of a later Kubernetes'),
    pytest.param((*POD, 'metadata', 'finalizers'), ['example.com/x'], id='pod finalizers'),
    pytest.param((*POD, 'spec', 'containers'), [{'name': 'c', 'image': 'new'}], id='image'),
    pytest.param((*POD, 'spec', 'schedulerName'), 'x', id='scheduler'),
    pytest.param((*POD, 'spec', 'containers'), [*CONTAINERS, {'name': 'd', 'image': 'i'}], id='one container more'),
]
SAME = [
    pytest.param((*POD, 'spec', 'nodeSelector'), {}, id='an empty node selector'),
    pytest.param((*POD, 'spec', 'tolerations'), [], id='no tolerations'),
    pytest.param(('template', 'metadata'), {}, id='empty metadata'),
    pytest.param(('dependsOn',), [], id='no dependencies'),
    pytest.param(
        (*POD, 'spec', 'containers'),
        [{'name': 'c', 'image': 'i', 'resources': {}, 'env': None}],
        id='empty fields in a container',
    ),
]


@pytest.mark.parametrize(
    ('before', 'after'),
    [
        pytest.param(True, True, id='while suspended'),
        pytest.param(False, True, id='while suspending'),
        pytest.param(True, False, id='while resuming'),
    ],
)
@pytest.mark.parametrize(('path', 'value'), SCHEDULING)
def test_scheduling_fields_around_a_suspension(before: bool, after: bool, path: tuple[str, ...], value: Json) -> None:
    plain, steered = replicated('a'), changed(replicated('a'), path, value)

    assert errors(obj([plain], suspend=before), obj([steered], suspend=after)) == []
    assert errors(obj([steered], suspend=before), obj([plain], suspend=after)) == []


@pytest.mark.parametrize(('path', 'value'), [*SCHEDULING, *OTHERS])
def test_immutable_while_it_runs(path: tuple[str, ...], value: Json) -> None:
    assert errors(obj([replicated('a')]), obj([changed(replicated('a'), path, value)])) == IMMUTABLE


@pytest.mark.parametrize(('path', 'value'), OTHERS)
def test_immutable_even_while_suspended(path: tuple[str, ...], value: Json) -> None:
    old, new = obj([replicated('a')], suspend=True), obj([changed(replicated('a'), path, value)], suspend=True)

    assert errors(old, new) == IMMUTABLE


@pytest.mark.parametrize(('path', 'value'), SAME)
def test_what_means_the_same_is_no_change(path: tuple[str, ...], value: Json) -> None:
    assert errors(obj([replicated('a')]), obj([changed(replicated('a'), path, value)])) == []


@pytest.mark.parametrize(
    ('jobs', 'expected'),
    [
        pytest.param([replicated('a'), replicated('b')], [], id='as before'),
        pytest.param([replicated('a')], IMMUTABLE, id='one less'),
        pytest.param([replicated('a'), replicated('b'), replicated('c')], IMMUTABLE, id='one more'),
        pytest.param([replicated('b'), replicated('a')], IMMUTABLE, id='in another order'),
    ],
)
@pytest.mark.parametrize('suspend', [False, True])
def test_membership(jobs: list[Json], expected: list[tuple[str, str]], suspend: bool) -> None:
    old = obj([replicated('a'), replicated('b')], suspend=suspend)

    assert errors(old, obj(jobs, suspend=suspend)) == expected


@pytest.mark.parametrize(
    ('old', 'new', 'expected'),
    [
        pytest.param({}, {'suspend': True, 'coordinator': {'replicatedJob': 'x'}}, [], id='freely mutable fields'),
        pytest.param({}, {'ttlSecondsAfterFinished': 1}, [], id='the time to live'),
        pytest.param({}, {'managedBy': 'a/b'}, [('spec.managedBy', 'field is immutable')], id='a manager added'),
        pytest.param({'managedBy': 'a/b'}, {}, [('spec.managedBy', 'field is immutable')], id='a manager removed'),
        pytest.param({}, {'failurePolicy': {'rules': [{'name': '-', 'action': 'x'}]}}, [], id='never judged again'),
    ],
)
def test_other_fields(old: Json, new: Json, expected: list[tuple[str, str]]) -> None:
    assert errors(obj([replicated('a')], **old), obj([replicated('a')], **new)) == expected


def test_the_refusal_shows_the_list_without_what_may_change() -> None:
    steered = changed(replicated('a', replicas=2), (*POD, 'spec', 'nodeSelector'), {'x': 'y'})

    (error,) = validation.update(
        build.typed(obj([replicated('a')], suspend=True)), build.typed(obj([steered], suspend=True)), gates=DEFAULTS
    )

    assert str(error).startswith('spec.replicatedJobs: Invalid value: [{"name":"a","groupName":"default","template":')
    assert str(error).endswith('"replicas":2}]: field is immutable')
    assert '"x":"y"' not in str(error)


SIZES = 'spec.replicatedJobs[0].template.spec'
ENDED = 'Cannot mutate parallelism or completions when JobSet is in a terminal state (Completed or Failed)'


def sized(parallelism: int | None, completions: int | None, **job: Json) -> Json:
    return replicated('a', job={'parallelism': parallelism, 'completions': completions, **job})


@pytest.mark.parametrize(
    ('old', 'new', 'ended', 'expected'),
    [
        pytest.param(sized(2, 2), sized(3, 3), None, [], id='larger'),
        pytest.param(sized(1, 2), sized(2, 2), None, [], id='equal at last'),
        pytest.param(sized(2, 2), sized(2, None), None, [], id='completions taken away'),
        pytest.param(sized(2, 2), sized(3, 3), 'Completed', [(SIZES, ENDED)], id='completed'),
        pytest.param(sized(2, 2), sized(3, 3), 'Failed', [(SIZES, ENDED)], id='failed'),
        pytest.param(sized(2, 2), sized(3, 3), 'Suspended', [], id='another condition'),
        pytest.param(sized(2, 2), sized(2, 2), 'Failed', [], id='failed and left alone'),
        pytest.param(
            sized(2, 2),
            sized(0, -1),
            None,
            [
                (f'{SIZES}.parallelism', 'parallelism must be >= 1'),
                (f'{SIZES}.completions', 'completions must be >= 1'),
                (f'{SIZES}.completions', 'completions must be equal to parallelism for Elastic Indexed Jobs'),
            ],
            id='nothing, and less',
        ),
        pytest.param(
            sized(0, 2),
            sized(0, 3),
            None,
            [(f'{SIZES}.completions', 'completions must be equal to parallelism for Elastic Indexed Jobs')],
            id='a size that was wrong before is not told again',
        ),
        pytest.param(
            sized(2, 2, completionMode='NonIndexed'),
            sized(3, 3, completionMode='NonIndexed'),
            None,
            IMMUTABLE,
            id='pods without indexes',
        ),
        pytest.param(sized(2, 2), sized(3, 3, completionMode='NonIndexed'), None, IMMUTABLE, id='no indexes any more'),
        pytest.param(sized(2, 2), sized(3, 3, backoffLimit=1), None, IMMUTABLE, id='together with something else'),
    ],
)
def test_elastic(old: Json, new: Json, ended: str | None, expected: list[tuple[str, str]]) -> None:
    condition = {
        'type': ended,
        'status': 'True',
        'reason': 'X',
        'message': 'x',
        'lastTransitionTime': '2026-01-01T00:00:00Z',
    }
    status = {'conditions': [condition] if ended else []}

    assert errors(obj([old], status=status), obj([new], status=status), EVERYTHING) == expected


def test_sizes_are_immutable_with_the_gate_off() -> None:
    assert errors(obj([sized(2, 2)]), obj([sized(3, 3)])) == IMMUTABLE


def test_row_41_re_applying_a_stored_object_changes_nothing() -> None:
    sent = obj(
        [changed(replicated('a'), ('template', 'spec', 'completionMode'), None)],
        failurePolicy={'rules': [{'action': 'FailJobSet'}]},
    )
    for operation in defaulting.patch(sent):
        at: Any = sent
        *parents, last = str(operation['path']).split('/')[1:]
        for parent in parents:
            at = at[int(parent)] if isinstance(at, list) else at[parent]
        at[last] = operation['value']
    stored = plane.admitted(sent)

    assert defaulting.patch(stored) == []
    assert plane.admitted(stored) == stored
    assert errors(stored, stored) == []


def resourced(cpu: str, **more: Json) -> Json:
    container = {'name': 'c', 'image': 'i', 'resources': {'requests': {'cpu': cpu}, **more}}
    return replicated('a', pod={'containers': [container]})


@pytest.mark.parametrize(
    ('old', 'new', 'is_at_rest', 'admitted'),
    [
        pytest.param(resourced('1'), resourced('2'), True, True, id='while suspended'),
        pytest.param(replicated('a'), resourced('2'), True, True, id='where none was said'),
        pytest.param(resourced('1'), replicated('a'), True, True, id='none any more'),
        pytest.param(resourced('1'), resourced('2'), False, False, id='while it runs'),
        pytest.param(resourced('1'), resourced('2', claims=[{'name': 'x'}]), True, False, id='claims for devices stay'),
    ],
)
def test_requests_and_limits_change_at_rest(old: Json, new: Json, is_at_rest: bool, admitted: bool) -> None:
    gates = features.FeatureGates(mutable_resources=True)

    assert (errors(obj([old], suspend=is_at_rest), obj([new], suspend=is_at_rest), gates) == []) is admitted
    assert errors(obj([old], suspend=is_at_rest), obj([new], suspend=is_at_rest), DEFAULTS) != []
