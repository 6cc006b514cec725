"""Whether a JobSet can start now, and with what: quota and nodes together, in all sizes that it allows."""

from collections.abc import Mapping, Sequence

import msgspec

from jobset.scheduler import model, rules, seats, sizes
from jobset.scheduler.amounts import Amounts
from jobset.scheduler.books import Books, Promise
from jobset.scheduler.quota import flavours
from jobset.scheduler.topology.results import Assignment, Invalid, NoRoom
from jobset.scheduler.topology.single import Settings
from jobset.scheduler.verdicts import Cause, Verdict


def admit(
    books: Books, workload: model.Workload, settings: rules.Rules, *, wish: model.Admission | None = None
) -> model.Admission | Verdict:
    """What a JobSet would be given, as big as possible; else why even the smallest size is too big.

    ``wish`` is taken as it is where it is free.
    """
    refusal = _closed(books, workload.queue)
    if refusal is not None:
        return refusal
    if wish is not None and _has_room(books, workload.queue, wish):
        return wish
    answer = _admit(books, workload, settings, 0)
    first, last = 1, sizes.smallest(workload)
    if not isinstance(answer, Verdict):
        return answer
    # Whoever fits in one size fits in all smaller ones: search for the biggest by halves.
    biggest: model.Admission | None = None
    while first <= last:
        middle = (first + last) // 2
        smaller = _admit(books, workload, settings, middle)
        if isinstance(smaller, Verdict):
            first = middle + 1
        else:
            last, biggest = middle - 1, smaller
    return biggest or answer


def could_ever(books: Books, workload: model.Workload, settings: rules.Rules) -> bool:
    """Whether a JobSet would fit if nobody else had anything."""
    with books.ledger.without(list(books.ledger.holdings)):
        return not isinstance(admit(books, workload, settings), Verdict)


def share(books: Books, workload: model.Workload, settings: rules.Rules) -> float:
    """By how much a queue would live on others with a JobSet of its own: the smaller, the earlier its turn."""
    queue = books.queues.get(workload.queue)
    if queue is None or queue.cohort is None or not books.ledger.quotas.knows(queue.name):
        return 0.0
    choice = flavours.assign(books.ledger.quotas, queue, workload.stages, books.flavours)
    if settings.shares_fairly:
        return books.ledger.quotas.share(queue.name, choice.usage)
    return float(choice.borrowing)


def usage(books: Books, workload: model.Workload) -> model.Usage:
    """What a JobSet would count for in its queue, in the best flavours that there are for it."""
    queue = books.queues[workload.queue]
    return flavours.assign(books.ledger.quotas, queue, workload.stages, books.flavours).usage


def is_free(books: Books, promise: Promise) -> bool:
    """Whether what is promised is still there for it, counting those who have to go as gone."""
    with books.ledger.without((promise.owner, *promise.victims)):
        return _has_room(books, promise.workload.queue, promise.admission)


def bigger(books: Books, run: model.Run, settings: rules.Rules) -> model.Admission | None:
    """What a JobSet that was started smaller could have now: more pods beside those that it has; None for nothing."""
    now = next(
        size
        for size in range(sizes.smallest(run.workload) + 1)
        if sizes.counts(run.workload, size) == run.admission.counts
    )
    for size in range(now):
        found = _grown(books, run, sizes.counts(run.workload, size), settings)
        if found is not None:
            return found
    return None


def can_hold(books: Books, run: model.Run, holds: Mapping[str, Amounts]) -> bool:
    """Whether a JobSet that runs could hold this in place of what it holds; what stays as it is needs no room."""
    changed = {name: each for name, each in holds.items() if each != run.admission.holds.get(name)}
    with books.ledger.without([run.workload.key]):
        return books.ledger.pools.has_room(changed)


def placement(settings: rules.Rules) -> Settings:
    """How to place."""
    return Settings(profile=settings.profile, parity=settings.parity)


def given(books: Books, admitted: Mapping[str, Mapping[str, str]]) -> dict[str, Sequence[model.Flavour]]:
    """The flavours of each pod set, as far as they still exist."""
    return {
        name: [books.flavours[flavour] for flavour in sorted(set(chosen.values())) if flavour in books.flavours]
        for name, chosen in admitted.items()
    }


