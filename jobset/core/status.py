"""The status that a pass is about to write, and the events that will tell of it.

Source: JobSet API, ``status``. A pass works on one draft; what differs from the stored status in the end is written
once, and the events are sent only after that.
"""

import datetime

import msgspec

from jobset.api import types
from jobset.core import conditions, family, plan


class Draft:
    """A status being changed. ``stored`` is never touched; ``current`` is what the changes so far make of it."""

    def __init__(self, stored: types.Status, now: datetime.datetime) -> None:
        self.stored = stored
        self.current = stored
        self.now = now
        self.events: list[plan.Event] = []

    @property
    def changed(self) -> types.Status | None:
        """The status to write; None when the stored one is right already."""
        return None if self.current == self.stored else self.current

    def set(self, notice: conditions.Notice) -> None:
        """Set a condition, and tell of it if that changed anything."""
        updated = conditions.updated(self.current.conditions, notice, self.now)
        if updated is not None:
            self.current = msgspec.structs.replace(self.current, conditions=updated)
            self.tell(notice.event_type, notice.reason, notice.message)

    def set_silently(self, notice: conditions.Notice) -> None:
        """Set a condition whose story another event tells already."""
        updated = conditions.updated(self.current.conditions, notice, self.now)
        if updated is not None:
            self.current = msgspec.structs.replace(self.current, conditions=updated)

    def tell(self, event_type: plan.EventType, reason: str, note: str) -> None:
        """Have an event sent after the status is stored."""
        self.events.append(plan.Event(event_type, reason, note))

    def end(self, notice: conditions.Notice, restarting: conditions.Notice, state: types.TerminalState) -> None:
        """Set the condition that ends the JobSet, and with it everything that says so."""
        self.set(notice)
        self.set(restarting)
        self.current = msgspec.structs.replace(self.current, terminal_state=state.value)

    def count_restart(self, *, towards_max: bool) -> None:
        """Begin a new attempt of the whole set. Counters only grow."""
        self.current = msgspec.structs.replace(
            self.current,
            restarts=self.current.restarts + 1,
            restarts_count_towards_max=self.current.restarts_count_towards_max + int(towards_max),
        )

    def count_execution(self, number: int) -> None:
        """Begin an execution: see :mod:`jobset.core.executions`."""
        self.current = msgspec.structs.replace(self.current, execution_attempts=number)

    def count_jobs(self, jobset: types.JobSet, cohort: family.Cohort, *, keep_job_restarts: bool) -> None:
        """Take over the counters of the running attempt.

        Entries stand by name in descending order, as the Go controller's do; another order that is stored is no reason
        to write. Lists of per-Job restarts are carried over while the gate that fills them is on.
        """
        stored = {entry.name: entry for entry in self.current.replicated_jobs_status}
        counted = tuple(
            _entry(name, cohort.tally(name), stored.get(name) if keep_job_restarts else None)
            for name in sorted((job.name for job in jobset.spec.replicated_jobs), reverse=True)
        )
        if sorted(counted, key=_name) != sorted(self.current.replicated_jobs_status, key=_name):
            self.current = msgspec.structs.replace(self.current, replicated_jobs_status=counted)


def _name(entry: types.ReplicatedJobStatus) -> str:
    return entry.name


def _entry(
    name: str,
    tally: family.Tally,
    stored: types.ReplicatedJobStatus | None,
) -> types.ReplicatedJobStatus:
    return types.ReplicatedJobStatus(
        name=name,
        ready=tally.ready,
        succeeded=tally.succeeded,
        failed=tally.failed,
        active=tally.active,
        suspended=tally.suspended,
        job_restarts=stored.job_restarts if stored else (),
        job_restarts_count_towards_max=stored.job_restarts_count_towards_max if stored else (),
    )
