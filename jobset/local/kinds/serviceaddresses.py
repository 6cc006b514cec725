"""Addresses and ports of Services, which the server gives out; nothing listens on them."""

import hashlib
import ipaddress
from collections.abc import Collection
from typing import Final

from jobset.local import objects, resources
from jobset.local.kinds import faults, servicespec
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem

NETWORK: Final = ipaddress.IPv4Network('10.96.0.0/16')
NODE_PORTS: Final = range(30000, 32768)


def allocate(obj: Object, context: resources.Context) -> None:
    """Give a Service what it needs and does not say. Raises Problem where it says what cannot be had."""
    spec = obj.get('spec') or {}
    if spec.get('type') == 'ExternalName':
        return
    _families(obj, spec)
    if spec.get('clusterIP') != servicespec.HEADLESS and _plausible(spec):
        _address(obj, spec, context)
    if spec.get('type') == 'NodePort' or spec.get('allocateLoadBalancerNodePorts'):
        _node_ports(obj, spec, context)


def _plausible(spec: Object) -> bool:
    """Whether it can be refused for what it says before anything is allocated."""
    return spec.get('type') in servicespec.TYPES and bool(spec.get('ports'))


def _refuse(obj: Object, cause: Cause) -> Problem:
    return Problem.invalid('Service', '', objects.name(obj), [cause])


def _families(obj: Object, spec: Object) -> None:
    """One family of addresses is all there is, except that headless Services without selector may claim both."""
    headless, families, policy = (
        spec.get('clusterIP') == servicespec.HEADLESS,
        spec.get('ipFamilies'),
        spec.get('ipFamilyPolicy'),
    )
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
