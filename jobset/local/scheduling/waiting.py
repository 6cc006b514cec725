"""Pods that wait for a node, and those of them that are tried together."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from jobset.api import meta
from jobset.local.scheduling import fitting, model, selectors, shapes, verdicts

Turn = tuple[int, str, str, str]
"""Whose turn it is first: priority, downwards; then time of creation; then name."""

FIRST_PAUSE: Final = 1.0
LAST_PAUSE: Final = 10.0
"""Seconds that a gang waits after its first failure, and after many: kube-scheduler's back-off."""

TELL_PAUSE: Final = 10.0
TELL_PAUSE_MOST: Final = 300.0
"""Seconds before something else is said about the same pods: in a full cluster the counts change all the time."""


@dataclass(eq=False, slots=True)
class Entry:
    """A pod that waits."""

    pod: model.Pod
    shape: shapes.Shape
    turn: Turn
    told: str = ''
    """What was said about it last."""

    @property
    def uid(self) -> str:
        """Which pod."""
        return self.pod.metadata.uid

    def wish(self, volumes: tuple[tuple[selectors.NodeTerm, ...], ...] = ()) -> fitting.Wish:
        """What it needs."""
        metadata = self.pod.metadata
        return fitting.Wish(metadata.namespace, metadata.labels, self.shape, volumes)


class CrowdKey(NamedTuple):
    """Pods of one shape and priority: what one cannot have, no other can."""

    shape: int
    priority: int
    single: str = ''
    """The uid of the one pod in it, where its rules make it different from all others."""


GangKey = meta.Ref
"""Pods of one group."""

Key = CrowdKey | GangKey


@dataclass(eq=False)
class Unit:
    """Pods that are tried together."""

    key: Key
    entries: dict[str, Entry] = field(default_factory=dict)
    diagnosis: verdicts.Diagnosis | None = None
    failures: int = 0
    not_before: float = 0
    tell_after: float = 0
    tell_pause: float = TELL_PAUSE
    untold: list[Entry] = field(default_factory=list)
    _turns: list[tuple[Turn, str]] = field(default_factory=list)

    @property
    def is_gang(self) -> bool:
        """Whether all are placed, or none."""
        return isinstance(self.key, meta.Ref)

    def add(self, entry: Entry) -> None:
        """One more."""
        self.entries[entry.uid] = entry
        self.untold.append(entry)
        heapq.heappush(self._turns, (entry.turn, entry.uid))

    def remove(self, uid: str) -> Entry | None:
        """One less."""
        return self.entries.pop(uid, None)

    def head(self) -> Entry | None:
        """The one whose turn it is first."""
        turns, entries = self._turns, self.entries
        while turns:
            turn, uid = turns[0]
            entry = entries.get(uid)
            if entry is not None and entry.turn == turn:
                return entry
            heapq.heappop(turns)
        return None

    def in_turn(self) -> list[Entry]:
        """All of them."""
        return sorted(self.entries.values(), key=lambda entry: entry.turn)

    def back_off(self, now: float) -> None:
        """Wait longer with each failure."""
        self.not_before = now + min(LAST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.failures, 8))
        self.failures += 1

    def to_tell(self, now: float, message: str) -> Iterator[Entry]:
        """Those who should hear why they wait: whoever has not heard yet, and all now and then when it has changed."""
        everybody = now >= self.tell_after
        entries = self.in_turn() if everybody else self.untold
        self.untold = []
        said = False
        for entry in entries:
            if entry.uid in self.entries and entry.told != message:
                entry.told = message
                said = True
                yield entry
        if everybody and said:
            self.tell_after = now + self.tell_pause
            self.tell_pause = min(TELL_PAUSE_MOST, self.tell_pause * 2)


def turn(pod: model.Pod) -> Turn:
    """When it is a pod's turn."""
    metadata = pod.metadata
    return (-(pod.spec.priority or 0), metadata.creation_timestamp or '', metadata.namespace, metadata.name)
