"""What is wrong with a Service, or with a change of one."""

from collections.abc import Sequence
from typing import Any, Final

from jobset.local.kinds import checks, containers, faults, podspec, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

HEADLESS: Final = 'None'
TYPES: Final = ('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort')
_FAMILIES: Final = ('IPv4', 'IPv6')
_POLICIES: Final = ('PreferDualStack', 'RequireDualStack', 'SingleStack')
_AFFINITY_SECONDS_MOST: Final = 86400
_FIXED: Final = 'may not change once set'
_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"


def check(obj: Object) -> list[Cause]:
    """The mistakes of a Service."""
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
    if type_ not in TYPES:
        causes.append(faults.unsupported('spec.type', type_, TYPES))
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


def change(spec: Object, old: Object) -> list[Cause]:
    """What may not change as it does."""
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
