"""The variables of a container, in the order in which they may refer to each other.

Source: Kubernetes, "Define environment variables" and "Downward API"; texts of problems as the kubelet words them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobset.local.node import expansion, fields
from jobset.local.node.model import Pod, Spec


class Problem(Exception):  # noqa: N818
    """A container cannot be made; the text says why. It may be possible later."""


class Source(NamedTuple):
    """A ConfigMap or a Secret of the pod's namespace."""

    kind: str
    name: str


Sources = Mapping[Source, Mapping[str, bytes] | None]
"""The entries of each; None where there is no such object."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What variables are made from, beside the pod."""

    ip: str
    host_ip: str
    sources: Sources
    base: Mapping[str, str] = field(default_factory=dict)
    """Variables that the container has before its own ones."""

    services: Mapping[str, str] = field(default_factory=dict)
    """Variables about Services."""

    allocatable: Mapping[str, str] = field(default_factory=dict)


def needed(container: Spec) -> Iterator[Source]:
    """The objects that the variables of a container are read from."""
    for group in container.get('envFrom') or ():
        yield from _references(group, 'configMapRef', 'secretRef')
    for variable in container.get('env') or ():
        yield from _references(variable.get('valueFrom') or {}, 'configMapKeyRef', 'secretKeyRef')


def build(container: Spec, pod: Pod, around: Surroundings) -> dict[str, str]:
    """All variables. Raises :class:`Problem`."""
    made = {**around.base, **around.services}
    for group in container.get('envFrom') or ():
        made.update(_group(group, around.sources))
    for variable in container.get('env') or ():
        name = variable['name']
        if variable.get('valueFrom'):
            found = _value_from(variable['valueFrom'], container, pod, around)
            if found is not None:
                made[name] = found
        else:
            made[name] = expansion.expand(variable.get('value') or '', made)
    return made


def of_services(services: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Variables about the Services of a namespace that have an address of their own.

    The host is a name: there is no proxy here behind which an address could stand.
    """
    made: dict[str, str] = {}
    for service in services:
        spec, meta = service.get('spec') or {}, service['metadata']
        ports = spec.get('ports') or ()
        if spec.get('clusterIP') in (None, '', 'None') or not ports:
            continue
        prefix = str(meta['name']).upper().replace('-', '_')
        made[f'{prefix}_SERVICE_HOST'] = f'{meta["name"]}.{meta["namespace"]}.svc'
        made[f'{prefix}_SERVICE_PORT'] = str(ports[0]['port'])
        for port in ports:
            if port.get('name'):
                made[f'{prefix}_SERVICE_PORT_{port["name"].upper().replace("-", "_")}'] = str(port['port'])
    return made


def _references(holder: Spec, config_map: str, secret: str) -> Iterator[Source]:
    for kind, key in (('ConfigMap', config_map), ('Secret', secret)):
        if holder.get(key):
            yield Source(kind, str(holder[key].get('name') or ''))


def _group(group: Spec, sources: Sources) -> dict[str, str]:
    made: dict[str, str] = {}
    prefix = group.get('prefix') or ''
    for kind, key in (('ConfigMap', 'configMapRef'), ('Secret', 'secretRef')):
        reference = group.get(key)
        if not reference:
            continue
        entries = sources.get(Source(kind, str(reference.get('name') or '')))
        if entries is None and not reference.get('optional'):
            raise Problem(f'{kind.lower()} "{reference.get("name")}" not found')
        for name in sorted(entries or {}):
            if '=' not in name:
                made[f'{prefix}{name}'] = _text((entries or {})[name])
    return made


def _value_from(origin: Spec, container: Spec, pod: Pod, around: Surroundings) -> str | None:
    try:
        if origin.get('fieldRef'):
            path = str(origin['fieldRef'].get('fieldPath') or '')
            return fields.value(path, pod, ip=around.ip, host_ip=around.host_ip)
        if origin.get('resourceFieldRef'):
            return fields.resource(origin['resourceFieldRef'], container, pod, around.allocatable)
    except fields.Unknown as error:
        raise Problem(str(error)) from None
    for kind, key in (('ConfigMap', 'configMapKeyRef'), ('Secret', 'secretKeyRef')):
        if origin.get(key):
            return _entry(kind, origin[key], pod.metadata.namespace, around.sources)
    raise Problem(f'valueFrom with none of the known sources: {", ".join(sorted(origin)) or "empty"}')


def _entry(kind: str, reference: Spec, namespace: str, sources: Sources) -> str | None:
    name, key = str(reference.get('name') or ''), str(reference.get('key') or '')
    entries = sources.get(Source(kind, name))
    if entries is not None and key in entries:
        return _text(entries[key])
    if reference.get('optional'):
        return None
    if entries is None:
        raise Problem(f'{kind.lower()} "{name}" not found')
    raise Problem(f"couldn't find key {key} in {kind} {namespace}/{name}")


def _text(value: bytes) -> str:
    # A variable ends at a zero byte, whatever the system makes of it.
    return value.split(b'\0')[0].decode(errors='surrogateescape')
