"""Sets of completion indexes, and the text that stands for one in a status: ``1,3-5,7``.

Jobs may have a million indexes, nearly always in few intervals: so intervals are kept, not numbers.
"""

import bisect
import functools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

Interval = tuple[int, int]
"""The first and the last index of a run."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which indexes are in, as runs in order that neither overlap nor touch."""

    runs: tuple[Interval, ...] = ()

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int):
            return False
        place = bisect.bisect_right(self.runs, (index, sys.maxsize)) - 1
        return place >= 0 and index <= self.runs[place][1]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs)

    def __iter__(self) -> Iterator[int]:
        for first, last in self.runs:
            yield from range(first, last + 1)

    def __str__(self) -> str:
        return ','.join(_text(first, last) for first, last in self.runs)

    def plus(self, more: Iterable[int]) -> 'Indexes':
        """With these indexes as well."""
        added = [(index, index) for index in more]
        return Indexes(_joined([*self.runs, *added])) if added else self

    def union(self, other: 'Indexes') -> 'Indexes':
        """With all of another set as well."""
        return Indexes(_joined([*self.runs, *other.runs])) if other.runs else self

    def gaps(self, below: int) -> Iterator[int]:
        """The indexes below this one that are not in, in order."""
        start = 0
        for first, last in (*self.runs, (below, below)):
            yield from range(start, min(first, below))
            start = last + 1

    def common(self, other: 'Indexes') -> int:
        """How many indexes are in both."""
        return sum(
            max(0, min(last, their_last) - max(first, their_first) + 1)
            for first, last in self.runs
            for their_first, their_last in other.runs
        )


NONE: Final = Indexes()


def of(numbers: Iterable[int]) -> Indexes:
    """The set of these indexes."""
    return NONE.plus(numbers)


@functools.lru_cache(maxsize=4096)
def parse(text: str, count: int | None = None) -> Indexes:
    """What such a text stands for, of the indexes below ``count``. What cannot be read in it is left out."""
    runs: list[Interval] = []
    for part in text.split(',') if text else ():
        first, _, last = part.partition('-')
        try:
            runs.append((int(first), int(last or first)))
        except ValueError:
            continue
    if count is not None:
        runs = [(first, min(last, count - 1)) for first, last in runs if first < count]
    return Indexes(_joined(runs))


def _joined(runs: list[Interval]) -> tuple[Interval, ...]:
    joined: list[Interval] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def _text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f'{first},{last}' if last == first + 1 else f'{first}-{last}'
