"""Services. Addresses come from :data:`NETWORK`; nothing listens on them, names are what the plane resolves."""

import hashlib
import ipaddress
from collections.abc import Collection, Sequence
from typing import Any, Final

from jobset.local import objects, resources, schemas
from jobset.local.kinds import cells, checks, containers, faults, podspec, shown, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Column

NETWORK: Final = ipaddress.IPv4Network('10.96.0.0/16')
HEADLESS: Final = 'None'
NODE_PORTS: Final = range(30000, 32768)
_TYPES: Final = ('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort')
_FAMILIES: Final = ('IPv4', 'IPv6')
_POLICIES: Final = ('PreferDualStack', 'RequireDualStack', 'SingleStack')
_AFFINITY_SECONDS: Final = 10800
_AFFINITY_SECONDS_MOST: Final = 86400
_FIXED: Final = 'may not change once set'
_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"


class Rules(typed.Rules):
    """Of Services."""

    shape = 'core.Service'
    has_generation = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """The status is for a load balancer to write, and of the two fields for the address both are filled."""
        obj['status'] = {'loadBalancer': {}}
        spec = obj.get('spec')
        if spec and spec.get('clusterIP') and not spec.get('clusterIPs'):
            spec['clusterIPs'] = [spec['clusterIP']]

    def complete(self, obj: Object) -> None:
        """What is not said: a Service within the cluster."""
        spec = obj['spec']
        affinity = spec.setdefault('sessionAffinity', 'None')
        if affinity == 'None':
            spec.pop('sessionAffinityConfig', None)
        elif affinity == 'ClientIP':
            config = (spec.get('sessionAffinityConfig') or {}).get('clientIP') or {}
            if config.get('timeoutSeconds') is None:
                spec['sessionAffinityConfig'] = {'clientIP': {'timeoutSeconds': _AFFINITY_SECONDS}}
        type_ = spec.setdefault('type', 'ClusterIP')
        for port in spec.get('ports') or ():
            port.setdefault('protocol', 'TCP')
            if port.get('targetPort') in (None, 0, ''):
                port['targetPort'] = port.get('port', 0)
        if type_ in ('NodePort', 'LoadBalancer') or (type_ == 'ClusterIP' and spec.get('externalIPs')):
            spec.setdefault('externalTrafficPolicy', 'Cluster')
        if type_ in ('NodePort', 'LoadBalancer', 'ClusterIP'):
            spec.setdefault('internalTrafficPolicy', 'Cluster')
        if type_ == 'LoadBalancer':
            spec.setdefault('allocateLoadBalancerNodePorts', True)

    def admit(self, obj: Object, context: resources.Context) -> None:
        """Give it what it needs of addresses and ports."""
        self._allocate(obj, context)

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new Service."""
        return _check(obj)

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """What was allocated stays when it is not sent."""
        super().prepare_update(obj, old, context)
        spec, before = obj.get('spec') or {}, old['spec']
        _keep_address(spec, before)
        if not spec.get('ipFamilies') and spec.get('type') != 'ExternalName':
            for key in ('ipFamilies', 'ipFamilyPolicy'):
                if key in before:
                    spec[key] = before[key]
        allocated = {
            (port.get('name', ''), port.get('protocol'), port.get('port')): port['nodePort']
            for port in before.get('ports') or ()
            if port.get('nodePort')
        }
        if spec.get('type') in ('NodePort', 'LoadBalancer'):
            for port in spec.get('ports') or ():
                found = allocated.get((port.get('name') or '', port.get('protocol') or 'TCP', port.get('port')))
                if not port.get('nodePort') and found:
                    port['nodePort'] = found
        if spec.get('type') not in (None, 'ExternalName') and not _invalid_update(spec, before):
            self._allocate(obj, context)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the change, then those of the new state."""
        return _change(obj['spec'], old['spec']) + _check(obj)

    @staticmethod
    def _allocate(obj: Object, context: resources.Context) -> None:
        spec = obj.get('spec') or {}
        if spec.get('type') == 'ExternalName':
            return
        _families(obj, spec)
        if spec.get('clusterIP') != HEADLESS and _plausible(spec):
            _address(obj, spec, context)
        if spec.get('type') == 'NodePort' or spec.get('allocateLoadBalancerNodePorts'):
            _node_ports(obj, spec, context)


def _keep_address(spec: Object, before: Object) -> None:
    if 'ExternalName' in (spec.get('type'), before.get('type')) or not before.get('clusterIP'):
        return
    if not spec.get('clusterIP'):
        spec['clusterIP'] = before['clusterIP']
    if not spec.get('clusterIPs') and spec['clusterIP'] == before['clusterIP']:
        spec['clusterIPs'] = list(before.get('clusterIPs') or ())
    elif spec['clusterIP'] != before['clusterIP'] and spec.get('clusterIPs') == before.get('clusterIPs'):
        spec['clusterIPs'] = [spec['clusterIP']]


