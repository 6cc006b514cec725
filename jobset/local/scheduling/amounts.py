"""How much of each resource a pod asks for, in whole units: CPU in thousandths, all else in ones.

Source: Kubernetes, "Resource Management for Pods and Containers", and "Sidecar Containers" on how init containers
count.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from jobset.api import quantities
from jobset.local.scheduling import model

Amounts = dict[str, int]

PODS: Final = 'pods'
"""A node takes so many; each pod counts as one."""

_POD_LEVEL: Final = ('cpu', 'memory')
"""Resources that the pod as a whole may ask for; other ones than those follow from its containers."""


@functools.lru_cache(maxsize=4096)
def whole(resource: str, quantity: str) -> int:
    """A quantity in whole units, rounded up; 0 where it is none."""
    try:
        value = quantities.parse(quantity)
    except quantities.QuantityError:
        return 0
    return math.ceil(value * 1000 if resource == 'cpu' else value)


def amounts(given: Mapping[str, Any] | None) -> Amounts:
    """Quantities in whole units."""
    return {resource: whole(resource, str(quantity)) for resource, quantity in (given or {}).items()}


def of_pod(spec: model.PodSpec) -> Amounts:
    """What a pod asks for as a whole, itself included."""
    total: Amounts = {}
    _add(total, (_asked(one.resources) for one in spec.containers or ()))
    sidecars: Amounts = {}
    most: Amounts = {}
    for one in spec.init_containers or ():
        asked = _asked(one.resources)
        if one.restart_policy == 'Always':
            _add(sidecars, (asked,))
            asked = {}
        _raise(most, _sum((asked, sidecars)))
    _add(total, (sidecars,))
    _raise(total, most)
    for resource, amount in _asked(spec.resources).items():
        if resource in _POD_LEVEL or resource.startswith('hugepages-'):
            total[resource] = amount
    _add(total, (amounts(_decoded(spec.overhead)),))
    return {PODS: 1} | {resource: amount for resource, amount in total.items() if amount > 0 and resource != PODS}


def _asked(resources: msgspec.Raw) -> Amounts:
    """What is requested; where only a limit is given, that."""
    given = _decoded(resources)
    return amounts((given.get('limits') or {}) | (given.get('requests') or {}))


def _decoded(raw: msgspec.Raw) -> dict[str, Any]:
    text = bytes(raw)
    return msgspec.json.decode(text, type=dict[str, Any]) if text else {}


def _add(total: Amounts, more: Iterable[Amounts]) -> None:
    for one in more:
        for resource, amount in one.items():
            total[resource] = total.get(resource, 0) + amount


def _sum(all_: Sequence[Amounts]) -> Amounts:
    total: Amounts = {}
    _add(total, all_)
    return total


def _raise(total: Amounts, at_least: Amounts) -> None:
    for resource, amount in at_least.items():
        total[resource] = max(total.get(resource, 0), amount)
