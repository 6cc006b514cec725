"""How much of each resource a pod asks for, in whole units: CPU in thousandths, all else in ones.

Sources: Kubernetes, "Resource Management for Pods and Containers", "Sidecar Containers" on how init containers count,
"Pod-level resources", and "Dynamic Resource Allocation" on claims and on extended resources that device classes serve.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from jobset.api import quantities, templates

Amounts = dict[str, int]
Quantities = dict[str, str | int | float | None]

PODS: Final = 'pods'
"""A node takes so many; each pod counts as one."""

DEVICES: Final = 'deviceclass/'
"""Before the name of a device class: so many of its devices."""

_IMPLICIT: Final = 'deviceclass.resource.kubernetes.io/'
"""Kubernetes' own: before the name of a device class, an extended resource that the class serves."""

_POD_LEVEL: Final = ('cpu', 'memory')
"""Resources that the pod as a whole may ask for; other ones than those follow from its containers."""

_HUGE_PAGES: Final = 'hugepages-'
_NEEDED: Final = ('cpu', 'memory')


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, and what may be used at most."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class Container(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """A container, an init container or, with ``restart_policy`` Always among the latter, a sidecar."""

    name: str = ''
    restart_policy: str | None = None
    resources: Resources | None = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """What of ``spec`` of a pod says how much it takes."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    overhead: Quantities | None = None
    resources: Resources | None = None
    resource_claims: tuple[templates.ResourceClaim, ...] | None = None


