"""What ``kubectl apply -k config/default`` installs: the names, ports, keys and rights that others rely on."""

import functools
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from e2e.cluster import binaries, names
from jobset.admission import rotation
from jobset.api import configuration, keys

ROOT = pathlib.Path(__file__).parents[2]

Object = dict[str, Any]


def kubectl() -> pathlib.Path:
    """The one of the test cluster, that of the machine, or one that is built now; never none."""
    cache = names.cache()
    built = binaries.folder(binaries.KUBERNETES, cache=cache) / 'kubectl'
    if not built.is_file() and (installed := shutil.which('kubectl')):
        return pathlib.Path(installed)
    return binaries.present((binaries.KUBERNETES,), cache=cache)['kubectl']


@functools.cache
def render(folder: str) -> tuple[Object, ...]:
    command = [str(kubectl()), 'kustomize', str(ROOT / 'config' / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader))


def ids(objects: tuple[Object, ...]) -> set[tuple[str, str, str]]:
    return {(one['kind'], one['metadata'].get('namespace', ''), one['metadata']['name']) for one in objects}


def get(folder: str, kind: str, name: str) -> Object:
    [found] = [one for one in render(folder) if (one['kind'], one['metadata']['name']) == (kind, name)]
    return found


NAMESPACE = 'jobset-system'

ALWAYS = {
    ('Namespace', '', 'jobset-system'),
    ('CustomResourceDefinition', '', 'jobsets.jobset.x-k8s.io'),
    ('ServiceAccount', NAMESPACE, 'jobset-controller-manager'),
    ('Role', NAMESPACE, 'jobset-leader-election-role'),
    ('ClusterRole', '', 'jobset-jobset-editor-role'),
    ('ClusterRole', '', 'jobset-jobset-viewer-role'),
    ('ClusterRole', '', 'jobset-manager-role'),
    ('ClusterRole', '', 'jobset-metrics-reader'),
    ('ClusterRole', '', 'jobset-proxy-role'),
    ('RoleBinding', NAMESPACE, 'jobset-leader-election-rolebinding'),
    ('ClusterRoleBinding', '', 'jobset-manager-rolebinding'),
    ('ClusterRoleBinding', '', 'jobset-proxy-rolebinding'),
    ('ConfigMap', NAMESPACE, 'jobset-manager-config'),
    ('Service', NAMESPACE, 'jobset-controller-manager-metrics-service'),
    ('Service', NAMESPACE, 'jobset-webhook-service'),
    ('Deployment', NAMESPACE, 'jobset-controller-manager'),
    ('MutatingWebhookConfiguration', '', 'jobset-mutating-webhook-configuration'),
    ('ValidatingWebhookConfiguration', '', 'jobset-validating-webhook-configuration'),
}
OWN_CERTIFICATES = {
    ('Secret', NAMESPACE, 'jobset-webhook-server-cert'),
    ('Role', NAMESPACE, 'jobset-webhook-certificate-role'),
    ('RoleBinding', NAMESPACE, 'jobset-webhook-certificate-rolebinding'),
    ('ClusterRole', '', 'jobset-webhook-authority-role'),
    ('ClusterRoleBinding', '', 'jobset-webhook-authority-rolebinding'),
}
CERT_MANAGER = {
    ('Issuer', NAMESPACE, 'jobset-selfsigned-issuer'),
    ('Certificate', NAMESPACE, 'jobset-serving-cert'),
    ('Certificate', NAMESPACE, 'jobset-metrics-cert'),
}


@pytest.mark.parametrize(
    ('folder', 'expected'),
    [
        pytest.param('default', ALWAYS | OWN_CERTIFICATES, id='with certificates of our own'),
        pytest.param('certmanager', ALWAYS | CERT_MANAGER, id='with cert-manager'),
        pytest.param(
            'prometheus',
            {('ServiceMonitor', NAMESPACE, 'jobset-controller-manager-metrics-monitor')},
            id='the monitor',
        ),
    ],
)
def test_objects(folder: str, expected: set[tuple[str, str, str]]) -> None:
    assert ids(render(folder)) == expected


COMMON = {
    'app.kubernetes.io/name': 'jobset',
    'app.kubernetes.io/instance': 'jobset',
    'app.kubernetes.io/managed-by': 'kustomize',
}
MANAGER = {**COMMON, 'control-plane': 'controller-manager'}


@pytest.mark.parametrize('folder', ['default', 'certmanager', 'prometheus'])
def test_common_labels(folder: str) -> None:
    for one in render(folder):
        labels = one['metadata']['labels']
        assert {key: labels.get(key) for key in COMMON} == COMMON, one['metadata']['name']


