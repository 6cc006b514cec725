"""Objects as a table of ``meta.k8s.io/v1``, which is how ``kubectl get`` shows them, and as metadata alone.

Source: Kubernetes API concepts, "Receiving resources as Tables"; shapes as kube-apiserver 1.37 gives them.
"""

import datetime
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from jobset.local import objects, resources
from jobset.local.describing import ages
from jobset.local.objects import Object

API_VERSION: Final = 'meta.k8s.io/v1'

NAME: Final = resources.Column(
    name='Name',
    cell=lambda obj, _: objects.name(obj),
    format='name',
    description='Name must be unique within a namespace. Is required when creating resources, although some resources '
    'may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for '
    'creation idempotence and configuration definition. Cannot be updated. More info: '
    'https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
)
AGE: Final = resources.Column(
    name='Age',
    cell=lambda obj, now: ages.since(objects.metadata(obj).get('creationTimestamp'), now),
    type='date',
    description='CreationTimestamp is a timestamp representing the server time when this object was created. It is not '
    'guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is '
    'represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: '
    'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
)


class Include(enum.StrEnum):
    """What of each object goes with its row: the parameter ``includeObject``."""

    NONE = 'None'
    METADATA = 'Metadata'
    OBJECT = 'Object'


def render(
    kind: resources.Kind,
    shown: Sequence[Object],
    now: datetime.datetime,
    *,
    include: Include = Include.METADATA,
    metadata: Mapping[str, object] | None = None,
    is_first: bool = True,
) -> Object:
    """A table with a row for each object.

    ``metadata`` is that of the list. Without it there is one object, read alone or told by a watch, and its resource
    version stands in its place. In a watch only the first table says what the columns are.
    """
    columns = kind.columns or (NAME, AGE)
    rows = [_row(columns, obj, now, include) for obj in shown]
    if metadata is None:
        metadata = {'resourceVersion': objects.metadata(shown[0]).get('resourceVersion', '')}
    return {
        'kind': 'Table',
        'apiVersion': API_VERSION,
        'metadata': dict(metadata),
        'columnDefinitions': [_definition(column) for column in columns] if is_first else None,
        'rows': rows,
    }


def partial(obj: Object) -> Object:
    """The object as ``PartialObjectMetadata``. Shares its metadata."""
    return {'kind': 'PartialObjectMetadata', 'apiVersion': API_VERSION, 'metadata': objects.metadata(obj)}


def partials(listed: Iterable[Object], metadata: Mapping[str, object]) -> Object:
    """A list of such, with the metadata of the list."""
    return {
        'kind': 'PartialObjectMetadataList',
        'apiVersion': API_VERSION,
        'metadata': dict(metadata),
        'items': [partial(obj) for obj in listed],
    }


def _row(columns: Sequence[resources.Column], obj: Object, now: datetime.datetime, include: Include) -> Object:
    shown: Object | None = None
    if include is Include.METADATA:
        shown = partial(obj)
    elif include is Include.OBJECT:
        shown = obj
    return {'cells': [column.cell(obj, now) for column in columns], 'object': shown}


def _definition(column: resources.Column) -> Object:
    return {
        'name': column.name,
        'type': column.type,
        'format': column.format,
        'description': column.description,
        'priority': column.priority,
    }