class Device(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """Devices of one class."""

    device_class_name: str = ''
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None


class DeviceRequest(Device, frozen=True, kw_only=True, rename='camel'):
    """An entry of a claim: ``resource.k8s.io/v1`` writes ``exactly`` around what ``v1beta1`` has here itself."""

    exactly: Device | None = None
    first_available: tuple[Device, ...] | None = None


class Devices(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of a claim."""

    requests: tuple[DeviceRequest, ...] | None = None


class ClaimSpec(msgspec.Struct, frozen=True, kw_only=True):
    """``spec`` of a ResourceClaim, or the inner one of a ResourceClaimTemplate."""

    devices: Devices = Devices()


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about claims for devices, in one namespace."""

    templates: dict[str, Amounts] = {}
    """What :func:`devices` says, by name of the ResourceClaimTemplate."""
    claims: dict[str, Amounts] = {}
    """What :func:`devices` says, by name of the ResourceClaim."""
    classes: dict[str, str] = {}
    """Device classes by the extended resource that they serve (``extendedResourceName``)."""


NOTHING_KNOWN: Final = Known()


@functools.lru_cache(maxsize=4096)
def whole(resource: str, quantity: str) -> int:
    """A quantity in whole units, rounded up; 0 where it is none."""
    try:
        value = quantities.parse(quantity)
    except quantities.QuantityError:
        return 0
    return math.ceil(value * 1000 if resource == 'cpu' else value)


def amounts(given: Mapping[str, str | int | float | None] | None) -> Amounts:
    """Quantities in whole units."""
    return {resource: whole(resource, str(quantity)) for resource, quantity in (given or {}).items()}


def of(spec: PodSpec, *, known: Known = NOTHING_KNOWN) -> Amounts:
    """What a pod asks for as a whole, itself included. Claims that are not ``known`` count nothing."""
    asked = (amounts(spec.overhead), *(_of_claim(claim, known) or {} for claim in spec.resource_claims or ()))
    total: Amounts = {}
    _add(total, (_served(_without_overhead(spec), known), *asked))
    return {PODS: 1} | {resource: amount for resource, amount in total.items() if amount > 0 and resource != PODS}


def unknown(spec: PodSpec, *, known: Known) -> tuple[str, ...]:
    """The pod's names of those of its claims for devices that count nothing, because nobody knows how many."""
    return tuple(claim.name for claim in spec.resource_claims or () if _of_claim(claim, known) is None)


def missing(spec: PodSpec) -> tuple[str, ...]:
    """Names of the containers and sidecars that say nothing about CPU or memory, nor does the pod for them."""
    of_pod = _asked(spec.resources)
    sidecars = (one for one in spec.init_containers or () if one.restart_policy == 'Always')
    return tuple(
        one.name
        for one in (*(spec.containers or ()), *sidecars)
        if not all(_asked(one.resources).get(resource) or of_pod.get(resource) for resource in _NEEDED)
    )


def unreadable(spec: PodSpec) -> Iterator[tuple[str, str]]:
    """Where in the spec there is no quantity, and what would be one."""
    places: list[tuple[str, Quantities | None]] = [('overhead', spec.overhead)]
    parts = [('', spec.resources)]
    for kind, containers in (('containers', spec.containers), ('initContainers', spec.init_containers)):
        parts += [(f'{kind}[{i}].', one.resources) for i, one in enumerate(containers or ())]
    for prefix, part in parts:
        if part is not None:
            places += [(f'{prefix}resources.requests', part.requests), (f'{prefix}resources.limits', part.limits)]
    for place, given in places:
        for resource, quantity in (given or {}).items():
            try:
                value = quantities.parse(str(quantity))
            except quantities.QuantityError as error:
                yield f'{place}[{resource}]', str(error)
            else:
                if value < 0:
                    yield f'{place}[{resource}]', f'{str(quantity)!r} is negative; write 0 or more'


def devices(spec: ClaimSpec) -> Amounts | None:
    """How many devices of which class a claim takes; None where only its allocation can tell.

    Of alternatives (``firstAvailable``) the most of each class counts: any of them may be taken. Access for
    administration takes nothing away.
    """
    total: Amounts = {}
    for request in spec.devices.requests or ():
        exactly = request if request.exactly is None else request.exactly
        most: Amounts = {}
        for device in request.first_available or (exactly,):
            if device.admin_access:
                continue
            if device.allocation_mode == 'All':
                return None
            count = 1 if device.count is None else device.count
            _raise(most, {f'{DEVICES}{device.device_class_name}': count})
        _add(total, (most,))
    return total


def _of_claim(claim: templates.ResourceClaim, known: Known) -> Amounts | None:
    if claim.resource_claim_template_name:
        return known.templates.get(claim.resource_claim_template_name)
    return known.claims.get(claim.resource_claim_name or '')


def _served(total: Amounts, known: Known) -> Amounts:
    """The same with extended resources that device classes serve counted as devices, and only so."""
    found: Amounts = {}
    for resource, amount in total.items():
        served = known.classes.get(resource)
        if resource.startswith(_IMPLICIT):
            served = resource.removeprefix(_IMPLICIT)
        _add(found, ({f'{DEVICES}{served}' if served else resource: amount},))
    return found


def _without_overhead(spec: PodSpec) -> Amounts:
    total: Amounts = {}
    _add(total, (_asked(one.resources) for one in spec.containers or ()))
    sidecars: Amounts = {}
    most: Amounts = {}
    for one in spec.init_containers or ():
        asked = _asked(one.resources)
        if one.restart_policy == 'Always':
            _add(sidecars, (asked,))
            asked = {}
        beside = dict(sidecars)
        _add(beside, (asked,))
        _raise(most, beside)
    _add(total, (sidecars,))
    _raise(total, most)
    if spec.resources is not None:
        # A limit of the pod counts as its request only where no container asks for anything, as the API server has it.
        given = amounts(spec.resources.limits) | total | amounts(spec.resources.requests)
        total |= {name: amount for name, amount in given.items() if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)}
    return total


def _asked(resources: Resources | None) -> Amounts:
    """What is requested; where only a limit is given, that."""
    return {} if resources is None else amounts(resources.limits) | amounts(resources.requests)


def _add(total: Amounts, more: Iterable[Amounts]) -> None:
    for one in more:
        for resource, amount in one.items():
            total[resource] = total.get(resource, 0) + amount


def _raise(total: Amounts, at_least: Amounts) -> None:
    for resource, amount in at_least.items():
        total[resource] = max(total.get(resource, 0), amount)
