"""Which leaves have changed since somebody last looked, so that only those are looked at again."""

from collections.abc import Iterable


class Changes:
    """A log of slots with marks into it. It forgets what is old: who comes too late looks at everything."""

    def __init__(self, limit: int = 65536) -> None:
        self._limit = limit
        self._slots: list[int] = []
        self._forgotten = 0

    @property
    def mark(self) -> int:
        """Where the log ends now."""
        return self._forgotten + len(self._slots)

    def add(self, slots: Iterable[int]) -> None:
        """Write down that ``slots`` have changed."""
        self._slots.extend(slots)
        if len(self._slots) > self._limit:
            cut = len(self._slots) - self._limit // 2
            del self._slots[:cut]
            self._forgotten += cut

    def since(self, mark: int) -> set[int] | None:
        """What has changed after ``mark``; None where that is no longer known."""
        if mark < self._forgotten:
            return None
        return set(self._slots[mark - self._forgotten :])
