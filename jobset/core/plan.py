"""What a pass over one JobSet wants done, as data. :mod:`jobset.controller.executor` is the only place that does it."""

import dataclasses
import enum
from typing import Final, NamedTuple

import msgspec

from jobset.api import gangs, types
from jobset.core import children


class PassStoppedError(Exception):
    """Nothing may be done about this JobSet until something changes: log it, count it, and wait.

    Raised where the facts contradict themselves, so that every decision would be a guess.
    """


class EventType(enum.StrEnum):
    """How an Event is shown."""

    NORMAL = 'Normal'
    WARNING = 'Warning'


class Event(NamedTuple):
    """An Event about the JobSet, to be sent once the status that it tells of is stored."""

    type: EventType
    reason: str
    note: str


class JobRef(NamedTuple):
    """A Job that exists. The uid is a precondition of every write: another Job may have got the name since."""

    name: str
    uid: str


class PodRef(NamedTuple):
    """A pod that exists; the uid as with a Job."""

    name: str
    uid: str


class PodDeed(enum.StrEnum):
    """What is done about a pod that is in the way; the value is the reason of the event that tells of it."""

    DELETE = 'PodDeleted'
    FORCE = 'PodFenced'
    """Deleted without waiting for its node."""

    RELEASE = 'PodReleased'
    """Finalizers are taken off."""


class PodAct(NamedTuple):
    """One of them, with the reason for people."""

    deed: PodDeed
    pod: PodRef
    why: str
    finalizers: tuple[str, ...] = ()


class Keeping(NamedTuple):
    """Jobs whose failed pods are to stay when the Jobs go, and of how many attempts all such pods stay."""

    jobs: tuple[JobRef, ...]
    attempts: int


class Resumption(NamedTuple):
    """A suspended Job to be started, with the replicated job whose current template it takes its scheduling from."""

    job: JobRef
    replicated_job: types.ReplicatedJob
    clear_start_time: bool


class Scaling(NamedTuple):
    """An unfinished Job that is to run another number of pods: its parallelism and its completions alike."""

    job: JobRef
    size: int


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """Why one attempt ended, as it is kept."""

    attempt: int
    own_attempt: int | None = None
    """That of the Job, where only the Job was made anew."""

    in_place_attempt: int | None = None
    """That of the pods, where they started again in place."""

    ended_at: str
    reason: str
    """The reason of the condition that tells of the end."""

    jobset_failed: bool = False
    """Whether it was the last attempt."""

    job: str = ''
    cause: str = ''
    text: str = ''
    pod: str = ''
    node: str = ''
    container: str = ''
    exit_code: int | None = None
    last_lines: str = ''


class Object(NamedTuple):
    """An object to be made, in full."""

    name: str
    body: dict[str, object]


class GroupRef(NamedTuple):
    """A Workload or PodGroup that exists."""

    kind: str
    name: str
    uid: str


class GroupObject(NamedTuple):
    """A Workload or PodGroup to be made, in full."""

    kind: str
    name: str
    body: dict[str, object]


class Resize(NamedTuple):
    """A gang whose size changes: in a PodGroup, or in the template at that place of a Workload."""

    group: GroupRef
    min_count: int
    template: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Groups:
    """What is to be done about Workloads and PodGroups."""

    delete: tuple[GroupRef, ...] = ()
    """Done after all that is done about Jobs."""

    create: tuple[GroupObject, ...] = ()
    """The Workload first."""

    resize: tuple[Resize, ...] = ()


NO_GROUPS: Final = Groups()
"""Nothing is to be done about any."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One pass. Carried out in the order of the fields; the first that fails ends it, with the status unwritten."""

    pods: tuple[PodAct, ...] = ()
    """Pods that are in the way."""

    keep: Keeping | None = None
    """Failed pods to be kept: before their Jobs are deleted."""

    delete: tuple[JobRef, ...] = ()
    """Jobs to delete with foreground propagation: the object, and with it the name, stays until its pods are gone."""

    groups: Groups = NO_GROUPS
    """Groups of pods, which must be there before the first of their pods."""

    service: Object | None = None
    """The headless Service, where it is missing."""

    claims: tuple[Object, ...] = ()
    """PersistentVolumeClaims that are missing."""

    scale: tuple[Scaling, ...] = ()
    """Jobs that are not of the size that the template says."""

    create: tuple[children.Child, ...] = ()
    """Jobs to make. Their bodies are built one at a time by :class:`jobset.core.jobs.Factory`."""

    grouped: tuple[gangs.Gang, ...] = ()
    """The groups that pods of Jobs to be made belong to."""

    suspend: tuple[JobRef, ...] = ()
    resume: tuple[Resumption, ...] = ()

    archive: AttemptRecord | None = None
    """What is to be kept of the attempt that the status ends."""

    status: types.Status | None = None
    """The status to store; None when what is stored is already right."""

    events: tuple[Event, ...] = ()
    """To be sent after the status is stored, in order."""

    delete_jobset: bool = False
    """The JobSet has outlived its ``ttlSecondsAfterFinished``."""

    again_after_seconds: float | None = None
    """When to look again although nothing changes."""

    patience_seconds: float = 0
    """How old the counters in the status may be when nothing else is to be written."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written."""
        return self == Plan(again_after_seconds=self.again_after_seconds, patience_seconds=self.patience_seconds)