def _invalid_update(spec: Object, before: Object) -> bool:
    return bool(before.get('clusterIP')) and spec.get('clusterIP') != before.get('clusterIP')


def _plausible(spec: Object) -> bool:
    """Whether it can be refused for what it says before anything is allocated."""
    return spec.get('type') in _TYPES and bool(spec.get('ports'))


def _refuse(obj: Object, cause: Cause) -> Problem:
    return Problem.invalid('Service', '', objects.name(obj), [cause])


def _families(obj: Object, spec: Object) -> None:
    """One family of addresses is all there is, except that headless Services without selector may claim both."""
    headless, families, policy = spec.get('clusterIP') == HEADLESS, spec.get('ipFamilies'), spec.get('ipFamilyPolicy')
    if headless and not spec.get('selector'):
        policy = policy or 'RequireDualStack'
        families = list(families or ['IPv4'])
        if policy != 'SingleStack' and len(families) == 1:
            families.append('IPv6' if families == ['IPv4'] else 'IPv4')
    else:
        if policy == 'RequireDualStack':
            text = 'this cluster is not configured for dual-stack services'
            raise _refuse(obj, faults.invalid('spec.ipFamilyPolicy', policy, text))
        for i, family in enumerate(families or ()):
            if family == 'IPv6':
                text = 'not configured on this cluster'
                raise _refuse(obj, faults.invalid(f'spec.ipFamilies[{i}]', family, text))
        families, policy = families or ['IPv4'], policy or 'SingleStack'
    spec['ipFamilies'], spec['ipFamilyPolicy'] = families, policy


def _address(obj: Object, spec: Object, context: resources.Context) -> None:
    given = spec.get('clusterIP')
    mine = (objects.namespace(obj), objects.name(obj))
    taken = {
        address
        for other in context.listed('services', '')
        if (objects.namespace(other), objects.name(other)) != mine
        for address in (other.get('spec') or {}).get('clusterIPs') or ()
    }
    if not given:
        given = spec['clusterIP'] = _free(obj, taken)
        spec['clusterIPs'] = [given]
        return
    try:
        address = ipaddress.ip_address(given)
    except ValueError:
        return
    text = ''
    if address not in NETWORK:
        text = f'the provided IP ({given}) is not in the valid range. The range of valid IPs is {NETWORK}'
    elif given in taken:
        text = 'provided IP is already allocated'
    if text:
        ips = spec.get('clusterIPs')
        raise _refuse(obj, faults.invalid('spec.clusterIPs', ips, f'failed to allocate IP {given}: {text}'))


def _seed(obj: Object) -> int:
    """The same Service gets the same address in each run, if it is free."""
    text = f'{objects.namespace(obj)}/{objects.name(obj)}'
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def _free(obj: Object, taken: Collection[str]) -> str:
    count = NETWORK.num_addresses - 2
    start = _seed(obj) % count
    for step in range(count):
        address = str(NETWORK[1 + (start + step) % count])
        if address not in taken:
            return address
    text = 'failed to allocate a serviceIP: range is full'
    raise Problem(500, 'InternalError', text)


def _node_ports(obj: Object, spec: Object, context: resources.Context) -> None:
    mine = (objects.namespace(obj), objects.name(obj))
    taken = {
        port['nodePort']
        for other in context.listed('services', '')
        if (objects.namespace(other), objects.name(other)) != mine
        for port in (other.get('spec') or {}).get('ports') or ()
        if port.get('nodePort')
    }
    start = _seed(obj) % len(NODE_PORTS)
    for port in spec.get('ports') or ():
        if not port.get('nodePort'):
            port['nodePort'] = next(
                number
                for step in range(len(NODE_PORTS))
                if (number := NODE_PORTS[(start + step) % len(NODE_PORTS)]) not in taken
            )
        taken.add(port['nodePort'])


