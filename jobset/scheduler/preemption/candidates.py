"""Who may be evicted for a JobSet, and why the others may not.

In its own queue, and in queues that count no quota and so share nothing but nodes: whoever has lower priority. In other
queues: whoever lives on what belongs to this one, and, where the queue says so, whoever has lower priority. Never: what
is protected, what ends already, what holds nothing, what has not had its minimum run time, and what has been evicted
often enough.
"""

from collections import Counter
from collections.abc import Callable

import msgspec

from jobset.scheduler import model, rules
from jobset.scheduler.books import Books
from jobset.scheduler.model import Reclaim, WithinQueue
from jobset.scheduler.topology.tree import PODS


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """Who may be evicted."""

    runs: tuple[model.Run, ...]
    refused: dict[str, int]
    """How many may not, by reason."""

    @property
    def text(self) -> str:
        """Why nobody may."""
        if not self.refused:
            return 'nobody else runs'
        told = ', '.join(f'{many} {reason}' for reason, many in sorted(self.refused.items()))
        return f'nobody may be evicted: {told}'


def eligible(
    books: Books, workload: model.Workload, usage: model.Usage, now: float, settings: rules.Rules
) -> Candidates:
    """Those that may go for ``workload``, which would count as ``usage``."""
    may_go = _by_queue(books, workload, usage)
    recent: Counter[str] = Counter()
    if settings.max_evictions is not None:
        recent.update(key for at, key in books.evictions if at > now - settings.eviction_window_seconds)
    runs, refused = [], Counter[str]()
    for run in books.runs.values():
        reason = may_go(run, rank(run, settings)) or _spared(run, workload, recent, now, settings)
        if reason is None:
            runs.append(run)
        else:
            refused[reason] += 1
    return Candidates(runs=tuple(runs), refused=dict(refused))


def allowance(books: Books, now: float, settings: rules.Rules) -> int | None:
    """How many more may be evicted within this hour; None without a limit."""
    if settings.max_victims_per_hour is None:
        return None
    return max(0, settings.max_victims_per_hour - sum(at > now - 3600 for at, _ in books.evictions))


def rank(run: model.Run, settings: rules.Rules) -> int:
    """The priority by which somebody is judged who may have to go: each eviction may protect from the next."""
    return run.workload.priority + settings.bonus_per_eviction * run.workload.evictions


def _by_queue(books: Books, workload: model.Workload, usage: model.Usage) -> Callable[[model.Run, int], str | None]:
    """What the queue of ``workload`` says of somebody with a rank; None where it may go."""
    queue = books.queues[workload.queue]
    counts = {name for name, each in books.queues.items() if each.groups}
    lenders: dict[str, str | None] = {}

    def judge(run: model.Run, height: int) -> str | None:
        name = run.workload.queue
        is_lower = height < workload.priority
        if name == queue.name or not {name, queue.name} <= counts:
            if queue.preemption.within_queue is WithinQueue.NEVER:
                return 'run in a queue that evicts nobody'
            return None if is_lower else 'of no lower priority'
        if name not in lenders:
            lenders[name] = _lender(books, queue, name, usage)
        return lenders[name] or _elsewhere(books, queue, height, usage, is_lower=is_lower)

    return judge


def _lender(books: Books, queue: model.Queue, name: str, usage: model.Usage) -> str | None:
    """Why nobody of another queue may go, whoever it is."""
    quotas = books.ledger.quotas
    root = quotas.root(queue.name)
    if root is None or quotas.root(name) != root:
        return 'in other cohorts'
    return None if quotas.is_borrowing(name, usage) else 'within the quota of their own queues'


def _elsewhere(books: Books, queue: model.Queue, height: int, usage: model.Usage, *, is_lower: bool) -> str | None:
    """Why somebody of another queue that lives on others may not go."""
    policy = queue.preemption
    if _exceeds_own(books, queue.name, usage):
        if not policy.borrows:
            return 'in other queues, as this one would borrow, too'
        limit = policy.borrows_up_to
        return None if is_lower and (limit is None or height <= limit) else 'of no lower priority'
    if policy.reclaim is Reclaim.NEVER:
        return 'in other queues, from which nothing is reclaimed'
    return None if is_lower or policy.reclaim is Reclaim.ANY else 'of no lower priority'


def _exceeds_own(books: Books, queue: str, usage: model.Usage) -> bool:
    """Whether a queue would use more than what belongs to it."""
    quotas = books.ledger.quotas
    return any(
        quotas.used(queue, cell) + amount > quotas.nominal(queue, cell) for cell, amount in usage.items() if amount
    )


def _spared(
    run: model.Run, workload: model.Workload, recent: Counter[str], now: float, settings: rules.Rules
) -> str | None:
    """Why somebody may not go whatever its priority."""
    victim = run.workload
    if victim.is_protected:
        return 'protected'
    if run.eviction is not None:
        return 'ending already'
    if not any(amount for each in run.admission.holds.values() for name, amount in each.items() if name != PODS):
        return 'without requests'
    is_exempt = settings.exempt_priority is not None and workload.priority >= settings.exempt_priority
    if now < run.admitted + victim.least_runtime and not is_exempt:
        return 'within their minimum run time'
    if settings.max_evictions is not None and recent[victim.key] >= settings.max_evictions:
        return 'evicted often enough'
    return None
