"""Objects of any kind as the plane handles them: plain JSON.

The plane is the edge: it takes whatever a client sends and may not lose a field that it has never heard of. Only rules
of one kind (:mod:`jobset.local.kinds`) and controllers look into them.
"""

import datetime
import functools
import os
from typing import Any, Final

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
    """A uid that no other object has: a random UUID (RFC 9562, version 4)."""
    digits = os.urandom(16).hex()
    variant = '89ab'[int(digits[16], 16) & 3]
    return f'{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}'


def stamp(moment: datetime.datetime) -> str:
    """As ``metav1.Time``: UTC, whole seconds."""
    # Kept, because in virtual time many things are written at one moment, and in any within one second.
    known, text = _latest[0]
    if moment is not known:
        text = _stamp(moment.replace(microsecond=0))
        _latest[0] = moment, text
    return text


_latest: Final = [(datetime.datetime.min, '')]


@functools.lru_cache(maxsize=64)
def _stamp(second: datetime.datetime) -> str:
    return second.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')


def micro_stamp(moment: datetime.datetime) -> str:
    """As ``metav1.MicroTime``: UTC, microseconds."""
    return moment.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def moment(text: str) -> datetime.datetime:
    """What :func:`stamp` or :func:`micro_stamp` wrote. Raises ValueError."""
    return datetime.datetime.fromisoformat(text)
