"""Jobs that race for racks, whatever is outrun by what: in the end each has one rack, and all of its pods are there.

The webhook and the suspicion of the repair see the world as it was some moments ago. Pods are killed, fail, go slowly.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from jobset.api.pods import Pod
from jobset.core import placement
from tests.core.placing import RACK, pod

FOLLOWERS = 2
STEPS = 20_000
LAG = 4
"""How many changes the one who sees least lags behind."""


@dataclass
class Seen:
    """A pod of the model."""

    name: str
    job: int
    index: int
    selector: str | None
    node: str = ''
    phase: str = 'Pending'
    ending: bool = False

    def observed(self) -> Pod:
        return pod(
            self.name,
            index=self.index,
            job=f'js-a-{self.job}',
            owner=f'job-{self.job}',
            node=self.node,
            rack=self.selector,
            phase=self.phase,
            ending=self.ending,
        )


@dataclass
class World:
    """What there is, and who has yet to hear of it."""

    random: random.Random
    jobs: int
    racks: int
    kills: int
    pods: dict[str, Seen] = field(default_factory=dict)
    history: dict[int, list[list[Pod]]] = field(default_factory=lambda: defaultdict(lambda: [[]]))
    cache: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """How much of the history the repair has heard of."""

    queue: set[int] = field(default_factory=set)
    made: int = 0

    @property
    def nodes(self) -> dict[str, dict[str, str]]:
        return {f'n{rack}': {RACK: f'r{rack}'} for rack in range(self.racks)}

    def of(self, job: int) -> list[Seen]:
        return [one for one in self.pods.values() if one.job == job]

    def changed(self, job: int) -> None:
        self.history[job].append([one.observed() for one in self.of(job)])

    def steps(self) -> Iterator[Callable[[], None]]:
        """All that could happen now."""
        for job in range(self.jobs):
            standing = {one.index for one in self.of(job) if not one.ending and one.phase != 'Failed'}
            for index in range(FOLLOWERS + 1):
                # The Job controller makes the leader before the rest; but a leader may get lost later.
                if index not in standing and (index == 0 or self.of(job)):
                    yield lambda job=job, index=index: self.create(job, index)  # type: ignore[misc]
            if self.cache[job] < len(self.history[job]) - 1:
                yield lambda job=job: self.hear(job)  # type: ignore[misc]
        for one in self.pods.values():
            if one.ending:
                yield lambda one=one: self.remove(one)  # type: ignore[misc]
            elif one.phase != 'Failed':
                if not one.node:
                    yield lambda one=one: self.schedule(one)  # type: ignore[misc]
                if self.kills:
                    yield lambda one=one: self.kill(one)  # type: ignore[misc]
        for job in self.queue:
            yield lambda job=job: self.repair(job)  # type: ignore[misc]

    def create(self, job: int, index: int) -> None:
        self.made += 1
        one = Seen(f'js-a-{job}-{index}-p{self.made}', job, index, None)
        if index:
            story = self.history[job]
            view = story[-1 - self.random.randrange(min(LAG, len(story)))] if self.kills else story[-1]
            follower = one.observed()
            leader = placement.leader_of(follower, placement.wanted_by(follower, 'ns'), _leaders(view))
            if isinstance(leader, placement.NoLeader) or not leader.spec.node_name:
                return  # refused
            one.selector = self.nodes[leader.spec.node_name][RACK]
        self.pods[one.name] = one
        self.changed(job)

    def schedule(self, one: Seen) -> None:
        """As kube-scheduler does: the leaders' terms hold for themselves and against whoever comes later."""
        for node in self.random.sample(sorted(self.nodes), self.racks):
            if self.fits(one, node):
                one.node, one.phase = node, 'Running'
                self.changed(one.job)
                return

    def fits(self, one: Seen, node: str) -> bool:
        bound = [other for other in self.pods.values() if other.node and other.phase != 'Failed']
        there = [other for other in bound if other.node == node]
        if one.index == 0:
            own = {other.node for other in bound if other.job == one.job}
            return all(other.job == one.job for other in there) and (not own or node in own)
        selected = one.selector == self.nodes[node][RACK]
        return selected and all(other.job == one.job for other in there if other.index == 0)

    def kill(self, one: Seen) -> None:
        self.kills -= 1
        if self.random.random() < 0.3:
            one.phase = 'Failed'  # and is kept
        else:
            one.ending = True
        self.changed(one.job)

    def remove(self, one: Seen) -> None:
        del self.pods[one.name]
        self.changed(one.job)

    def hear(self, job: int) -> None:
        self.cache[job] += 1
        self.queue.add(job)

    def repair(self, job: int) -> None:
        self.queue.discard(job)
        suspicion = self.history[job][self.cache[job]]
        if placement.judge(suspicion, self.nodes) == placement.NOTHING:
            return
        for wrong in placement.judge([one.observed() for one in self.of(job)], self.nodes).delete:
            self.pods[wrong.metadata.name].ending = True
        self.changed(job)

    def is_at_rest(self) -> bool:
        return not self.queue and all(
            sorted(one.index for one in self.of(job) if one.node and one.phase == 'Running' and not one.ending)
            == list(range(FOLLOWERS + 1))
            and self.cache[job] == len(self.history[job]) - 1
            for job in range(self.jobs)
        )


def _leaders(pods: list[Pod]) -> list[Pod]:
    return [one for one in pods if one.is_leader]


@pytest.mark.parametrize('seed', range(150))
def test_F10_in_the_end_each_job_has_one_rack_to_itself(seed: int) -> None:
    chance = random.Random(seed)
    jobs = chance.randint(1, 3)
    world = World(chance, jobs=jobs, racks=jobs + chance.randint(0, 1), kills=chance.randint(0, 12))
    for _ in range(STEPS):
        if not world.kills and world.is_at_rest():
            break
        chance.choice(list(world.steps()))()
    else:
        raise AssertionError(f'seed {seed}: it does not come to rest: {world.pods}')

    places = [{one.node for one in world.of(job) if one.phase == 'Running'} for job in range(jobs)]
    assert [len(place) for place in places] == [1] * jobs
    assert len(set.union(*places)) == jobs
