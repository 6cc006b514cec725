"""What files a volume holds that is made from objects: ConfigMaps, Secrets, the downward API, several together.

Source: Kubernetes, "Volumes" and "Projected Volumes"; texts of problems as the kubelet words them.
"""

import os.path
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from jobset.local.node import fields
from jobset.local.node.environment import Problem, Source, Sources, Surroundings
from jobset.local.node.model import Pod, Spec

MADE: Final = ('configMap', 'secret', 'downwardAPI', 'projected')
"""Kinds of volumes that are files made from objects."""

_MODE: Final = 0o644


class File(NamedTuple):
    """A file with its mode."""

    data: bytes
    mode: int


Files = dict[str, File]
"""By path below the volume."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a pod finds out about the API server."""

    token: str = ''
    certificate: str = ''


def needed(volume: Spec) -> Iterator[Source]:
    """The objects that a volume is made from."""
    for kind, part in _parts(volume):
        if kind == 'configMap':
            yield Source('ConfigMap', str(part.get('name') or ''))
        elif kind == 'secret':
            yield Source('Secret', _secret(part))


def files(volume: Spec, pod: Pod, around: Surroundings, account: Account) -> Files:
    """The files of a volume. Raises :class:`Problem`."""
    made: Files = {}
    default = (volume.get('projected') or {}).get('defaultMode', _MODE)
    for kind, part in _parts(volume):
        mode = part.get('defaultMode', default) if kind in volume else default
        match kind:
            case 'configMap':
                made |= _entries(part, Source('ConfigMap', str(part.get('name') or '')), around.sources, mode, account)
            case 'secret':
                made |= _entries(part, Source('Secret', _secret(part)), around.sources, mode, account)
            case 'downwardAPI':
                made |= _downward(part, pod, around, mode)
            case 'serviceAccountToken':
                made[_checked(part.get('path') or 'token')] = File(account.token.encode(), mode)
            case other:
                raise Problem(f'volume "{volume["name"]}": a projection of {other} is not supported here')
    return made


def _parts(volume: Spec) -> Iterator[tuple[str, Spec]]:
    for kind in ('configMap', 'secret', 'downwardAPI'):
        if volume.get(kind) is not None:
            yield kind, volume[kind]
    for source in (volume.get('projected') or {}).get('sources') or ():
        for kind, part in source.items():
            yield kind, part or {}


def _secret(part: Spec) -> str:
    # A volume calls it secretName, a projection name.
    return str(part.get('secretName') or part.get('name') or '')


def _entries(part: Spec, source: Source, sources: Sources, mode: int, account: Account) -> Files:
    entries: Mapping[str, bytes] | None = sources.get(source)
    if entries is None and source.name == 'kube-root-ca.crt' and account.certificate:
        entries = {'ca.crt': account.certificate.encode()}
    if entries is None:
        if part.get('optional'):
            return {}
        raise Problem(f'{source.kind.lower()} "{source.name}" not found')
    if not part.get('items'):
        return {key: File(value, mode) for key, value in entries.items()}
    made: Files = {}
    for item in part['items']:
        key = item['key']
        if key in entries:
            made[_checked(item['path'])] = File(entries[key], _mode(item, mode))
        elif not part.get('optional'):
            what = 'config key' if source.kind == 'ConfigMap' else 'secret key'
            prefix = 'configmap references' if source.kind == 'ConfigMap' else 'references'
            raise Problem(f'{prefix} non-existent {what}: {key}')
    return made


def _downward(part: Spec, pod: Pod, around: Surroundings, mode: int) -> Files:
    made: Files = {}
    for item in part.get('items') or ():
        try:
            if item.get('fieldRef'):
                path = str(item['fieldRef'].get('fieldPath') or '')
                text = fields.value(path, pod, ip=around.ip, host_ip=around.host_ip)
            else:
                text = fields.resource(item.get('resourceFieldRef') or {}, {}, pod, around.allocatable)
        except fields.Unknown as error:
            raise Problem(str(error)) from None
        made[_checked(item['path'])] = File(text.encode(), _mode(item, mode))
    return made


def _mode(item: Spec, default: int) -> int:
    mode = item.get('mode')
    return default if mode is None else int(mode)


def _checked(path: str) -> str:
    """A path that stays below the volume, whatever a client without validation has sent."""
    normal = os.path.normpath(path)
    if normal.startswith(('/', '..')):
        raise Problem(f'{path!r} leads out of the volume')
    return normal
