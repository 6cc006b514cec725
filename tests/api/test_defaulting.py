import copy
from typing import Any

import pytest

from jobset.api import defaulting
from tests.api import build

Json = Any

SUCCESS = {'op': 'add', 'path': '/spec/successPolicy', 'value': {'operator': 'All'}}
STARTUP = {'op': 'add', 'path': '/spec/startupPolicy', 'value': {'startupPolicyOrder': 'AnyOrder'}}
NETWORK = {
    'op': 'add',
    'path': '/spec/network',
    'value': {'enableDNSHostnames': True, 'publishNotReadyAddresses': True},
}
COMPLETE = {
    'successPolicy': {'operator': 'Any'},
    'startupPolicy': {'startupPolicyOrder': 'InOrder'},
    'network': {'enableDNSHostnames': False, 'publishNotReadyAddresses': False},
}


def add(path: str, value: Json) -> Json:
    return {'op': 'add', 'path': path, 'value': value}


@pytest.mark.parametrize(
    ('spec', 'operations'),
    [
        pytest.param({}, [SUCCESS, STARTUP, NETWORK], id='nothing given'),
        pytest.param(COMPLETE, [], id='everything given'),
        pytest.param(
            {'successPolicy': None, 'startupPolicy': None, 'network': None},
            [SUCCESS, STARTUP, NETWORK],
            id='null is as absent',
        ),
        pytest.param(
            {**COMPLETE, 'network': {'subdomain': 's', 'publishNotReadyAddresses': None}},
            [add('/spec/network/enableDNSHostnames', True), add('/spec/network/publishNotReadyAddresses', True)],
            id='a network without flags',
        ),
        pytest.param({**COMPLETE, 'successPolicy': {}}, [], id='an empty policy is given, and the schema judges it'),
        pytest.param(
            {**COMPLETE, 'failurePolicy': {'rules': [{}, {'name': ''}, {'name': None}, {'name': 'mine'}, {}]}},
            [add(f'/spec/failurePolicy/rules/{i}/name', f'failurePolicyRule{i}') for i in (0, 1, 2, 4)],
            id='rules without names',
        ),
        pytest.param(
            {**COMPLETE, 'volumeClaimPolicies': [{}, {'retentionPolicy': None}, {'retentionPolicy': {}}]},
            [add(f'/spec/volumeClaimPolicies/{i}/retentionPolicy', {'whenDeleted': 'Delete'}) for i in (0, 1)],
            id="claims without retention; an empty block is the schema's to complete",
        ),
    ],
)
def test_policies(spec: Json, operations: list[Json]) -> None:
    sent = {'metadata': {'name': 'js'}, 'spec': spec}
    before = copy.deepcopy(sent)

    assert defaulting.patch(sent) == operations
    assert sent == before


JOB = '/spec/replicatedJobs/0/template/spec'


@pytest.mark.parametrize(
    ('template', 'operations'),
    [
        pytest.param(
            {'spec': {'template': {'spec': {'containers': []}}}},
            [add(f'{JOB}/completionMode', 'Indexed'), add(f'{JOB}/template/spec/restartPolicy', 'OnFailure')],
            id='neither given',
        ),
        pytest.param(
            {'spec': {'completionMode': None, 'template': {'spec': {'restartPolicy': ''}}}},
            [add(f'{JOB}/completionMode', 'Indexed'), add(f'{JOB}/template/spec/restartPolicy', 'OnFailure')],
            id='null and the empty text',
        ),
        pytest.param(
            {'spec': {'completionMode': 'NonIndexed', 'template': {'spec': {'restartPolicy': 'Never'}}}},
            [],
            id='both given',
        ),
        pytest.param({'spec': {'completionMode': 'Indexed'}}, [], id='no pod template: the schema refuses it'),
        pytest.param(
            {'spec': {'completionMode': 'Indexed', 'template': {}}},
            [add(f'{JOB}/template/spec', {'restartPolicy': 'OnFailure'})],
            id='an empty pod template: the schema then asks for containers',
        ),
        pytest.param({}, [add(JOB, {'completionMode': 'Indexed'})], id='an empty template: it then asks for pods'),
        pytest.param(None, [], id='no template: the schema refuses it'),
    ],
)
def test_jobs(template: Json, operations: list[Json]) -> None:
    spec = {**COMPLETE, 'replicatedJobs': [{'name': 'a', 'template': template}]}

    assert defaulting.patch({'spec': spec}) == operations


