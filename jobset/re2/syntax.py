"""From the text of a pattern to its meaning, by the rules of Go 1.26's ``regexp.Compile``.

:func:`parse` accepts exactly what Go accepts. Where RE2's C++ library or Go's documentation differ from Go itself, Go
counts: ``\\C`` is refused, a group name may occur twice, and ``\\p{Old_Italic}`` is not found.

A lone surrogate, which JSON can spell and a Go string cannot hold, becomes U+FFFD before all else, as in Go's JSON.
"""

import re
from typing import NamedTuple

from jobset.re2 import alternatives, classes, drafts, errors, escapes, finishing, folding, nodes
from jobset.re2.drafts import Draft, Flag, Kind
from jobset.re2.errors import Reason

MAX_REPEAT = 1000
"""Largest count in ``{n}``, and largest product of the counts of repeats within repeats."""

_SURROGATE = re.compile('[\ud800-\udfff]')
_COUNTS = re.compile(r'\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}')
_GROUP_NAME = re.compile('[0-9A-Za-z_]+')

_ANCHORS = {'A': Kind.TEXT_START, 'z': Kind.TEXT_END, 'b': Kind.WORD_BOUNDARY, 'B': Kind.NO_WORD_BOUNDARY}
_REPEATS = {'*': Kind.STAR, '+': Kind.PLUS, '?': Kind.QUESTION}
_FLAGS = {'i': Flag.FOLD, 's': Flag.DOT_NEWLINE, 'U': Flag.LAZY}


def parse(pattern: str) -> nodes.Node:
    """The meaning of ``pattern``. Raises :class:`errors.PatternError` for one that Go 1.26 would refuse."""
    return finishing.finished(_Parser(without_surrogates(pattern)).parsed())


def without_surrogates(text: str) -> str:
    """``text`` with each lone surrogate replaced, as a Go program would get it out of JSON."""
    return text if text.isascii() else _SURROGATE.sub('\ufffd', text)


class _Counts(NamedTuple):
    """A ``{low,high}`` that was read."""

    low: int
    high: int
    following: int


