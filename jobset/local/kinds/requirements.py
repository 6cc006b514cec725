"""Resources that containers ask for, and the service class that a pod gets by them."""

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from jobset.local.kinds import amounts, checks, faults
from jobset.local.objects import Object
from jobset.local.problems import Cause

_STANDARD: Final = frozenset(
    {'cpu', 'memory', 'ephemeral-storage', 'storage', 'requests.cpu', 'requests.memory', 'requests.storage'}
    | {'requests.ephemeral-storage', 'limits.cpu', 'limits.memory', 'limits.ephemeral-storage', 'pods'}
    | {'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps', 'persistentvolumeclaims'}
    | {'services.nodeports', 'services.loadbalancers'}
)
_OF_CONTAINERS: Final = frozenset({'cpu', 'memory', 'ephemeral-storage'})
_COMPUTE: Final = ('cpu', 'memory')


def check(path: str, resources: Object, claims: Sequence[str]) -> list[Cause]:
    """Mistakes in limits and requests of a container; ``claims`` are the names of the resource claims of its pod."""
    causes: list[Cause] = []
    limits: Mapping[str, Any] = resources.get('limits') or {}
    requests: Mapping[str, Any] = resources.get('requests') or {}
    for name, amount in limits.items():
        if name not in _OF_CONTAINERS or amount[0] == '-':
            causes += _entry(f'{path}.limits', name, amount)
    for name, amount in requests.items():
        if name not in _OF_CONTAINERS or amount[0] == '-':
            causes += _entry(f'{path}.requests', name, amount)
        if name not in limits:
            if not _may_exceed(name):
                text = 'Limit must be set for non overcommitable resources'
                causes.append(faults.required(f'{path}.limits', text))
            continue
        limit = limits[name]
        if amount == limit:
            continue
        wanted, most = amounts.exact(amount), amounts.exact(limit)
        if wanted != most and not _may_exceed(name):
            text = f'must be equal to {name} limit of {limit}'
            causes.append(faults.invalid(f'{path}.requests', amount, text))
        elif wanted > most:
            text = f'must be less than or equal to {name} limit of {limit}'
            causes.append(faults.invalid(f'{path}.requests', amount, text))
    if not any(name in limits or name in requests for name in _COMPUTE) and any(
        name.startswith('hugepages-') for name in (*limits, *requests)
    ):
        causes.append(faults.forbidden(path, 'HugePages require cpu or memory'))
    if 'claims' in resources:
        causes += _claims(f'{path}.claims', resources['claims'], claims)
    return causes


def _entry(path: str, name: str, amount: str) -> list[Cause]:
    if name in _OF_CONTAINERS:
        return _not_negative(path, name, amount)
    causes = [] if _fine(name) else _name(f'{path}[{name}]', name)
    causes += _not_negative(path, name, amount)
    if '/' in name and not _native(name) and amounts.exact(amount).denominator != 1:
        causes.append(faults.invalid(f'{path}[{name}]', amount, 'must be an integer'))
    if name.startswith('hugepages-'):
        causes += _pages(f'{path}[{name}]', name, amount)
    return causes


@functools.lru_cache(maxsize=1024)
def _fine(name: str) -> bool:
    return not _name('', name)


def _not_negative(path: str, name: str, amount: str) -> list[Cause]:
    if amount[0] != '-':
        return []
    return [faults.invalid(f'{path}[{name}]', amount, 'must be greater than or equal to 0')]


def _name(path: str, name: str) -> list[Cause]:
    causes = faults.each_invalid(path, name, checks.qualified_name(name))
    if '/' not in name:
        if not causes and name not in _STANDARD and not name.startswith('hugepages-'):
            causes.append(faults.invalid(path, name, 'must be a standard resource type or fully qualified'))
        if not name.startswith('hugepages-'):
            causes.append(faults.invalid(path, name, 'must be a standard resource for containers'))
    elif not _native(name) and (name.startswith('requests.') or checks.qualified_name(f'requests.{name}')):
        causes.append(faults.invalid(path, name, "doesn't follow extended resource name standard"))
    return causes


def _pages(path: str, name: str, amount: str) -> list[Cause]:
    try:
        size = amounts.exact(name.removeprefix('hugepages-'))
    except ValueError:
        size = Fraction(0)
    if size > 0 and (amounts.exact(amount) / size).denominator == 1:
        return []
    return [faults.invalid(path, amount, f'{amount} is not positive integer multiple of {name}')]


def _native(name: str) -> bool:
    return '/' not in name or 'kubernetes.io/' in name


def _may_exceed(name: str) -> bool:
    return _native(name) and not name.startswith('hugepages-')


def _claims(path: str, used: Sequence[Object], known: Sequence[str]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for i, claim in enumerate(used):
        name = claim.get('name')
        if not name:
            causes.append(faults.required(f'{path}[{i}]'))
            continue
        key = f'{name}/{claim["request"]}' if claim.get('request') else name
        if key in seen or name in seen:
            causes.append(faults.duplicate(f'{path}[{i}]', key))
        seen.add(key)
        if name not in known:
            text = 'must be one of the names in pod.spec.resourceClaims'
            text += f': {", ".join(sorted(known))}' if known else ' which is empty'
            causes.append(faults.not_found(f'{path}[{i}]', name, text))
    return causes


def service_class(spec: Object) -> str:
    """``Guaranteed``, ``Burstable`` or ``BestEffort``."""
    asked = False
    guaranteed = True
    for key in ('containers', 'initContainers'):
        for container in spec.get(key) or ():
            resources = container.get('resources') or {}
            limits, requests = resources.get('limits') or {}, resources.get('requests') or {}
            for name in _COMPUTE:
                limit, request = limits.get(name, '0'), requests.get(name, '0')
                if limit != '0' or request != '0':
                    asked = True
                if limit == '0' or (request != limit and amounts.exact(request) != amounts.exact(limit)):
                    guaranteed = False
    if not asked:
        return 'BestEffort'
    return 'Guaranteed' if guaranteed else 'Burstable'
