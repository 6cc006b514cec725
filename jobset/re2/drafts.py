"""The tree while it is being parsed, and the limits that Go sets on it.

Go refuses patterns whose tree is too deep or too large, and looks at neither before it has made so many nodes that it
might matter. Whether a pattern passes thus depends on how many nodes the parser has made, on which it has used again
after a merge, and on when it looks. To refuse the same patterns, :class:`Ledger` counts the same things at the same
moments; :mod:`jobset.re2.syntax` and :mod:`jobset.re2.alternatives` make and release nodes as Go does.
"""

import enum
import operator
from collections.abc import Callable, Iterable, Iterator

from jobset.re2 import errors

MAX_HEIGHT = 1000
"""Levels of the tree."""

MAX_SIZE = (128 << 20) // 40
"""Instructions of the compiled program: what Go fits into 128 MiB."""

MAX_RUNES = (128 << 20) // 4
"""Ends of ranges and characters of literals in all nodes ever pushed: what Go fits into 128 MiB."""


class Kind(enum.IntEnum):
    """What a node is. The order from LITERAL to ANY is that of growing complexity, on which merging relies."""

    NOTHING = 1
    EMPTY = 2
    LITERAL = 3
    CLASS = 4
    NOT_NEWLINE = 5
    ANY = 6
    LINE_START = 7
    LINE_END = 8
    TEXT_START = 9
    TEXT_END = 10
    WORD_BOUNDARY = 11
    NO_WORD_BOUNDARY = 12
    CAPTURE = 13
    STAR = 14
    PLUS = 15
    QUESTION = 16
    REPEAT = 17
    CONCAT = 18
    ALTERNATE = 19
    # Marks on the stack of the parser, never part of a finished tree.
    OPEN = 128
    BAR = 129


class Flag:
    """Settings in force where a node was read: bits of plain numbers, which cost a tenth of an enumeration's time."""

    FOLD = 1
    DOT_NEWLINE = 2
    ONE_LINE = 4
    LAZY = 8


