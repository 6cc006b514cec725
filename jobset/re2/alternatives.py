"""How the branches of an alternation are merged: common beginnings once, single characters into one class.

``abc|abd|x|y`` becomes ``ab[cd]|[xy]``. This is what Go's parser does, in its order, because what is left decides
whether the pattern is within the limits of :mod:`jobset.re2.drafts`. It also takes the poison out of many a pattern:
``(a|a)*`` is just ``a*``.
"""

from collections.abc import Generator, Iterable, Sequence

from jobset.re2 import drafts, folding, runes
from jobset.re2.drafts import Draft, Kind

_Factoring = Generator[list[Draft], Draft, list[Draft]]
"""Yields branches that are to be joined first, is sent the joined node, returns the remaining branches."""


class Merger:
    """Joins branches for one parse."""

    def __init__(self, ledger: drafts.Ledger, stack: Sequence[Draft]) -> None:
        self._ledger = ledger
        self._stack = stack

    def joined(self, subs: Sequence[Draft], kind: Kind) -> Draft:
        """One node of ``kind``, CONCAT or ALTERNATE, over ``subs``; parts of the same kind dissolve into it."""
        # Joining factors, and factoring joins what follows a common beginning: as deep as the tree, so no recursion.
        running = [self._joining(list(subs), kind)]
        answer: Draft | None = None
        while True:
            try:
                request = running[-1].send(answer)  # type: ignore[arg-type]
            except StopIteration as finished:
                running.pop()
                answer = finished.value
                if not running:
                    return finished.value  # type: ignore[no-any-return]
            else:
                running.append(self._joining(request, Kind.ALTERNATE))
                answer = None

    def _joining(self, subs: list[Draft], kind: Kind) -> Generator[list[Draft], Draft, Draft]:
        if len(subs) == 1:
            return subs[0]
        node = self._ledger.new(kind)
        for sub in subs:
            if sub.kind == kind:
                node.subs.extend(sub.subs)
                self._ledger.release(sub)
            else:
                node.subs.append(sub)
        if kind == Kind.ALTERNATE:
            node.subs = yield from self._factored(node.subs)
            if len(node.subs) == 1:
                only = node.subs[0]
                self._ledger.release(node)
                return only
        return node

    def _factored(self, subs: list[Draft]) -> _Factoring:
        if len(subs) < 2:
            return subs
        subs = yield from self._without_common_text(subs)
        subs = yield from self._without_common_class(subs)
        return _with_one_empty_in_a_row(self._with_merged_characters(subs))

    def _without_common_text(self, subs: list[Draft]) -> _Factoring:
        """Pull out the literal text with which neighbouring branches begin."""
        result: list[Draft] = []
        start = 0
        common: list[int] = []
        fold = 0
        for at in range(len(subs) + 1):
            text: list[int] = []
            text_fold = 0
            if at < len(subs):
                text, text_fold = _leading_text(subs[at])
                shared = _shared_length(common, text) if text_fold == fold else 0
                if shared:
                    common = common[:shared]
                    continue
            if at == start + 1:
                result.append(subs[start])
            elif at > start:
                prefix = self._ledger.new(Kind.LITERAL)
                prefix.flags = fold
                prefix.runes = list(common)
                rest = []
                for sub in subs[start:at]:
                    rest.append(self._without_leading_text(sub, len(common)))
                    self._ledger.check(rest[-1], self._stack)
                result.append(self._sequence(prefix, (yield rest)))
            start, common, fold = at, text, text_fold
        return result

    def _without_common_class(self, subs: list[Draft]) -> _Factoring:
        """Pull out the class, or fixed count of a class, with which neighbouring branches begin."""
        result: list[Draft] = []
        start = 0
        first: Draft | None = None
        for at in range(len(subs) + 1):
            leading: Draft | None = None
            if at < len(subs):
                leading = _leading_part(subs[at])
                if first is not None and leading is not None and _is_same_class(first, leading):
                    continue
            if at == start + 1:
                result.append(subs[start])
            elif at > start and first is not None:
                rest = []
                for sub in subs[start:at]:
                    # The part of the first branch becomes the common beginning; those of the others go.
                    rest.append(self._without_leading_part(sub, release=sub is not subs[start]))
                    self._ledger.check(rest[-1], self._stack)
                result.append(self._sequence(first, (yield rest)))
            start, first = at, leading
        return result

    def _with_merged_characters(self, subs: list[Draft]) -> list[Draft]:
        """Make one class of neighbouring branches that are one character each."""
        result: list[Draft] = []
        start = 0
        for at in range(len(subs) + 1):
            if at < len(subs) and subs[at].is_one_character():
                continue
            if at == start + 1:
                result.append(subs[start])
            elif at > start:
                run = subs[start:at]
                # The most complex takes the others in, and they go in the order that leaves.
                most = max(range(len(run)), key=lambda place: (run[place].kind, len(run[place].runes), -place))
                run[0], run[most] = run[most], run[0]
                for sub in run[1:]:
                    merge_character(run[0], sub)
                    self._ledger.release(sub)
                tidy(run[0])
                result.append(run[0])
            if at < len(subs):
                result.append(subs[at])
            start = at + 1
        return result

    def _sequence(self, *parts: Draft) -> Draft:
        node = self._ledger.new(Kind.CONCAT)
        node.subs = list(parts)
        return node

    def _without_leading_text(self, draft: Draft, length: int) -> Draft:
        if draft.kind == Kind.CONCAT and draft.subs:
            draft.subs[0] = first = self._without_leading_text(draft.subs[0], length)
            if first.kind != Kind.EMPTY:
                return draft
            self._ledger.release(first)
            return self._without_first(draft)
        if draft.kind == Kind.LITERAL:
            draft.runes = draft.runes[length:]
            if not draft.runes:
                draft.kind = Kind.EMPTY
        return draft

    def _without_leading_part(self, draft: Draft, *, release: bool) -> Draft:
        part = draft.subs[0] if draft.kind == Kind.CONCAT and draft.subs else draft
        if release:
            self._ledger.release(part)
        if part is not draft:
            return self._without_first(draft)
        return self._ledger.new(Kind.EMPTY)

    def _without_first(self, concat: Draft) -> Draft:
        """The sequence without its first part: the only other one itself, where there are two."""
        del concat.subs[0]
        if len(concat.subs) == 1:
            only = concat.subs[0]
            self._ledger.release(concat)
            return only
        if not concat.subs:
            concat.kind = Kind.EMPTY
        return concat


