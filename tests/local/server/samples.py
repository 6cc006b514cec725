"""Objects of all built-in kinds, rich enough to have every sort of field in them."""

from typing import Any

Object = dict[str, Any]

NAMESPACE = 'protobuf'
_CORE = '/api/v1'
_HERE = f'{_CORE}/namespaces/{NAMESPACE}'


def _group(path: str) -> str:
    return f'/apis/{path}'


def _of(path: str, plural: str) -> str:
    return f'/apis/{path}/namespaces/{NAMESPACE}/{plural}'


def _object(api_version: str, kind: str, name: str, **more: Any) -> Object:
    return {'apiVersion': api_version, 'kind': kind, 'metadata': {'name': name}, **more}


POD_SPEC: Object = {
    'restartPolicy': 'Never',
    'automountServiceAccountToken': False,
    'serviceAccountName': 'somebody',
    'hostname': 'h',
    'nodeSelector': {'a': 'b'},
    'securityContext': {'runAsUser': 0, 'fsGroup': 100, 'sysctls': [{'name': 'a', 'value': 'b'}]},
    'tolerations': [{'key': 'a', 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 0}],
    'affinity': {
        'nodeAffinity': {
            'preferredDuringSchedulingIgnoredDuringExecution': [
                {'weight': 5, 'preference': {'matchExpressions': [{'key': 'a', 'operator': 'In', 'values': ['b']}]}}
            ]
        }
    },
    'schedulingGates': [{'name': 'example.com/held'}],
    'initContainers': [{'name': 'i', 'image': 'busybox', 'restartPolicy': 'Always'}],
    'containers': [
        {
            'name': 'c',
            'image': 'busybox',
            'command': ['sh'],
            'args': ['-c', ''],
            'env': [
                {'name': 'A', 'value': 'b'},
                {'name': 'B', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'k', 'optional': False}}},
                {'name': 'C', 'valueFrom': {'resourceFieldRef': {'resource': 'limits.cpu', 'divisor': '1m'}}},
            ],
            'envFrom': [{'prefix': 'P_', 'configMapRef': {'name': 'm', 'optional': True}}],
            'resources': {'requests': {'cpu': '250m', 'memory': '64Mi'}, 'limits': {'memory': '1Gi'}},
            'ports': [{'containerPort': 80, 'name': 'http', 'protocol': 'UDP'}],
            'livenessProbe': {'httpGet': {'path': '/', 'port': 'http', 'httpHeaders': [{'name': 'a', 'value': 'b'}]}},
            'readinessProbe': {'tcpSocket': {'port': 80}, 'periodSeconds': 3},
            'lifecycle': {'preStop': {'exec': {'command': ['true']}}},
            'volumeMounts': [{'name': 'v', 'mountPath': '/v', 'readOnly': True, 'subPath': 'x'}],
        }
    ],
    'volumes': [
        {'name': 'v', 'emptyDir': {'sizeLimit': '1Mi', 'medium': 'Memory'}},
        {'name': 'm', 'configMap': {'name': 'm', 'defaultMode': 0o644, 'items': [{'key': 'a', 'path': 'b'}]}},
        {'name': 'p', 'projected': {'sources': [{'serviceAccountToken': {'path': 't', 'expirationSeconds': 600}}]}},
        {
            'name': 'e',
            'ephemeral': {
                'volumeClaimTemplate': {
                    'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}
                }
            },
        },
    ],
}

_SCHEMA: Object = {
    'type': 'object',
    'properties': {
        'spec': {
            'type': 'object',
            'x-kubernetes-preserve-unknown-fields': True,
            'properties': {
                'count': {'type': 'number', 'minimum': 0, 'maximum': 7.5, 'default': 3},
                'either': {'x-kubernetes-int-or-string': True},
                'kind': {'type': 'string', 'enum': ['A', 'B'], 'pattern': '^.$', 'nullable': True},
                'labels': {'type': 'object', 'additionalProperties': {'type': 'string'}},
                'parts': {
                    'type': 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    'items': {
                        'type': 'object',
                        'required': ['name'],
                        'properties': {'name': {'type': 'string', 'maxLength': 5}},
                    },
                },
            },
            'x-kubernetes-validations': [{'rule': 'self.count < 7', 'message': 'too many'}],
            'anyOf': [{'required': ['count']}, {'required': ['kind']}],
        }
    },
}

