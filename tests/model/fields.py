"""Who wrote which part of a pod template: as much of ``metadata.managedFields`` as resuming a Job depends on."""

import json
from collections.abc import Iterator
from typing import Any, Final

Path = tuple[str, ...]
Tree = dict[str, Any]

_ATOMIC: Final = frozenset({'f:nodeSelector', 'f:tolerations'})
"""Fields that have one owner as a whole, by the types of Kubernetes."""

_KEYED: Final = frozenset({'f:schedulingGates'})
"""Lists whose entries are known by their name."""


class Owners:
    """The managers of one object, with the leaves that each of them wrote last."""

    def __init__(self) -> None:
        self._leaves: dict[str, set[Path]] = {}

    def wrote(self, manager: str, old: Tree, new: Tree) -> None:
        """``manager`` has made ``new`` of ``old``. What it changed is its own now, and what is gone is nobody's."""
        before, after = dict(_leaves(old)), dict(_leaves(new))
        changed = {path for path, value in after.items() if path not in before or before[path] != value}
        for other, leaves in self._leaves.items():
            leaves.intersection_update(after)
            if other != manager:
                leaves.difference_update(changed)
        self._leaves.setdefault(manager, set()).update(changed)

    def entries(self) -> list[Tree]:
        """What stands in ``managedFields``."""
        return [
            {'manager': manager, 'operation': 'Update', 'fieldsType': 'FieldsV1', 'fieldsV1': _tree(leaves)}
            for manager, leaves in self._leaves.items()
            if leaves
        ]


def _leaves(value: Tree, path: Path = ()) -> Iterator[tuple[Path, object]]:
    for key, inner in value.items():
        step = (*path, f'f:{key}')
        if step[-1] in _KEYED:
            for entry in inner or ():
                yield (*step, 'k:' + json.dumps({'name': entry['name']}, separators=(',', ':'))), entry
        elif isinstance(inner, dict) and inner and step[-1] not in _ATOMIC:
            yield from _leaves(inner, step)
        else:
            yield step, inner


def _tree(leaves: set[Path]) -> Tree:
    tree: Tree = {}
    for path in sorted(leaves):
        place = tree
        for step in path:
            place = place.setdefault(step, {})
    return tree
