"""Objects of any kind as the plane handles them: plain JSON.

The plane is the edge: it takes whatever a client sends and may not lose a field that it has never heard of. Only rules
of one kind (:mod:`jobset.local.kinds`) and controllers look into them.
"""

import datetime
import functools
import uuid
from typing import Any

Object = dict[str, Any]
"""One JSON object, with ``apiVersion``, ``kind`` and ``metadata``."""


def metadata(obj: Object) -> Object:
    """The metadata of an object; made when there is none."""
    found = obj.get('metadata')
    if not isinstance(found, dict):
        found = obj['metadata'] = {}
    return found


def name(obj: Object) -> str:
    """Its name, empty when it has none."""
    return str(metadata(obj).get('name') or '')


def namespace(obj: Object) -> str:
    """Its namespace, empty for an object of the cluster."""
    return str(metadata(obj).get('namespace') or '')


def new_uid() -> str:
    """A uid that no other object has."""
    return str(uuid.uuid4())


@functools.lru_cache(maxsize=64)
def stamp(moment: datetime.datetime) -> str:
    """As ``metav1.Time``: UTC, whole seconds."""
    # Kept, because in simulations one moment is written many times, and each takes longer than to look it up.
    return moment.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')


def micro_stamp(moment: datetime.datetime) -> str:
    """As ``metav1.MicroTime``: UTC, microseconds."""
    return moment.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def moment(text: str) -> datetime.datetime:
    """What :func:`stamp` or :func:`micro_stamp` wrote. Raises ValueError."""
    return datetime.datetime.fromisoformat(text)
