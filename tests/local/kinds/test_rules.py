"""What the recordings cannot show: rules that depend on other objects, on states and on time."""

import copy
from typing import Any, Final

import pytest

from jobset.local import objects, problems, resources
from jobset.local.kinds import amounts, events, indexes, serviceaddresses
from jobset.local.objects import Object
from tests.local.kinds import answers, inputs

PODS: Final = answers.KINDS['pods'].rules


def context(**present: list[Object]) -> resources.Context:
    """Knows these objects, by plural."""
    by_key = {key.replace('_', '.', 1) if '_' in key else key: found for key, found in present.items()}
    by_key = {'priorityclasses.scheduling.k8s.io' if key == 'classes' else key: found for key, found in by_key.items()}

    def look_up(plural: str, namespace: str, name: str) -> Object | None:
        for found in by_key.get(plural, ()):
            if (objects.namespace(found), objects.name(found)) == (namespace, name):
                return found
        return None

    return resources.Context(now=answers.NOW, look_up=look_up, listed=lambda plural, _namespace: by_key.get(plural, ()))


def admitted(obj: Object, kind: str, known: resources.Context) -> Object:
    rules = answers.KINDS[kind].rules
    rules.prepare_create(obj, known)
    rules.default(obj)
    rules.admit(obj, known)
    return obj


@pytest.mark.parametrize(
    ('bound', 'phase', 'wanted', 'seconds'),
    [
        pytest.param(False, 'Pending', 20, 0, id='on no node'),
        pytest.param(True, 'Running', None, 45, id='its own'),
        pytest.param(True, 'Running', 20, 20, id='as wanted'),
        pytest.param(True, 'Running', 0, 0, id='by force'),
        pytest.param(True, 'Running', -1, 1, id='negative'),
        pytest.param(True, 'Failed', 20, 0, id='over already'),
        pytest.param(True, 'Succeeded', None, 0, id='done already'),
    ],
)
def test_grace(bound: bool, phase: str, wanted: int | None, seconds: int) -> None:
    spec = {'terminationGracePeriodSeconds': 45} | ({'nodeName': 'n'} if bound else {})

    assert PODS.grace_seconds({'spec': spec, 'status': {'phase': phase}}, wanted) == seconds


def test_default_priority_class_is_the_lowest_of_those_that_say_so() -> None:
    classes = [
        {'metadata': {'name': name}, 'value': value, 'globalDefault': True, 'preemptionPolicy': 'Never'}
        for name, value in (('b', 7), ('a', 5))
    ]

    spec = admitted(inputs.pod(), 'pods', context(classes=classes))['spec']

    assert (spec['priorityClassName'], spec['priority'], spec['preemptionPolicy']) == ('a', 5, 'Never')


def test_a_second_default_priority_class_is_refused() -> None:
    first = {'metadata': {'name': 'a'}, 'value': 1, 'globalDefault': True}
    second = {'metadata': {'name': 'b'}, 'value': 2, 'globalDefault': True}

    with pytest.raises(problems.Problem, match='PriorityClass a is already marked as default'):
        admitted(second, 'priorityclasses.scheduling.k8s.io', context(classes=[first]))


def test_pull_secrets_come_from_the_account() -> None:
    account = inputs.thing('ServiceAccount', imagePullSecrets=[{'name': 's'}])
    account['metadata']['name'] = 'default'

    spec = admitted(inputs.pod(), 'pods', context(serviceaccounts=[account]))['spec']

    assert spec['imagePullSecrets'] == [{'name': 's'}]


def _service(name: str, **spec: Any) -> Object:
    return {'metadata': {'name': name, 'namespace': 'a'}, 'spec': {'ports': [{'port': 80}]} | spec}


def test_services_get_addresses_of_their_own() -> None:
    made: list[Object] = []
    for number in range(300):
        made.append(admitted(_service(f's-{number}'), 'services', context(services=made)))

    addresses = [service['spec']['clusterIP'] for service in made]
    assert len(set(addresses)) == len(addresses)
    assert all(service['spec']['clusterIPs'] == [service['spec']['clusterIP']] for service in made)
    assert all(address.startswith('10.96.') for address in addresses)


def test_a_service_keeps_its_address_in_the_next_run() -> None:
    first, again = (admitted(_service('s'), 'services', context()) for _ in range(2))

    assert first['spec']['clusterIP'] == again['spec']['clusterIP']


