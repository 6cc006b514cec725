"""Which flavours the pod sets of a JobSet get: for each the first in its queue's order that will do.

Source: flavour assignment of Kueue. A flavour is judged by its worst resource; the search stops at the first flavour
that the queue's preferences accept, and else takes the best it saw.
"""

import enum
from collections.abc import Callable, Mapping, Sequence

import msgspec

from jobset.scheduler.model import Cell, Preemption, Queue, Reclaim, ResourceGroup, Stage, Usage
from jobset.scheduler.quota.matching import Kinds
from jobset.scheduler.quota.peaks import Peaks
from jobset.scheduler.quota.tree import Quotas
from jobset.scheduler.topology.requests import Request


class Mode(enum.IntEnum):
    """How a flavour can be had, from never to now."""

    UNUSABLE = 0
    """The queue has problems."""
    UNSUITABLE = 1
    """The pods cannot run there."""
    TOO_MUCH = 2
    """It is more than the queue could have if nobody used anything."""
    WAIT = 3
    """Others have to end first."""
    NO_ROOM = 4
    """The caller has found that the nodes have no room."""
    PREEMPT = 5
    """JobSets of the own queue can be evicted for it."""
    RECLAIM = 6
    """Only JobSets that borrow have to be evicted for it."""
    FIT = 7
    """It is free."""


class Prospect(msgspec.Struct, frozen=True):
    """What evictions could do."""

    mode: Mode
    """:attr:`Mode.PREEMPT` or :attr:`Mode.RECLAIM`."""
    borrowing: int
    """As of :meth:`Quotas.borrowing`, after them."""


Oracle = Callable[[Cell, int], Prospect | None]
"""Asked whether evictions could make an amount of a cell available; None: they could not."""


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a flavour in numbers."""

    asked: int
    """With what is asked for by the pod sets before, as far as they exist at the same time."""
    available: int
    potential: int
    """What would be available if nobody used anything."""

    @property
    def missing(self) -> int:
        """What is asked for and not available."""
        return max(0, self.asked - self.available)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """How one flavour did."""

    flavour: str
    mode: Mode
    reason: str = ''
    """Why it is not suitable, or has no room."""
    borrowing: int = 0
    counts: dict[str, Count] = {}
    """By resource."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """How a flavour was looked for."""

    pod_set: str
    resources: tuple[str, ...]
    trials: tuple[Trial, ...]
    untried: tuple[str, ...]
    """Flavours that come later in the order of the queue, and were not needed."""
    best: Trial


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """All pod sets can have a flavour."""

    mode: Mode
    """The worst of any: :attr:`Mode.PREEMPT` or better."""
    flavours: dict[str, dict[str, str]]
    """By pod set and resource."""
    usage: Usage
    """The peak over all stages."""
    borrowing: int
    shortfall: Usage
    """What has to be given back first."""
    searches: tuple[Search, ...]


class Misfit(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set can have no flavour."""

    mode: Mode
    """Of the resources that are hardest to get, with the flavour in which they are easiest: worse than
    :attr:`Mode.PREEMPT`."""
    reason: str = ''
    """Why the queue cannot be used."""
    searches: tuple[Search, ...] = ()
    """The last are of the pod set that can have none."""


def assign(
    quotas: Quotas,
    queue: Queue,
    stages: Sequence[Stage],
    kinds: Kinds,
    *,
    oracle: Oracle,
    refused: Mapping[str, Mapping[str, str]] | None = None,
    fair_sharing: bool = False,
) -> Choice | Misfit:
    """Flavours for all pod sets of ``stages``, or why there are none.

    A pod set has the same flavours in each stage, and its leader has those of its pods. ``refused`` names, by pod set
    and flavour, why its nodes have no room for it: the next best is chosen. With ``fair_sharing``, who may reclaim
    may also evict in order to borrow.
    """
    reason = quotas.reason(queue.name)
    if reason is not None:
        return Misfit(mode=Mode.UNUSABLE, reason=reason)
    peaks = Peaks(stages)
    judge = _Judge(quotas, queue, kinds, peaks, oracle, fair_sharing=fair_sharing)
    chosen: dict[str, dict[str, str]] = {}
    searches: list[Search] = []
    for request in peaks.requests:
        found = judge.searches(request, (refused or {}).get(request.name, {}))
        searches += found
        worst = min((each.best.mode for each in found), default=Mode.FIT)
        if worst < Mode.PREEMPT:
            return Misfit(mode=worst, searches=tuple(searches))
        chosen[request.name] = {resource: each.best.flavour for each in found for resource in each.resources}
        peaks.give(request.name, chosen[request.name])
    return Choice(
        mode=min((each.best.mode for each in searches), default=Mode.FIT),
        flavours=chosen,
        usage=peaks.usage,
        borrowing=max((each.best.borrowing for each in searches), default=0),
        shortfall=quotas.shortfall(queue.name, peaks.usage),
        searches=tuple(searches),
    )