class _Parser:
    """One walk over a pattern. Open groups, bars and what stands between them wait on the stack."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags: int = Flag.ONE_LINE
        self._groups = 0
        self._stack: list[Draft] = []
        self._ledger = drafts.Ledger()
        self._merger = alternatives.Merger(self._ledger, self._stack)
        self._repeat_at: int | None = None
        """Where the repeat that ends just here begins, if one does."""

    def parsed(self) -> Draft:
        try:
            while self._at < len(self._pattern):
                start = self._at
                self._repeat_at = start if self._step() else None
            self._close_alternation()
        except drafts.LimitExceeded as exceeded:
            raise errors.PatternError(exceeded.reason, self._pattern, self._at) from None
        if len(self._stack) != 1:
            opened_at = max(draft.opened_at for draft in self._stack if draft.kind == Kind.OPEN)
            raise errors.PatternError(Reason.MISSING_PARENTHESIS, self._pattern, opened_at)
        return self._stack[0]

    def _step(self) -> bool:
        """Read one construct. True if it is a repeat."""
        pattern, at = self._pattern, self._at
        match pattern[at]:
            case '\\':
                self._backslash()
            case '(':
                self._open()
            case ')':
                self._close()
            case '|':
                self._concatenate()
                if not self._swap_bar():
                    self._push_new(Kind.BAR)
                self._at += 1
            case '[':
                found = classes.bracketed(pattern, at, fold=self._folds())
                self._class(found)
            case '.':
                self._push_new(Kind.ANY if self._flags & Flag.DOT_NEWLINE else Kind.NOT_NEWLINE)
                self._at += 1
            case '^':
                self._push_new(Kind.TEXT_START if self._flags & Flag.ONE_LINE else Kind.LINE_START)
                self._at += 1
            case '$':
                self._push_new(Kind.TEXT_END if self._flags & Flag.ONE_LINE else Kind.LINE_END)
                self._at += 1
            case '*' | '+' | '?' as sign:
                self._repeat(_REPEATS[sign], _Counts(0, 0, at + 1))
                return True
            case '{' if counts := self._counts():
                self._repeat(Kind.REPEAT, counts)
                return True
            case character:
                self._literal(ord(character))
                self._at += 1
        return False

    def _folds(self) -> bool:
        return bool(self._flags & Flag.FOLD)

    # What stands for one character.

    def _backslash(self) -> None:
        pattern, at = self._pattern, self._at
        letter = pattern[at + 1 : at + 2]
        if letter in _ANCHORS:
            self._push_new(_ANCHORS[letter])
            self._at += 2
        elif letter == 'Q':
            end = pattern.find('\\E', at + 2)
            quoted = pattern[at + 2 :] if end < 0 else pattern[at + 2 : end]
            for character in quoted:
                self._literal(ord(character))
            self._at = at + 2 + len(quoted) + (0 if end < 0 else 2)
        elif found := classes.escaped(pattern, at, fold=self._folds()):
            self._class(found)
        else:
            # Go tries a class first, so that a node is made and given back even for \C.
            self._ledger.release(self._ledger.new(Kind.CLASS))
            code, self._at = escapes.character(pattern, at)
            self._literal(code)

    def _class(self, found: classes.Found) -> None:
        draft = self._ledger.new(Kind.CLASS)
        draft.flags = self._flags
        draft.runes = [end for bounds in found.ranges for end in bounds]
        self._push(draft)
        self._at = found.following

    def _literal(self, code: int) -> None:
        draft = self._ledger.new(Kind.LITERAL)
        draft.flags = self._flags
        draft.runes = [folding.smallest(code) if self._flags & Flag.FOLD else code]
        self._push(draft)

    # Groups.

    def _open(self) -> None:
        if self._pattern.startswith('(?', self._at):
            self._open_special()
            return
        self._push_group()
        self._at += 1

    def _push_group(self, name: str = '') -> None:
        self._groups += 1
        draft = self._push_new(Kind.OPEN)
        draft.index = self._groups
        draft.name = name
        draft.opened_at = self._at

    def _open_special(self) -> None:
        """A named group, or a group or the rest of this one with other flags."""
        pattern, at = self._pattern, self._at
        for opening in ('(?P<', '(?<'):
            # At its very end, the opening alone is not taken for that of a name.
            if pattern.startswith(opening, at) and len(pattern) > at + len(opening):
                end = pattern.find('>', at)
                if end < 0:
                    raise errors.PatternError(Reason.BAD_GROUP_NAME, pattern[at:], at)
                name = pattern[at + len(opening) : end]
                if not _GROUP_NAME.fullmatch(name):
                    raise errors.PatternError(Reason.BAD_GROUP_NAME, pattern[at : end + 1], at)
                self._push_group(name)
                self._at = end + 1
                return
        flags, following = self._flags_at(at)
        if pattern[following - 1] == ':':
            # The group remembers the flags around it, which come back behind it.
            self._push_new(Kind.OPEN).opened_at = at
        self._flags = flags
        self._at = following

    def _flags_at(self, start: int) -> tuple[int, int]:
        """The flags that hold behind ``(?flags-flags)`` or ``(?flags-flags:``, and where that is."""
        pattern = self._pattern
        at = start + 2
        flags = self._flags
        clearing = False
        bare_minus = False
        while at < len(pattern):
            letter = pattern[at]
            at += 1
            if letter in {':', ')'} and not bare_minus:
                return flags, at
            if letter == '-' and not clearing:
                clearing = bare_minus = True
            elif letter in _FLAGS:
                flags = flags & ~_FLAGS[letter] if clearing else flags | _FLAGS[letter]
                bare_minus = False
            elif letter == 'm':
                # The one flag that is kept the other way round.
                flags = flags | Flag.ONE_LINE if clearing else flags & ~Flag.ONE_LINE
                bare_minus = False
            else:
                break
        raise errors.PatternError(Reason.BAD_GROUP, pattern[start:at], start)

    def _close(self) -> None:
        self._close_alternation()
        if len(self._stack) < 2:
            raise errors.PatternError(Reason.UNEXPECTED_PARENTHESIS, self._pattern, self._at)
        body = self._stack.pop()
        opening = self._stack.pop()
        self._flags = opening.flags
        if opening.index:
            opening.kind = Kind.CAPTURE
            opening.subs = [body]
            self._push(opening)
        else:
            self._push(body)
        self._at += 1

    # Repeats.

    def _counts(self) -> _Counts | None:
        """The counts that the brace here opens; None if it is an ordinary character."""
        found = _COUNTS.match(self._pattern, self._at)
        if found is None:
            return None
        # Digits are cut where they are too many for any count, lest a long number cost long.
        low = int(found[1][:9])
        high = low if found[2] is None else -1 if found[3] is None else int(found[3][:9])
        if low > MAX_REPEAT or high > MAX_REPEAT or (high >= 0 and low > high):
            raise errors.PatternError(Reason.BAD_REPEAT_COUNT, found[0], self._at)
        return _Counts(low, high, found.end())

    def _repeat(self, kind: Kind, counts: _Counts) -> None:
        pattern, at = self._pattern, self._at
        following = counts.following
        flags = self._flags
        if pattern[following : following + 1] == '?':
            flags ^= Flag.LAZY
            following += 1
        if self._repeat_at is not None:
            raise errors.PatternError(Reason.REPEATED_REPEAT, pattern[self._repeat_at : following], self._repeat_at)
        if not self._stack or self._stack[-1].kind >= Kind.OPEN:
            raise errors.PatternError(Reason.NOTHING_TO_REPEAT, pattern[at:following], at)
        draft = self._ledger.new(kind)
        draft.low, draft.high = counts.low, counts.high
        draft.flags = flags
        draft.subs = [self._stack[-1]]
        self._stack[-1] = draft
        self._ledger.check(draft, self._stack)
        if kind == Kind.REPEAT and max(counts.low, counts.high) >= 2 and not _is_within_limit(draft):
            raise errors.PatternError(Reason.BAD_REPEAT_COUNT, pattern[at:following], at)
        self._at = following

    # The stack.

    def _push_new(self, kind: Kind) -> Draft:
        draft = self._ledger.new(kind)
        draft.flags = self._flags
        self._push(draft)
        return draft

    def _push(self, draft: Draft) -> None:
        """Put a node on the stack. A class of one character, but for its case, becomes a literal."""
        self._ledger.count_runes(draft)
        single = _single_character(draft) if draft.kind == Kind.CLASS else None
        if single is None:
            self._join_literals()
        else:
            code, flag = single
            draft.flags = self._flags & ~Flag.FOLD | flag
            if self._join_literals_and_push(code, draft.flags):
                return
            draft.kind = Kind.LITERAL
            draft.runes = [code]
        self._stack.append(draft)
        self._ledger.check(draft, self._stack)

    def _join_literals(self) -> None:
        """Make the two topmost literals one; a repeat can no more come for the upper one alone."""
        if self._tops_are_alike():
            upper = self._stack.pop()
            self._stack[-1].runes += upper.runes
            self._ledger.release(upper)

    def _join_literals_and_push(self, code: int, flags: int) -> bool:
        """Make the two topmost literals one, and the node thus left over one for ``code``. False if they differ."""
        if not self._tops_are_alike():
            return False
        upper = self._stack[-1]
        self._stack[-2].runes += upper.runes
        upper.runes = [code]
        upper.flags = flags
        return True

    def _tops_are_alike(self) -> bool:
        if len(self._stack) < 2:
            return False
        upper, lower = self._stack[-1], self._stack[-2]
        return upper.kind == lower.kind == Kind.LITERAL and not (upper.flags ^ lower.flags) & Flag.FOLD

    def _close_alternation(self) -> None:
        """Make one node of all since the innermost open group."""
        self._concatenate()
        if self._swap_bar():
            self._stack.pop()
        branches = self._popped()
        if branches:
            alternatives.tidy(branches[-1])
        self._push(self._merger.joined(branches, Kind.ALTERNATE))

    def _concatenate(self) -> None:
        """Make one node of all since the last bar or open group."""
        self._join_literals()
        parts = self._popped()
        self._push(self._merger.joined(parts, Kind.CONCAT) if parts else self._ledger.new(Kind.EMPTY))

    def _popped(self) -> list[Draft]:
        start = len(self._stack)
        while start and self._stack[start - 1].kind < Kind.OPEN:
            start -= 1
        popped = self._stack[start:]
        del self._stack[start:]
        return popped

    def _swap_bar(self) -> bool:
        """Move the branch on top below the bar, to the other branches, or into the last of them. False: no bar yet."""
        stack = self._stack
        if len(stack) < 2 or stack[-2].kind != Kind.BAR:
            return False
        if len(stack) >= 3 and stack[-1].is_one_character() and stack[-3].is_one_character():
            source = stack.pop()
            target = stack[-2]
            if source.kind > target.kind:
                stack[-2], target, source = source, source, target
            alternatives.merge_character(target, source)
            self._ledger.release(source)
            return True
        if len(stack) >= 3:
            # Nothing can be merged into this one any more.
            alternatives.tidy(stack[-3])
        stack[-1], stack[-2] = stack[-2], stack[-1]
        return True


def _single_character(draft: Draft) -> tuple[int, int] | None:
    """The one character that a class is, and FOLD if it is that character in any case."""
    match draft.runes:
        case [low, high] if low == high:
            return low, 0
        case [low, high] if low + 1 == high and folding.orbit(low) == (low, high):
            return low, Flag.FOLD
        case [low, low_end, high, high_end] if low == low_end and high == high_end:
            return (low, Flag.FOLD) if folding.orbit(low) == tuple(sorted((low, high))) else None
    return None


def _is_within_limit(draft: Draft) -> bool:
    """Whether no repeats within one another multiply to more than the limit."""
    pending = [(draft, MAX_REPEAT)]
    while pending:
        node, allowed = pending.pop()
        if node.kind == Kind.REPEAT:
            times = node.low if node.high < 0 else node.high
            if node.high == 0:
                continue
            if times > allowed:
                return False
            allowed = allowed // times if times else allowed
        pending.extend((sub, allowed) for sub in node.subs)
    return True