def _closed(books: Books, name: str) -> Verdict | None:
    """Why nobody starts from a queue."""
    queue = books.queues.get(name)
    if queue is None:
        return Verdict(cause=Cause.NO_QUEUE, text=f'there is no queue "{name}"')
    problem = books.ledger.quotas.problems.get(name)
    if problem:
        return Verdict(cause=Cause.QUEUE_UNUSABLE, text=f'queue {name} cannot be used: {problem}')
    if queue.stop is not model.Stop.NONE:
        return Verdict(cause=Cause.QUEUE_STOPPED, text=f'queue {name} is stopped ({queue.stop})')
    return None


def _admit(books: Books, workload: model.Workload, settings: rules.Rules, size: int) -> model.Admission | Verdict:
    queue = books.queues[workload.queue]
    counts = sizes.counts(workload, size)
    stages = sizes.sized(workload.stages, counts)
    excluded: set[tuple[str, str]] = set()
    no_room: Verdict | None = None
    while True:
        choice = flavours.assign(books.ledger.quotas, queue, stages, books.flavours, excluded)
        if choice.mode is not flavours.Mode.FIT:
            return no_room or _refused(choice)
        found = seats.find(books.ledger.pools, stages, given(books, choice.flavours), placement(settings))
        if isinstance(found, seats.Seats):
            return model.Admission(
                flavours=choice.flavours,
                assignments=found.assignments,
                counts=counts,
                usage=choice.usage,
                holds=found.holds,
            )
        if isinstance(found, Invalid):
            return Verdict(cause=Cause.INVALID, text=found.text)
        no_room = no_room or _crowded(found)
        tried = {(found.name, flavour) for flavour in choice.flavours.get(found.name, {}).values()} - excluded
        if not tried:
            return no_room
        excluded |= tried


def _refused(choice: flavours.Choice) -> Verdict:
    """The mildest reason of the flavours of a pod set."""
    mild = [each for each in choice.refusals if not each.is_final]
    if choice.mode is flavours.Mode.FULL and mild:
        worst = mild[0]
        cause = Cause.QUOTA_USED
    else:
        limits = [each for each in choice.refusals if each.resource is not None and each.is_final]
        worst = (limits or list(choice.refusals))[0]
        cause = Cause.ABOVE_QUOTA if worst.resource is not None else Cause.NO_FLAVOUR
    return Verdict(
        cause=cause,
        text=f'{worst.pod_set}: {worst.reason}',
        pod_set=worst.pod_set,
        wanted=worst.asked or None,
        found=max(0, worst.available) if worst.resource is not None else None,
    )


def _crowded(found: NoRoom) -> Verdict:
    return Verdict(
        cause=Cause.NO_ROOM,
        text=f'{found.name}: topology {found.text}',
        pod_set=found.name,
        wanted=found.wanted,
        found=found.fitting,
        domain=found.domain,
    )


def _has_room(books: Books, queue: str, admission: model.Admission) -> bool:
    """Whether exactly this is free."""
    return books.ledger.quotas.fits(queue, admission.usage) and books.ledger.pools.has_room(admission.holds)


def _grown(books: Books, run: model.Run, counts: Mapping[str, int], settings: rules.Rules) -> model.Admission | None:
    stages = sizes.sized(run.workload.stages, counts)
    wanted = flavours.usage_of(stages, run.admission.flavours)
    more = {cell: amount - run.admission.usage.get(cell, 0) for cell, amount in wanted.items()}
    if not books.ledger.quotas.fits(run.workload.queue, more):
        return None
    chosen = given(books, run.admission.flavours)
    assignments = {}
    for each in msgspec.structs.replace(run.workload, stages=stages).pod_sets:
        name = each.request.name
        placer = books.ledger.pools.placer(seats.topology_of(chosen.get(name, ())))
        request = seats.flavoured(each.request, chosen.get(name, ()))
        answer = placer and placer.resize(request, run.admission.assignments[name], placement(settings))
        if not isinstance(answer, Assignment):
            return None
        assignments[name] = answer
    holds = seats.holds(stages, assignments)
    if not can_hold(books, run, holds):
        return None
    return msgspec.structs.replace(
        run.admission, assignments=assignments, counts=dict(counts), usage=wanted, holds=holds
    )