_WEBHOOK: Object = {
    'name': 'a.example.com',
    'admissionReviewVersions': ['v1'],
    'sideEffects': 'None',
    'failurePolicy': 'Ignore',
    'timeoutSeconds': 3,
    'clientConfig': {'service': {'namespace': 'n', 'name': 's', 'path': '/p', 'port': 8443}, 'caBundle': ''},
    'rules': [
        {
            'operations': ['CREATE', 'UPDATE'],
            'apiGroups': ['example.com'],
            'apiVersions': ['*'],
            'resources': ['widgets'],
            'scope': 'Namespaced',
        }
    ],
    'namespaceSelector': {'matchLabels': {'a': 'b'}},
    'matchConditions': [{'name': 'm', 'expression': 'true'}],
}

OBJECTS: list[tuple[str, Object]] = [
    (
        f'{_CORE}/namespaces',
        {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': NAMESPACE, 'labels': {'a': 'b'}}},
    ),
    (
        f'{_HERE}/serviceaccounts',
        _object(
            'v1', 'ServiceAccount', 'somebody', imagePullSecrets=[{'name': 's'}], automountServiceAccountToken=False
        ),
    ),
    (f'{_HERE}/configmaps', _object('v1', 'ConfigMap', 'm', data={'a': '1'}, binaryData={'b': 'AAH/'}, immutable=True)),
    (f'{_HERE}/secrets', _object('v1', 'Secret', 's', data={'a': 'AAH/'}, type='example.com/own')),
    (
        f'{_HERE}/services',
        _object(
            'v1',
            'Service',
            's',
            spec={
                'selector': {'a': 'b'},
                'ports': [
                    {'name': 'a', 'port': 80, 'targetPort': 'http'},
                    {'name': 'b', 'port': 81, 'targetPort': 8081, 'protocol': 'UDP'},
                ],
                'publishNotReadyAddresses': True,
            },
        ),
    ),
    (
        f'{_HERE}/endpoints',
        _object('v1', 'Endpoints', 'e', subsets=[{'addresses': [{'ip': '10.0.0.1'}], 'ports': [{'port': 80}]}]),
    ),
    (
        f'{_HERE}/persistentvolumeclaims',
        _object(
            'v1',
            'PersistentVolumeClaim',
            'c',
            spec={
                'accessModes': ['ReadWriteOnce'],
                'storageClassName': '',
                'resources': {'requests': {'storage': '1.5Gi'}},
                'selector': {'matchExpressions': [{'key': 'a', 'operator': 'Exists'}]},
            },
        ),
    ),
    (
        f'{_CORE}/persistentvolumes',
        _object(
            'v1',
            'PersistentVolume',
            'protobuf',
            spec={
                'accessModes': ['ReadWriteOnce'],
                'capacity': {'storage': '1Gi'},
                'hostPath': {'path': '/x', 'type': 'Directory'},
                'persistentVolumeReclaimPolicy': 'Retain',
            },
        ),
    ),
    (
        f'{_CORE}/nodes',
        _object(
            'v1',
            'Node',
            'protobuf',
            spec={'taints': [{'key': 'a', 'effect': 'NoSchedule'}], 'unschedulable': True},
            status={
                'capacity': {'cpu': '4', 'memory': '1Ti', 'example.com/gpu': '2'},
                'addresses': [{'type': 'Hostname', 'address': 'protobuf'}],
            },
        ),
    ),
    (f'{_HERE}/pods', _object('v1', 'Pod', 'p', spec=POD_SPEC)),
    (
        f'{_HERE}/events',
        _object(
            'v1',
            'Event',
            'e1',
            involvedObject={'kind': 'Pod', 'namespace': NAMESPACE, 'name': 'p', 'apiVersion': 'v1'},
            reason='R',
            message='m',
            type='Normal',
            source={'component': 'c'},
            firstTimestamp='2026-01-02T03:04:05Z',
            lastTimestamp='2026-01-02T03:04:05Z',
            count=2,
        ),
    ),
    (
        _of('events.k8s.io/v1', 'events'),
        _object(
            'events.k8s.io/v1',
            'Event',
            'e2',
            eventTime='2026-01-02T03:04:05.678901Z',
            regarding={'kind': 'Pod', 'namespace': NAMESPACE, 'name': 'p', 'fieldPath': 'spec.containers{c}'},
            reason='R',
            note='n',
            action='A',
            type='Warning',
            reportingController='example.com/c',
            reportingInstance='i',
            series={'count': 3, 'lastObservedTime': '2026-01-02T03:04:06.000001Z'},
        ),
    ),
    (
        _of('batch/v1', 'jobs'),
        _object(
            'batch/v1',
            'Job',
            'j',
            spec={
                'parallelism': 0,
                'completions': 2,
                'completionMode': 'Indexed',
                'backoffLimitPerIndex': 0,
                'suspend': True,
                'activeDeadlineSeconds': 9_000_000_000,
                'podFailurePolicy': {
                    'rules': [
                        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [1, 200]}},
                        {'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget', 'status': 'True'}]},
                    ]
                },
                'template': {'metadata': {'labels': {'a': 'b'}}, 'spec': {**POD_SPEC, 'initContainers': []}},
            },
        ),
    ),
    (
        _of('coordination.k8s.io/v1', 'leases'),
        _object(
            'coordination.k8s.io/v1',
            'Lease',
            'l',
            spec={'holderIdentity': 'h', 'leaseDurationSeconds': 15, 'renewTime': '2026-01-02T03:04:05.678901Z'},
        ),
    ),
    (
        _of('discovery.k8s.io/v1', 'endpointslices'),
        _object(
            'discovery.k8s.io/v1',
            'EndpointSlice',
            'e',
            addressType='IPv4',
            endpoints=[{'addresses': ['10.0.0.1'], 'conditions': {'ready': False}, 'hostname': 'h'}],
            ports=[{'name': '', 'port': 80, 'protocol': 'TCP'}],
        ),
    ),
    (
        _of('policy/v1', 'poddisruptionbudgets'),
        _object(
            'policy/v1',
            'PodDisruptionBudget',
            'b',
            spec={'minAvailable': '50%', 'selector': {'matchLabels': {'a': 'b'}}},
        ),
    ),
    (
        _of('rbac.authorization.k8s.io/v1', 'roles'),
        _object(
            'rbac.authorization.k8s.io/v1',
            'Role',
            'r',
            rules=[{'verbs': ['get'], 'apiGroups': [''], 'resources': ['pods'], 'resourceNames': ['p']}],
        ),
    ),
    (
        f'{_group("scheduling.k8s.io/v1")}/priorityclasses',
        _object(
            'scheduling.k8s.io/v1', 'PriorityClass', 'protobuf', value=-5, description='d', preemptionPolicy='Never'
        ),
    ),
    (
        _of('scheduling.k8s.io/v1beta1', 'podgroups'),
        _object('scheduling.k8s.io/v1beta1', 'PodGroup', 'g', spec={'schedulingPolicy': {'gang': {'minCount': 2}}}),
    ),
    (
        _of('scheduling.k8s.io/v1beta1', 'workloads'),
        _object(
            'scheduling.k8s.io/v1beta1',
            'Workload',
            'w',
            spec={
                'controllerRef': {'apiGroup': 'batch', 'kind': 'Job', 'name': 'j'},
                'podGroupTemplates': [{'name': 'a', 'schedulingPolicy': {'basic': {}}}],
            },
        ),
    ),
    (
        f'{_group("storage.k8s.io/v1")}/storageclasses',
        _object(
            'storage.k8s.io/v1',
            'StorageClass',
            'protobuf',
            provisioner='example.com/p',
            parameters={'a': 'b'},
            allowVolumeExpansion=False,
            allowedTopologies=[{'matchLabelExpressions': [{'key': 'a', 'values': ['b']}]}],
        ),
    ),
    (
        f'{_group("admissionregistration.k8s.io/v1")}/mutatingwebhookconfigurations',
        _object(
            'admissionregistration.k8s.io/v1',
            'MutatingWebhookConfiguration',
            'protobuf',
            webhooks=[{**_WEBHOOK, 'reinvocationPolicy': 'IfNeeded'}],
        ),
    ),
    (
        f'{_group("admissionregistration.k8s.io/v1")}/validatingwebhookconfigurations',
        _object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'protobuf', webhooks=[_WEBHOOK]),
    ),
    (
        f'{_group("apiextensions.k8s.io/v1")}/customresourcedefinitions',
        _object(
            'apiextensions.k8s.io/v1',
            'CustomResourceDefinition',
            'widgets.protobuf.example.com',
            spec={
                'group': 'protobuf.example.com',
                'scope': 'Namespaced',
                'names': {'plural': 'widgets', 'kind': 'Widget', 'shortNames': ['w']},
                'versions': [
                    {
                        'name': 'v1',
                        'served': True,
                        'storage': True,
                        'schema': {'openAPIV3Schema': _SCHEMA},
                        'subresources': {'status': {}},
                        'additionalPrinterColumns': [{'name': 'A', 'type': 'integer', 'jsonPath': '.spec.count'}],
                    }
                ],
            },
        ),
    ),
]
"""Collection and object."""
