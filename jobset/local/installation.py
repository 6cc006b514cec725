"""What makes a plane one that knows JobSets: the definition, and the webhook configurations of ``config/default``.

Where an embedded cluster keeps its objects over a restart they are there already, and are brought to this version.
"""

from typing import Final

from jobset.api import crd, keys
from jobset.client import families
from jobset.kube import client, requests
from jobset.local.admission import jobsets
from jobset.local.objects import Object

MANAGER: Final = 'jobset-local'

DEFINITIONS: Final = requests.Resource(
    'apiextensions.k8s.io', 'v1', 'customresourcedefinitions', 'CustomResourceDefinition', namespaced=False
)
MUTATING: Final = requests.Resource(
    'admissionregistration.k8s.io',
    'v1',
    'mutatingwebhookconfigurations',
    'MutatingWebhookConfiguration',
    namespaced=False,
)
VALIDATING: Final = requests.Resource(
    'admissionregistration.k8s.io',
    'v1',
    'validatingwebhookconfigurations',
    'ValidatingWebhookConfiguration',
    namespaced=False,
)

_OF_JOBSETS: Final[Object] = {
    'matchExpressions': [{'key': keys.JOBSET_NAME, 'operator': 'Exists'}],
}

_HAS_NOTES: Final = 'has(object.metadata.annotations)'
_ASKS: Final = f"'{keys.EXCLUSIVE_TOPOLOGY}' in object.metadata.annotations"
_PREPARED: Final = f"'{keys.NODE_SELECTOR_STRATEGY}' in object.metadata.annotations"

_EXCLUSIVE: Final[Object] = {
    'matchConditions': [
        {'name': 'is-placed-exclusively', 'expression': f'{_HAS_NOTES} && {_ASKS} && !({_PREPARED})'},
    ],
}
_FREE: Final[Object] = {
    'failurePolicy': 'Ignore',
    'timeoutSeconds': 2,
    'matchConditions': [
        {'name': 'is-placed-freely', 'expression': f'!({_HAS_NOTES} && ({_ASKS} || {_PREPARED}))'},
    ],
}
"""As the manifests have them: pods that only get a label need not wait for that."""


async def install(api: client.Client, *, has_webhooks: bool = True) -> None:
    """Apply the definition and, if wanted, the webhook configurations."""
    wanted = [(DEFINITIONS, crd.definition())]
    if has_webhooks:
        wanted += [(MUTATING, mutating()), (VALIDATING, validating())]
    for resource, obj in wanted:
        name = obj['metadata']['name']  # type: ignore[index]  # each has one
        kind = requests.Patch.APPLY
        await api.send(requests.patch(resource, None, name, obj, kind, field_manager=MANAGER, force=True))


def mutating() -> Object:
    """The configuration of the webhooks that change objects."""
    return _configuration(
        MUTATING,
        keys.MUTATING_CONFIGURATION,
        _jobsets('mjobset.kb.io', keys.MUTATE_JOBSET_PATH, 'CREATE', 'UPDATE'),
        _pods('mpod.kb.io', keys.MUTATE_POD_PATH) | _EXCLUSIVE,
        _pods('mpriority.kb.io', keys.MUTATE_POD_PATH) | _FREE,
    )


def validating() -> Object:
    """The configuration of the webhooks that judge objects."""
    return _configuration(
        VALIDATING,
        keys.VALIDATING_CONFIGURATION,
        _jobsets('vjobset.kb.io', keys.VALIDATE_JOBSET_PATH, 'CREATE', 'UPDATE'),
        _pods('vpod.kb.io', keys.VALIDATE_POD_PATH) | _EXCLUSIVE,
    )


def _configuration(resource: requests.Resource, name: str, *webhooks: Object) -> Object:
    return {
        'apiVersion': resource.api_version,
        'kind': resource.kind,
        'metadata': {'name': name},
        'webhooks': list(webhooks),
    }


def _jobsets(name: str, path: str, *operations: str) -> Object:
    return _webhook(name, path, families.JOBSETS, *operations)


def _pods(name: str, path: str) -> Object:
    # No other pod of the cluster may depend on this controller.
    return _webhook(name, path, requests.PODS, 'CREATE') | {'objectSelector': _OF_JOBSETS}


def _webhook(name: str, path: str, resource: requests.Resource, *operations: str) -> Object:
    return {
        'name': name,
        'admissionReviewVersions': ['v1'],
        'clientConfig': {'service': {'namespace': jobsets.NAMESPACE, 'name': jobsets.SERVICE, 'path': path}},
        'failurePolicy': 'Fail',
        'sideEffects': 'None',
        'rules': [
            {
                'apiGroups': [resource.group],
                'apiVersions': [resource.version],
                'operations': list(operations),
                'resources': [resource.plural],
            }
        ],
    }
