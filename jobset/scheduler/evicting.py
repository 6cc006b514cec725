"""Who yields to a JobSet that does not fit: the last resort."""

from collections.abc import Sequence

import msgspec

from jobset.scheduler import admitting, amounts, model, rules
from jobset.scheduler.books import Books
from jobset.scheduler.preemption import candidates, search
from jobset.scheduler.verdicts import Verdict


class Yielding(msgspec.Struct, frozen=True, kw_only=True):
    """Who goes, and what the JobSet for whom they go is given then."""

    victims: tuple[model.Run, ...]
    admission: model.Admission

    @property
    def keys(self) -> frozenset[str]:
        """Of the victims."""
        return frozenset(run.workload.key for run in self.victims)


def seek(books: Books, workload: model.Workload, now: float, settings: rules.Rules) -> Yielding | str:
    """The fewest that have to go so that ``workload`` fits; else why nobody goes."""
    if not workload.may_preempt:
        return 'it may not evict others'
    found = candidates.eligible(books, workload, admitting.usage(books, workload), now, settings)
    if not found.runs:
        return found.text
    with _Trial(books, workload, settings) as trial:
        victims = search.fewest(
            found.runs,
            trial.used_nodes,
            now=now,
            lowest_first=settings.evicts_lowest_first,
            rank=lambda run: candidates.rank(run, settings),
            could_fit=trial.could_fit,
        )
        admission = victims and trial.admission(victims)
    if not victims or not admission:
        return f'it would not fit if all {len(found.runs)} that may be evicted were gone'
    allowed = candidates.allowance(books, now, settings)
    if allowed is not None and len(victims) > allowed:
        return f'{len(victims)} would have to go, and only {allowed} more may be evicted within the hour'
    return Yielding(victims=victims, admission=admission)


class _Trial:
    """The world without some of those that run. From one question to the next only what differs is changed."""

    def __init__(self, books: Books, workload: model.Workload, settings: rules.Rules) -> None:
        self._books, self._workload, self._settings = books, workload, settings
        self._gone: dict[str, model.Run] = {}
        self._needs = workload.amounts
        self._free = books.ledger.pools.total_free()

    def __enter__(self) -> '_Trial':
        return self

    def __exit__(self, *_: object) -> None:
        self._set(())

    def could_fit(self, victims: Sequence[model.Run]) -> bool:
        """Whether there would be enough in sum, wherever it is."""
        freed = amounts.total(each for run in victims for each in run.admission.holds.values())
        return all(self._free.get(name, 0) + freed.get(name, 0) >= many for name, many in self._needs.items())

    def used_nodes(self, victims: Sequence[model.Run]) -> frozenset[str] | None:
        """The nodes that would be used without ``victims``."""
        admission = self.admission(victims)
        return None if admission is None else frozenset(admission.holds)

    def admission(self, victims: Sequence[model.Run]) -> model.Admission | None:
        """What the JobSet would be given if these were gone; None where it still does not fit."""
        self._set(victims)
        answer = admitting.admit(self._books, self._workload, self._settings)
        return None if isinstance(answer, Verdict) else answer

    def _set(self, victims: Sequence[model.Run]) -> None:
        wanted = {run.workload.key: run for run in victims}
        ledger = self._books.ledger
        ledger.give_back(*(key for key in wanted if key not in self._gone))
        for key in [key for key in self._gone if key not in wanted]:
            run = self._gone[key]
            ledger.take(key, run.workload.queue, run.admission)
        self._gone = wanted
