"""ConfigMaps, Secrets and claims that pods refer to, read when they are needed."""

import base64
import binascii
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from jobset.kube import client, errors, requests
from jobset.local.node import environment
from jobset.local.node.environment import Source

CONFIG_MAPS: Final = requests.Resource('', 'v1', 'configmaps', 'ConfigMap')
SECRETS: Final = requests.Resource('', 'v1', 'secrets', 'Secret')
VOLUMES: Final = requests.Resource('', 'v1', 'persistentvolumes', 'PersistentVolume', namespaced=False)


class _Entries(msgspec.Struct, frozen=True, rename='camel'):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


async def read(api: client.Client, namespace: str, wanted: Iterable[Source]) -> environment.Sources:
    """The entries of all those objects. Raises the errors of :mod:`jobset.kube.errors`."""
    return {source: await _read(api, namespace, source) for source in set(wanted)}


async def claimed_folder(api: client.Client, namespace: str, claim: str) -> str:
    """The folder of this machine behind a claim. Raises :class:`environment.Problem` when there is none (yet)."""
    try:
        found = await api.request(requests.read(requests.CLAIMS, namespace, claim), dict[str, Any])
    except errors.NotFound:
        raise environment.Problem(f'persistentvolumeclaim "{claim}" not found') from None
    name = (found.get('spec') or {}).get('volumeName')
    if not name or (found.get('status') or {}).get('phase') not in (None, 'Bound'):
        raise environment.Problem(f'persistentvolumeclaim "{claim}" is not bound to a volume yet')
    try:
        volume = await api.request(requests.read(VOLUMES, None, name), dict[str, Any])
    except errors.NotFound:
        raise environment.Problem(f'persistentvolume "{name}" of persistentvolumeclaim "{claim}" not found') from None
    spec = volume.get('spec') or {}
    path = (spec.get('hostPath') or spec.get('local') or {}).get('path')
    if not path:
        raise environment.Problem(f'persistentvolume "{name}" is no folder of this machine: it needs hostPath or local')
    return str(path)


async def _read(api: client.Client, namespace: str, source: Source) -> dict[str, bytes] | None:
    resource = CONFIG_MAPS if source.kind == 'ConfigMap' else SECRETS
    if not source.name:
        return None
    try:
        found = await api.request(requests.read(resource, namespace, source.name), _Entries)
    except errors.NotFound:
        return None
    encoded = found.binary_data or {}
    plain: dict[str, bytes] = {}
    if source.kind == 'Secret':
        encoded = found.data or {}
    else:
        plain = {key: value.encode() for key, value in (found.data or {}).items()}
    try:
        return plain | {key: base64.b64decode(value) for key, value in encoded.items()}
    except binascii.Error as error:
        raise environment.Problem(f'{source.kind.lower()} "{source.name}" cannot be read: {error}') from None
