"""Rounds of in-place restarts in any order: agents start, fail and lag, pods are lost, the controller starts anew.

The agents are scripts after upstream's protocol; the controller is the real pass over real counters.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.api import features, pods, types
from jobset.core import conditions, ranks, reconcile
from tests.core import agents, build, test_inplace

GATES = features.FeatureGates(in_place_restart=True)
RANKS = ('js-a-0-0', 'js-a-0-1', 'js-b-0-0')
FAILURES = 6
STEPS_AT_MOST = 2_000


@dataclasses.dataclass
class Pod:
    """One pod of a rank: what the server has of it, and the agent inside."""

    rank: str
    number: int
    phase: str = 'Running'
    announced: int | None = None
    restarts: int = 0
    agent: agents.Agent = dataclasses.field(default_factory=agents.Agent)
    seen: int = 0
    """How much of the history of the status its agent knows."""

    def shown(self) -> pods.Pod:
        """As the API server shows it."""
        return test_inplace.pod(
            self.rank, self.announced, phase=self.phase, restarts=(self.restarts,), suffix=f'p{self.number}'
        )

    def restart(self, now: int) -> None:
        """All containers start again. What was announced stays there until the new agent announces something.

        It reads the status afresh: an old one would let it join an attempt that has begun without it.
        """
        self.restarts += 1
        self.agent = agents.Agent()
        self.seen = now


class Step(NamedTuple):
    """Something that may happen."""

    what: str
    act: Callable[[], None]


class Round:
    """A set of three ranks, its controller, and what the controller knows, which is old."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.story: list[str] = []
        self.history = [agents.Numbers()]
        self.status = types.Status()
        self.pods: dict[str, Pod] = {}
        self.news: list[tuple[pods.Pod | None, pods.Pod | None]] = []
        """What watches have not told the controller yet."""

        self.crew = ranks.Ranks()
        self.failures = FAILURES
        self.made = 0
        self.announced: dict[str, set[int]] = {rank: set() for rank in RANKS}
        self.published: list[agents.Numbers] = []
        for rank in RANKS:
            self.make(rank)

    # The cluster.

    def make(self, rank: str) -> None:
        self.made += 1
        pod = Pod(rank, self.made, seen=len(self.history) - 1)
        self.pods[rank] = pod
        self.news.append((None, pod.shown()))

    def change(self, pod: Pod, change: Callable[[], None]) -> None:
        before = pod.shown()
        change()
        self.news.append((before, pod.shown()))

    def lose(self, pod: Pod) -> None:
        """Its node is gone, or somebody deletes it: the Job controller makes another one, later."""
        del self.pods[pod.rank]
        self.news.append((pod.shown(), None))

    def fail(self, pod: Pod) -> None:
        """It ends for good, and is replaced: two pods of one rank are there."""
        self.change(pod, lambda: setattr(pod, 'phase', 'Failed'))
        del self.pods[pod.rank]

    # What may happen next.

    def steps(self, *, calm: bool) -> Iterator[Step]:
        if self.news:
            yield Step('the controller hears of a pod', self.deliver)
        yield Step('a pass', self.reconcile)
        for rank in RANKS:
            pod = self.pods.get(rank)
            if pod is None:
                yield Step(f'{rank} is made again', lambda rank=rank: self.make(rank))  # type: ignore[misc]
                continue
            yield from self._agent_steps(pod)
            if not calm and self.failures:
                yield Step(f'{rank} fails', lambda pod=pod: self.trouble(pod, self._restart))  # type: ignore[misc]
                yield Step(f'{rank} is lost', lambda pod=pod: self.trouble(pod, self.lose))  # type: ignore[misc]
                yield Step(f'{rank} ends', lambda pod=pod: self.trouble(pod, self.fail))  # type: ignore[misc]
        if not calm:
            yield Step('the controller starts anew', self.crash)

    def _agent_steps(self, pod: Pod) -> Iterator[Step]:
        agent, seen = pod.agent, self.history[pod.seen]
        if pod.seen < len(self.history) - 1:
            yield Step(f'{pod.rank} hears of the status', lambda: setattr(pod, 'seen', pod.seen + 1))
        if agent.attempt is None:
            yield Step(f'{pod.rank} announces {agent.begin(seen)}', lambda: self.announce(pod))
        elif agent.must_leave(seen):
            yield Step(f'{pod.rank} leaves {agent.attempt}', lambda: self._restart(pod))
        elif agent.may_open(seen):
            yield Step(f'{pod.rank} runs in {agent.attempt}', lambda: setattr(agent, 'is_open', True))

    def announce(self, pod: Pod) -> None:
        attempt = pod.agent.begin(self.history[pod.seen])
        pod.agent.attempt = attempt
        self.announced[pod.rank].add(attempt)
        self.change(pod, lambda: setattr(pod, 'announced', attempt))

    def _restart(self, pod: Pod) -> None:
        self.change(pod, lambda: pod.restart(len(self.history) - 1))

    def trouble(self, pod: Pod, what: Callable[[Pod], None]) -> None:
        self.failures -= 1
        what(pod)

    # The controller.

    def deliver(self) -> None:
        old, new = self.news.pop(0)
        if new is not None:
            self.crew.put(new, build.START)
        elif old is not None:
            self.crew.drop(old, build.START)

    def crash(self) -> None:
        """A new one lists what there is now. A pod that ended is still shown, or collected by now."""
        while self.news:
            self.deliver()
        kept, self.crew = self.crew.reports, ranks.Ranks()
        for pod in self.pods.values():
            self.crew.put(pod.shown(), build.START)
        self.news.clear()
        assert self.crew.reports.items() <= kept.items()

    def reconcile(self) -> None:
        parts = [
            build.part('a', 1, template={'spec': build.pods(parallelism=2) | {'completionMode': 'Indexed'}}),
            build.part('b', 1, template={'spec': build.pods(parallelism=1) | {'completionMode': 'Indexed'}}),
        ]
        jobset = build.jobset(
            *parts,
            failurePolicy={'maxRestarts': 10**6, 'restartStrategy': 'InPlaceRestart'},
            metadata={'creationTimestamp': build.stamp(0)},
            status=self.status,
        )
        members = (
            build.job('a-0', parallelism=2, completions=2),
            build.job('b-0', parallelism=1, completions=1),
        )
        facts = dataclasses.replace(build.facts(jobset, *members), pods=self.crew, gates=GATES)
        made = reconcile.reconcile(facts, build.START)
        if made.status is None:
            return
        numbers = agents.Numbers(
            made.status.previous_in_place_restart_attempt, made.status.current_in_place_restart_attempt
        )
        self.status = made.status
        if numbers != self.history[-1]:
            self.publish(numbers)

    # What must hold.

    def publish(self, numbers: agents.Numbers) -> None:
        before = self.history[-1]
        self.history.append(numbers)
        assert before.previous is None or (numbers.previous or 0) >= before.previous, 'a pod is sent back'
        if numbers.current != before.current:
            for rank in RANKS:
                assert numbers.current in self.announced[rank], f'{rank} has never announced {numbers.current}'
        assert numbers not in self.history[:-1], 'the same is told twice'

    def check(self) -> None:
        running = {pod.agent.attempt for pod in self.pods.values() if pod.agent.is_open}
        assert len(running) <= 1, f'attempts {running} run at once'
        assert conditions.terminal(self.status) is None

    def step(self, *, calm: bool) -> None:
        happens = self.chance.choice(list(self.steps(calm=calm)))
        self.story.append(happens.what)
        happens.act()
        self.check()

    def is_at_rest(self) -> bool:
        return len(self.pods) == len(RANKS) and all(
            pod.agent.is_open
            and pod.agent.attempt == self.history[-1].current
            and not pod.agent.must_leave(self.history[-1])
            for pod in self.pods.values()
        )


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 150))
def test_rounds_converge_and_attempts_never_mix(seed: int, stormy: int) -> None:
    story = Round(seed)
    try:
        for _ in range(stormy):
            story.step(calm=False)
        for _ in range(STEPS_AT_MOST):
            if story.is_at_rest() and not story.news:
                break
            story.step(calm=True)
        else:
            raise AssertionError('the ranks do not come to run together')
    except AssertionError as error:
        error.add_note('\n'.join(story.story[-60:]))
        raise

    failures = FAILURES - story.failures
    # One number to run at first; then one to leave and one to run for each round, and a failure begins one at most.
    assert len(story.history) - 1 <= 1 + 2 * failures
