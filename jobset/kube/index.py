"""Objects of a cache by something else than their name: by owner, by label, by node."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from jobset.api import meta

K = TypeVar('K', bound=Hashable)
T = TypeVar('T', bound=meta.Object)


class Index(Generic[K, T]):
    """Follows an informer: ``informer.subscribe(index.on_change)``, before those who read it are subscribed.

    Its cost does not grow with the number of objects under one key.
    """

    def __init__(self, keys: Callable[[T], Iterable[K]]) -> None:
        self._keys = keys
        self._objects: dict[K, dict[str, T]] = {}

    def get(self, key: K) -> Mapping[str, T]:
        """The objects under that key by uid. A view: it changes with the cache, so take a copy across an await."""
        return self._objects.get(key, {})

    def on_change(self, old: T | None, new: T | None) -> None:
        """Takes one change of the cache."""
        if old is not None:
            for key in self._keys(old):
                held = self._objects[key]
                del held[old.metadata.uid]
                if not held:
                    del self._objects[key]
        if new is not None:
            for key in self._keys(new):
                self._objects.setdefault(key, {})[new.metadata.uid] = new
