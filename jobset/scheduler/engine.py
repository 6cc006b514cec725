"""A scheduler on a clock of its own: what would happen, moment by moment, if everybody behaved as given.

The same planner as the one that runs in a cluster is told of submissions, ends, lost nodes and pods that are gone at
the moments at which they happen, and asked for a plan after each. So are traces replayed, waits estimated and questions
answered of what would be if.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from jobset.scheduler import model, plans, rules, verdicts
from jobset.scheduler.books import Books
from jobset.scheduler.planner import Planner
from jobset.scheduler.topology import nodes


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A JobSet that comes."""

    workload: model.Workload
    runtime: float
    """Seconds for which it really runs, whatever is said of it."""
    keeps_work: bool = False
    """Whether it goes on where it was evicted, instead of from its start."""


class NodeUp(msgspec.Struct, frozen=True):
    """A node is there."""

    node: nodes.Node


class NodeDown(msgspec.Struct, frozen=True):
    """A node is lost."""

    name: str


class _End(msgspec.Struct, frozen=True):
    key: str
    attempt: int


class _Gone(msgspec.Struct, frozen=True):
    key: str


Stimulus = Submission | NodeUp | NodeDown


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the story."""

    at: float
    what: str
    """submitted, started, evicted, gone, moved, grown, ended, node up, node down"""
    key: str
    detail: str = ''


class _Event(NamedTuple):
    at: float
    number: int
    stimulus: Stimulus | _End | _Gone


class Engine:
    """Runs a planner through time."""

    def __init__(
        self,
        books: Books,
        settings: rules.Rules = rules.DEFAULT,
        *,
        now: float = 0,
        tell: Callable[[Change], None] | None = None,
    ) -> None:
        self.planner: Final = Planner(books, settings)
        self.now = now
        self.verdicts: Final[dict[str, verdicts.Verdict]] = {}
        """The latest one of each JobSet that waits and was looked at."""
        self._tell = tell or (lambda change: None)
        self._events: list[_Event] = []
        self._number = 0
        self._submissions: dict[str, Submission] = {}
        self._attempts: dict[str, int] = {}
        self._left: dict[str, float] = {}
        self._again_at: float | None = None

    def at(self, moment: float, stimulus: Stimulus | _End | _Gone) -> None:
        """Let something happen at a moment, which may not be past."""
        self._number += 1
        heapq.heappush(self._events, _Event(max(moment, self.now), self._number, stimulus))

    def adopt(self, runtimes: Iterable[tuple[str, float]]) -> None:
        """JobSets that run already, and for how many more seconds."""
        for key, left in runtimes:
            run = self.planner.books.runs[key]
            self._submissions[key] = Submission(workload=run.workload, runtime=left)
            self._attempts[key] = 0
            self._left[key] = left
            if run.eviction is not None:
                self.at(run.eviction.at + run.workload.grace, _Gone(key))
            else:
                self.at(self.now + left, _End(key, 0))

    def run(self, until: float | None = None) -> None:
        """Go on until nothing is left to happen, or until a moment."""
        for _ in self.steps(until):
            pass

    def steps(self, until: float | None = None) -> Iterator[plans.Plan]:
        """The plan of each moment at which something happens."""
        while self._events or self._again_at is not None:
            moment = min(
                self._events[0].at if self._events else float('inf'),
                self._again_at if self._again_at is not None else float('inf'),
            )
            if until is not None and moment > until:
                self.now = until
                return
            self.now = moment
            while self._events and self._events[0].at <= moment:
                self._happen(heapq.heappop(self._events).stimulus)
            yield self._plan()

    def _happen(self, stimulus: Stimulus | _End | _Gone) -> None:
        books = self.planner.books
        match stimulus:
            case Submission(workload=workload):
                self._submissions[workload.key] = stimulus
                self._left[workload.key] = stimulus.runtime
                books.submit(workload)
                self._say('submitted', workload.key, f'priority {workload.priority}')
            case NodeUp(node=node):
                books.set_node(node)
                self._say('node up', node.name)
            case NodeDown(name=name):
                books.remove_node(name)
                self._say('node down', name)
            case _End(key=key, attempt=attempt):
                if attempt == self._attempts[key] and key in books.runs and books.runs[key].eviction is None:
                    books.ended(key)
                    self._say('ended', key)
            case _Gone(key=key):
                books.evicted(key)
                self._say('gone', key)

    def _plan(self) -> plans.Plan:
        plan = self.planner.cycle(self.now)
        for decision in plan.decisions:
            self._carry_out(decision)
        self.verdicts.update(plan.waiting)
        # A planner that asks to be called again at once was not done: nothing else happens meanwhile.
        self._again_at = plan.again_at
        return plan

    def _carry_out(self, decision: plans.Decision) -> None:
        key = decision.key
        match decision:
            case plans.Start():
                self.verdicts.pop(key, None)
                self._attempts[key] = self._attempts.get(key, -1) + 1
                self.at(self.now + self._left[key], _End(key, self._attempts[key]))
                self._say('started', key, f'waited {decision.waited:g} s')
            case plans.Evict():
                run = self.planner.books.runs[key]
                if self._submissions[key].keeps_work:
                    self._left[key] -= self.now - run.admitted
                self.at(self.now + run.workload.grace, _Gone(key))
                self._say('evicted', key, decision.text)
            case plans.Move():
                self._say('moved', key, f'away from {", ".join(decision.lost)}')
            case plans.Resize():
                self._say('grown', key)

    def _say(self, what: str, key: str, detail: str = '') -> None:
        self._tell(Change(at=self.now, what=what, key=key, detail=detail))
