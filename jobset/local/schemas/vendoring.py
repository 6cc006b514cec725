"""Makes the vendored OpenAPI data: ``python -m jobset.local.schemas.vendoring FOLDER``.

The folder holds what ``kubectl get --raw /openapi/v3/PATH`` gave, one file a group and version, slashes of the path as
underscores: ``api_v1.json``, ``apis_batch_v1.json``. Kept are the kinds that the plane serves and what they refer to,
with their descriptions, which ``kubectl explain`` shows.
"""

import argparse
import gzip
import pathlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from jobset.local.schemas.components import COMPONENTS, FOLDER, GVK, PATHS, PER_DOCUMENT, Json, closure, references

_SERVED: Final = {
    'api/v1': (
        'Binding ConfigMap Endpoints Event Namespace Node PersistentVolume PersistentVolumeClaim Pod Secret Service '
        'ServiceAccount'
    ),
    'apis/admissionregistration.k8s.io/v1': 'MutatingWebhookConfiguration ValidatingWebhookConfiguration',
    'apis/apiextensions.k8s.io/v1': 'CustomResourceDefinition',
    'apis/batch/v1': 'Job',
    'apis/coordination.k8s.io/v1': 'Lease',
    'apis/discovery.k8s.io/v1': 'EndpointSlice',
    'apis/events.k8s.io/v1': 'Event',
    'apis/policy/v1': 'Eviction PodDisruptionBudget',
    'apis/rbac.authorization.k8s.io/v1': 'ClusterRole ClusterRoleBinding Role RoleBinding',
    'apis/scheduling.k8s.io/v1': 'PriorityClass',
    'apis/scheduling.k8s.io/v1beta1': 'PodGroup Workload',
    'apis/storage.k8s.io/v1': 'StorageClass',
}
_SPARE: Final = frozenset({'application/vnd.kubernetes.protobuf', 'application/cbor', 'application/cbor-seq'})
"""Content types that the plane does not speak."""


def collect(folder: pathlib.Path) -> tuple[Json, Json]:
    """The components and the paths to keep."""
    components: Json = {}
    paths: Json = {}
    for path, served in _SERVED.items():
        document = msgspec.json.decode((folder / f'{path.replace("/", "_")}.json').read_bytes())
        kept = _paths(document['paths'], frozenset(served.split()))
        kinds = _kinds(document['components']['schemas'], path, served.split())
        paths[path] = {'paths': kept, 'kinds': kinds}
        names = closure([*kinds.values(), *references(kept)], document['components']['schemas'])
        components |= {name: document['components']['schemas'][name] for name in sorted(names)}
    for name in PER_DOCUMENT:
        del components[name][GVK]
    return components, paths


def _paths(paths: Json, served: frozenset[str]) -> Json:
    kept: Json = {}
    for path, item in paths.items():
        operations = [value for key, value in item.items() if key != 'parameters']
        kinds = {operation.get(GVK, {}).get('kind') for operation in operations}
        # The old watch paths are left out: clients watch by a parameter, and the plane serves only that.
        if '/watch/' not in path and kinds & served and kinds <= served:
            kept[path] = _without_spare(item)
    return kept


def _without_spare(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_spare(part)
            for key, part in value.items()
            if key not in _SPARE and not key.startswith('application/vnd.kubernetes.protobuf')
        }
    if isinstance(value, list):
        return [_without_spare(part) for part in value]
    return value


def _kinds(components: Json, path: str, served: Iterable[str]) -> Json:
    """Kind to name of its schema; lists of the kind too."""
    *_, group, version = ('/' + path.removeprefix('apis/').removeprefix('api/')).split('/')
    wanted = {kind for name in served for kind in (name, f'{name}List')}
    return {
        gvk['kind']: name
        for name, schema in components.items()
        for gvk in schema.get(GVK, ())
        if (gvk['group'], gvk['version']) == (group, version) and gvk['kind'] in wanted and name not in PER_DOCUMENT
    }


def _write(target: pathlib.Path, value: Json) -> None:
    # No time in the header: the same input makes the same file.
    target.write_bytes(gzip.compress(msgspec.json.encode(value, order='sorted'), 9, mtime=0))


def main() -> None:
    """Make the vendored OpenAPI data from the documents of a server."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('folder', type=pathlib.Path)
    components, paths = collect(parser.parse_args().folder)
    FOLDER.mkdir(exist_ok=True)
    _write(FOLDER / COMPONENTS, components)
    _write(FOLDER / PATHS, paths)


if __name__ == '__main__':
    main()
