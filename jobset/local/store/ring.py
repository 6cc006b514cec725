"""The latest changes, so that a watch can be taken up where it ended, and pages of a list belong together.

Bounded by number and by bytes over all kinds. What falls out is remembered as one revision a kind: whoever asks for
changes since an earlier one is told that they are gone, and nobody else is.
"""

from collections import deque
from collections.abc import Sequence

from jobset.local.store import records


class Ring:
    """Changes of all kinds, oldest first."""

    def __init__(self, *, start: int, max_events: int, max_bytes: int) -> None:
        self._start = start
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._bytes = 0
        self._order: deque[str] = deque()
        self._by_kind: dict[str, deque[records.Event]] = {}
        self._lost: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._order)

    def add(self, kind: str, event: records.Event) -> None:
        """One more change; the oldest ones may fall out."""
        events = self._by_kind.get(kind)
        if events is None:
            events = self._by_kind[kind] = deque()
        events.append(event)
        self._order.append(kind)
        self._bytes += event.record.size
        while self._bytes > self._max_bytes or len(self._order) > self._max_events:
            self._drop_oldest()

    def oldest(self, kind: str) -> int:
        """The earliest revision since which all changes of the kind are known."""
        return self._lost.get(kind, self._start)

    def since(self, kind: str, revision: int) -> Sequence[records.Event] | None:
        """All changes of the kind after ``revision``, oldest first; None when some of them are gone."""
        if revision < self.oldest(kind):
            return None
        # The newest are wanted, of which there are few: from the end, not from the start.
        found: list[records.Event] = []
        for event in reversed(self._by_kind.get(kind, ())):
            if event.record.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found

    def forget(self) -> None:
        """Drops everything, as a server does that compacts its history."""
        while self._order:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        kind = self._order.popleft()
        event = self._by_kind[kind].popleft()
        self._bytes -= event.record.size
        self._lost[kind] = event.record.revision