class _Judge:
    """Tries flavours for the pod sets of one JobSet."""

    def __init__(
        self, quotas: Quotas, queue: Queue, kinds: Kinds, peaks: Peaks, oracle: Oracle, *, fair_sharing: bool
    ) -> None:
        self._quotas, self._queue, self._kinds, self._peaks, self._oracle = quotas, queue, kinds, peaks, oracle
        preemption = queue.preemption
        self._evicts_to_borrow = preemption.borrows or (fair_sharing and preemption.reclaim is not Reclaim.NEVER)

    def searches(self, request: Request, refused: Mapping[str, str]) -> list[Search]:
        """One for each group of which the pod set asks for anything."""
        return [
            self._search(request, group, resources, refused)
            for group in self._queue.groups
            if (resources := self._peaks.asked(request.name, group.resources))
        ]

    def _search(
        self, request: Request, group: ResourceGroup, resources: tuple[str, ...], refused: Mapping[str, str]
    ) -> Search:
        trials: list[Trial] = []
        for flavour in group.flavours:
            reason = self._kinds.misfit(request, flavour, group.flavours)
            if reason is None:
                trial = self._try(request.name, flavour, resources, refused.get(flavour))
            else:
                trial = Trial(flavour=flavour, mode=Mode.UNSUITABLE, reason=reason)
            trials.append(trial)
            if _settles(trial, self._queue.preemption):
                best = trial
                break
        else:
            best = max(trials, key=lambda trial: (trial.mode, -trial.borrowing))
        return Search(
            pod_set=request.name,
            resources=resources,
            trials=tuple(trials),
            untried=group.flavours[len(trials) :],
            best=best,
        )

    def _try(self, pod_set: str, flavour: str, resources: Sequence[str], refusal: str | None) -> Trial:
        mode, borrowing = (Mode.FIT, 0) if refusal is None else (Mode.NO_ROOM, 0)
        counts = {}
        for resource in resources:
            cell = Cell(flavour, resource)
            counts[resource] = count = Count(
                asked=self._peaks.beside(pod_set, cell),
                available=self._quotas.available(self._queue.name, cell),
                potential=self._quotas.potential(self._queue.name, cell),
            )
            prospect = self._prospect(cell, count)
            mode, borrowing = min(mode, prospect.mode), max(borrowing, prospect.borrowing)
        return Trial(flavour=flavour, mode=mode, reason=refusal or '', borrowing=borrowing, counts=counts)

    def _prospect(self, cell: Cell, count: Count) -> Prospect:
        if count.asked > count.potential:
            return Prospect(Mode.TOO_MUCH, 0)
        lowest = self._quotas.lowest(self._queue.name, cell, count.asked)
        if not count.missing:
            return Prospect(Mode.FIT, lowest.height if lowest else 0)
        nominal = self._queue.quotas[cell].nominal if cell in self._queue.quotas else 0
        is_own_below_root = lowest is not None and lowest.parent is not None
        if count.asked <= nominal or is_own_below_root or self._evicts_to_borrow:
            return self._oracle(cell, count.asked) or Prospect(Mode.WAIT, 0)
        return Prospect(Mode.WAIT, 0)


def _settles(trial: Trial, preemption: Preemption) -> bool:
    """Whether no later flavour is tried."""
    if trial.mode < Mode.PREEMPT or (trial.borrowing and preemption.prefers_next_flavour_to_borrowing):
        return False
    return trial.mode is Mode.FIT or preemption.prefers_preemption
