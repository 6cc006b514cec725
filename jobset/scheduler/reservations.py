"""When and where somebody will start who cannot now, and who may pass without delaying that.

The first in order that has no room gets a reservation: the earliest moment at which it fits if everyone that runs
ends when it should, and the place that it has then. Others start before it only where they end before that moment, or
where it still fits then beside them. Whose end nobody knows counts as never ending; where that leaves no moment, there
is no reservation, and nothing is said of when.

Source of the rule: EASY backfilling (Lifka 1995), with one reservation or a few.
"""

from collections.abc import Callable

from jobset.scheduler import model
from jobset.scheduler.books import Books, Reservation

Admit = Callable[[model.Workload], model.Admission | None]
"""Where a JobSet would go with what is free at this moment."""


def make(books: Books, workload: model.Workload, now: float, admit: Admit) -> Reservation | None:
    """The earliest moment from which a JobSet fits; None where that is not known."""
    ends = _ends(books, now)
    moments = sorted({moment for moment, _ in ends})

    def fits_at(moment: float) -> model.Admission | None:
        with books.ledger.without([key for end, key in ends if end <= moment]):
            return admit(workload)

    # More is free the later it is: search for the first moment by halves.
    first, last = 0, len(moments)
    found: model.Admission | None = None
    while first < last:
        middle = (first + last) // 2
        admission = fits_at(moments[middle])
        if admission is None:
            first = middle + 1
        else:
            last, found = middle, admission
    if found is None:
        return None
    awaited = [key for end, key in ends if end <= moments[first]]
    return Reservation(workload=workload, at=moments[first], admission=found, awaited=tuple(sorted(awaited)))


def is_delayed(
    books: Books,
    reservation: Reservation,
    workload: model.Workload,
    admission: model.Admission,
    *,
    now: float,
    admit: Admit,
) -> bool:
    """Whether ``workload``, started now with ``admission``, would keep a reservation from being met."""
    if workload.duration is not None and now + workload.duration <= reservation.at:
        return False
    if not (admission.holds.keys() & reservation.admission.holds.keys()) and not (
        admission.usage.keys() & reservation.admission.usage.keys()
    ):
        return False
    gone = [key for end, key in _ends(books, now) if end <= reservation.at]
    with books.ledger.without(gone), books.ledger.also('passing', workload.queue, admission):
        return admit(reservation.workload) is None


def _ends(books: Books, now: float) -> list[tuple[float, str]]:
    """When each of those that run lets go of what it has, where that is known; never before now."""
    found = []
    for key, run in books.runs.items():
        end = run.ends if run.eviction is None else run.eviction.at + run.workload.grace
        if end is not None:
            found.append((max(end, now), key))
    return sorted(found)
