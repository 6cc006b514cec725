"""What is refused is refused as a whole, with words that help; what is applied again changes nothing."""

import json

import pytest

from e2e.kubectl import Kubectl, KubectlError
from tests.scenarios.api import ApiError
from tests.scenarios.space import Space, jobset, replicated

WRONG = jobset(
    'wrong',
    replicated('main', 'true') | {'groupName': 'No Group'},
    replicated('next', 'true', depends_on={'name': 'later', 'status': 'Ready'}),
    network={'subdomain': 'one.two'},
    managedBy='nobody',
    successPolicy={'operator': 'All', 'targetReplicatedJobs': ['nothing']},
    failurePolicy={
        'rules': [{'name': 'rule', 'action': 'FailJobSet', 'onJobFailureMessagePatterns': ['fine', '(unclosed']}]
    },
    coordinator={'replicatedJob': 'nowhere'},
)
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
CAUSES = [
    ('spec.network.subdomain', f'Invalid value: "one.two": {LABEL}'),
    ('spec.managedBy', 'Invalid value: "nobody": must be a domain-prefixed path (such as "acme.io/foo")'),
    ('spec.replicatedJobs[0].groupName', f'Invalid value: "No Group": {LABEL}'),
    ('<nil>', 'Internal error: replicatedJob: next cannot depend on replicatedJob: later'),
    ('<nil>', "Internal error: invalid replicatedJob name 'nothing' does not appear in .spec.ReplicatedJobs"),
    (
        'spec.failurePolicy.rules[0].onJobFailureMessagePatterns[1]',
        (
            'Invalid value: "(unclosed": must be a regular expression in RE2 syntax: '
            'error parsing regexp: missing closing ): `(unclosed` at position 0'
        ),
    ),
    ('<nil>', 'Internal error: coordinator replicatedJob nowhere does not exist'),
]


def test_all_that_is_wrong_is_said_at_once(here: Space, kubectl: Kubectl) -> None:
    with pytest.raises(ApiError) as refused:
        here.server.request('POST', here.path('jobsets'), WRONG)
    with pytest.raises(KubectlError) as shown:
        kubectl('-n', here.name, 'apply', '-f', '-', stdin=json.dumps(WRONG))

    answer = refused.value.answer
    assert (answer['code'], answer['reason']) == (422, 'Invalid')
    assert [(cause['field'], cause['message']) for cause in answer['details']['causes']] == CAUSES
    assert [line.removeprefix('* ') for line in str(shown.value).splitlines() if line.startswith('* ')] == [
        f'{field}: {text}' for field, text in CAUSES
    ]
    assert here.all('jobsets') == {}


@pytest.mark.parametrize(
    ('operation', 'field', 'text'),
    [
        pytest.param(
            {'op': 'replace', 'path': '/spec/replicatedJobs/0/replicas', 'value': 2},
            'spec.replicatedJobs',
            'field is immutable',
            id='the jobs of a JobSet',
        ),
        pytest.param(
            {'op': 'replace', 'path': '/spec/replicatedJobs/0/template/spec/template/spec/nodeSelector', 'value': {}},
            'spec.replicatedJobs',
            'field is immutable',
            id='placement while it runs',
        ),
        pytest.param(
            {'op': 'replace', 'path': '/spec/successPolicy/operator', 'value': 'Any'},
            'spec.successPolicy',
            'Value is immutable',
            id='what success means',
        ),
        pytest.param(
            {'op': 'add', 'path': '/spec/managedBy', 'value': 'example.com/other'},
            'spec.managedBy',
            'field is immutable',
            id='who manages it',
        ),
    ],
)
def test_change_that_comes_too_late_is_refused(here: Space, operation: dict[str, str], field: str, text: str) -> None:
    here.apply(jobset('fixed', replicated('main', 'true', nodeSelector={'kubernetes.io/os': 'linux'})))

    with pytest.raises(ApiError) as refused:
        here.patch('jobsets', 'fixed', operation)

    (cause,) = refused.value.answer['details']['causes']
    assert (refused.value.code, cause['field']) == (422, field)
    assert cause['message'].endswith(text)


def test_defaults_are_filled_in(here: Space) -> None:
    given = jobset('defaults', replicated('main', 'true'), suspend=True)
    del given['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']['restartPolicy']
    here.apply(given)

    spec = here.jobset('defaults')['spec']

    assert spec['network'] == {'enableDNSHostnames': True, 'publishNotReadyAddresses': True}
    assert spec['successPolicy'] == {'operator': 'All'}
    assert spec['startupPolicy'] == {'startupPolicyOrder': 'AnyOrder'}
    assert spec['replicatedJobs'][0]['template']['spec']['completionMode'] == 'Indexed'
    assert spec['replicatedJobs'][0]['template']['spec']['template']['spec']['restartPolicy'] == 'OnFailure'


def test_applying_again_changes_nothing(here: Space, kubectl: Kubectl) -> None:
    text = json.dumps(jobset('same', replicated('main', 'true', replicas=2), suspend=True))
    seen = []
    for manager in ('one', 'two', 'one'):
        kubectl('-n', here.name, 'apply', '--server-side', f'--field-manager={manager}', '-f', '-', stdin=text)
        seen.append(here.jobset('same')['metadata']['generation'])

    assert seen == [1, 1, 1]
