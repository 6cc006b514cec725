"""Groups of pods that are placed together: on paper first, and for good only when enough of them have a node.

Source: ``scheduling.k8s.io/v1beta1`` PodGroup; kube-scheduler 1.37, "pod group scheduling", whose words these are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from jobset.local.scheduling import fitting, model, orders, room, verdicts, waiting

_UNSCHEDULABLE: Final = 'pod group is unschedulable'
_NO_VICTIMS: Final = 'pod group preemption: No preemption victims found for incoming preemptor'


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod and its node."""

    entry: waiting.Entry
    node: str


@dataclass
class Attempt:
    """What came of trying a group in one domain."""

    within: orders.Within | None
    placed: list[Placed] = field(default_factory=list)
    refused: dict[str, fitting.Wish] = field(default_factory=dict)
    """Pods for which there was no node, by uid."""

    remaining: int = 0
    """Pods that were not tried any more."""

    why: dict[str, str] = field(default_factory=dict)
    """What is said of the refused ones."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of a group."""

    placed: Sequence[Placed] = ()
    told: Sequence[tuple[waiting.Entry, str]] = ()
    """What is said of pods that stay without a node."""

    message: str = ''
    """What is said of the group, when it failed."""


@dataclass(frozen=True)
class Question:
    """A group that wants to be placed."""

    group: model.PodGroup
    entries: Sequence[waiting.Entry]
    members: Sequence[str]
    """Nodes of its pods that have one already."""

    wish: Callable[[waiting.Entry], fitting.Wish | str]
    """What a pod needs, or why it cannot have it at all."""

    is_settled: bool
    """Whether enough had a node once: then each pod counts for itself."""

    @property
    def min_count(self) -> int:
        """How many must have a node."""
        return 0 if self.is_settled else self.group.min_count


def try_(question: Question, space: fitting.Fitting, assign: Callable[[Placed], None]) -> Outcome:
    """Place a group, or say why not. ``assign`` is called for what is placed for good, and takes up the room."""
    entries = question.entries
    attempts: list[Attempt] = []
    best: Attempt | None = None
    for within in domains(question, space.room):
        attempt = _on_paper(question, space, within)
        attempts.append(attempt)
        enough = len(attempt.placed) + len(question.members) >= question.min_count and attempt.placed
        if enough and (best is None or len(attempt.placed) > len(best.placed)):
            best = attempt
        if best is not None and len(best.placed) == len(entries):
            break
    if best is None:
        return _failed(question, attempts)
    for placed in best.placed:
        assign(placed)
    told = [(entry, best.why[entry.uid]) for entry in entries if entry.uid in best.why]
    return Outcome(placed=best.placed, told=told)


def domains(question: Question, nodes: room.Room) -> Iterable[orders.Within | None]:
    """Where the whole group may go: anywhere, or each domain in turn; where some of it is already, only there."""
    key = question.group.topology_key
    if not key:
        return (None,)
    taken = [nodes.by_name[name].labels.get(key) for name in question.members if name in nodes.by_name]
    values = sorted(
        {place.labels[key] for place in nodes if key in place.labels} if not taken else {*filter(None, taken)}
    )
    return [orders.Within(key, value) for value in values]


def _on_paper(question: Question, space: fitting.Fitting, within: orders.Within | None) -> Attempt:
    attempt = Attempt(within)
    there = len(question.members)
    hopeless: dict[object, str] = {}
    residents: list[room.Resident] = []
    remaining = len(question.entries)
    for entry in question.entries:
        remaining -= 1
        wish = question.wish(entry)
        place: room.Place | None = None
        if isinstance(wish, str):
            attempt.why[entry.uid] = wish
        else:
            kind = entry.shape if space.is_plain(wish) else None
            if kind is None or kind not in hopeless:
                place = space.find(wish, within)
            if place is not None:
                resident = room.Resident(entry.uid, wish.namespace, wish.labels, wish.shape, place.name)
                space.room.assign(resident)
                space.neighbours.add(resident)
                residents.append(resident)
                attempt.placed.append(Placed(entry, place.name))
                continue
            message = hopeless.get(kind) if kind is not None else None
            if message is None:
                message = space.explain(wish, within).message(may_preempt=False, alone=False)
            attempt.why[entry.uid] = message
            if kind is not None:
                hopeless[kind] = message
        if len(attempt.placed) + there + remaining < question.min_count:
            break
    attempt.remaining = remaining
    for resident in residents:
        space.room.remove(resident.uid)
        space.neighbours.remove(resident)
    return attempt


def _failed(question: Question, attempts: Sequence[Attempt]) -> Outcome:
    count = len(attempts)
    if not attempts:
        return Outcome(message=verdicts.NO_NODES, told=[(entry, verdicts.NO_NODES) for entry in question.entries])
    first = attempts[0]
    placed = len(first.placed)
    short = (
        f'{_UNSCHEDULABLE}, 0/{count} placements are available, first placement status: '
        f'minCount ({question.min_count}) cannot be satisfied: {placed} scheduled, {first.remaining} remaining'
    )
    if not question.min_count:
        short = f'{_UNSCHEDULABLE}, 0/{count} placements are available'
    of_placed = {one.entry.uid for one in first.placed}
    told = []
    for entry in question.entries:
        if entry.uid in first.why:
            told.append((entry, first.why[entry.uid]))
        elif entry.uid in of_placed:
            told.append((entry, f'{_UNSCHEDULABLE}, {short}, {_NO_VICTIMS}'))
        else:
            told.append((entry, short))
    return Outcome(told=told, message=f'{short}, {_NO_VICTIMS}')
