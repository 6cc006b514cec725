"""What a pass over one Job wants done, as data. :mod:`executor` is the only place that does it."""

import datetime
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from jobset.kube.events import EventType
from jobset.local.jobs import backoff
from jobset.local.jobs.types import Pod, Status


class Event(NamedTuple):
    """An Event about the Job."""

    type: EventType
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to be made."""

    index: int | None = None
    failures: int | None = None
    """How often its index has failed before, where that is counted."""

    ignored: int = 0
    """How many failures of its index do not count."""


class Removal(NamedTuple):
    """A pod to be deleted."""

    pod: Pod
    is_counted: bool
    """Whether its end is to be counted as that of any other pod; else it leaves no trace in the status."""


class Undone(NamedTuple):
    """How much of a plan could not be done: so its status is not the one to write."""

    created: int = 0
    """Pods that could not be made."""

    deleted: tuple[str, ...] = ()
    """Pods, by uid, that could not be deleted."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One pass. Carried out in the order of the fields.

    Where pods could not be made or deleted, the status is wrong: it then is to be had from a new plan, that knows of it
    (see :func:`jobset.local.jobs.sync.sync`), and the pass has failed after that.
    """

    adopt: tuple[Pod, ...] = ()
    """Pods to take: they match the selector and nobody manages them."""

    disown: tuple[Pod, ...] = ()
    """Pods to let go: they do not match the selector any more."""

    delete: tuple[Removal, ...] = ()
    create: tuple[NewPod, ...] = ()

    noted: Status | None = None
    """A status to store before finalizers are removed: it names the pods that would else be forgotten."""

    record: backoff.Record = backoff.NONE
    """To be remembered once ``noted`` is stored."""

    release: tuple[Pod, ...] = ()
    """Pods whose finalizer has done its duty: they are counted, or noted."""

    status: Status | None = None
    """The status to store in the end."""

    events: tuple[Event, ...] = ()
    """To be sent in the end."""

    again: datetime.datetime | None = None
    """When to look again although nothing changes."""

    is_partial: bool = False
    """Whether another pass has to follow at once, because this one had too much to do."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written."""
        return not (self.adopt or self.disown or self.delete or self.create or self.release) and (
            self.noted is None and self.status is None
        )
