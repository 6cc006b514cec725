"""How long it takes to place a gang of 512 pods on ten, thirty and a hundred thousand nodes.

::

    python -m benchmarks.scheduler.placement [--nodes 10000 30000 100000] [--repeat 15]

Zones of 8 blocks of 16 racks of 16 hosts with 8 GPUs, on which others hold some; pods of 1 GPU. Each question comes
after a change of one node, so that something has to be counted again; the time of telling the tree of that change is a
line of its own. *Naive* is :mod:`benchmarks.scheduler.naive` in the same run, with the same answers. Medians; the
exponent is the slope of time over nodes on logarithmic scales.
"""

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence

import msgspec

from benchmarks.scheduler import naive
from jobset.scheduler.topology import nodes, placing, requests, results, tree
from jobset.scheduler.topology.domains import Values
from jobset.scheduler.topology.requests import Layer, Mode, Profile
from jobset.scheduler.topology.single import Settings

LEVELS = ('zone', 'block', 'rack', nodes.HOSTNAME)
RESOURCES = ('cpu', 'memory', 'gpu', 'pods')
COUNT = 512
GOALS = {10_000: 5.0, 100_000: 50.0}
UPDATE_GOAL = 1.0
NEEDS = {'cpu': 4000, 'memory': 16 << 30, 'gpu': 1}


def hosts(count: int) -> list[nodes.Node]:
    """So many nodes."""
    found = []
    for i in range(count):
        rack, block, zone = i // 16, i // 256, i // 2048
        labels = {'zone': f'z{zone:04}', 'block': f'b{block:05}', 'rack': f'r{rack:06}', nodes.HOSTNAME: f'n{i:07}'}
        amounts = {'cpu': 96_000, 'memory': 1 << 40, 'gpu': 8, 'pods': 110}
        found.append(nodes.Node(name=labels[nodes.HOSTNAME], labels=labels, allocatable=amounts))
    return found


def gang(mode: Mode, level: str | None = None, *layers: Layer, leader: bool = False) -> list[requests.Request]:
    """A gang of one request."""
    pod = requests.PodShape(amounts=NEEDS)
    return [
        requests.Request(
            name='workers', count=COUNT, pod=pod, mode=mode, level=level, slices=layers, leader=pod if leader else None
        )
    ]


BALANCED = Settings(profile=Profile.BALANCED)
QUESTIONS: dict[str, tuple[list[requests.Request], Settings]] = {
    'unconstrained': (gang(Mode.UNCONSTRAINED), Settings()),
    'required block': (gang(Mode.REQUIRED, 'block'), Settings()),
    'preferred rack': (gang(Mode.PREFERRED, 'rack'), Settings()),
    'preferred rack, balanced': (gang(Mode.PREFERRED, 'rack'), BALANCED),
    'required block, leader': (gang(Mode.REQUIRED, 'block', leader=True), Settings()),
    'slices of 16 a rack': (gang(Mode.REQUIRED, 'zone', Layer('rack', 16)), Settings()),
    'slices of 32 a rack, 4 a host': (
        gang(Mode.REQUIRED, 'zone', Layer('rack', 32), Layer(nodes.HOSTNAME, 4)),
        Settings(),
    ),
    'two gangs of 256': (
        [msgspec.structs.replace(gang(Mode.PREFERRED, 'rack')[0], name=name, count=256) for name in 'ab'],
        Settings(),
    ),
    'hopeless, with reasons': (
        [msgspec.structs.replace(gang(Mode.REQUIRED, 'rack')[0], count=COUNT)],
        Settings(),
    ),
}