def test_an_address_that_is_taken_is_refused() -> None:
    first = admitted(_service('a', clusterIP='10.96.5.5'), 'services', context())

    with pytest.raises(problems.Problem, match='provided IP is already allocated'):
        admitted(_service('b', clusterIP='10.96.5.5'), 'services', context(services=[first]))


def test_node_ports_are_free_ones() -> None:
    first = admitted(_service('a', type='NodePort'), 'services', context())
    port = first['spec']['ports'][0]['nodePort']

    second = admitted(_service('a', type='NodePort'), 'services', context())
    third = _service('b', type='NodePort', ports=[{'port': 80, 'name': 'x'}, {'port': 81, 'name': 'y'}])
    third = admitted(third, 'services', context(services=[first]))

    assert port in serviceaddresses.NODE_PORTS
    assert second['spec']['ports'][0]['nodePort'] == port
    assert len({port, *(each['nodePort'] for each in third['spec']['ports'])}) == 3


def test_claims_get_the_newest_default_class() -> None:
    classes = [
        {
            'metadata': {
                'name': name,
                'creationTimestamp': made,
                'annotations': {'storageclass.kubernetes.io/is-default-class': default},
            }
        }
        for name, made, default in (
            ('old', '2026-01-01T00:00:00Z', 'true'),
            ('new', '2026-01-02T00:00:00Z', 'true'),
            ('newest', '2026-01-03T00:00:00Z', 'false'),
        )
    ]
    known = resources.Context(now=answers.NOW, look_up=lambda *_: None, listed=lambda *_: classes)
    claim = inputs.thing('PersistentVolumeClaim', spec={'accessModes': ['ReadWriteOnce']})

    assert admitted(claim, 'persistentvolumeclaims', known)['spec']['storageClassName'] == 'new'


def test_events_are_the_same_through_both_groups() -> None:
    new = copy.deepcopy(inputs.WRITTEN['others']['events.events.k8s.io: new'])
    answers.KINDS['events.events.k8s.io'].rules.default(new)

    stored = events.inward(new)

    assert stored['apiVersion'] == 'v1'
    assert {key: stored[key] for key in ('message', 'reportingComponent', 'source', 'involvedObject')} == {
        'message': 'n',
        'reportingComponent': 'a.b/c',
        'source': {},
        'involvedObject': {'kind': 'Pod', 'name': 'p', 'namespace': inputs.NAMESPACE},
    }
    assert events.outward(stored) == new
    assert answers.KINDS['events.events.k8s.io'].key == answers.KINDS['events'].key


def test_selectable_fields() -> None:
    pod = inputs.pod({'spec.nodeName': 'n', 'status.phase': 'Running'})
    found = {name: select(pod) for name, select in answers.KINDS['pods'].selectable.items()}

    assert found == {
        'spec.nodeName': 'n',
        'spec.restartPolicy': 'Never',
        'spec.schedulerName': '',
        'spec.serviceAccountName': '',
        'spec.hostNetwork': 'false',
        'status.phase': 'Running',
        'status.podIP': '',
        'status.nominatedNodeName': '',
    }


@pytest.mark.parametrize('kind', [pytest.param(kind, id=name) for name, kind in answers.KINDS.items()])
def test_normal_form_is_stable(kind: resources.Kind) -> None:
    """Defaults of what was stored change nothing: an update without a change is none."""
    for given in inputs.written():
        if answers.KINDS[given.kind] is not kind or given.change is not None:
            continue
        try:
            stored = answers.create(kind, copy.deepcopy(given.body))
        except problems.Problem:
            continue
        again = copy.deepcopy(stored)
        kind.schema.default(again)
        kind.rules.default(again)
        assert again == stored, given.name


@pytest.mark.parametrize(
    ('given', 'written'),
    [
        ('1000m', '1'),
        ('0.5', '500m'),
        ('1.5Gi', '1536Mi'),
        ('1024', '1024'),
        ('1023Ki', '1023Ki'),
        ('1e3', '1e3'),
        ('12e-4', '1200e-6'),
        ('0.1n', '1n'),
        ('100000', '100k'),
        ('0Gi', '0'),
        ('-0.5', '-500m'),
        (3, '3'),
        (0.5, '500m'),
    ],
)
def test_quantities(given: str | float, written: str) -> None:
    assert amounts.canonical(given) == written


@pytest.mark.parametrize(('text', 'count'), [('', 0), ('0', 1), ('0-2,4', 4), ('0,2-3', 3)])
def test_indexes(text: str, count: int) -> None:
    assert indexes.count(text, 5) == count
