"""RE2 patterns as Go's ``regexp`` package takes them: accepted, refused and matched alike, in bounded time.

:func:`parse` and :class:`PatternError` are all that admission needs; :func:`compile` and :meth:`Matcher.search` are for
those who match. Nothing here does I/O or knows an event loop.
"""

from jobset.re2.errors import MatchTimeout, PatternError, PatternTooComplexError, Reason
from jobset.re2.matching import DEFAULT_TIMEOUT_SECONDS, MAX_TEXT_LENGTH, Matcher, compile  # noqa: A004
from jobset.re2.nodes import Node
from jobset.re2.syntax import parse
from jobset.re2.translation import translate

__all__ = [
    'DEFAULT_TIMEOUT_SECONDS',
    'MAX_TEXT_LENGTH',
    'MatchTimeout',
    'Matcher',
    'Node',
    'PatternError',
    'PatternTooComplexError',
    'Reason',
    'compile',
    'parse',
    'translate',
]