def test_the_definition_is_the_generated_one() -> None:
    generated = yaml.load(
        (ROOT / 'crds' / 'jobset.x-k8s.io_jobsets.yaml').read_text(),
        Loader=yaml.CSafeLoader,
    )
    assert get('default', 'CustomResourceDefinition', keys.CRD_NAME)['spec'] == generated['spec']


def test_deployment() -> None:
    deployment = get('default', 'Deployment', 'jobset-controller-manager')
    assert deployment['metadata']['labels'] == MANAGER
    spec = deployment['spec']
    # The selector of a Deployment cannot change: with another one, applying over the Go controller would fail.
    assert spec['selector'] == {'matchLabels': MANAGER}
    assert spec['replicas'] == 1
    assert spec['template']['metadata']['labels'] == MANAGER
    pod = spec['template']['spec']
    assert pod['serviceAccountName'] == 'jobset-controller-manager'
    assert pod['terminationGracePeriodSeconds'] == 10
    assert pod['securityContext'] == {
        'runAsNonRoot': True,
        'runAsUser': 65532,
        'runAsGroup': 65532,
        'seccompProfile': {'type': 'RuntimeDefault'},
    }
    [container] = pod['containers']
    assert container['name'] == 'manager'
    assert container['image'] == 'localhost/jobset-controller:dev'
    assert container['command'] == ['/manager']
    assert container['args'] == ['--config=/controller_manager_config.yaml', '--zap-log-level=2']
    assert {port['name']: port['containerPort'] for port in container['ports']} == {
        'webhook-server': 9443,
        'https': 8443,
        'health': 8081,
    }
    assert container['livenessProbe']['httpGet'] == {'path': '/healthz', 'port': 8081}
    assert container['readinessProbe']['httpGet'] == {'path': '/readyz', 'port': 8081}
    assert container['resources'] == {'requests': {'cpu': '500m', 'memory': '128Mi'}, 'limits': {'memory': '4Gi'}}
    assert container['securityContext'] == {
        'allowPrivilegeEscalation': False,
        'readOnlyRootFilesystem': True,
        'capabilities': {'drop': ['ALL']},
    }
    assert container['volumeMounts'] == [
        {
            'name': 'manager-config',
            'mountPath': '/controller_manager_config.yaml',
            'subPath': 'controller_manager_config.yaml',
            'readOnly': True,
        }
    ]
    assert pod['volumes'] == [{'name': 'manager-config', 'configMap': {'name': 'jobset-manager-config'}}]


@pytest.mark.parametrize(
    ('name', 'ports'),
    [
        pytest.param('jobset-webhook-service', [{'port': 443, 'protocol': 'TCP', 'targetPort': 9443}], id='webhooks'),
        pytest.param(
            'jobset-controller-manager-metrics-service',
            [{'name': 'https', 'port': 8443, 'protocol': 'TCP', 'targetPort': 8443}],
            id='metrics',
        ),
    ],
)
def test_services(name: str, ports: list[Object]) -> None:
    assert get('default', 'Service', name)['spec'] == {'selector': MANAGER, 'ports': ports}


@pytest.mark.parametrize(
    ('folder', 'own'),
    [
        pytest.param('default', True, id='certificates of our own'),
        pytest.param('certmanager', False, id='cert-manager'),
    ],
)
def test_configuration(folder: str, own: bool, tmp_path: pathlib.Path) -> None:
    data = get(folder, 'ConfigMap', 'jobset-manager-config')['data']
    assert list(data) == ['controller_manager_config.yaml']
    path = tmp_path / 'controller_manager_config.yaml'
    path.write_text(data['controller_manager_config.yaml'])
    # Everything but the certificates is as without a file: the ports above are those of the defaults.
    expected = configuration.Configuration(
        api_version=configuration.API_VERSION,
        kind=configuration.KIND,
        internal_cert_management=configuration.InternalCertManagement(enable=own),
    )
    assert configuration.load(path) == expected
    assert expected.webhook.port == 9443
    assert expected.metrics.bind_address == ':8443'
    assert expected.health.health_probe_bind_address == ':8081'
    assert expected.internal_cert_management.webhook_service_name == 'jobset-webhook-service'
    assert expected.internal_cert_management.webhook_secret_name == 'jobset-webhook-server-cert'


def test_the_secret_is_empty() -> None:
    # Anything in it would be owned by whoever applies, and be put back over a certificate.
    assert sorted(get('default', 'Secret', 'jobset-webhook-server-cert')) == ['apiVersion', 'kind', 'metadata']


ONLY_PODS_OF_JOBSETS = {'matchExpressions': [{'key': keys.JOBSET_NAME, 'operator': 'Exists'}]}


JOBSETS = (keys.GROUP, keys.VERSION, keys.PLURAL)
PODS = ('', 'v1', 'pods')


