"""Decides who starts, who yields and who goes on waiting: pure state, facts in, plans out.

Facts are told to :class:`jobset.scheduler.books.Books`. :meth:`Planner.cycle` decides on all of them and lets the
books be as if the plan had been carried out, so that the next cycle of an unchanged world is empty. The caller tells
what came of it: pods that are gone, JobSets that ended, a write that was refused.

One at a time, in order, each seeing what was given to those before it. Whoever does not fit may make others yield
(:mod:`jobset.scheduler.evicting`) or be given a reservation (:mod:`jobset.scheduler.reservations`).
"""

import heapq
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from jobset.scheduler import admitting, evicting, model, plans, repairs, reservations, rules, waiting
from jobset.scheduler.books import Books, Promise, Reservation
from jobset.scheduler.verdicts import PERMANENT, Cause, Verdict

_CAPACITY: Final = frozenset({Cause.QUOTA_USED, Cause.NO_ROOM})
"""Causes that go away when others let go of what they have."""

_PREEMPTED: Final = 'Preempted'


class _Turn(NamedTuple):
    """When somebody is looked at; smaller ones first."""

    share: float
    """How much more than its own its queue would use."""
    level: float
    submitted: float
    key: str


class Planner:
    """The scheduler of one cluster."""

    def __init__(self, books: Books, settings: rules.Rules = rules.DEFAULT) -> None:
        self.books: Final = books
        self.rules: Final = settings
        self._verdicts: dict[tuple[str, waiting.Shape], Verdict] = {}

    def cycle(self, now: float) -> plans.Plan:
        """Decide on everything that is known."""
        decisions: list[plans.Decision] = list(repairs.mend(self.books, now, self.rules))
        told: dict[str, Verdict] = {}
        self._break_old_promises(now)
        turns = [self._turn(each, now) for name in sorted(self.books.lines) for each in self._openers(name)]
        heapq.heapify(turns)
        while turns:
            turn = heapq.heappop(turns)
            workload = self.books.waits(turn.key)
            if workload is None:
                continue
            fresh = self._turn(workload, now)
            if fresh > turn:
                # Others have started meanwhile: its queue would borrow more than when it was put in line.
                heapq.heappush(turns, fresh)
                continue
            behind = self._behind(workload)
            decided, verdict = self._decide(workload, fresh, now)
            decisions += decided
            if verdict is None:
                following = self._openers(workload.queue) if self._is_strict(workload.queue) else behind
                for each in following:
                    heapq.heappush(turns, self._turn(each, now))
            else:
                told[turn.key] = verdict
                for each in self._park(workload, verdict):
                    heapq.heappush(turns, self._turn(each, now))
        decisions += repairs.grow(self.books, self.rules)
        return plans.Plan(decisions=tuple(decisions), waiting=told, again_at=self._again_at(now))

    def verdict(self, key: str) -> Verdict | None:
        """Why a JobSet waits; None where it does not, or was not looked at yet."""
        workload = self.books.waits(key)
        if workload is None:
            return None
        line = self.books.line(workload.queue)
        first = line.first()
        if self._is_strict(workload.queue) and first is not None and line.stands_behind(key, first.key):
            text = f'queue {workload.queue} is strict: {first.key} comes before it'
            return Verdict(cause=Cause.BEHIND_HEAD, text=text, awaited=(first.key,))
        return self._verdicts.get((workload.queue, line.shape(key)))

    def _openers(self, queue: str) -> list[model.Workload]:
        """Who is to be looked at first in a queue: one of each shape, as whoever is alike gets the same answer."""
        line = self.books.line(queue)
        if self._is_strict(queue):
            first = line.first()
            return [first] if first is not None and not line.is_parked(first.key) else []
        return [line.workload(place.key) for place in line.heads()]

    def _behind(self, workload: model.Workload) -> list[model.Workload]:
        line = self.books.line(workload.queue)
        place = line.next_like(workload.key)
        return [] if place is None else [line.workload(place.key)]

    def _is_strict(self, queue: str) -> bool:
        known = self.books.queues.get(queue)
        return known is not None and known.strategy is model.Strategy.STRICT

    def _turn(self, workload: model.Workload, now: float) -> _Turn:
        queue = self.books.queues.get(workload.queue)
        gained = (now - workload.submitted) / queue.ageing_seconds if queue and queue.ageing_seconds else 0
        share = admitting.share(self.books, workload, self.rules)
        priority = workload.priority if self.rules.uses_priority else 0
        return _Turn(share, -(priority + gained), workload.submitted, workload.key)

    def _park(self, workload: model.Workload, verdict: Verdict) -> list[model.Workload]:
        """Look no more at a JobSet and those like it; who is looked at in its place."""
        line = self.books.line(workload.queue)
        self._verdicts[workload.queue, line.shape(workload.key)] = verdict
        if not self._is_strict(workload.queue) or verdict.cause not in PERMANENT:
            line.park(workload.key)
            return []
        # Whom nothing but a change of objects helps would block its queue for ever.
        line.set_aside(workload.key)
        return self._openers(workload.queue)

    def _decide(self, workload: model.Workload, turn: _Turn, now: float) -> tuple[list[plans.Decision], Verdict | None]:
        """What becomes of one JobSet: it starts where there is no verdict."""
        books = self.books
        ending = books.ending_for(workload.key)
        if ending:
            return [], _waits_for(ending)
        promise = books.promises.get(workload.key)
        if promise is not None:
            books.break_promise(workload.key)
        lower = [each for each in books.promises.values() if each.workload.priority < workload.priority]
        with books.ledger.without([each.owner for each in lower]):
            answer = admitting.admit(books, workload, self.rules, wish=promise.admission if promise else None)
        if isinstance(answer, Verdict):
            return self._yielding(workload, answer, now)
        delayed = self._delayed(workload, answer, turn, now)
        if delayed is not None:
            text = f'would delay {delayed.workload.key}, which has a reservation'
            return [], Verdict(cause=Cause.RESERVED, text=text, awaited=(delayed.workload.key,))
        return [self._start(workload, answer, lower, now)], None

    def _start(
        self, workload: model.Workload, admission: model.Admission, lower: list[Promise], now: float
    ) -> plans.Start:
        books = self.books
        books.run(model.Run(workload=workload, admission=admission, admitted=now))
        for each in lower:
            if not admitting.is_free(books, each):
                books.break_promise(each.workload.key)
        return plans.Start(key=workload.key, admission=admission, waited=max(0.0, now - workload.submitted))

    def _delayed(
        self, workload: model.Workload, admission: model.Admission, turn: _Turn, now: float
    ) -> Reservation | None:
        """Who before it in order has a reservation that its start would break."""
        for each in self.books.reservations.values():
            if self._turn(each.workload, now) < turn and reservations.is_delayed(
                self.books, each, workload, admission, now=now, admit=self._try
            ):
                return each
        return None

    def _yielding(self, workload: model.Workload, verdict: Verdict, now: float) -> tuple[list[plans.Decision], Verdict]:
        """For whom there is no room: who yields, or since when it has a place."""
        if verdict.cause not in _CAPACITY:
            return [], verdict
        if self._is_strict(workload.queue) and not admitting.could_ever(self.books, workload, self.rules):
            text = f'{verdict.text}; nor would it fit if all others were gone'
            return [], msgspec.structs.replace(verdict, cause=Cause.NEVER_FITS, text=text)
        if self.rules.preempts:
            found = evicting.seek(self.books, workload, now, self.rules)
            if isinstance(found, evicting.Yielding):
                return list(self._evict(workload, found, now)), _waits_for(tuple(sorted(found.keys)))
            verdict = msgspec.structs.replace(verdict, no_victims=found)
        if self.rules.backfills and len(self.books.reservations) < self.rules.reservations:
            place = reservations.make(self.books, workload, now, self._try)
            if place is not None:
                self.books.reservations[workload.key] = place
                verdict = msgspec.structs.replace(verdict, expected=place.at, awaited=place.awaited)
        return [], verdict

    def _evict(self, workload: model.Workload, found: evicting.Yielding, now: float) -> Iterator[plans.Evict]:
        for run in found.victims:
            eviction = model.Eviction(at=now, reason=_PREEMPTED, beneficiary=workload.key)
            self.books.evict(run.workload.key, eviction)
            text = (
                f'{workload.key} (priority {workload.priority}) needs the room of '
                f'{run.workload.key} (priority {run.workload.priority})'
            )
            yield plans.Evict(key=run.workload.key, eviction=eviction, lost_work=run.lost_work(now), text=text)
        self.books.promise(Promise(workload=workload, admission=found.admission, victims=found.keys, made=now))

    def _try(self, workload: model.Workload) -> model.Admission | None:
        answer = admitting.admit(self.books, workload, self.rules)
        return None if isinstance(answer, Verdict) else answer

    def _break_old_promises(self, now: float) -> None:
        for promise in list(self.books.promises.values()):
            key = promise.workload.key
            if promise.made + self.rules.promise_seconds <= now and not self.books.ending_for(key):
                self.books.break_promise(key)

    def _again_at(self, now: float) -> float | None:
        """When to look again though nothing has happened."""
        if any(self._openers(name) for name in self.books.lines):
            return now
        moments = [each.made + self.rules.promise_seconds for each in self.books.promises.values()]
        moments += [
            run.admitted + run.workload.least_runtime
            for run in self.books.runs.values()
            if run.admitted + run.workload.least_runtime > now
        ]
        return min((moment for moment in moments if moment > now), default=None)


def _waits_for(keys: tuple[str, ...]) -> Verdict:
    return Verdict(
        cause=Cause.VICTIMS_ENDING, text=f'waits for {", ".join(keys)} to end, which yield to it', awaited=keys
    )
