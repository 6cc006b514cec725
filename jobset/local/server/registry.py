"""Which kinds are served at the moment: the built-in ones, and those of definitions as they come and go."""

from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

import msgspec

from jobset.local.resources import Kind

_NAMESPACES: Final = 'namespaces'


class Target(msgspec.Struct):
    """What a path leads to."""

    kind: Kind
    namespace: str = ''
    name: str = ''
    """Empty for the collection."""

    subresource: str = ''
    is_watch: bool = False
    """Whether the path is one of the old ones below ``/watch/``."""


class Registry:
    """Kinds by group, version and plural."""

    def __init__(self, built_in: Sequence[Kind]) -> None:
        self._built_in = tuple(built_in)
        self._custom: dict[str, Sequence[Kind]] = {}
        self._listeners: list[Callable[[], None]] = []
        self.kinds: tuple[Kind, ...] = ()
        """All of them, built-in ones first."""

        self.revision = 0
        """Counts the changes, for those that keep what they have made of the kinds."""

        self._rebuild()

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind of that name."""
        return self._by_path.get((group, version, plural))

    def by_key(self, key: str) -> Kind | None:
        """Any version of the kind that is stored under ``key``."""
        return self._by_key.get(key)

    def is_custom(self, kind: Kind) -> bool:
        """Whether a definition has brought it."""
        return (kind.group, kind.version, kind.plural) in self._custom_paths

    def has_group(self, group: str) -> bool:
        """Whether anything of the group is served."""
        return group in self._groups

    def put(self, name: str, kinds: Sequence[Kind]) -> None:
        """Serves the kinds of the definition of that name, in place of those it had before."""
        if kinds:
            self._custom[name] = tuple(kinds)
        elif self._custom.pop(name, None) is None:
            return
        self._rebuild()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Has ``listener`` called when the kinds have changed."""
        self._listeners.append(listener)

    def target(self, path: str) -> Target | None:
        """What a path below ``/api/`` or ``/apis/`` leads to; None when that is nothing with objects in it."""
        parts = path.strip('/').split('/')
        if '%' in path:
            parts = [unquote(part) for part in parts]
        if parts[0] == 'api':
            group, start = '', 1
        elif parts[0] == 'apis' and len(parts) > 1:
            group, start = parts[1], 2
        else:
            return None
        version = parts[start] if len(parts) > start else ''
        rest = parts[start + 1 :]
        is_watch = bool(rest) and rest[0] == 'watch'
        if is_watch:
            del rest[0]
        if not rest or len(rest) > 5 or '' in rest:
            return None
        target = self._in_namespace(group, version, rest) or self._of_cluster(group, version, rest)
        if target is not None:
            target.is_watch = is_watch
        return target

    def _in_namespace(self, group: str, version: str, rest: list[str]) -> Target | None:
        if rest[0] != _NAMESPACES or len(rest) < 3:
            return None
        kind = self._by_path.get((group, version, rest[2]))
        if kind is None or not kind.namespaced:
            return None
        return _target(kind, rest[1], rest[3:])

    def _of_cluster(self, group: str, version: str, rest: list[str]) -> Target | None:
        kind = self._by_path.get((group, version, rest[0]))
        if kind is None or len(rest) > 3 or (kind.namespaced and len(rest) > 1):
            return None
        return _target(kind, '', rest[1:])

    def _rebuild(self) -> None:
        custom = [kind for kinds in self._custom.values() for kind in kinds]
        self.kinds = (*self._built_in, *custom)
        self.revision += 1
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in reversed(self.kinds)}
        self._by_key = {kind.key: kind for kind in reversed(self.kinds)}
        self._custom_paths = {(kind.group, kind.version, kind.plural) for kind in custom}
        self._groups = {kind.group for kind in self.kinds}
        for listener in self._listeners:
            listener()


def _target(kind: Kind, namespace: str, rest: list[str]) -> Target | None:
    if len(rest) > 2:
        return None
    name = rest[0] if rest else ''
    return Target(kind, namespace, name, rest[1] if len(rest) == 2 else '')
