"""Judgements of parts that come again and again, as the pod template of all Jobs of a set: made once for each."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from jobset.local.objects import Object
from jobset.local.store import records

T = TypeVar('T')

_MOST_BYTES: Final = 1 << 14
_MOST_PARTS: Final = 500


def by_content(judge: Callable[[Object, str], Iterable[T]]) -> Callable[[Object, str], Sequence[T]]:
    """The same function of a part and its path, which must depend on nothing else."""

    @functools.lru_cache(maxsize=_MOST_PARTS)
    def known(part: bytes, path: str) -> tuple[T, ...]:
        return tuple(judge(records.decode(part), path))

    @functools.wraps(judge)
    def remembered(part: Object, path: str) -> Sequence[T]:
        encoded = records.encode(part)
        return known(encoded, path) if len(encoded) <= _MOST_BYTES else tuple(judge(part, path))

    return remembered
