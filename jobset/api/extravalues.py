"""The values of our own annotations: what they mean, and how they are read.

A parser takes the text of an annotation and raises :class:`ExtraError`, whose text says what would be taken.
"""

import datetime
import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from jobset.api import durations

E = TypeVar('E', bound=enum.StrEnum)


class ExtraError(ValueError):
    """The value is none that the annotation takes. The text says what it takes."""


class Trigger(enum.StrEnum):
    """What counts as the failure of a Job."""

    JOB_FAILED = 'JobFailed'
    """Its condition ``Failed``, as upstream: true once the last of its pods has ended."""

    FAILURE_TARGET = 'FailureTarget'
    """The condition ``FailureTarget``: it is going to fail, whatever its pods still do."""

    POD_LOST = 'PodLost'
    """Any pod of it has failed or was lost, though the Job would replace it."""


class Cause(enum.StrEnum):
    """What made a Job fail, as far as anybody can tell."""

    DISRUPTION = 'disruption'
    """A pod was preempted, evicted through the API or by its kubelet, or its node was shut down in an orderly way."""

    NODE = 'node'
    """A pod's node is gone, or was out of reach for too long."""

    START = 'start'
    """A pod never ran: image, configuration, volumes, refused by its node."""

    APPLICATION = 'application'
    """A container ended with an exit code other than zero."""

    DEADLINE = 'deadline'
    """The Job's own ``activeDeadlineSeconds`` is over."""

    UNKNOWN = 'unknown'
    """Nothing is left that would tell."""


FREE: Final = -1
"""The budget of what costs nothing."""

_ANY: Final = 'any'
_LONGEST: Final = datetime.timedelta(days=36_500)
_EXIT: Final = re.compile(r'exit-(?:[1-9][0-9]{0,2})', re.ASCII)
_INTEGER: Final = re.compile(r'-?[0-9]{1,10}', re.ASCII)
_NUMBER: Final = re.compile(r'0|[1-9][0-9]{0,8}', re.ASCII)
_NAME: Final = re.compile(r'[a-z0-9](?:[-a-z0-9]*[a-z0-9])?', re.ASCII)
_FINALIZER: Final = re.compile(r'[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?', re.ASCII)


@dataclass(frozen=True)
class Budgets:
    """How many restarts each kind of failure may cost; :data:`FREE` where it costs none.

    Keys are ``<cause>``, ``exit-<code>`` and ``any``, perhaps after the name of a replicated job and a slash.
    """

    limits: Mapping[str, int]

    def key(self, replicated_job: str, cause: Cause, exit_code: int | None) -> str | None:
        """The entry that a failure falls under, the narrowest first; None where ``maxRestarts`` decides."""
        kinds = [cause.value, _ANY] if exit_code is None else [f'exit-{exit_code}', cause.value, _ANY]
        wanted = [*(f'{replicated_job}/{kind}' for kind in kinds), *kinds]
        return next((key for key in wanted if key in self.limits), None)


@dataclass(frozen=True, kw_only=True)
class Pause:
    """How long to wait between the end of an attempt and the next one: ``base``, then twice as long each time."""

    base: float
    """Seconds."""

    cap: float
    """Seconds to which it grows."""

    reset: float
    """Seconds of running with all pods ready, after which the next pause is ``base`` again."""

    jitter: float = 0
    """The part of itself, up to 1, by which a pause is longer at most; so sets that failed together come back apart."""


def duration(text: str) -> datetime.timedelta:
    """A positive duration, as ``90s`` or ``1h30m``."""
    try:
        length = durations.parse(text)
    except durations.DurationError as error:
        raise ExtraError(str(error)) from None
    if not datetime.timedelta() < length <= _LONGEST:
        raise ExtraError(f'{text!r} is not between 0 and 100 years; write a duration such as 90s or 1h30m')
    return length


def switch(text: str) -> bool:
    """``true`` or ``false``."""
    if text not in ('true', 'false'):
        raise ExtraError(f'{text!r} is neither "true" nor "false"')
    return text == 'true'


def number(text: str, *, most: int) -> int:
    """A whole number from 1 to ``most``."""
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= most:
        raise ExtraError(f'{text!r} is no number from 1 to {most}')
    return int(text)


def integer(text: str) -> int:
    """A whole number of 32 bits."""
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise ExtraError(f'{text!r} is no whole number of 32 bits; write digits, after a minus perhaps')
    return int(text)


def moment(text: str) -> datetime.datetime:
    """A point in time by RFC 3339."""
    try:
        found = datetime.datetime.fromisoformat(text) if 'T' in text else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ExtraError(f'{text!r} is no time; write one such as 2026-01-31T12:00:00Z')
    return found


