"""How much a pod asks for, and how much nodes have, where a scheduler says only what is short.

kube-scheduler counts nodes: ``2 Insufficient cpu``. Whether one asks for too much or has to wait for others is what a
person wants to know, and that takes both amounts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from jobset.api import quantities
from jobset.client import observed

_SHORT: Final = re.compile(r'\bInsufficient ([^\s,]+?)\.?(?=[\s,]|$)')
_BINARY: Final = ('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')


def named(pod: observed.Pod) -> list[str]:
    """The resources that a scheduler has found to be short for a pod."""
    scheduled = observed.condition(pod.status.conditions, 'PodScheduled')
    if scheduled is None or scheduled.status != 'False':
        return []
    return list(dict.fromkeys(_SHORT.findall(scheduled.message)))


def text(pod: observed.Pod, nodes: Sequence[observed.Node]) -> str:
    """The amounts in words; empty where nothing is short, or the pod does not say how much it asks for.

    ``nodes`` are those of the cluster; none where they may not be read.
    """
    told = []
    for resource in named(pod):
        asked = _asked(pod.spec, resource)
        if not asked:
            continue
        said = f'it asks for {_amount(resource, asked)}'
        if nodes:
            most = max(_value(node.status.allocatable.get(resource)) for node in nodes)
            said += f', and no node has more than {_shown(most)}' if most < asked else f' of at most {_shown(most)}'
        told.append(said)
    return '; '.join(told)


def _amount(resource: str, value: Fraction) -> str:
    return f'{_shown(value)} {resource}'


def _asked(spec: observed.PodSpec, resource: str) -> Fraction:
    """Containers and sidecars together, or the largest of what comes before them; or what the pod says as a whole."""
    whole = _of(spec.resources, resource)
    if whole:
        return whole
    mains = sum((_of(one.resources, resource) for one in spec.containers), Fraction())
    sidecars = most = Fraction()
    for one in spec.init_containers or ():
        asked = _of(one.resources, resource)
        if one.restart_policy == 'Always':
            sidecars += asked
            asked = Fraction()
        most = max(most, sidecars + asked)
    return max(mains + sidecars, most)


def _of(resources: observed.Resources | None, resource: str) -> Fraction:
    if resources is None:
        return Fraction()
    given: Iterable[Mapping[str, str | int | float] | None] = (resources.requests, resources.limits)
    return next((_value(one[resource]) for one in given if one and resource in one), Fraction())


def _value(given: str | int | float | None) -> Fraction:
    try:
        return Fraction() if given is None else quantities.parse(given)
    except quantities.QuantityError:
        return Fraction()


def _shown(value: Fraction) -> str:
    """As people write it: bytes with binary suffixes, rounded where they do not come out even."""
    place = 0
    while value >= 1024 and place < len(_BINARY) - 1:
        value /= 1024
        place += 1
    if not place:
        return quantities.text(float(value))
    return f'{float(value):.1f}'.removesuffix('.0') + _BINARY[place]
