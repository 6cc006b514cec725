"""What ``config/default`` installs is what tools for JobSet look for, and kubectl shows what people need."""

import base64
import json

from e2e.kubectl import Kubectl
from jobset.api import keys
from tests.scenarios.api import Api, Object
from tests.scenarios.space import Space, jobset, replicated

SYSTEM = 'jobset-system'


def test_webhooks_are_behind_their_service(server: Api) -> None:
    deployment = server.request('GET', f'/apis/apps/v1/namespaces/{SYSTEM}/deployments/jobset-controller-manager')
    labels = ','.join(f'{key}={value}' for key, value in deployment['spec']['selector']['matchLabels'].items())
    pods = server.snapshot(f'/api/v1/namespaces/{SYSTEM}/pods', {'labelSelector': labels})[0].values()
    slices = server.snapshot(
        f'/apis/discovery.k8s.io/v1/namespaces/{SYSTEM}/endpointslices',
        {'labelSelector': 'kubernetes.io/service-name=jobset-webhook-service'},
    )[0].values()

    assert {'type': 'Available', 'status': 'True'}.items() <= _condition(deployment, 'Available').items()
    assert [each['restartCount'] for pod in pods for each in pod['status']['containerStatuses']] == [0]
    serving = [each for one in slices for each in one['endpoints'] if each['conditions']['ready']]
    assert [each['addresses'] for each in serving] == [
        [pod['status']['podIP']] for pod in pods if 'deletionTimestamp' not in pod['metadata']
    ]


def test_webhook_configurations_know_the_authority_that_the_secret_keeps(server: Api) -> None:
    secret = server.request('GET', f'/api/v1/namespaces/{SYSTEM}/secrets/jobset-webhook-server-cert')
    configurations = [
        server.request('GET', f'/apis/admissionregistration.k8s.io/v1/{plural}/{name}')
        for plural, name in (
            ('mutatingwebhookconfigurations', keys.MUTATING_CONFIGURATION),
            ('validatingwebhookconfigurations', keys.VALIDATING_CONFIGURATION),
        )
    ]

    assert set(secret['data']) == {'ca.crt', 'ca.key', 'tls.crt', 'tls.key'}
    bundles = {hook['clientConfig']['caBundle'] for one in configurations for hook in one['webhooks']}
    assert bundles == {secret['data']['ca.crt']}
    assert base64.b64decode(secret['data']['ca.crt']).startswith(b'-----BEGIN CERTIFICATE-----')


def test_controller_runs_without_rights_on_its_node(server: Api) -> None:
    deployment = server.request('GET', f'/apis/apps/v1/namespaces/{SYSTEM}/deployments/jobset-controller-manager')
    pod = deployment['spec']['template']['spec']
    (container,) = pod['containers']

    assert (pod['securityContext']['runAsNonRoot'], pod['securityContext']['runAsUser']) == (True, 65532)
    assert container['securityContext'] == {
        'allowPrivilegeEscalation': False,
        'readOnlyRootFilesystem': True,
        'capabilities': {'drop': ['ALL']},
    }


def test_configuration_is_where_tools_patch_it(kubectl: Kubectl) -> None:
    said = kubectl('-n', SYSTEM, 'get', 'configmap', 'jobset-manager-config', '-o', 'json')

    assert list(json.loads(said)['data']) == ['controller_manager_config.yaml']


def test_kubectl_waits_for_the_end_and_shows_it_in_columns(here: Space, kubectl: Kubectl) -> None:
    here.apply(jobset('short', replicated('main', 'true')))
    here.apply(jobset('held', replicated('main', 'true'), suspend=True))

    waited = kubectl('-n', here.name, 'wait', '--for=condition=Completed', 'jobset/short', '--timeout=120s')
    here.until_condition('held', 'Suspended')
    lines = kubectl('-n', here.name, 'get', 'jobsets', '-o', 'wide').splitlines()

    assert waited == 'jobset.jobset.x-k8s.io/short condition met\n'
    # The last column is the age. A field that is not set is an empty column.
    assert [line.split()[:-1] for line in lines] == [
        ['NAME', 'TERMINALSTATE', 'RESTARTS', 'COMPLETED', 'SUSPENDED'],
        ['held', '0', 'true'],
        ['short', 'Completed', '0', 'True'],
    ]


def test_kubectl_explains_fields(kubectl: Kubectl) -> None:
    said = kubectl('explain', 'jobset.spec.failurePolicy')

    assert {'maxRestarts', 'restartStrategy', 'rules'} <= {
        line.split('\t')[0].strip() for line in said.splitlines() if '\t' in line
    }


def _condition(one: Object, kind: str) -> Object:
    return next(dict(each) for each in one['status']['conditions'] if each['type'] == kind)
