"""What may be asked of placement, and what of it makes no sense."""

import enum
from collections.abc import Sequence

import msgspec

from jobset.scheduler.topology import nodes


class Mode(enum.StrEnum):
    """How strictly the pods stay together."""

    REQUIRED = 'required'
    """All in one domain of the level, or nowhere."""
    PREFERRED = 'preferred'
    """In one domain of the level; else of the level above it, and so on up; else in as few as possible."""
    UNCONSTRAINED = 'unconstrained'
    """Anywhere, in what others have the least use for. With slices, the same as :attr:`SLICE_ONLY`."""
    SLICE_ONLY = 'slice-only'
    """Only each slice stays together."""


class Profile(enum.StrEnum):
    """Which domains to take when several would do."""

    MIXED = 'mixed'
    """Tight domains for those that want to be together, leftovers for those that do not care."""
    BESTFIT_ONLY = 'bestfit-only'
    """As few domains as possible for everyone."""
    BALANCED = 'balanced'
    """As :attr:`MIXED`, but who prefers a level gets equal shares in each domain where that is possible."""
    HIERARCHICAL = 'hierarchical'
    """As :attr:`MIXED`, but who does not care stays inside the tightest domain that fits, instead of scattering."""


class Layer(msgspec.Struct, frozen=True):
    """Each ``size`` pods stay in one domain of ``level``."""

    level: str
    size: int


class PodShape(msgspec.Struct, frozen=True, kw_only=True):
    """What one pod needs of a node."""

    amounts: dict[str, int]
    tolerations: tuple[nodes.Toleration, ...] = ()
    node_selector: dict[str, str] = {}
    node_affinity: tuple[tuple[nodes.Requirement, ...], ...] = ()
    """Terms of which one must hold, if there are any; each holds when all its requirements do."""
    node_preferences: tuple[tuple[int, tuple[nodes.Requirement, ...]], ...] = ()
    """Weights and terms of preferred node affinity. They come before all other orders where there are any."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One set of equal pods, with or without a leader of another shape that belongs to them."""

    name: str
    count: int
    pod: PodShape
    mode: Mode = Mode.UNCONSTRAINED
    level: str | None = None
    slices: tuple[Layer, ...] = ()
    """Up to three, from coarse to fine."""
    leader: PodShape | None = None

    @property
    def slice_size(self) -> int:
        """Pods of the coarsest slice."""
        return self.slices[0].size if self.slices else 1


class Problem(msgspec.Struct, frozen=True):
    """Something in a request that no cluster could satisfy: where it is, and which rule it breaks."""

    path: str
    rule: str

    def __str__(self) -> str:
        return f'{self.path}: {self.rule}'


MAX_LAYERS = 3


def problems(request: Request, levels: Sequence[str]) -> tuple[Problem, ...]:
    """All that is wrong with ``request`` in a topology of ``levels``."""
    return tuple(
        Problem(f'{request.name}.{path}', rule)
        for path, rule in (*_of_mode(request, levels), *_of_slices(request, levels), *_of_pods(request))
    )


def _of_mode(request: Request, levels: Sequence[str]) -> list[tuple[str, str]]:
    if request.mode in {Mode.REQUIRED, Mode.PREFERRED}:
        if request.level is None:
            return [('level', f'mode {request.mode} needs a level; there are: {", ".join(levels)}')]
        if request.level not in levels:
            return [('level', f'no topology level "{request.level}"; there are: {", ".join(levels)}')]
    elif request.level is not None:
        return [('level', f'mode {request.mode} has no level of its own')]
    if request.mode is Mode.SLICE_ONLY and not request.slices:
        return [('slices', 'mode slice-only needs slices')]
    return []


def _of_slices(request: Request, levels: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    if len(request.slices) > MAX_LAYERS:
        found.append(('slices', f'{len(request.slices)} layers; at most {MAX_LAYERS} are possible'))
    for i, layer in enumerate(request.slices):
        path = f'slices[{i}]'
        if layer.level not in levels:
            found.append((f'{path}.level', f'no topology level "{layer.level}"; there are: {", ".join(levels)}'))
        if layer.size < 1:
            found.append((f'{path}.size', f'a slice level needs a size of at least 1, not {layer.size}'))
    if found:
        return found
    for i, (outer, inner) in enumerate(zip(request.slices, request.slices[1:], strict=False), start=1):
        if levels.index(inner.level) <= levels.index(outer.level):
            found.append((f'slices[{i}].level', f'"{inner.level}" is not below "{outer.level}"'))
        if outer.size % inner.size:
            found.append((f'slices[{i}].size', f'{outer.size} pods cannot be cut into slices of {inner.size}'))
    if request.slices and request.count % request.slice_size:
        found.append(('slices[0].size', f'{request.count} pods cannot be cut into slices of {request.slice_size}'))
    if request.slices and _starts_below(request, levels):
        found.append(('slices[0].level', f'"{request.slices[0].level}" is above the level of the pod set'))
    return found


def _starts_below(request: Request, levels: Sequence[str]) -> bool:
    """Whether the pod set's level is finer than that of its slices."""
    return request.level in levels and levels.index(request.slices[0].level) < levels.index(request.level)


def _of_pods(request: Request) -> list[tuple[str, str]]:
    found = []
    if request.count < 0 or (request.count == 0 and request.leader is None):
        found.append(('count', f'{request.count} pods; at least 1 is needed'))
    for path, shape in (('pod', request.pod), ('leader', request.leader)):
        if shape is None:
            continue
        found += [
            (f'{path}.amounts[{name}]', f'{amount} is negative') for name, amount in shape.amounts.items() if amount < 0
        ]
        terms = [*shape.node_affinity, *(term for _, term in shape.node_preferences)]
        found += [
            (f'{path}.nodeAffinity', f'no operator "{requirement.operator}"; there are: {", ".join(nodes.OPERATORS)}')
            for term in terms
            for requirement in term
            if requirement.operator not in nodes.OPERATORS
        ]
    return found
