"""``kubectl apply`` of our folder over an installation of the Go controller replaces it in place."""

import base64
import datetime

from e2e import deployment
from e2e.kubectl import Kubectl
from jobset.admission import certificates
from jobset.api import keys
from tests.scenarios.api import Api, Object
from tests.scenarios.space import Space, jobset, replicated
from tests.scenarios.stories import UNTIL_TOLD, running, tell

LABELS: Object = {
    'control-plane': 'controller-manager',
    'app.kubernetes.io/name': 'jobset',
    'app.kubernetes.io/instance': 'jobset',
    'app.kubernetes.io/managed-by': 'kustomize',
}
DEPLOYMENT: Object = {
    'apiVersion': 'apps/v1',
    'kind': 'Deployment',
    'metadata': {'name': 'jobset-controller-manager', 'namespace': deployment.NAMESPACE, 'labels': LABELS},
    'spec': {
        'selector': {'matchLabels': LABELS},
        'template': {
            'metadata': {'labels': LABELS},
            'spec': {
                'serviceAccountName': 'jobset-controller-manager',
                'terminationGracePeriodSeconds': 1,
                'containers': [{'name': 'manager', 'image': 'busybox', 'command': ['sleep'], 'args': ['3600']}],
            },
        },
    },
}
"""Stands for the Go controller's: what cannot be changed of a Deployment, its name and its selector, is the same."""


SECRET = f'/api/v1/namespaces/{deployment.NAMESPACE}/secrets/jobset-webhook-server-cert'
SERVER_NAME = f'jobset-webhook-service.{deployment.NAMESPACE}.svc'


def test_running_jobsets_live_through_the_replacement(here: Space, kubectl: Kubectl, server: Api) -> None:
    here.apply(jobset('before', replicated('main', UNTIL_TOLD)))
    running(here, 'before')
    authority = _install_another(kubectl, server)

    deployment.deploy(kubectl)
    deployment.wait_until_ready(kubectl)

    here.apply(jobset('after', replicated('main', 'true')))
    here.until_condition('after', 'Completed')
    tell(here, 'before')
    assert here.until_condition('before', 'Completed')['status']['restarts'] == 0
    # Certificates that are good are taken over, so that replicas of both kinds can serve side by side.
    assert server.request('GET', SECRET)['data']['ca.crt'] == authority


def _install_another(kubectl: Kubectl, server: Api) -> str:
    """Bring the cluster to where another controller has it, with an authority of its own; returns that."""
    kubectl('-n', deployment.NAMESPACE, 'delete', deployment.DEPLOYMENT)
    server.request('POST', f'/apis/apps/v1/namespaces/{deployment.NAMESPACE}/deployments', DEPLOYMENT)
    kubectl('-n', deployment.NAMESPACE, 'rollout', 'status', deployment.DEPLOYMENT, '--timeout=90s')
    now = datetime.datetime.now(datetime.UTC)
    bundle = certificates.renew(None, certificates.Due.ALL, server_name=SERVER_NAME, now=now)
    data = {
        'ca.crt': _text(bundle.authority),
        'ca.key': _text(bundle.authority_key),
        'tls.crt': _text(bundle.server.certificate),
        'tls.key': _text(bundle.server.key),
    }
    server.request('PATCH', SECRET, {'data': data}, content_type='application/merge-patch+json')
    for plural, name in (
        ('mutatingwebhookconfigurations', keys.MUTATING_CONFIGURATION),
        ('validatingwebhookconfigurations', keys.VALIDATING_CONFIGURATION),
    ):
        path = f'/apis/admissionregistration.k8s.io/v1/{plural}/{name}'
        operations: list[Object] = [
            {'op': 'replace', 'path': f'/webhooks/{index}/clientConfig/caBundle', 'value': data['ca.crt']}
            for index in range(len(server.request('GET', path)['webhooks']))
        ]
        server.request('PATCH', path, operations, content_type='application/json-patch+json')
    return data['ca.crt']


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
