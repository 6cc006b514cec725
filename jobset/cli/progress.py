"""What is worth a line while a JobSet runs: pure, from what is seen of it to lines.

Each piece of news becomes a line once: what its stages do, containers that end badly, pods that find no room, the end.
"""

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from jobset.api import types
from jobset.cli import ends
from jobset.client import observed, waits
from jobset.client.families import Family
from jobset.core import conditions

STATES: Final = {'Pending': 'starting', 'Running': 'running', 'Succeeded': 'done', 'Failed': 'failed'}
"""Phases of pods in words, in the order in which they are shown."""

_TOLD_WAITS: Final = frozenset({waits.Kind.UNSCHEDULABLE, waits.Kind.CONFIG, waits.Kind.VOLUME, waits.Kind.TROUBLE})
PATIENCE: Final = 2.0
"""Seconds after which it is worth a line that something is waited for: most waits are over in a moment."""

OUTPUT_LOST: Final = 'OutputLost'
"""Reason of an event of our nodes: what a container writes cannot be kept, as when the disk is full."""

_STARTUP: Final = frozenset({conditions.STARTUP_IN_PROGRESS, conditions.STARTUP_COMPLETED})


class Tone(enum.StrEnum):
    """How a line is meant."""

    PLAIN = ''
    GOOD = 'green'
    BAD = 'red'
    NOTE = 'dim'


@dataclass(frozen=True, slots=True)
class Line:
    """One line: what it is about, and what is new of it."""

    subject: str
    text: str
    tone: Tone = Tone.PLAIN


class Progress:
    """One JobSet, as far as it has been told of."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._waits: dict[waits.Wait, float] = {}
        self._ends: dict[str, ends.Failure] = {}
        self.failures: list[ends.Failure] = []
        """All bad ends, in the order in which they were seen."""

    def see_pod(self, pod: observed.Pod) -> None:
        """Keep in mind how it has ended: it may be gone before the next look."""
        self._keep(ends.of_pod(pod))

    def see_job(self, job: observed.Job) -> None:
        """The same of a Job."""
        self._keep(ends.of_job(job))

    def look(self, family: Family, *, at: float) -> Iterator[Line]:
        """The lines for what is new ``at`` so many seconds; to be asked again now and then without a change."""
        yield from self._conditions(family)
        yield from self._failures(family)
        yield from self._losses(family)
        for wait in self._long_waits(family, at):
            if self._is_news(f'wait/{wait.who}', wait.text):
                yield Line(wait.who or family.name, wait.text, Tone.NOTE)
        for name, text in stages(family).items():
            if self._is_news(f'stage/{name}', text):
                yield Line(name, text)

    def _long_waits(self, family: Family, at: float) -> Iterator[waits.Wait]:
        self._waits = {wait: self._waits.get(wait, at) for wait in waits.of(family) if wait.kind in _TOLD_WAITS}
        return (wait for wait, since in self._waits.items() if at - since >= PATIENCE)

    def _conditions(self, family: Family) -> Iterator[Line]:
        for condition in family.jobset.status.conditions:
            if condition.type in _STARTUP or not self._is_news(f'condition/{condition.type}', condition.status):
                continue
            if condition.is_true:
                yield _condition_line(family.name, condition)

    def _failures(self, family: Family) -> Iterator[Line]:
        self._keep(ends.of(family))
        untold = list(self._ends.values())[len(self.failures) :]
        self.failures += untold
        for failure in untold:
            yield Line(failure.rank, str(failure), Tone.BAD)

    def _keep(self, found: Iterable[tuple[str, ends.Failure]]) -> None:
        for key, failure in found:
            self._ends.setdefault(key, failure)

    def _losses(self, family: Family) -> Iterator[Line]:
        ranks = {pod.metadata.uid: pod.rank for pod in family.pods}
        for event in family.events:
            if event.reason == OUTPUT_LOST and self._is_news(f'event/{event.metadata.uid}', event.note):
                yield Line(ranks.get(event.regarding.uid, event.regarding.name), event.note, Tone.BAD)

    def _is_news(self, key: str, text: str) -> bool:
        if self._told.get(key) == text:
            return False
        self._told[key] = text
        return True


def stages(family: Family) -> Mapping[str, str]:
    """Where each replicated job stands, in words."""
    return {group.name: _stage(family, group) for group in family.jobset.spec.replicated_jobs}


def _stage(family: Family, group: types.ReplicatedJob) -> str:
    status = family.jobset.status
    counts = next((one for one in status.replicated_jobs_status if one.name == group.name), None)
    if counts is not None and counts.succeeded == group.count > 0:
        return 'complete'
    phases = Counter(
        pod.status.phase for pod in family.pods if pod.replicated_job == group.name and pod.attempt == status.restarts
    )
    if phases:
        total = sum(phases.values())
        words = ', '.join(f'{phases[phase]} {word}' for phase, word in STATES.items() if phases[phase])
        return f'{total} {"pod" if total == 1 else "pods"}: {words}'
    if family.jobset.suspended:
        return 'suspended'
    if needed := [f'{each.name} ({each.status})' for each in group.depends_on or ()]:
        return f'waits for {", ".join(needed)}'
    return 'waits for its pods'


def _condition_line(name: str, condition: types.Condition) -> Line:
    match condition.type:
        case conditions.COMPLETED:
            return Line(name, f'Completed: {condition.message}', Tone.GOOD)
        case conditions.FAILED:
            return Line(name, f'Failed: {condition.reason}: {condition.message}', Tone.BAD)
        case kind:
            return Line(name, f'{kind}: {condition.message}', Tone.NOTE)
