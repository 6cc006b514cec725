"""Arithmetic on amounts of resources: whole numbers of the smallest unit, by resource; what is missing is 0.

CPU is in thousandths, all else in ones: see :mod:`jobset.api.podrequests`.
"""

from collections.abc import Iterable, Mapping

Amounts = dict[str, int]


def total(parts: Iterable[Mapping[str, int]]) -> Amounts:
    """The sum of all parts."""
    found: Amounts = {}
    for part in parts:
        for resource, amount in part.items():
            found[resource] = found.get(resource, 0) + amount
    return found


def peak(parts: Iterable[Mapping[str, int]]) -> Amounts:
    """The largest amount of each resource in any part."""
    found: Amounts = {}
    for part in parts:
        for resource, amount in part.items():
            found[resource] = max(found.get(resource, 0), amount)
    return found


def times(amounts: Mapping[str, int], many: int) -> Amounts:
    """So many times the amounts."""
    return {resource: amount * many for resource, amount in amounts.items()}