EXCLUSIVE: Object = {
    'matchConditions': [
        {
            'name': 'is-placed-exclusively',
            'expression': "has(object.metadata.annotations) && 'alpha.jobset.sigs.k8s.io/exclusive-topology' in "
            "object.metadata.annotations && !('alpha.jobset.sigs.k8s.io/node-selector' in object.metadata.annotations)",
        }
    ]
}
FREE: Object = {
    'failurePolicy': 'Ignore',
    'timeoutSeconds': 2,
    'matchConditions': [
        {
            'name': 'is-placed-freely',
            'expression': "!(has(object.metadata.annotations) && ('alpha.jobset.sigs.k8s.io/exclusive-topology' in "
            "object.metadata.annotations || 'alpha.jobset.sigs.k8s.io/node-selector' in object.metadata.annotations))",
        }
    ],
}


def webhook(name: str, path: str, called_for: tuple[str, str, str], *operations: str) -> Object:
    group, version, resource = called_for
    made: Object = {
        'name': name,
        'admissionReviewVersions': ['v1'],
        'clientConfig': {'service': {'name': 'jobset-webhook-service', 'namespace': 'jobset-system', 'path': path}},
        'failurePolicy': 'Fail',
        'sideEffects': 'None',
        'rules': [
            {'apiGroups': [group], 'apiVersions': [version], 'operations': [*operations], 'resources': [resource]}
        ],
    }
    return made | ({'objectSelector': ONLY_PODS_OF_JOBSETS} if resource == 'pods' else {})


@pytest.mark.parametrize(
    ('kind', 'name', 'webhooks'),
    [
        pytest.param(
            'MutatingWebhookConfiguration',
            keys.MUTATING_CONFIGURATION,
            [
                webhook('mjobset.kb.io', keys.MUTATE_JOBSET_PATH, JOBSETS, 'CREATE', 'UPDATE'),
                webhook('mpod.kb.io', keys.MUTATE_POD_PATH, PODS, 'CREATE') | EXCLUSIVE,
                webhook('mpriority.kb.io', keys.MUTATE_POD_PATH, PODS, 'CREATE') | FREE,
            ],
            id='mutating',
        ),
        pytest.param(
            'ValidatingWebhookConfiguration',
            keys.VALIDATING_CONFIGURATION,
            [
                webhook('vjobset.kb.io', keys.VALIDATE_JOBSET_PATH, JOBSETS, 'CREATE', 'UPDATE'),
                webhook('vpod.kb.io', keys.VALIDATE_POD_PATH, PODS, 'CREATE') | EXCLUSIVE,
            ],
            id='validating',
        ),
    ],
)
def test_webhooks(kind: str, name: str, webhooks: list[Object]) -> None:
    assert get('default', kind, name)['webhooks'] == webhooks


def test_all_webhooks_are_told_of_our_authority() -> None:
    own = configuration.InternalCertManagement()
    place = rotation.Place(namespace=NAMESPACE, secret=own.webhook_secret_name, service=own.webhook_service_name)
    for resource, name in rotation.CONFIGURATIONS:
        told = rotation.trusting(get('default', resource.kind, name), b'authority', place=place)
        assert told is not None
        assert {one['clientConfig']['caBundle'] for one in told['webhooks']} == {'YXV0aG9yaXR5'}


def rights(folder: str, kind: str, name: str) -> Iterator[str]:
    """Each right in a line: verb, resource, group, and the one name that it is for."""
    for rule in get(folder, kind, name)['rules']:
        for group in rule.get('apiGroups', ['']):
            for resource in rule.get('resources', rule.get('nonResourceURLs')):
                for verb in rule['verbs']:
                    for only in rule.get('resourceNames', ['']):
                        yield ' '.join(filter(None, (verb, f'{resource}.{group}'.rstrip('.'), only)))


def every(verbs: str, resource: str, *only: str) -> set[str]:
    return {' '.join((verb, resource, *only)) for verb in verbs.split()}


SECRET = configuration.InternalCertManagement().webhook_secret_name
LEASE = configuration.LeaderElection().resource_name


