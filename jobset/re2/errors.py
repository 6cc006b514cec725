"""What can be wrong with a pattern, and with a search."""

import enum


class Reason(enum.StrEnum):
    """Why Go refuses a pattern, in Go's words."""

    BAD_CLASS_RANGE = 'invalid character class range'
    BAD_ESCAPE = 'invalid escape sequence'
    BAD_GROUP_NAME = 'invalid named capture'
    BAD_GROUP = 'invalid or unsupported Perl syntax'
    REPEATED_REPEAT = 'invalid nested repetition operator'
    BAD_REPEAT_COUNT = 'invalid repeat count'
    MISSING_BRACKET = 'missing closing ]'
    MISSING_PARENTHESIS = 'missing closing )'
    NOTHING_TO_REPEAT = 'missing argument to repetition operator'
    TRAILING_BACKSLASH = 'trailing backslash at end of expression'
    UNEXPECTED_PARENTHESIS = 'unexpected )'
    TOO_DEEP = 'expression nests too deeply'
    TOO_LARGE = 'expression too large'


class PatternError(ValueError):
    """A pattern that Go would refuse. The user has to change it."""

    def __init__(self, reason: Reason, fragment: str, position: int) -> None:
        """``fragment`` is the part that Go would quote, ``position`` the characters before the place to look at."""
        super().__init__(f'error parsing regexp: {reason}: `{fragment}` at position {position}')
        self.reason = reason
        self.fragment = fragment
        self.position = position


class PatternTooComplexError(ValueError):
    """A pattern that Go accepts and that cannot be matched here within sane bounds. The user has to make it smaller."""


class MatchTimeout(TimeoutError):  # noqa: N818 - what happened, not what is broken
    """A search that was stopped at its time bound: whether the pattern matches is not known."""
