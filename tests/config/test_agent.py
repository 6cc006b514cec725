"""What ``kubectl apply -k config/agent`` lets agents do: their own pod, their own annotations, nothing else."""

from typing import Any, Final

import pytest

from jobset.agent import barrier, rounds
from jobset.local.schemas import evaluator
from tests.config.test_kustomize import Object, get, ids, render

NAMES: Final = {
    ('ServiceAccount', 'default', 'jobset-agent'),
    ('Role', 'default', 'jobset-agent'),
    ('RoleBinding', 'default', 'jobset-agent'),
    ('ValidatingAdmissionPolicy', '', 'jobset-agent'),
    ('ValidatingAdmissionPolicyBinding', '', 'jobset-agent'),
}
MORE: Final = {('Role', 'default', 'jobset-agent-barrier'), ('RoleBinding', 'default', 'jobset-agent-barrier')}


@pytest.mark.parametrize(('folder', 'expected'), [('agent', NAMES), ('agent-barrier', NAMES | MORE)])
def test_objects(folder: str, expected: set[tuple[str, str, str]]) -> None:
    assert ids(render(folder)) == expected


def test_rights() -> None:
    assert get('agent', 'Role', 'jobset-agent')['rules'] == [
        {'apiGroups': ['jobset.x-k8s.io'], 'resources': ['jobsets'], 'verbs': ['get', 'list', 'watch']},
        {'apiGroups': [''], 'resources': ['pods'], 'verbs': ['patch']},
    ]
    assert get('agent-barrier', 'Role', 'jobset-agent-barrier')['rules'] == [
        {'apiGroups': [''], 'resources': ['pods'], 'verbs': ['list', 'watch']}
    ]


@pytest.mark.parametrize('name', ['jobset-agent', 'jobset-agent-barrier'])
def test_whom_the_roles_are_bound_to(name: str) -> None:
    binding = get('agent-barrier', 'RoleBinding', name)

    assert (binding['roleRef']['kind'], binding['roleRef']['name']) == ('Role', name)
    assert binding['subjects'] == [{'kind': 'ServiceAccount', 'name': 'jobset-agent', 'namespace': 'default'}]


def pod(**meta: Any) -> Object:
    labels = {'app': 'train'}
    return {'metadata': {'name': 'own', 'labels': labels, **meta}, 'spec': {'nodeName': 'a'}}


def user(pod_name: str | None = 'own') -> Object:
    found: Object = {'username': 'system:serviceaccount:team:jobset-agent'}
    return found if pod_name is None else found | {'extra': {'authentication.kubernetes.io/pod-name': [pod_name]}}


def refusals(old: Object, new: Object, who: Object) -> list[str]:
    """The messages of the policy, by its own expressions."""
    policy = get('agent', 'ValidatingAdmissionPolicy', 'jobset-agent')['spec']
    known: dict[str, Any] = {'object': new, 'oldObject': old, 'request': {'userInfo': who}, 'variables': {}}
    for variable in policy['variables']:
        known['variables'][variable['name']] = evaluator.cel.evaluate(variable['expression'], known)
    return [
        str(each['message']) for each in policy['validations'] if not evaluator.cel.evaluate(each['expression'], known)
    ]


@pytest.mark.parametrize(
    ('old', 'new', 'who', 'expected'),
    [
        pytest.param(pod(), pod(annotations={rounds.ATTEMPT: '0'}), user(), [], id='an announcement'),
        pytest.param(
            pod(annotations={'a': 'b', rounds.ATTEMPT: '0'}),
            pod(annotations={'a': 'b', rounds.ATTEMPT: '1'}),
            user(),
            [],
            id='the next one',
        ),
        pytest.param(pod(), pod(annotations={barrier.BARRIER: 'here'}), user(), [], id='being there'),
        pytest.param(
            pod(annotations={barrier.BARRIER: 'here'}),
            pod(annotations={barrier.BARRIER: 'open'}),
            user(),
            [],
            id='opening',
        ),
        pytest.param(
            pod(),
            pod(annotations={rounds.ATTEMPT: '0'}),
            user('other'),
            ['an agent may change its own pod only'],
            id="another's pod",
        ),
        pytest.param(
            pod(),
            pod(annotations={rounds.ATTEMPT: '0'}),
            user(None),
            ['an agent may change its own pod only'],
            id='a token that is of no pod',
        ),
        pytest.param(
            pod(),
            pod(annotations={'a': 'b'}),
            user(),
            ['an agent may not change annotations of others'],
            id='another annotation',
        ),
        pytest.param(
            pod(annotations={'a': 'b'}),
            pod(annotations={rounds.ATTEMPT: '0'}),
            user(),
            ['an agent may not change annotations of others'],
            id='an annotation taken away',
        ),
        pytest.param(pod(), pod(labels={}), user(), ['an agent may not change labels'], id='labels'),
        pytest.param(pod(), pod(finalizers=['x/y']), user(), ['an agent may not change finalizers'], id='finalizers'),
        pytest.param(
            pod(ownerReferences=[{'uid': '1'}]), pod(), user(), ['an agent may not change owners'], id='owners'
        ),
        pytest.param(
            pod(),
            pod() | {'spec': {'nodeName': 'b'}},
            user(),
            ['an agent may change annotations only'],
            id='what it runs',
        ),
        pytest.param(pod(), pod(annotations={rounds.ATTEMPT: 'x'}), user(), ['an attempt is a number'], id='no number'),
        pytest.param(
            pod(),
            pod(annotations={barrier.BARRIER: 'x'}),
            user(),
            ['a pod is here, or the barrier is open'],
            id='neither here nor open',
        ),
    ],
)
def test_policy(old: Object, new: Object, who: Object, expected: list[str]) -> None:
    assert refusals(old, new, who) == expected


@pytest.mark.parametrize(
    ('name', 'concerned'),
    [
        ('system:serviceaccount:team:jobset-agent', True),
        ('system:serviceaccount:team:other', False),
        ('system:serviceaccount:team:other-jobset-agent', False),
        ('system:node:jobset-agent', False),
    ],
)
def test_whom_the_policy_concerns(name: str, concerned: bool) -> None:
    spec = get('agent', 'ValidatingAdmissionPolicy', 'jobset-agent')['spec']

    [condition] = spec['matchConditions']
    known = {'request': {'userInfo': {'username': name}}}
    assert evaluator.cel.evaluate(condition['expression'], known) is concerned
    assert spec['failurePolicy'] == 'Fail'
    assert spec['matchConstraints']['resourceRules'] == [
        {'apiGroups': [''], 'apiVersions': ['v1'], 'operations': ['UPDATE'], 'resources': ['pods']}
    ]
    assert get('agent', 'ValidatingAdmissionPolicyBinding', 'jobset-agent')['spec'] == {
        'policyName': 'jobset-agent',
        'validationActions': ['Deny'],
    }