@pytest.mark.parametrize(
    ('kind', 'name', 'expected'),
    [
        pytest.param(
            'ClusterRole',
            'jobset-manager-role',
            every('delete list watch', 'jobsets.jobset.x-k8s.io')
            | every('update', 'jobsets/status.jobset.x-k8s.io')
            | every('update', 'jobsets/finalizers.jobset.x-k8s.io')
            | every('create delete get list patch watch', 'jobs.batch')
            | every('patch', 'jobs/status.batch')
            | every('create list watch', 'services')
            | every('create get list watch', 'persistentvolumeclaims')
            | every('delete get list patch watch', 'pods')
            | every('patch', 'pods/status')
            | every('get list watch', 'nodes')
            | every('create get update', 'configmaps')
            | every('create patch', 'events.events.k8s.io')
            | every('create delete get list patch watch', 'podgroups.scheduling.k8s.io')
            | every('create delete get list patch watch', 'workloads.scheduling.k8s.io'),
            id='everywhere',
        ),
        pytest.param(
            'ClusterRole',
            'jobset-webhook-authority-role',
            every(
                'get update', 'mutatingwebhookconfigurations.admissionregistration.k8s.io', keys.MUTATING_CONFIGURATION
            )
            | every(
                'get update',
                'validatingwebhookconfigurations.admissionregistration.k8s.io',
                keys.VALIDATING_CONFIGURATION,
            ),
            id='our webhook configurations',
        ),
        pytest.param(
            'Role', 'jobset-webhook-certificate-role', every('get update', 'secrets', SECRET), id='our Secret'
        ),
        pytest.param(
            'Role',
            'jobset-leader-election-role',
            every('create', 'leases.coordination.k8s.io') | every('get update', 'leases.coordination.k8s.io', LEASE),
            id='our Lease',
        ),
        pytest.param(
            'ClusterRole',
            'jobset-proxy-role',
            every('create', 'tokenreviews.authentication.k8s.io')
            | every('create', 'subjectaccessreviews.authorization.k8s.io'),
            id='who may read metrics',
        ),
        pytest.param('ClusterRole', 'jobset-metrics-reader', every('get', '/metrics'), id='reading metrics'),
        pytest.param(
            'ClusterRole',
            'jobset-jobset-viewer-role',
            every('get list watch', 'jobsets.jobset.x-k8s.io') | every('get', 'jobsets/status.jobset.x-k8s.io'),
            id='viewers',
        ),
        pytest.param(
            'ClusterRole',
            'jobset-jobset-editor-role',
            every('create delete get list patch update watch', 'jobsets.jobset.x-k8s.io')
            | every('get', 'jobsets/status.jobset.x-k8s.io'),
            id='editors',
        ),
    ],
)
def test_rights(kind: str, name: str, expected: set[str]) -> None:
    assert set(rights('default', kind, name)) == expected


def test_the_controller_has_exactly_the_roles_that_are_bound() -> None:
    subject = {'kind': 'ServiceAccount', 'name': 'jobset-controller-manager', 'namespace': NAMESPACE}
    bindings = [one for one in render('default') if one['kind'].endswith('RoleBinding')]
    assert all(one['subjects'] == [subject] for one in bindings)
    assert {(one['roleRef']['kind'], one['roleRef']['name']) for one in bindings} == {
        ('ClusterRole', 'jobset-manager-role'),
        ('ClusterRole', 'jobset-proxy-role'),
        ('ClusterRole', 'jobset-webhook-authority-role'),
        ('Role', 'jobset-webhook-certificate-role'),
        ('Role', 'jobset-leader-election-role'),
    }


def test_cert_manager_makes_what_is_mounted() -> None:
    pod = get('certmanager', 'Deployment', 'jobset-controller-manager')['spec']['template']['spec']
    mounts = {mount['name']: mount['mountPath'] for mount in pod['containers'][0]['volumeMounts']}
    mounted = {
        volume['secret']['secretName']: mounts[volume['name']] for volume in pod['volumes'] if 'secret' in volume
    }
    external = configuration.InternalCertManagement(enable=False)
    settings = configuration.Configuration(internal_cert_management=external)
    assert mounted == {
        'jobset-webhook-server-cert': settings.webhook.cert_dir,
        'jobset-metrics-server-cert': settings.metrics_cert_dir,
    }
    made = {
        one['spec']['secretName']: (one['spec']['dnsNames'][0], one['spec']['issuerRef'])
        for one in render('certmanager')
        if one['kind'] == 'Certificate'
    }
    issuer = {'kind': 'Issuer', 'name': 'jobset-selfsigned-issuer'}
    assert made == {
        'jobset-webhook-server-cert': ('jobset-webhook-service.jobset-system.svc', issuer),
        'jobset-metrics-server-cert': ('jobset-controller-manager-metrics-service.jobset-system.svc', issuer),
    }
    for resource, name in rotation.CONFIGURATIONS:
        annotations = get('certmanager', resource.kind, name)['metadata']['annotations']
        assert annotations == {'cert-manager.io/inject-ca-from': 'jobset-system/jobset-serving-cert'}


def test_the_monitor_finds_the_metrics_service() -> None:
    monitor = get('prometheus', 'ServiceMonitor', 'jobset-controller-manager-metrics-monitor')['spec']
    service = get('default', 'Service', 'jobset-controller-manager-metrics-service')
    wanted = monitor['selector']['matchLabels']
    assert wanted.items() <= service['metadata']['labels'].items()
    assert [one['port'] for one in monitor['endpoints']] == [port['name'] for port in service['spec']['ports']]
