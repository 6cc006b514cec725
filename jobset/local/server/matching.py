"""Whether a stored object is selected, decoding no more of it than the selector asks about."""

from collections.abc import Callable
from typing import Final

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.server.selectors import Selector
from jobset.local.store import records
from jobset.local.store.records import Record

Matches = Callable[[Record], bool]


Open = Callable[[Record], Object]
"""Decodes a record in the form in which its kind is served."""


def matcher(selector: Selector, namespace: str, open_: Open) -> Matches | None:
    """A question for each record; None where all of them are meant."""
    if selector.takes_all:
        return (lambda record: record.namespace == namespace) if namespace else None
    inner = _of_selector(selector, open_)
    if not namespace:
        return inner
    return lambda record: record.namespace == namespace and inner(record)


def _of_selector(selector: Selector, open_: Open) -> Matches:
    if not selector.fields:
        return lambda record: selector.matches_labels(records.labels(record))
    if not selector.labels and all(read in _PLACES for read, _, _ in selector.fields):
        places = [(read is objects.name, wanted, value) for read, wanted, value in selector.fields]

        def matches(record: Record) -> bool:
            return all(
                ((record.name if is_name else record.namespace) == value) is wanted for is_name, wanted, value in places
            )

        return matches
    return lambda record: selector.matches(open_(record))


_PLACES: Final = (objects.name, objects.namespace)
