"""Kinds, requests and webhooks for tests of admission."""

from collections.abc import Mapping
from typing import Any, cast

from jobset.local import resources
from jobset.local.admission import calling, dispatch, review
from jobset.local.objects import Object


def kind(group: str, version: str, plural: str, name: str, *, namespaced: bool = True) -> resources.Kind:
    return resources.Kind(
        group=group,
        version=version,
        plural=plural,
        singular=name.lower(),
        kind=name,
        namespaced=namespaced,
        schema=cast('Any', None),
    )


CONFIG_MAPS = kind('', 'v1', 'configmaps', 'ConfigMap')
PODS = kind('', 'v1', 'pods', 'Pod')
NAMESPACES = kind('', 'v1', 'namespaces', 'Namespace', namespaced=False)
JOBSETS = kind('jobset.x-k8s.io', 'v1alpha2', 'jobsets', 'JobSet')
CONFIGURATIONS = kind(
    'admissionregistration.k8s.io',
    'v1',
    'validatingwebhookconfigurations',
    'ValidatingWebhookConfiguration',
    namespaced=False,
)


def asked(of: resources.Kind = CONFIG_MAPS, operation: str = 'CREATE', **options: Any) -> review.Review:
    namespace = 'n' if of.namespaced else ''
    obj = {'apiVersion': of.api_version, 'kind': of.kind, 'metadata': {'name': 'a', 'namespace': namespace}}
    given: dict[str, Any] = {'object': obj, 'name': 'a', 'namespace': namespace, **options}
    return review.Review(operation=operation, kind=of, **given)


def hook(path: str = '/x', **options: Any) -> Object:
    """A webhook in this process that is asked about all that there is."""
    return {
        'name': f'{path.strip("/")}.example.com',
        'clientConfig': {'service': {'namespace': 'system', 'name': 'hooks', 'path': path}},
        'sideEffects': 'None',
        'rules': [{'apiGroups': ['*'], 'apiVersions': ['*'], 'operations': ['*'], 'resources': ['*/*']}],
        **options,
    }


def configuration(name: str, *hooks: Object) -> Object:
    return {'metadata': {'name': name}, 'webhooks': list(hooks)}


class Plane:
    """A dispatcher with webhooks in this process, and the namespaces that there are."""

    def __init__(self, handlers: Mapping[str, calling.Handler] | None = None) -> None:
        self.namespaces: dict[str, dict[str, str]] = {'n': {'team': 'a'}}
        registry = {('system', 'hooks', path): handler for path, handler in (handlers or {}).items()}
        self.dispatcher = dispatch.Dispatcher(calling.Caller(registry), self._look_up)

    def _look_up(self, key: str, namespace: str, name: str) -> Object | None:
        assert (key, namespace) == ('namespaces', '')
        labels = self.namespaces.get(name)
        return None if labels is None else {'metadata': {'name': name, 'labels': labels}}


class Recording:
    """Handlers that note who was asked, and let pass or change what they are told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.seen: list[Object | None] = []

    def handler(self, name: str, **answer: Any) -> calling.Handler:
        async def handle(one: review.Review, _: str) -> review.Answer:
            self.calls.append(name)
            self.seen.append(one.object)
            return review.Answer(**{'allowed': True, **answer})

        return handle


def label(key: str, value: str) -> list[Object]:
    """A patch that adds a label to an object that has some."""
    return [{'op': 'add', 'path': f'/metadata/labels/{key}', 'value': value}]