def _check(obj: Object) -> list[Cause]:
    spec = obj['spec']
    type_, ports = spec.get('type'), spec.get('ports') or ()
    headless = spec.get('clusterIPs') == [HEADLESS]
    causes: list[Cause] = []
    if not ports and not headless and type_ != 'ExternalName':
        causes.append(faults.required('spec.ports'))
    if type_ in ('LoadBalancer', 'NodePort') and headless:
        text = f"may not be set to 'None' for {type_} services"
        causes.append(faults.invalid('spec.clusterIPs[0]', HEADLESS, text))
    if type_ == 'ExternalName':
        causes += _external(spec)
    causes += _ports(ports)
    causes += checks.labels('spec.selector', spec.get('selector'))
    causes += _affinity(spec)
    if type_ != 'ExternalName':
        causes += _addresses(spec)
    for i, address in enumerate(spec.get('externalIPs') or ()):
        causes += podspec.address(f'spec.externalIPs[{i}]', address)
    if type_ not in _TYPES:
        causes.append(faults.unsupported('spec.type', type_, _TYPES))
    causes += _port_numbers(type_, ports)
    if spec.get('loadBalancerSourceRanges') and type_ != 'LoadBalancer':
        causes.append(faults.forbidden('spec.LoadBalancerSourceRanges', _ONLY_BALANCED))
    if spec.get('allocateLoadBalancerNodePorts') is not None and type_ != 'LoadBalancer':
        causes.append(faults.forbidden('spec.allocateLoadBalancerNodePorts', _ONLY_BALANCED))
    if (name := spec.get('loadBalancerClass')) is not None:
        if type_ == 'LoadBalancer':
            causes += faults.each_invalid('spec.loadBalancerClass', name, checks.qualified_name(name))
        else:
            causes.append(faults.forbidden('spec.loadBalancerClass', _ONLY_BALANCED))
    return causes + _traffic(spec)


def _external(spec: Object) -> list[Cause]:
    causes = [
        faults.forbidden(f'spec.{key}', 'may not be set for ExternalName services')
        for key in ('clusterIPs', 'ipFamilies', 'ipFamilyPolicy')
        if spec.get(key)
    ]
    name = spec.get('externalName', '').removesuffix('.')
    if not name:
        return [*causes, faults.required('spec.externalName')]
    return causes + faults.each_invalid('spec.externalName', name, checks.dns_subdomain(name))