def one_of(values: type[E]) -> Callable[[str], E]:
    """One value of an enumeration."""

    def parse(text: str) -> E:
        try:
            return values(text)
        except ValueError:
            raise ExtraError(f'{text!r} is none of {", ".join(values)}') from None

    return parse


def budgets(text: str) -> Budgets:
    """As ``disruption=free, node=5, driver/application=0``."""
    limits: dict[str, int] = {}
    for key, value in _pairs(text, example='disruption=free, application=3').items():
        role, slash, kind = key.rpartition('/')
        if slash and not _NAME.fullmatch(role):
            raise ExtraError(f'{role!r} in {key!r} is no name of a replicated job')
        if kind not in (*Cause, _ANY) and not _EXIT.fullmatch(kind):
            known = ', '.join((*Cause, _ANY))
            raise ExtraError(f'{kind!r} is no cause of a failure; known are {known} and exit-<code>, as exit-42')
        if value != 'free' and not _NUMBER.fullmatch(value):
            raise ExtraError(f'{key}={value}: a budget is a whole number or "free"')
        limits[key] = FREE if value == 'free' else int(value)
    return Budgets(limits)


def pause(text: str) -> Pause:
    """As ``base=1s, cap=1m, reset=5m, jitter=10%``; all but the first may be left out."""
    found = _pairs(text, example='base=1s, cap=1m, reset=5m')
    unknown = found.keys() - {'base', 'cap', 'reset', 'jitter'}
    if unknown or 'base' not in found:
        what = f'{min(unknown)!r} is unknown' if unknown else '"base" is missing'
        raise ExtraError(f'{what}; a pause is written as base=1s, cap=1m, reset=5m, jitter=10%')
    base, cap, reset = (
        duration(found.get(key, default)).total_seconds()
        for key, default in (('base', ''), ('cap', '5m'), ('reset', '10m'))
    )
    if cap < base and 'cap' in found:
        raise ExtraError(f'cap={found["cap"]} is less than base={found["base"]}')
    return Pause(base=base, cap=max(base, cap), reset=reset, jitter=_percent(found.get('jitter', '0%')))


def finalizers(text: str) -> frozenset[str]:
    """Names of finalizers, as ``example.com/a, example.com/b``."""
    names = [name.strip() for name in text.split(',')]
    for name in names:
        if not _FINALIZER.fullmatch(name):
            raise ExtraError(f'{name!r} is no name of a finalizer; write example.com/name, several with commas')
    return frozenset(names)


def _percent(text: str) -> float:
    if not text.endswith('%') or not _NUMBER.fullmatch(text[:-1]) or int(text[:-1]) > 100:
        raise ExtraError(f'jitter={text}: write a part in percent, from 0% to 100%')
    return int(text[:-1]) / 100


def _pairs(text: str, *, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for piece in text.split(','):
        key, equals, value = (part.strip() for part in piece.partition('='))
        if not equals or not key or not value:
            raise ExtraError(f'{piece.strip()!r} is no pair; write key=value, several with commas, as {example}')
        if key in pairs:
            raise ExtraError(f'{key!r} stands there twice')
        pairs[key] = value
    return pairs


def choice(*values: str) -> Callable[[str], str]:
    """A parser of one of these words."""

    def parse(text: str) -> str:
        if text not in values:
            raise ExtraError(f'{text!r} is none of: {", ".join(values)}')
        return text

    return parse


def label_key(text: str) -> str:
    """The key of a label."""
    prefix, slash, name = text.rpartition('/')
    if not _LABEL_NAME.fullmatch(name) or (slash and not _LABEL_PREFIX.fullmatch(prefix)) or len(prefix) > _PREFIX_MOST:
        raise ExtraError(f'{text!r} is no key of a label; write it as the nodes bear it')
    return text


_LABEL_NAME: Final = re.compile('[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?', re.ASCII)
_LABEL_PREFIX: Final = re.compile(r'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*', re.ASCII)
_PREFIX_MOST: Final = 253


def name(text: str) -> str:
    """The name of a replicated job."""
    if not _NAME.fullmatch(text):
        raise ExtraError(f'{text!r} is no name of a replicated job')
    return text


def names(text: str) -> tuple[str, ...]:
    """Different names, with commas between."""
    found = tuple(name.strip() for name in text.split(','))
    if not all(found) or len(set(found)) < len(found):
        raise ExtraError(f'{text!r} is no list of different names; write them with commas between')
    return found
