"""Why a JobSet waits: one first cause, as a word, as numbers and as a sentence."""

import enum

import msgspec


class Cause(enum.StrEnum):
    """The first thing that would have to change."""

    NO_QUEUE = 'NoQueue'
    QUEUE_UNUSABLE = 'QueueUnusable'
    QUEUE_STOPPED = 'QueueStopped'
    NO_PRIORITY = 'NoPriority'
    INVALID = 'Invalid'
    NO_FLAVOUR = 'NoFlavour'
    """No flavour of the queue suits its pods."""
    ABOVE_QUOTA = 'AboveQuota'
    """It asks for more than the queue could ever use."""
    QUOTA_USED = 'QuotaUsed'
    NEVER_FITS = 'NeverFits'
    """It would not fit on the nodes if all others were gone."""
    NO_ROOM = 'NoRoom'
    VICTIMS_ENDING = 'VictimsEnding'
    RESERVED = 'Reserved'
    """It would fit, but delay another one that has a reservation."""
    BEHIND_HEAD = 'BehindHead'
    """Its queue starts nobody before the one ahead of it."""


PERMANENT = frozenset(
    {
        Cause.NO_QUEUE,
        Cause.QUEUE_UNUSABLE,
        Cause.NO_PRIORITY,
        Cause.INVALID,
        Cause.NO_FLAVOUR,
        Cause.ABOVE_QUOTA,
        Cause.NEVER_FITS,
    }
)
"""Somebody has to change an object: no end of another JobSet helps."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Why a JobSet does not start now."""

    cause: Cause
    text: str
    """The cause in a sentence, with its numbers, without a full stop."""
    pod_set: str | None = None
    wanted: int | None = None
    """How many of what the sentence names; None where the cause has no number."""
    found: int | None = None
    domain: tuple[str, ...] | None = None
    """The domain that came nearest."""
    no_victims: str | None = None
    """Why nobody is evicted for it; None where nobody was looked for."""
    expected: float | None = None
    """When it will start, as far as what runs tells; None: unknown."""
    awaited: tuple[str, ...] = ()
    """JobSets that must end first."""
