"""A child's name that belongs to somebody else.

On purpose more than the Go controller tells: beside the event of the failed creation a condition ``NameConflict`` names
the objects in the way. Nothing is ever adopted; creation is tried again, ever more slowly, until the name is free.
"""

import datetime
from collections.abc import Sequence
from typing import Final

import msgspec

from jobset.api import types
from jobset.core import conditions, network, plan, status

_FREE: Final = conditions.Notice(
    conditions.NAME_CONFLICT, False, 'NamesAreFree', 'no object of somebody else is in the way any more'
)
_SHOWN: Final = 10
"""How many objects a message names at most; it must not outgrow a condition."""


def noted(wanted: types.Status, objects: Sequence[str], now: datetime.datetime) -> types.Status:
    """The status with the objects in the way named, as ``Job "a-w-0"``. The event of the failure tells the story."""
    conflict = conditions.updated(wanted.conditions, _conflict(objects), now)
    return wanted if conflict is None else msgspec.structs.replace(wanted, conditions=conflict)


def is_noted(stored: types.Status, obj: str) -> bool:
    """Whether the status names the object as one in the way."""
    noted = conditions.find(stored, conditions.NAME_CONFLICT)
    return noted is not None and noted.is_true and obj in noted.message


def review_service(draft: status.Draft, jobset: types.JobSet, seen: network.Service) -> bool:
    """Whether the Service under our name does not resolve our pods; notes it in the draft."""
    controller = seen.metadata.controller
    ours = controller is not None and controller.uid == jobset.metadata.uid
    if ours or network.serves(seen, jobset):
        return False
    draft.set_silently(_conflict([f'Service "{seen.metadata.name}"']))
    return True


def clear(draft: status.Draft) -> None:
    """Record that no name is taken any more."""
    draft.set_silently(_FREE)


def _conflict(objects: Sequence[str]) -> conditions.Notice:
    shown = ', '.join(objects[:_SHOWN])
    rest = f' and {len(objects) - _SHOWN} more' if len(objects) > _SHOWN else ''
    return conditions.Notice(
        conditions.NAME_CONFLICT,
        True,
        'ForeignObject',
        f'in the way, and not of this JobSet: {shown}{rest}; delete it or rename the JobSet',
        plan.EventType.WARNING,
    )