class Bench:
    """One size."""

    def __init__(self, size: int, repeat: int) -> None:
        rng = random.Random(size)
        self.repeat = repeat
        self.nodes = hosts(size)
        began = time.perf_counter()
        self.tree = tree.Tree.of(self.nodes, LEVELS, RESOURCES)
        self.built = time.perf_counter() - began
        self.held = {leaf: rng.choice((0, 0, 2, 4, 6, 8, 8)) for leaf in self.tree.names[-1]}
        by_count: dict[int, list[Values]] = {}
        for leaf, many in self.held.items():
            by_count.setdefault(many, []).append(leaf)
        for many, leaves in by_count.items():
            self.tree.take(dict.fromkeys(leaves, many), {'gpu': 1, 'pods': 0})
        self.placer = placing.Placer(self.tree)
        self.rng = rng
        self.updates: list[float] = []

    def change(self) -> None:
        """A node goes, and comes back; timed as two changes."""
        node = self.rng.choice(self.nodes)
        began = time.perf_counter()
        self.tree.remove_node(node.name)
        middle = time.perf_counter()
        self.tree.set_node(node)
        self.updates += [(middle - began) * 1e3, (time.perf_counter() - middle) * 1e3]

    def ask(self, question: str) -> float:
        """Milliseconds for an answer, after a change."""
        wanted, settings = QUESTIONS[question]
        found = self.placer.place(wanted, settings)
        assert isinstance(found, results.NoRoom if question.startswith('hopeless') else results.Placement)

        def once() -> float:
            self.change()
            began = time.perf_counter()
            self.placer.place(wanted, settings)
            return (time.perf_counter() - began) * 1e3

        return statistics.median(once() for _ in range(self.repeat))

    def first(self) -> float:
        """Milliseconds for the first answer of a tree, when nothing is counted yet."""
        began = time.perf_counter()
        placing.Placer(self.tree).place(*QUESTIONS['required block'])
        return (time.perf_counter() - began) * 1e3

    def take(self) -> float:
        """Milliseconds for taking and giving back a placement."""
        wanted, settings = QUESTIONS['unconstrained']
        found = self.placer.place(wanted, settings)
        assert isinstance(found, results.Placement)
        began = time.perf_counter()
        self.placer.take(wanted, found)
        self.placer.give_back(wanted, found)
        return (time.perf_counter() - began) * 1e3

    def naive(self, question: str) -> float:
        """Milliseconds of the plain way, whose answer must be the same."""
        plain = naive.Naive(self.nodes, LEVELS, self.held)
        needs = NEEDS | {'pods': 1}
        began = time.perf_counter()
        if question == 'unconstrained':
            answer = plain.unconstrained(COUNT, needs)
        else:
            answer = plain.required(COUNT, needs, 'block')
        took = (time.perf_counter() - began) * 1e3
        found = self.placer.place(*QUESTIONS[question])
        assert isinstance(found, results.Placement)
        assert found.assignments[0].pods == answer
        return took


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of a line through logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(one) for one in times]
    return statistics.linear_regression(xs, ys).slope if len(sizes) > 1 else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nodes', type=int, nargs='+', default=[10_000, 30_000, 100_000])
    parser.add_argument('--repeat', type=int, default=15)
    options = parser.parse_args()
    sizes: list[int] = options.nodes
    benches = [Bench(size, options.repeat) for size in sizes]
    print(f'| ms | {" | ".join(f"{size:,} nodes" for size in sizes)} | exponent | goal |')
    print('| --- |' + ' ---: |' * (len(sizes) + 2))

    def row(name: str, measure: Callable[[Bench], float], goals: Sequence[float | None]) -> None:
        times = [measure(bench) for bench in benches]
        missed = any(goal is not None and one > goal for one, goal in zip(times, goals, strict=True))
        verdict = '' if not any(goals) else 'missed' if missed else 'met'
        print(f'| {name} | {" | ".join(f"{one:.2f}" for one in times)} | {exponent(sizes, times):.2f} | {verdict} |')

    nothing = [None] * len(sizes)
    for question in QUESTIONS:
        row(question, lambda bench, question=question: bench.ask(question), [GOALS.get(size) for size in sizes])  # type: ignore[misc]
    row('change of one node', lambda bench: statistics.median(bench.updates), [UPDATE_GOAL] * len(sizes))
    row('taken and given back', lambda bench: bench.take(), nothing)
    row('first question of a tree', lambda bench: bench.first(), nothing)
    row('tree built', lambda bench: bench.built * 1e3, nothing)
    for question in ('unconstrained', 'required block'):
        row(f'naive: {question}', lambda bench, question=question: bench.naive(question), nothing)  # type: ignore[misc]


if __name__ == '__main__':
    main()