def merge_character(target: Draft, source: Draft) -> None:
    """Add what ``source`` matches to ``target``. Both are one character, ``target`` of the same or a greater kind."""
    match target.kind:
        case Kind.NOT_NEWLINE:
            if _matches_newline(source):
                target.kind = Kind.ANY
        case Kind.CLASS:
            if source.kind == Kind.LITERAL:
                _add_literal(target.runes, source.runes[0], source.flags)
            else:
                for low, high in zip(source.runes[::2], source.runes[1::2], strict=True):
                    _add_range(target.runes, low, high)
        case Kind.LITERAL:
            if source.runes[0] != target.runes[0] or source.flags != target.flags:
                target.kind = Kind.CLASS
                only, target.runes = target.runes[0], []
                _add_literal(target.runes, only, target.flags)
                _add_literal(target.runes, source.runes[0], source.flags)
        case _:
            pass  # ANY matches all there is.


def tidy(draft: Draft) -> None:
    """Sort the ranges of a class that has been added to; a class of all, or all but newline, becomes ``.``."""
    if draft.kind != Kind.CLASS:
        return
    ranges = runes.union(zip(draft.runes[::2], draft.runes[1::2], strict=True))
    draft.runes = [end for bounds in ranges for end in bounds]
    if ranges in {runes.EVERYTHING, runes.ALL_BUT_NEWLINE}:
        draft.kind = Kind.ANY if ranges == runes.EVERYTHING else Kind.NOT_NEWLINE
        draft.runes = []


def _add_literal(target: list[int], code: int, flags: int) -> None:
    if not flags & drafts.Flag.FOLD:
        _add_range(target, code, code)
        return
    # Go walks the orbit from the character on, and round; the order shows in what is merged at once.
    orbit = folding.orbit(code)
    place = orbit.index(code)
    for member in orbit[place:] + orbit[:place]:
        _add_range(target, member, member)


def _add_range(target: list[int], low: int, high: int) -> None:
    """Widen one of the last two ranges if they touch, else add a range. Sorting is left to :func:`tidy`."""
    for back in (2, 4):
        if len(target) >= back:
            last_low, last_high = target[-back], target[1 - back]
            if low <= last_high + 1 and last_low <= high + 1:
                target[-back] = min(low, last_low)
                target[1 - back] = max(high, last_high)
                return
    target += (low, high)


def _matches_newline(draft: Draft) -> bool:
    match draft.kind:
        case Kind.LITERAL:
            return draft.runes == [10]
        case Kind.CLASS:
            return any(low <= 10 <= high for low, high in zip(draft.runes[::2], draft.runes[1::2], strict=True))
        case kind:
            return kind == Kind.ANY


def _leading_text(draft: Draft) -> tuple[list[int], int]:
    first = draft.subs[0] if draft.kind == Kind.CONCAT and draft.subs else draft
    if first.kind != Kind.LITERAL:
        return [], 0
    return first.runes, first.flags & drafts.Flag.FOLD


def _shared_length(one: Sequence[int], other: Sequence[int]) -> int:
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length


def _leading_part(draft: Draft) -> Draft | None:
    first = draft.subs[0] if draft.kind == Kind.CONCAT and draft.subs else draft
    return None if first.kind == Kind.EMPTY else first


def _is_same_class(one: Draft, other: Draft) -> bool:
    """Whether both are the same single character, or the same fixed count of one: all that is safe to pull out."""
    if one.kind != other.kind:
        return False
    if one.kind == Kind.REPEAT:
        return (
            one.low == one.high
            and (one.low, one.high) == (other.low, other.high)
            and (one.flags ^ other.flags) & drafts.Flag.LAZY == 0
            and one.subs[0].is_one_character()
            and _is_same_character(one.subs[0], other.subs[0])
        )
    return one.is_one_character() and _is_same_character(one, other)


def _is_same_character(one: Draft, other: Draft) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind in {Kind.LITERAL, Kind.CLASS}:
        return (one.flags ^ other.flags) & drafts.Flag.FOLD == 0 and one.runes == other.runes
    return True


def _with_one_empty_in_a_row(subs: Iterable[Draft]) -> list[Draft]:
    result: list[Draft] = []
    for sub in subs:
        if not (result and result[-1].kind == sub.kind == Kind.EMPTY):
            result.append(sub)
        else:
            result[-1] = sub
    return result
