"""What a new pod of a JobSet gets: its priority as a label, by which exclusive placement tells levels apart.

Source: JobSet, exclusive placement. Pods of other origin, and those that a node selector places, are left alone.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from jobset.api import keys


class _Meta(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Spec(msgspec.Struct, frozen=True):
    priority: int | None = None


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


_decoder: Final = msgspec.json.Decoder(_Pod)

_POINTER: Final = '/metadata/labels/' + keys.PRIORITY.replace('~', '~0').replace('/', '~1')


def patch(sent: bytes | msgspec.Raw) -> list[Mapping[str, object]]:
    """The operations (RFC 6902) that complete the pod; none for what is no pod, which the API server refuses itself."""
    try:
        pod = _decoder.decode(sent)
    except (msgspec.MsgspecError, RecursionError):
        return []
    value = _priority(pod)
    labels = pod.metadata.labels
    if value is None or (labels or {}).get(keys.PRIORITY) == value:
        return []
    if labels is None:
        return [{'op': 'add', 'path': '/metadata/labels', 'value': {keys.PRIORITY: value}}]
    return [{'op': 'add', 'path': _POINTER, 'value': value}]


def _priority(pod: _Pod) -> str | None:
    annotations = pod.metadata.annotations or {}
    if keys.JOBSET_NAME not in annotations or keys.NODE_SELECTOR_STRATEGY in annotations:
        return None
    priority = pod.spec.priority
    # A label value cannot start with a minus: with it, the server would refuse the pod.
    return None if priority is None or priority < 0 else str(priority)
