"""Lists of completion indexes as Jobs write them: ``1,3-5,7``."""

from collections.abc import Iterator


class IndexesError(ValueError):
    """The text is no such list. Its own text is that of the API server."""


def count(text: str, completions: int) -> int:
    """How many indexes the list names. Raises :class:`IndexesError`."""
    total = 0
    last = -1
    for first, end in intervals(text, completions):
        if last != -1 and first <= last:
            raise IndexesError(f'non-increasing order, previous: {last}, current: {first}')
        total += end - first + 1
        last = end
    return total


def intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """First and last index of each part, in the order of the text. Raises :class:`IndexesError`."""
    if text:
        for part in text.split(','):
            yield interval(part, completions)


def interval(part: str, completions: int) -> tuple[int, int]:
    """First and last index of a part. Raises :class:`IndexesError`."""
    limits = part.split('-')
    if len(limits) > 2:
        rule = "an index interval can have at most two parts separated by '-'"
        raise IndexesError(f'the fragment "{part}" violates the requirement that {rule}')
    first = _number(limits[0])
    if first >= completions:
        raise IndexesError(f'too large index: "{limits[0]}"')
    if len(limits) == 1:
        return first, first
    end = _number(limits[1])
    if end >= completions:
        raise IndexesError(f'too large index: "{limits[1]}"')
    if first >= end:
        raise IndexesError(f'non-increasing order, previous: {first}, current: {end}')
    return first, end


def _number(text: str) -> int:
    digits = text[1:] if text[:1] in ('-', '+') else text
    if not (digits.isascii() and digits.isdecimal()):
        raise IndexesError(f'cannot convert string to integer for index: "{text}"')
    return int(text)
