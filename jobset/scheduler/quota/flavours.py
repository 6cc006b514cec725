"""Which flavours the pod sets of a JobSet get.

The resources of a group come from one flavour together. Flavours are tried in the order in which the queue names them;
the first in which there is room is taken, also where that means to borrow, unless the queue says otherwise. Where there
is room in none, the first in which there would be if others yielded is named. All pod sets count together: each sees
what those before it were given.

Source: Kueue's flavour assignment and its fungibility rules.
"""

import dataclasses
import enum
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from jobset.scheduler import model
from jobset.scheduler.model import Cell, Usage
from jobset.scheduler.quota import tree
from jobset.scheduler.topology import nodes, requests


class Mode(enum.IntEnum):
    """How well quota does; more is better."""

    NEVER = 0
    """It asks for more than there could ever be, or no flavour suits it."""
    FULL = 1
    """Others have what it asks for."""
    FIT = 2


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why one flavour is not for a pod set, with the numbers."""

    pod_set: str
    flavour: str
    reason: str
    """For people."""
    resource: str | None = None
    """What there is too little of; None where the nodes do not suit."""
    asked: int = 0
    available: int = 0
    potential: int = 0

    @property
    def is_final(self) -> bool:
        """Whether no end of another JobSet helps."""
        return self.resource is None or self.asked > self.potential


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One way to give flavours."""

    mode: Mode
    flavours: dict[str, dict[str, str]] = {}
    """By pod set and resource; only what a quota counts."""
    usage: Usage = {}
    """The peak over all stages."""
    borrowing: int = 0
    """From how high up in the tree of cohorts."""
    refusals: tuple[Refusal, ...] = ()


def assign(
    quotas: tree.Quotas,
    queue: model.Queue,
    stages: Sequence[model.Stage],
    flavours: Mapping[str, model.Flavour],
    excluded: Collection[tuple[str, str]] = (),
) -> Choice:
    """What to give to whom. ``excluded`` are pairs of pod set and flavour that have proven not to do."""
    giving = _Giving(quotas, queue, stages, flavours, excluded)
    found = Choice(mode=Mode.FIT)
    for each in {each.request.name: each for stage in stages for each in stage}.values():
        for group in queue.groups:
            if _asked(each, group):
                found = giving.extend(found, each, group)
    borrowing = quotas.borrowing(queue.name, found.usage) if found.mode is not Mode.NEVER else 0
    return msgspec.structs.replace(found, borrowing=borrowing)


@dataclasses.dataclass(frozen=True, slots=True)
class _Giving:
    """What stays the same from one pod set to the next."""

    quotas: tree.Quotas
    queue: model.Queue
    stages: Sequence[model.Stage]
    flavours: Mapping[str, model.Flavour]
    excluded: Collection[tuple[str, str]]

    def extend(self, before: Choice, pods: model.PodSet, group: model.ResourceGroup) -> Choice:
        """A choice for one more pod set and group of resources: the best flavour, the first of equal ones."""
        found: list[Choice] = []
        refusals = list(before.refusals)
        for flavour in group.flavours:
            if (pods.request.name, flavour) in self.excluded:
                continue
            choice = self._with(before, pods, group, flavour)
            refusals += choice.refusals
            if choice.flavours:
                found.append(choice)
            if self._is_enough(choice):
                break
        if not found:
            return msgspec.structs.replace(before, mode=Mode.NEVER, refusals=tuple(refusals))
        best = max(found, key=lambda each: (each.mode, -each.borrowing))
        return msgspec.structs.replace(best, mode=min(best.mode, before.mode), refusals=tuple(refusals))

    def _with(self, before: Choice, pods: model.PodSet, group: model.ResourceGroup, flavour: str) -> Choice:
        """What comes of one flavour for one pod set."""
        name = pods.request.name
        unsuited = unsuitable(pods.request, self.flavours.get(flavour), flavour)
        if unsuited is not None:
            return Choice(mode=Mode.NEVER, refusals=(Refusal(pod_set=name, flavour=flavour, reason=unsuited),))
        chosen = before.flavours | {
            name: before.flavours.get(name, {}) | dict.fromkeys(_asked(pods, group), flavour),
        }
        usage = usage_of(self.stages, chosen)
        refused = tuple(_short(self.quotas, self.queue.name, name, flavour, usage))
        mode = Mode.FIT if not refused else Mode.NEVER if any(each.is_final for each in refused) else Mode.FULL
        borrows = mode is Mode.FIT and self.quotas.borrowing(self.queue.name, usage) > 0
        return Choice(mode=mode, flavours=chosen, usage=usage, borrowing=int(borrows), refusals=refused)

    def _is_enough(self, choice: Choice) -> bool:
        """Whether later flavours are not worth a look."""
        policy = self.queue.preemption
        if choice.mode is Mode.FIT:
            return not (choice.borrowing and policy.prefers_next_flavour_to_borrowing)
        return choice.mode is Mode.FULL and policy.prefers_preemption


def usage_of(stages: Sequence[model.Stage], chosen: Mapping[str, Mapping[str, str]]) -> Usage:
    """What a choice counts for: of each cell the most that any stage takes."""
    found: Usage = {}
    for stage in stages:
        together: Usage = {}
        for each in stage:
            taken = each.amounts
            for resource, flavour in chosen.get(each.request.name, {}).items():
                cell = Cell(flavour, resource)
                together[cell] = together.get(cell, 0) + taken.get(resource, 0)
        for cell, amount in together.items():
            found[cell] = max(found.get(cell, 0), amount)
    return found


def unsuitable(request: requests.Request, flavour: model.Flavour | None, name: str) -> str | None:
    """Why the nodes of a flavour are not for these pods; None where they are."""
    if flavour is None:
        return f'flavour {name} does not exist'
    for shape in (request.pod, *([request.leader] if request.leader else [])):
        for taint in flavour.taints:
            tolerations = (*shape.tolerations, *flavour.tolerations)
            if taint.effect in nodes.BLOCKING and not any(one.covers(taint) for one in tolerations):
                return f'its pods do not tolerate {taint}'
        for key, value in flavour.node_labels.items():
            wanted = shape.node_selector.get(key, value)
            if wanted != value:
                return f'its pods want {key}={wanted}, the nodes have {value}'
        if shape.node_affinity and not any(_may_hold(term, flavour) for term in shape.node_affinity):
            return 'the node affinity of its pods excludes the nodes'
    return None


def _may_hold(term: tuple[nodes.Requirement, ...], flavour: model.Flavour) -> bool:
    """Whether a term may be true of nodes of a flavour: labels that it does not name may be anything."""
    return all(each.accepts(flavour.node_labels[each.key]) for each in term if each.key in flavour.node_labels)


def _short(quotas: tree.Quotas, queue: str, pod_set: str, flavour: str, usage: Usage) -> Iterator[Refusal]:
    """What there is too little of in a flavour."""
    for cell, asked in sorted(usage.items()):
        if cell.flavour != flavour or asked <= 0:
            continue
        available = quotas.available(queue, cell)
        if asked > available:
            potential = quotas.potential(queue, cell)
            yield Refusal(
                pod_set=pod_set,
                flavour=flavour,
                resource=cell.resource,
                reason=f'asks for {asked} {cell.resource} of {flavour}; {max(0, available)} of {potential} are free',
                asked=asked,
                available=available,
                potential=potential,
            )


def _asked(pods: model.PodSet, group: model.ResourceGroup) -> tuple[str, ...]:
    """Which resources of a group a pod set asks for."""
    wanted = pods.amounts
    return tuple(resource for resource in group.resources if wanted.get(resource, 0) > 0)