@pytest.mark.parametrize(
    'sent',
    [
        pytest.param({'spec': []}, id='the spec is a list'),
        pytest.param({'spec': {**COMPLETE, 'replicatedJobs': 'x'}}, id='the jobs are a text'),
        pytest.param({'spec': {**COMPLETE, 'replicatedJobs': ['x', {'template': 1}]}}, id='a job is a text'),
        pytest.param(
            {'spec': {**COMPLETE, 'replicatedJobs': [{'template': {'spec': 1}}]}}, id='a Job spec is a number'
        ),
        pytest.param({'spec': {**COMPLETE, 'network': True}}, id='the network is a flag'),
        pytest.param(
            {'spec': {**COMPLETE, 'failurePolicy': [], 'volumeClaimPolicies': {}}}, id='lists and objects mixed'
        ),
        pytest.param({'spec': {**COMPLETE, 'failurePolicy': {'rules': [1]}}}, id='a rule is a number'),
    ],
)
def test_what_has_the_wrong_type_is_left_to_the_schema(sent: Json) -> None:
    assert defaulting.patch(sent) == []


def test_an_object_without_spec_gets_one() -> None:
    (operation,) = defaulting.patch({'metadata': {'name': 'js'}})

    assert operation == {
        'op': 'add',
        'path': '/spec',
        'value': {'successPolicy': SUCCESS['value'], 'startupPolicy': STARTUP['value'], 'network': NETWORK['value']},
    }


def test_broken_numbers_of_resources_become_texts() -> None:
    resources = {'requests': {'cpu': 0.5, 'memory': 1073741824}, 'limits': {'example.com/a~b': 1.5}}
    job = build.replicated('a', pod={'containers': [{'name': 'c', 'resources': resources}]})
    policy = {'retentionPolicy': {}, 'templates': [build.claim('d', resources={'requests': {'storage': 1e9}})]}
    at = f'{JOB}/template/spec/containers/0/resources'

    assert defaulting.patch({'spec': {**COMPLETE, 'replicatedJobs': [job], 'volumeClaimPolicies': [policy]}}) == [
        {'op': 'replace', 'path': f'{at}/requests/cpu', 'value': '500m'},
        {'op': 'replace', 'path': f'{at}/limits/example.com~1a~0b', 'value': '1500m'},
        {
            'op': 'replace',
            'path': '/spec/volumeClaimPolicies/0/templates/0/spec/resources/requests/storage',
            'value': '1000000000',
        },
    ]


def _completed(sent: Json) -> Json:
    completed = copy.deepcopy(sent)
    for operation in defaulting.patch(sent):
        *parents, last = str(operation['path']).split('/')[1:]
        target = completed
        for part in parents:
            target = target[int(part) if isinstance(target, list) else part]
        target[last] = operation['value']
    return completed


MANIFEST: Json = {
    'spec': {
        'replicatedJobs': [{'name': 'a', 'template': {'spec': {'template': {'spec': {'containers': []}}}}}],
        'network': {'subdomain': 's'},
        'failurePolicy': {'rules': [{'action': 'FailJobSet'}]},
        'volumeClaimPolicies': [{'templates': []}],
    }
}


def test_a_manifest_that_is_sent_again_gets_back_what_was_filled_in() -> None:
    stored = _completed(MANIFEST)

    assert defaulting.keep(stored, MANIFEST) == [
        add(f'{JOB}/completionMode', 'Indexed'),
        add(f'{JOB}/template/spec/restartPolicy', 'OnFailure'),
        add('/spec/network/enableDNSHostnames', True),
        add('/spec/network/publishNotReadyAddresses', True),
        add('/spec/failurePolicy/rules/0/name', 'failurePolicyRule0'),
        add('/spec/volumeClaimPolicies/0/retentionPolicy', {'whenDeleted': 'Delete'}),
    ]
    assert defaulting.keep(stored, stored) == []


def test_what_was_never_filled_in_is_not_now() -> None:
    assert defaulting.keep(MANIFEST, MANIFEST) == []


def test_what_was_chosen_otherwise_is_not_replaced_by_the_default() -> None:
    stored = _completed(MANIFEST)
    stored['spec']['replicatedJobs'][0]['template']['spec']['completionMode'] = 'NonIndexed'

    assert f'{JOB}/completionMode' not in [one['path'] for one in defaulting.keep(stored, MANIFEST)]


def test_a_further_replicated_job_has_nothing_to_be_kept() -> None:
    jobs = MANIFEST['spec']['replicatedJobs']
    more = {'spec': {**_completed(MANIFEST)['spec'], 'replicatedJobs': [*jobs, *jobs]}}

    assert [one['path'] for one in defaulting.keep(_completed(MANIFEST), more)] == [
        f'{JOB}/completionMode',
        f'{JOB}/template/spec/restartPolicy',
    ]