class LimitExceeded(Exception):  # noqa: N818 - never leaves the parser
    """The tree has become too deep or too large."""

    def __init__(self, reason: errors.Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class Draft:
    """A node that may still grow, be merged into another or be used again as another."""

    __slots__ = ('flags', 'height', 'high', 'index', 'kind', 'low', 'name', 'opened_at', 'runes', 'size', 'subs')

    kind: Kind
    flags: int
    """The :class:`Flag` bits."""
    runes: list[int]
    """The characters of a literal; first and last of each range of a class, not always sorted."""
    subs: 'list[Draft]'
    low: int
    high: int
    """-1: without limit."""
    index: int
    name: str
    opened_at: int
    """Where in the pattern the group of an OPEN mark begins."""
    size: int | None
    """Last counted size. It outlives a re-use, so that a node made without a look counts as what it was before."""
    height: int | None

    def __init__(self, kind: Kind) -> None:
        self.size = None
        self.become(kind)

    def become(self, kind: Kind) -> None:
        """Forget all but the counted size."""
        self.kind = kind
        self.flags = 0
        self.runes = []
        self.subs = []
        self.low = self.high = self.index = 0
        self.name = ''
        self.opened_at = 0
        self.height = None

    def is_one_character(self) -> bool:
        """Whether this is anything that may be merged into a class."""
        return Kind.CLASS <= self.kind <= Kind.ANY or (self.kind == Kind.LITERAL and len(self.runes) == 1)


_size_of: Callable[[Draft], int] = operator.attrgetter('size')
_height_of: Callable[[Draft], int] = operator.attrgetter('height')


class Ledger:
    """Makes and takes back nodes, and keeps count of what Go limits."""

    def __init__(self) -> None:
        self._free: list[Draft] = []
        self._made = 0
        self._runes = 0
        self._repeats = 1
        self._sizes_tracked = False
        self._heights_tracked = False

    def new(self, kind: Kind) -> Draft:
        """A node, a released one if there is any."""
        if self._free:
            draft = self._free.pop()
            draft.become(kind)
            return draft
        self._made += 1
        return Draft(kind)

    def release(self, draft: Draft) -> None:
        """Take back a node that is in the tree no more."""
        self._free.append(draft)

    def count_runes(self, draft: Draft) -> None:
        """Count the characters of a node that is about to be pushed; one pushed again is counted again."""
        self._runes += len(draft.runes)

    def check(self, draft: Draft, stack: Iterable[Draft]) -> None:
        """Raise :class:`LimitExceeded` if ``draft`` or the whole is over a limit. ``stack`` is the parser's."""
        if self._runes > MAX_RUNES:
            raise LimitExceeded(errors.Reason.TOO_LARGE)
        self._check_size(draft, stack)
        self._check_height(draft, stack)

    def _check_size(self, draft: Draft, stack: Iterable[Draft]) -> None:
        if not self._sizes_tracked:
            if draft.kind == Kind.REPEAT:
                times = max(1, draft.low if draft.high < 0 else draft.high)
                self._repeats = MAX_SIZE if times > MAX_SIZE // self._repeats else self._repeats * times
            if self._made < MAX_SIZE // self._repeats:
                return
            self._sizes_tracked = True
            for earlier in stack:
                self._check_tracked_size(earlier)
        self._check_tracked_size(draft)

    def _check_tracked_size(self, draft: Draft) -> None:
        for node in _uncounted(draft, _size_of):
            node.size = _size(node)
        draft.size = size = _size(draft)
        if size > MAX_SIZE:
            raise LimitExceeded(errors.Reason.TOO_LARGE)

    def _check_height(self, draft: Draft, stack: Iterable[Draft]) -> None:
        if self._made < MAX_HEIGHT:
            return
        if not self._heights_tracked:
            self._heights_tracked = True
            for earlier in stack:
                self._check_tracked_height(earlier)
        self._check_tracked_height(draft)

    def _check_tracked_height(self, draft: Draft) -> None:
        for node in _uncounted(draft, _height_of):
            node.height = _height(node)
        draft.height = height = _height(draft)
        if height > MAX_HEIGHT:
            raise LimitExceeded(errors.Reason.TOO_DEEP)


def _uncounted(draft: Draft, count_of: Callable[[Draft], int | None]) -> Iterator[Draft]:
    """The nodes below ``draft`` that have no count yet, each after those below it.

    A tree may be as deep as the limit, which is deeper than Python calls nest: so no recursion. It may be as wide as
    the pattern is long, and be looked at again and again: so most are passed over without a step of Python's.
    """
    pending = [(draft, iter(draft.subs))] if None in map(count_of, draft.subs) else []
    while pending:
        node, subs = pending[-1]
        for sub in subs:
            if count_of(sub) is None:
                pending.append((sub, iter(sub.subs)))
                break
        else:
            pending.pop()
            if node is not draft:
                yield node


def _height(draft: Draft) -> int:
    return 1 + max(map(_height_of, draft.subs), default=0)


def _size(draft: Draft) -> int:
    """How many instructions Go reckons for a node, given the sizes of those below."""
    below = sum(map(_size_of, draft.subs))
    match draft.kind:
        case Kind.LITERAL:
            size = len(draft.runes)
        case Kind.CAPTURE | Kind.STAR:
            size = 2 + below
        case Kind.PLUS | Kind.QUESTION:
            size = 1 + below
        case Kind.CONCAT:
            size = below
        case Kind.ALTERNATE:
            size = below + len(draft.subs) - 1
        case Kind.REPEAT if draft.high < 0:
            size = 2 + below if draft.low == 0 else 1 + draft.low * below
        case Kind.REPEAT:
            size = draft.high * below + draft.high - draft.low
        case _:
            size = 0
    return max(1, size)
