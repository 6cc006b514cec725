"""The columns of custom resources: ``additionalPrinterColumns``.

Source: Kubernetes documentation, "Additional printer columns", and the tables that kube-apiserver 1.37 gives.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jobset.local import resources
from jobset.local.describing import ages
from jobset.local.objects import Object
from jobset.local.schemas import jsonpaths, structure


def columns(version: Mapping[str, Any]) -> Sequence[resources.Column]:
    """The columns of a version of a definition; name and age when it says nothing."""
    given = version.get('additionalPrinterColumns')
    if not given:
        return ()
    name = resources.Column(
        name='Name', cell=lambda obj, _: obj['metadata'].get('name'), format='name', description=_name_text()
    )
    return [name, *(_column(each) for each in given)]


def _name_text() -> str:
    from jobset.local.schemas import builtins  # noqa: PLC0415

    return str(builtins.object_meta().properties['name'].schema.get('description', ''))


def _column(given: Mapping[str, Any]) -> resources.Column:
    path = given['jsonPath']
    return resources.Column(
        name=given['name'],
        cell=_cell(given['type'], jsonpaths.compile(path)),
        type=given['type'],
        format=given.get('format', ''),
        description=given.get('description') or f'Custom resource definition column (in JSONPath format): {path}',
        priority=given.get('priority', 0),
    )


def _cell(kind: str, path: Callable[[Any], list[Any]]) -> Callable[[Object, datetime.datetime], object]:
    def cell(obj: Object, now: datetime.datetime) -> object:
        values = path(obj)
        if not values or values[0] is None:
            return None
        return _shown(values[0], kind, now)

    return cell


def _shown(value: Any, kind: str, now: datetime.datetime) -> object:
    match kind:
        case 'date':
            return ages.since(value, now)
        case 'integer':
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case 'number':
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case 'boolean':
            return value if isinstance(value, bool) else None
    return value if isinstance(value, str) else structure.shown(value)
