"""Endpoint slices."""

from collections.abc import Sequence
from typing import Any, Final

from jobset.local import resources, schemas
from jobset.local.kinds import cells, checks, containers, faults, podspec, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

_TYPES: Final = ('FQDN', 'IPv4', 'IPv6')
_ENDPOINTS_MOST: Final = 1000
_ADDRESSES_MOST: Final = 100
_PORTS_MOST: Final = 20000
_SHOWN: Final = 3


class Rules(typed.Rules):
    """Of endpoint slices."""

    shape = 'discovery.EndpointSlice'
    has_status = False

    def complete(self, obj: Object) -> None:
        """Ports have a name, if an empty one, and a protocol; no endpoints are null."""
        obj['endpoints'] = obj.get('endpoints') or None
        for port in obj.get('ports') or ():
            port.setdefault('name', '')
            port.setdefault('protocol', 'TCP')

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a slice."""
        ports, endpoints = obj.get('ports') or (), obj.get('endpoints') or ()
        type_ = obj.get('addressType', '')
        # What the server checks by declarations comes last there.
        return _ports(ports) + _addresses(endpoints, type_) + _declared(endpoints, type_)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """The type of the addresses stays."""
        return self.validate(obj) + faults.unchanged('addressType', obj.get('addressType'), old.get('addressType'))


def _declared(endpoints: Sequence[Any], type_: str) -> list[Cause]:
    causes: list[Cause] = []
    if not type_:
        causes.append(faults.required('addressType'))
    elif type_ not in _TYPES:
        causes.append(faults.unsupported('addressType', type_, _TYPES))
    if len(endpoints) > _ENDPOINTS_MOST:
        return causes
    for i, endpoint in enumerate(endpoints):
        count = len(endpoint.get('addresses') or ())
        if not count:
            causes.append(faults.required(f'endpoints[{i}].addresses'))
        elif count > _ADDRESSES_MOST:
            causes.append(faults.too_many(f'endpoints[{i}].addresses', count, _ADDRESSES_MOST))
    return causes


def _ports(ports: Sequence[Any]) -> list[Cause]:
    if len(ports) > _PORTS_MOST:
        return [faults.too_many('ports', len(ports), _PORTS_MOST)]
    causes: list[Cause] = []
    seen: set[str] = set()
    for i, port in enumerate(ports):
        name = port['name']
        if name:
            causes += faults.each_invalid(f'ports[{i}].name', name, checks.dns_label(name))
        if name in seen:
            causes.append(faults.duplicate(f'ports[{i}].name', name))
        seen.add(name)
        if (protocol := port['protocol']) not in containers.PROTOCOLS:
            causes.append(faults.unsupported(f'ports[{i}].protocol', protocol, containers.PROTOCOLS))
        if (protocol := port.get('appProtocol')) is not None:
            causes += faults.each_invalid(f'ports[{i}].appProtocol', protocol, checks.qualified_name(protocol))
    return causes


def _addresses(endpoints: Sequence[Any], type_: str) -> list[Cause]:
    if len(endpoints) > _ENDPOINTS_MOST:
        return [faults.too_many('endpoints', len(endpoints), _ENDPOINTS_MOST)]
    causes: list[Cause] = []
    for i, endpoint in enumerate(endpoints):
        if type_ in ('IPv4', 'IPv6'):
            for j, address in enumerate(endpoint.get('addresses') or ()):
                found = podspec.address(f'endpoints[{i}].addresses[{j}]', address)
                if not found and (':' in address) != (type_ == 'IPv6'):
                    text = f'must be an {type_} address'
                    found = [faults.invalid(f'endpoints[{i}].addresses', address, text)]
                causes += found
        if (node := endpoint.get('nodeName')) is not None:
            causes += faults.each_invalid(f'endpoints[{i}].nodeName', node, checks.dns_subdomain(node))
        if (name := endpoint.get('hostname')) is not None:
            causes += faults.each_invalid(f'endpoints[{i}].hostname', name, checks.dns_label(name))
    return causes


def _port_cell(obj: Object) -> str:
    ports = obj.get('ports') or ()
    if not ports:
        return cells.UNSET
    texts = [_port_text(port) for port in ports]
    return _shortened(texts)


def _port_text(port: Object) -> str:
    number = port.get('port')
    return '*' if number is None and port.get('name') else str(number if number is not None else '*')


def _endpoint_cell(obj: Object) -> str:
    endpoints = obj.get('endpoints') or ()
    if not endpoints:
        return cells.UNSET
    return _shortened([address for endpoint in endpoints for address in endpoint.get('addresses') or ()])


def _shortened(texts: Sequence[str]) -> str:
    more = len(texts) - _SHOWN
    return cells.listed(texts[:_SHOWN]) + (f' + {more} more...' if more > 0 else '')


def kind() -> resources.Kind:
    """Endpoint slices as the server knows them."""
    return resources.Kind(
        group='discovery.k8s.io',
        version='v1',
        plural='endpointslices',
        singular='endpointslice',
        kind='EndpointSlice',
        subresources=frozenset(),
        rules=Rules(),
        columns=(
            cells.NAME,
            Column('AddressType', lambda obj, _: obj.get('addressType', '')),
            Column('Ports', lambda obj, _: _port_cell(obj)),
            Column('Endpoints', lambda obj, _: _endpoint_cell(obj)),
            cells.AGE,
        ),
        schema=schemas.builtin('discovery.k8s.io', 'v1', 'EndpointSlice'),
    )