def _ports(ports: Sequence[Any]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for i, port in enumerate(ports):
        at, name, number = f'spec.ports[{i}]', port.get('name'), port.get('port', 0)
        if name:
            causes += faults.each_invalid(f'{at}.name', name, checks.dns_label(name))
            if name in seen:
                causes.append(faults.duplicate(f'{at}.name', name))
            seen.add(name)
        elif len(ports) > 1:
            causes.append(faults.required(f'{at}.name'))
        causes += faults.each_invalid(f'{at}.port', number, checks.port(number))
        if (protocol := port.get('protocol')) not in containers.PROTOCOLS:
            causes.append(faults.unsupported(f'{at}.protocol', protocol, containers.PROTOCOLS))
        causes += checks.port_or_name(f'{at}.targetPort', port.get('targetPort', 0))
        if (protocol := port.get('appProtocol')) is not None:
            causes += faults.each_invalid(f'{at}.appProtocol', protocol, checks.qualified_name(protocol))
    return causes


def _port_numbers(type_: Any, ports: Sequence[Any]) -> list[Cause]:
    causes: list[Cause] = []
    if type_ == 'ClusterIP':
        text = "may not be used when `type` is 'ClusterIP'"
        causes += [
            faults.forbidden(f'spec.ports[{i}].nodePort', text) for i, port in enumerate(ports) if port.get('nodePort')
        ]
    seen: set[tuple[object, object]] = set()
    for key in ('nodePort', 'port'):
        seen.clear()
        for i, port in enumerate(ports):
            number, protocol = port.get(key, 0), port.get('protocol', '')
            if key == 'nodePort' and not number:
                continue
            if (protocol, number) in seen:
                value: object = number
                if key == 'port':
                    value = shown.Raw(
                        f'{{"Name":"","Protocol":"{protocol}","AppProtocol":null,"Port":{number},"TargetPort":0,"NodePort":0}}'
                    )
                causes.append(faults.duplicate(f'spec.ports[{i}]' + '.nodePort' * (key == 'nodePort'), value))
            seen.add((protocol, number))
    return causes


def _affinity(spec: Object) -> list[Cause]:
    affinity = spec.get('sessionAffinity')
    if affinity not in ('ClientIP', 'None'):
        return [faults.unsupported('spec.sessionAffinity', affinity, ('ClientIP', 'None'))]
    if affinity == 'None':
        return []
    seconds = spec['sessionAffinityConfig']['clientIP']['timeoutSeconds']
    if 0 < seconds <= _AFFINITY_SECONDS_MOST:
        return []
    text = f'must be greater than 0 and less than {_AFFINITY_SECONDS_MOST}'
    return [faults.invalid('spec.sessionAffinityConfig.clientIP.timeoutSeconds', seconds, text)]


def _addresses(spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    address, addresses = spec.get('clusterIP', ''), spec.get('clusterIPs') or []
    if address and not addresses:
        causes.append(faults.required('spec.clusterIPs'))
    elif address and addresses[0] != address:
        causes.append(faults.invalid('spec.clusterIPs', addresses, 'first value must match `clusterIP`'))
    elif addresses and not address:
        text = 'must be empty when `clusterIP` is not specified'
        causes.append(faults.invalid('spec.clusterIPs', addresses, text))
    families = spec.get('ipFamilies') or ()
    for i, family in enumerate(families):
        if family not in _FAMILIES:
            causes.append(faults.unsupported(f'spec.ipFamilies[{i}]', family, _FAMILIES))
        if family in families[:i]:
            causes.append(faults.duplicate(f'spec.ipFamilies[{i}]', family))
    if (policy := spec.get('ipFamilyPolicy')) not in (None, *_POLICIES):
        causes.append(faults.unsupported('spec.ipFamilyPolicy', policy, _POLICIES))
    for i, each in enumerate(addresses):
        if each == HEADLESS and i == 0:
            if len(addresses) > 1:
                text = "'None' must be the first and only value"
                causes.append(faults.invalid('spec.clusterIPs', addresses, text))
            continue
        causes += podspec.address(f'spec.clusterIPs[{i}]', each)
    if len(addresses) > 2:
        causes.append(faults.invalid('spec.clusterIPs', addresses, 'may only hold up to 2 values'))
    return causes


def _traffic(spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    external, type_ = spec.get('externalTrafficPolicy'), spec.get('type')
    outside = type_ in ('NodePort', 'LoadBalancer') or (type_ == 'ClusterIP' and bool(spec.get('externalIPs')))
    if external is not None and not outside:
        text = 'may only be set for externally-accessible services'
        causes.append(faults.invalid('spec.externalTrafficPolicy', external, text))
    elif external not in (None, 'Cluster', 'Local'):
        causes.append(faults.unsupported('spec.externalTrafficPolicy', external, ('Cluster', 'Local')))
    internal = spec.get('internalTrafficPolicy')
    if internal not in (None, 'Cluster', 'Local'):
        causes.append(faults.unsupported('spec.internalTrafficPolicy', internal, ('Cluster', 'Local')))
    known = ('PreferClose', 'PreferSameZone', 'PreferSameNode')
    if (distribution := spec.get('trafficDistribution')) not in (None, *known):
        causes.append(faults.unsupported('spec.trafficDistribution', distribution, known))
    return causes


def _change(spec: Object, old: Object) -> list[Cause]:
    if 'ExternalName' in (spec.get('type'), old.get('type')):
        return []
    causes: list[Cause] = []
    new, before = spec.get('clusterIPs') or [], old.get('clusterIPs') or []
    headless, was = new == [HEADLESS], before == [HEADLESS]
    if not (headless and was) and before and new[:1] != before[:1]:
        if new:
            causes.append(faults.invalid('spec.clusterIPs[0]', new, _FIXED))
        else:
            causes.append(faults.invalid('spec.clusterIPs[0]', None, 'primary clusterIP can not be unset'))
    if headless == was and not headless:
        families, earlier = spec.get('ipFamilies') or [], old.get('ipFamilies') or []
        if earlier and families[:1] != earlier[:1]:
            causes.append(faults.invalid('spec.ipFamilies[0]', families, _FIXED))
    return causes


def _external_address(spec: Object, status: Object) -> str:
    external = cells.listed(spec.get('externalIPs') or ())
    match spec.get('type'):
        case 'ClusterIP' | 'NodePort':
            return external or cells.NONE
        case 'LoadBalancer':
            balancers = {
                entry.get('ip') or entry.get('hostname') or ''
                for entry in (status.get('loadBalancer') or {}).get('ingress') or ()
            }
            return cells.listed([*sorted(balancers - {''}), *([external] if external else [])]) or '<pending>'
        case 'ExternalName':
            return str(spec.get('externalName', ''))
    return cells.UNKNOWN


def _port_cell(port: Object) -> str:
    number = f'{port["port"]}:{port["nodePort"]}' if port.get('nodePort') else str(port['port'])
    return f'{number}/{port.get("protocol", "TCP")}'


COLUMNS: Final = (
    cells.NAME,
    Column('Type', lambda obj, _: obj['spec'].get('type', '')),
    Column('Cluster-IP', lambda obj, _: (obj['spec'].get('clusterIPs') or [cells.NONE])[0]),
    Column('External-IP', lambda obj, _: _external_address(obj['spec'], obj.get('status') or {})),
    Column('Port(s)', lambda obj, _: cells.listed(map(_port_cell, obj['spec'].get('ports') or ())) or cells.NONE),
    cells.AGE,
    Column('Selector', lambda obj, _: cells.labels(obj['spec'].get('selector')), priority=1),
)


def kind() -> resources.Kind:
    """Services as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='services',
        singular='service',
        kind='Service',
        short_names=('svc',),
        categories=('all',),
        rules=Rules(),
        columns=COLUMNS,
        schema=schemas.builtin('', 'v1', 'Service'),
        selectable={
            'spec.clusterIP': lambda obj: str((obj.get('spec') or {}).get('clusterIP', '')),
            'spec.type': lambda obj: str((obj.get('spec') or {}).get('type', '')),
        },
    )
