"""What a JobSet waits for, in one condition: nobody has to look at its Jobs, groups or pods to know.

Of several things the most important one is told, and how many more there are. An event tells of a new reason, but for
reasons that an event of their own tells already; the text may change by itself, as the words of a scheduler do with
every node, and does so only now and then.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from jobset.core import conditions, plan, status

WAITING: Final = 'Waiting'

RETELL_SECONDS: Final = 15
"""How long a text stands until it may change by itself."""

PAUSED: Final = 'RestartPaused'
OLD_PODS: Final = 'OldPodsStay'
KEPT_BY_NODE: Final = 'NodeKeepsPod'
FOREIGN_FINALIZERS: Final = 'ForeignFinalizers'
QUEUED: Final = 'Queued'
EXCLUSIVE: Final = 'NoExclusiveDomain'
DEPENDS_ON: Final = 'DependsOn'
IN_ORDER: Final = 'StartupOrder'

_TOLD_ELSEWHERE: Final = frozenset({PAUSED, KEPT_BY_NODE, FOREIGN_FINALIZERS})
_ENDS_ELSEWHERE: Final = _TOLD_ELSEWHERE | {QUEUED}
_OVER: Final = conditions.Notice(WAITING, False, 'NothingToWaitFor', 'nothing holds up the JobSet')
_AT_REST: Final = conditions.Notice(WAITING, False, 'NothingToWaitFor', 'the JobSet is suspended or has ended')


class Wait(NamedTuple):
    """One thing that is waited for."""

    reason: str
    text: str
    event_type: plan.EventType = plan.EventType.NORMAL


class Quiet(NamedTuple):
    """It may be that something is waited for, but it is too early to say."""

    reasons: Collection[str]
    """Those that it may be; what was told before of one of these stands."""

    seconds: float | None = None
    """When it is not too early any more, if nothing changes before."""


class Waits(NamedTuple):
    """What one part of a pass knows of it."""

    told: Sequence[Wait] = ()
    quiet: Sequence[Quiet] = ()


NOTHING: Final = Waits()


def tell(draft: status.Draft, parts: Sequence[Waits], *, may_retell: bool) -> float | None:
    """Record what is waited for, the most important first; returns when to look again although nothing changes."""
    told = [wait for part in parts for wait in part.told]
    quiet = [each for part in parts for each in part.quiet]
    again = min((each.seconds for each in quiet if each.seconds is not None), default=None)
    old = conditions.find(draft.current, WAITING)
    if told:
        put_off = _note(draft, _together(told), may_retell=may_retell)
        return RETELL_SECONDS if put_off and (again is None or again > RETELL_SECONDS) else again
    if old is None or not old.is_true or any(old.reason in each.reasons for each in quiet):
        return again
    if old.reason in _ENDS_ELSEWHERE:
        draft.set_silently(_OVER)
    else:
        draft.set(_OVER)
    return again


def rest(draft: status.Draft) -> None:
    """Record that nothing is waited for any more, because the set is suspended or has ended."""
    if conditions.is_true(draft.current, WAITING):
        draft.set_silently(_AT_REST)


def foretell(draft: status.Draft, wait: Wait) -> None:
    """Record what the next pass would, in the write that makes it so."""
    _note(draft, _notice(wait), may_retell=True)


def _together(told: Sequence[Wait]) -> conditions.Notice:
    first, others = _notice(told[0]), told[1:]
    if not others:
        return first
    more = ', '.join(dict.fromkeys(wait.reason for wait in others))
    return first._replace(message=f'{first.message} ({len(others)} more: {more})')


def _notice(wait: Wait) -> conditions.Notice:
    return conditions.Notice(WAITING, True, wait.reason, wait.text, wait.event_type)


def _note(draft: status.Draft, notice: conditions.Notice, *, may_retell: bool) -> bool:
    """Set the condition; whether a change of its text was put off."""
    old = conditions.find(draft.current, WAITING)
    if old is None or old.is_true != notice.holds or old.reason != notice.reason:
        if notice.reason in _TOLD_ELSEWHERE:
            draft.set_silently(notice)
        else:
            draft.set(notice)
    elif old.message != notice.message:
        if not may_retell:
            return True
        draft.set_silently(notice)
    return False
