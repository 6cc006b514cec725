"""Kinds of few rules: service accounts, leases, endpoints."""

from typing import Final

from jobset.local import resources, schemas
from jobset.local.kinds import cells, checks, containers, faults, podspec, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

_ENDPOINTS_SHOWN: Final = 3


class AccountRules(typed.Rules):
    """Of service accounts."""

    shape = 'core.ServiceAccount'
    has_generation = False
    has_status = False


class LeaseRules(typed.Rules):
    """Of leases."""

    shape = 'coordination.Lease'
    has_generation = False
    has_status = False

    def complete(self, obj: Object) -> None:
        """Without what belongs to coordinated leader election: its gate is off by default."""
        for key in ('strategy', 'preferredHolder'):
            obj['spec'].pop(key, None)

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes in the numbers."""
        spec = obj['spec']
        seconds = spec.get('leaseDurationSeconds')
        causes: list[Cause] = []
        if seconds is not None and seconds <= 0:
            causes.append(faults.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0'))
        return causes + faults.not_negative('spec.leaseTransitions', spec.get('leaseTransitions'))


class EndpointsRules(typed.Rules):
    """Of Endpoints, the predecessor of endpoint slices."""

    shape = 'core.Endpoints'
    has_generation = False
    has_status = False

    def complete(self, obj: Object) -> None:
        """The protocol of ports."""
        for subset in obj.get('subsets') or ():
            for port in subset.get('ports') or ():
                port.setdefault('protocol', 'TCP')

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes in addresses and ports."""
        causes: list[Cause] = []
        for i, subset in enumerate(obj.get('subsets') or ()):
            at = f'subsets[{i}]'
            if not subset.get('addresses') and not subset.get('notReadyAddresses'):
                causes.append(faults.required(at, 'must specify `addresses` or `notReadyAddresses`'))
            for key in ('addresses', 'notReadyAddresses'):
                for j, address in enumerate(subset.get(key) or ()):
                    causes += podspec.address(f'{at}.{key}[{j}].ip', address.get('ip', ''))
            ports = subset.get('ports') or ()
            for j, port in enumerate(ports):
                name, number = port.get('name'), port.get('port', 0)
                if name:
                    causes += faults.each_invalid(f'{at}.ports[{j}].name', name, checks.dns_label(name))
                elif len(ports) > 1:
                    causes.append(faults.required(f'{at}.ports[{j}].name'))
                causes += faults.each_invalid(f'{at}.ports[{j}].port', number, checks.port(number))
                if (protocol := port.get('protocol')) not in containers.PROTOCOLS:
                    where = f'{at}.ports[{j}].protocol'
                    causes.append(faults.unsupported(where, protocol, containers.PROTOCOLS))
        return causes


def _endpoints(obj: Object) -> str:
    subsets = obj.get('subsets') or ()
    if not subsets:
        return cells.NONE
    found = []
    for subset in subsets:
        addresses = [address.get('ip', '') for address in subset.get('addresses') or ()]
        if ports := subset.get('ports'):
            found += [f'{address}:{port["port"]}' for port in ports for address in addresses]
        else:
            found += addresses
    more = len(found) - _ENDPOINTS_SHOWN
    return cells.listed(found[:_ENDPOINTS_SHOWN]) + (f' + {more} more...' if more > 0 else '')


def accounts() -> resources.Kind:
    """Service accounts as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='serviceaccounts',
        singular='serviceaccount',
        kind='ServiceAccount',
        short_names=('sa',),
        subresources=frozenset(),
        rules=AccountRules(),
        columns=(cells.NAME, cells.AGE),
        schema=schemas.builtin('', 'v1', 'ServiceAccount'),
    )


def leases() -> resources.Kind:
    """Leases as the server knows them."""
    return resources.Kind(
        group='coordination.k8s.io',
        version='v1',
        plural='leases',
        singular='lease',
        kind='Lease',
        subresources=frozenset(),
        rules=LeaseRules(),
        columns=(
            cells.NAME,
            Column('Holder', lambda obj, _: (obj.get('spec') or {}).get('holderIdentity') or ''),
            cells.AGE,
        ),
        schema=schemas.builtin('coordination.k8s.io', 'v1', 'Lease'),
    )


def endpoints() -> resources.Kind:
    """Endpoints as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='endpoints',
        singular='endpoints',
        kind='Endpoints',
        short_names=('ep',),
        subresources=frozenset(),
        rules=EndpointsRules(),
        columns=(cells.NAME, Column('Endpoints', lambda obj, _: _endpoints(obj)), cells.AGE),
        schema=schemas.builtin('', 'v1', 'Endpoints'),
    )
