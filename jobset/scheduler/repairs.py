"""Gangs that lost nodes, and gangs that were started smaller than they asked to be.

Repair comes before new work: ranks that are left hold nodes and do nothing until the gang is whole again. Growth comes
after it, with what nobody else could use.
"""

from collections.abc import Collection, Iterator

import msgspec

from jobset.scheduler import admitting, model, plans, rules, seats, sizes
from jobset.scheduler.books import Books
from jobset.scheduler.topology.domains import Values
from jobset.scheduler.topology.requests import Request
from jobset.scheduler.topology.results import Assignment


def mend(books: Books, now: float, settings: rules.Rules) -> Iterator[plans.Decision]:
    """New places for the pods of lost nodes, the most urgent gang first."""
    broken = [(run, lost) for run in books.runs.values() if run.eviction is None and (lost := _lost(books, run))]
    for run, lost in sorted(broken, key=lambda each: (-each[0].workload.priority, each[0].workload.submitted)):
        moved = _moved(books, run, lost, settings)
        holds = moved and seats.holds(sizes.sized(run.workload.stages, run.admission.counts), moved)
        # Each pod set was given a place by itself: together they may want the same room.
        if moved and holds and admitting.can_hold(books, run, holds):
            admission = msgspec.structs.replace(run.admission, assignments=moved, holds=holds)
            books.run(msgspec.structs.replace(run, admission=admission))
            changed = {name: each for name, each in moved.items() if each != run.admission.assignments[name]}
            yield plans.Move(key=run.workload.key, admission=admission, moved=changed, lost=lost)
        elif not settings.repair_waits:
            yield _give_up(books, run, lost, now)


def _give_up(books: Books, run: model.Run, lost: tuple[str, ...], now: float) -> plans.Evict:
    eviction = model.Eviction(at=now, reason='NodeFailures')
    books.evict(run.workload.key, eviction)
    text = f'lost {", ".join(lost)}, and no other nodes take the pods that were there'
    return plans.Evict(key=run.workload.key, eviction=eviction, lost_work=run.lost_work(now), text=text)


def _lost(books: Books, run: model.Run) -> tuple[str, ...]:
    known = books.ledger.pools.known
    return tuple(sorted(name for name in run.admission.holds if name not in known or not known[name].is_ready))


def _moved(books: Books, run: model.Run, lost: Collection[str], settings: rules.Rules) -> dict[str, Assignment] | None:
    """Where all pods are once those of ``lost`` have moved; None where they have no place."""
    found: dict[str, Assignment] = {}
    for request, topology in _requests(books, run):
        current = run.admission.assignments[request.name]
        placer = books.ledger.pools.placer(topology)
        leaves: set[Values] = {leaf for leaf in current.pods if leaf[-1] in lost}
        if current.leader is not None and current.leader[-1] in lost:
            leaves.add(current.leader)
        if not leaves:
            found[request.name] = current
            continue
        answer = placer and placer.replace(request, current, leaves, admitting.placement(settings))
        if not isinstance(answer, Assignment):
            return None
        found[request.name] = answer
    return found


def grow(books: Books, settings: rules.Rules) -> Iterator[plans.Resize]:
    """More pods for those that were started with fewer, unless somebody has a reservation."""
    if books.reservations or books.promises:
        return
    small = [run for run in books.runs.values() if run.eviction is None and _is_small(run)]
    for run in sorted(small, key=lambda each: (-each.workload.priority, each.workload.submitted, each.workload.key)):
        admission = admitting.bigger(books, run, settings)
        if admission is not None:
            books.run(msgspec.structs.replace(run, admission=admission))
            yield plans.Resize(key=run.workload.key, admission=admission)


def _is_small(run: model.Run) -> bool:
    return any(run.admission.counts[each.request.name] < each.request.count for each in run.workload.pod_sets)


def _requests(books: Books, run: model.Run) -> Iterator[tuple[Request, str | None]]:
    """What each pod set asked for, as it was placed, and in which topology."""
    stages = sizes.sized(run.workload.stages, run.admission.counts)
    given = admitting.given(books, run.admission.flavours)
    for each in msgspec.structs.replace(run.workload, stages=stages).pod_sets:
        chosen = given.get(each.request.name, ())
        yield seats.flavoured(each.request, chosen), seats.topology_of(chosen)
