"""Who may be evicted for a JobSet, and why each of the others may not.

Sources of the rules: ``docs/scheduling-preemption.md``; the policies of queues are Kueue's.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

import msgspec

from jobset.scheduler import model
from jobset.scheduler.model import Reclaim, Run, WithinQueue, Workload
from jobset.scheduler.topology.tree import PODS

HOUR: Final = 3600.0
"""The window of :attr:`Rules.max_victims_per_hour`, in seconds."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What limits evictions whatever queues allow."""

    strictly_lower: bool = True
    """Whether only lower priorities may go, also where a queue reclaims from ``Any``. Off: as in Kueue, which lets a
    queue evict those of any priority that live on what belongs to it."""
    exempt_priority: int | None = None
    """From this priority on, a JobSet may evict others within their minimum run time."""
    max_evictions: int | None = None
    """Of one JobSet in a window of ``eviction_window_seconds``."""
    eviction_window_seconds: float = HOUR
    max_victims_per_hour: int | None = None
    """Evictions of the whole scheduler."""
    bonus_per_eviction: int = 0
    """What each eviction that a JobSet has suffered adds to its priority when it is considered as a victim again."""


DEFAULT: Final = Rules()


class Past(msgspec.Struct, frozen=True):
    """An eviction that has happened."""

    at: float
    key: str
    """Of the JobSet that went."""


class Eligible(NamedTuple):
    """Who may be evicted, and who may not."""

    runs: list[Run]
    """In the order of their names."""
    refused: dict[str, str]
    """Why not, by key."""

    @property
    def text(self) -> str:
        """Why nobody may be evicted, with numbers."""
        if not self.refused:
            return 'nobody else runs'
        reasons = sorted(Counter(self.refused.values()).items())
        return 'nobody may be evicted: ' + ', '.join(f'{many} {reason}' for reason, many in reasons)


def eligible(
    runs: Iterable[Run],
    preemptor: Workload,
    now: float,
    *,
    rules: Rules = DEFAULT,
    policy: model.Preemption,
    may_reclaim_from: Callable[[str], bool] = lambda queue: False,
    would_borrow: bool = False,
    peers: Collection[str] = (),
    recent: Iterable[Past] = (),
) -> Eligible:
    """Those of ``runs`` that may go for ``preemptor``.

    ``policy`` is that of its queue. ``may_reclaim_from`` says whether a queue uses more than its own, out of what could
    be lent to the preemptor; ``would_borrow``, whether the preemptor itself would use more than what belongs to its
    queue. Queues in ``peers`` count as its own: those that share nothing but nodes with it.
    """
    found = sorted(runs, key=lambda run: run.workload.key)
    nobody = _why_nobody(found, preemptor)
    if nobody:
        return Eligible([], {run.workload.key: nobody for run in found})
    recent = list(recent)
    if allowance(recent, now, rules) == 0:
        nobody = f'spared, as {rules.max_victims_per_hour} were evicted within the hour'
        return Eligible([], {run.workload.key: nobody for run in found})
    by_key = Counter(past.key for past in recent if past.at > now - rules.eviction_window_seconds)
    own = {preemptor.queue, *peers}
    elsewhere = _Elsewhere(policy, may_reclaim_from, would_borrow=would_borrow, rules=rules)

    answer = Eligible([], {})
    for run in found:
        is_lower = rank(run, rules) < preemptor.priority
        reason: str | None
        if run.workload.queue not in own:
            reason = elsewhere.refuses(run, is_lower=is_lower)
        elif policy.within_queue is WithinQueue.NEVER:
            reason = 'in a queue that evicts nobody'
        else:
            reason = None if is_lower else 'of no lower priority'
        reason = reason or _spared(run, preemptor, now, rules, by_key[run.workload.key])
        if reason is None:
            answer.runs.append(run)
        else:
            answer.refused[run.workload.key] = reason
    return answer


def rank(run: Run, rules: Rules = DEFAULT) -> int:
    """The priority of a run as a victim. Waiting counts in queues only: it makes nobody evict."""
    return run.workload.priority + rules.bonus_per_eviction * run.workload.evictions


def allowance(recent: Iterable[Past], now: float, rules: Rules) -> int | None:
    """How many more may be evicted now; None: any number."""
    if rules.max_victims_per_hour is None:
        return None
    return max(0, rules.max_victims_per_hour - sum(past.at > now - HOUR for past in recent))


def _why_nobody(runs: Iterable[Run], preemptor: Workload) -> str | None:
    if not preemptor.may_preempt:
        return 'spared, as this one may not evict others'
    ending = [run.workload.key for run in runs if run.eviction and run.eviction.beneficiary == preemptor.key]
    # Room is being made already: to take more before it is known to be too little would be eviction without gain.
    return f'spared, as this one waits for {", ".join(ending)} to end' if ending else None


class _Elsewhere:
    """What a queue may do in others."""

    def __init__(
        self, policy: model.Preemption, may_reclaim_from: Callable[[str], bool], *, would_borrow: bool, rules: Rules
    ) -> None:
        self._policy, self._asks, self._would_borrow, self._rules = policy, may_reclaim_from, would_borrow, rules
        self._known: dict[str, bool] = {}

    def refuses(self, run: Run, *, is_lower: bool) -> str | None:
        """Why a run of another queue may not go, by the policies; None where it may."""
        policy, queue = self._policy, run.workload.queue
        if queue not in self._known:
            self._known[queue] = self._asks(queue)
        if not self._known[queue]:
            return 'in queues that use nothing of this one'
        if self._would_borrow:
            if not policy.borrows:
                return 'in other queues, where this one would only borrow'
            limit = policy.borrows_up_to
            # The limit is of classes, as whoever set it knows them: a bonus does not count.
            is_below = limit is None or run.workload.priority <= limit
            return None if is_lower and is_below else 'of no lower priority'
        if policy.reclaim is Reclaim.NEVER:
            return 'in other queues, from which this one reclaims nothing'
        takes_any = policy.reclaim is Reclaim.ANY and not self._rules.strictly_lower
        return None if is_lower or takes_any else 'of no lower priority'


def _spared(run: Run, preemptor: Workload, now: float, rules: Rules, evictions: int) -> str | None:
    """Why a run may not go whatever its queue and priority are."""
    victim = run.workload
    if victim.is_protected:
        return 'protected'
    if run.eviction is not None:
        return 'ending already'
    if not _holds_something(run):
        return 'without requests'
    is_exempt = rules.exempt_priority is not None and preemptor.priority >= rules.exempt_priority
    if now < run.admitted + victim.least_runtime and not is_exempt:
        return 'within their minimum run time'
    if rules.max_evictions is not None and evictions >= rules.max_evictions:
        return 'evicted often enough'
    return None


def _holds_something(run: Run) -> bool:
    """Whether its end frees anything but the number of pods."""
    admission = run.admission
    on_nodes = (item for held in admission.holds.values() for item in held.items())
    in_quota = ((cell.resource, amount) for cell, amount in admission.usage.items())
    return any(amount and name != PODS for items in (on_nodes, in_quota) for name, amount in items)
