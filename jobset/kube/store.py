"""What a cache holds, and what each thing that it learns makes of it; without any I/O.

It learns from three sources: a list (the truth at one resource version), a watch (all changes after that version, in
order) and the answers to our own writes (early knowledge of what the watch will bring). The last would be a race if it
were simply taken over: an answer may be late, and the object gone meanwhile. It is decided by the order of resource
versions:

* ``seen`` is the version up to which lists and watches have told everything. An answer that is not newer brings
  nothing new, and if its object is not here, that is because it has been deleted.
* A change is only taken when it is newer than what is held under that name.
* A deletion is taken when it means the very object that is held (same uid).
* A new list removes what it lacks, but not what is newer than the list.

So whatever the order of the three, the outcome is the server's state, and those who listen see for each name
alternately additions and deletions, with changes of that same object in between.
"""

from collections.abc import Callable, Collection, Mapping, ValuesView
from typing import Generic, TypeVar

from jobset.api import meta

T = TypeVar('T', bound=meta.Object)

OnChange = Callable[[T | None, T | None], None]
"""Called with the object before and after: (None, new) for an addition, (old, None) for a deletion."""


class Store(Generic[T]):
    """Objects of one resource by name. ``on_change`` is called in the middle of the methods, after each change."""

    def __init__(self, *, keep: Callable[[T], bool] | None = None, on_change: OnChange[T]) -> None:
        self._keep = keep
        self._on_change = on_change
        self._objects: dict[tuple[str, str], T] = {}
        # Versions in which objects were not kept, of which only our own writes have told so far: what the watch still
        # has to tell of them is old.
        self._unkept: dict[tuple[str, str], int] = {}
        self.seen = 0
        """The resource version up to which everything is known; 0 before the first list."""

    def get(self, namespace: str, name: str) -> T | None:
        """The object of that name, if there is one and it is kept."""
        return self._objects.get((namespace, name))

    def values(self) -> ValuesView[T]:
        """All objects, as they are now and later."""
        return self._objects.values()

    def __len__(self) -> int:
        return len(self._objects)

    def observe(self, obj: T) -> bool:
        """Takes the answer to a write of our own; returns whether it was news."""
        version = obj.metadata.version
        return version > self.seen and self._take(obj, version)

    def knows(self, namespace: str, name: str, version: int) -> bool:
        """Whether a change that a watch tells is no news; it then counts as taken."""
        held = self._objects.get((namespace, name))
        if held is None or held.metadata.version < version:
            return False
        if version > self.seen:  # noqa: PLR1730 - as below
            self.seen = version
        return True

    def apply(self, obj: T) -> bool:
        """Takes an addition or a change that a watch tells; returns whether it was news."""
        version = obj.metadata.version
        if version > self.seen:  # noqa: PLR1730 - done for each change of everything, and quicker than to call max
            self.seen = version
        return self._take(obj, version)

    def remove(self, deleted: meta.Identity) -> bool:
        """Takes a deletion that a watch tells; returns whether it was news."""
        self.bookmark(deleted.version)
        ref = (deleted.namespace, deleted.name)
        if self._unkept and self._unkept.get(ref, deleted.version) < deleted.version:
            del self._unkept[ref]
        held = self._objects.get(ref)
        if held is None or held.metadata.uid != deleted.uid:
            return False
        self._drop(held)
        return True

    def bookmark(self, version: int) -> None:
        """Takes the word of a watch that nothing up to this version is still to come."""
        self.seen = max(self.seen, version)

    def replace(self, objects: Mapping[tuple[str, str], T], version: int, *, unread: Collection[meta.Ref] = ()) -> None:
        """Takes a complete list as of ``version``, and deletes what it lacks.

        What is listed but could not be read (``unread``) stays as it was: to take it for deleted would do harm.
        """
        # A list is never older than what was seen before it was asked for, but after the server's data were restored
        # from a backup. Then no version that is held means anything any more.
        rewound = version < self.seen
        self.seen = version
        self._unkept = {} if rewound else {ref: at for ref, at in self._unkept.items() if at > version}
        gone = self._objects.keys() - objects.keys() - set(unread)
        for held in [self._objects[ref] for ref in gone]:
            if rewound or held.metadata.version <= version:
                self._drop(held)
        for obj in objects.values():
            self._take(obj, obj.metadata.version, rewound=rewound)

    def _take(self, obj: T, version: int, *, rewound: bool = False) -> bool:
        new = obj.metadata
        ref = (new.namespace, new.name)
        held = self._objects.get(ref)
        if held is not None:
            old = held.metadata
            if version == old.version if rewound else version <= old.version:
                return False
            if old.uid != new.uid:
                self._drop(held)
                held = None
        elif self._unkept and self._is_old(ref, version):
            return False
        if self._keep is not None and not self._keep(obj):
            if version > self.seen:
                self._unkept[ref] = version
            if held is not None:
                self._drop(held)
            return held is not None
        self._objects[ref] = obj
        self._on_change(held, obj)
        return True

    def _is_old(self, ref: tuple[str, str], version: int) -> bool:
        unkept = self._unkept.get(ref)
        if unkept is None:
            return False
        if version > unkept or self.seen >= unkept:
            del self._unkept[ref]
        return version <= unkept

    def _drop(self, held: T) -> None:
        del self._objects[(held.metadata.namespace, held.metadata.name)]
        self._on_change(held, None)
