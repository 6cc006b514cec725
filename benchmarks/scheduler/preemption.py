"""How long it takes to find who yields to a gang of 64 nodes where thousands of gangs of lower priority run.

::

    python -m benchmarks.scheduler.preemption [--nodes 10000 30000 100000] [--repeat 7]

The nodes of :mod:`benchmarks.scheduler.placement`, all full: half as many gangs as nodes, of 1 to 3 nodes each, here
and there, with ten priorities. What has been counted of the tree is kept between questions, as a scheduler keeps it;
what the gangs hold is put into arrays anew for each question, and that is part of the time. Medians; the exponent is
the slope of time over nodes on logarithmic scales.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.scheduler import placement
from jobset.scheduler import model
from jobset.scheduler.preemption import candidates, search, trials
from jobset.scheduler.preemption.search import Strategy
from jobset.scheduler.topology import placing, requests, tree
from jobset.scheduler.topology.requests import Mode

HELD = {'cpu': 96_000, 'memory': 1 << 39, 'gpu': 8, 'pods': 8}
WANTED = 64
NOW = 1e6
GOAL = 50.0
"""Milliseconds on 10,000 nodes."""


def gang(mode: Mode, level: str | None = None) -> list[requests.Request]:
    """A gang whose pods take a node each."""
    pod = requests.PodShape(amounts={name: amount for name, amount in HELD.items() if name != 'pods'})
    return [requests.Request(name='workers', count=WANTED, pod=pod, mode=mode, level=level)]


QUESTIONS: dict[str, tuple[list[requests.Request], Strategy]] = {
    'unconstrained': (gang(Mode.UNCONSTRAINED), Strategy.FEWEST),
    'required block': (gang(Mode.REQUIRED, 'block'), Strategy.FEWEST),
    'required block, lowest priority first': (gang(Mode.REQUIRED, 'block'), Strategy.LOWEST_PRIORITY_FIRST),
    'hopeless: more than a rack': (gang(Mode.REQUIRED, 'rack'), Strategy.FEWEST),
}


class Bench:
    """One size."""

    def __init__(self, size: int, repeat: int) -> None:
        rng = random.Random(size)
        self.repeat = repeat
        self.tree = tree.Tree.of(placement.hosts(size), placement.LEVELS, placement.RESOURCES)
        self.placer = placing.Placer(self.tree)
        leaves = list(self.tree.names[-1])
        rng.shuffle(leaves)
        self.tree.take(dict.fromkeys(leaves, 1), HELD)
        self.runs: list[model.Run] = []
        for i in range(size // 2):
            many = rng.choice((1, 2, 3)) if len(leaves) > 3 else len(leaves)
            mine, leaves = leaves[:many], leaves[many:]
            self.runs.append(_run(f'a/{i:06}', [leaf[-1] for leaf in mine], rng))
        self.preemptor = model.Workload(key='a/urgent', queue='q', submitted=0, stages=(), priority=100)

    def eligible(self) -> float:
        """Milliseconds to tell who may be evicted."""
        return self._median(lambda: candidates.eligible(self.runs, self.preemptor, NOW, policy=model.Preemption()).runs)

    def search(self, question: str) -> float:
        """Milliseconds for the victims of a question."""
        wanted, strategy = QUESTIONS[question]

        def once() -> tuple[model.Run, ...] | None:
            trial = trials.NodeTrial.of_gang(self.placer, wanted, self.runs)
            return search.fewest(self.runs, trial, now=NOW, strategy=strategy)

        assert (once() is None) == question.startswith('hopeless')
        return self._median(once)

    def _median(self, once: Callable[[], object]) -> float:
        def timed() -> float:
            began = time.perf_counter()
            once()
            return (time.perf_counter() - began) * 1e3

        return statistics.median(timed() for _ in range(self.repeat))


def _run(key: str, on: Sequence[str], rng: random.Random) -> model.Run:
    workload = model.Workload(key=key, queue='q', submitted=0, stages=(), priority=rng.randrange(10))
    admission = model.Admission(
        flavours={}, assignments={}, counts={}, usage={}, holds={name: dict(HELD) for name in on}
    )
    return model.Run(workload=workload, admission=admission, admitted=rng.uniform(0, NOW))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nodes', type=int, nargs='+', default=[10_000, 30_000, 100_000])
    parser.add_argument('--repeat', type=int, default=7)
    options = parser.parse_args()
    sizes: list[int] = options.nodes
    benches = [Bench(size, options.repeat) for size in sizes]
    print(f'| ms | {" | ".join(f"{size:,} nodes" for size in sizes)} | exponent | goal |')
    print('| --- |' + ' ---: |' * (len(sizes) + 2))

    def row(name: str, measure: Callable[[Bench], float]) -> None:
        times = [measure(bench) for bench in benches]
        goals = [one <= GOAL for size, one in zip(sizes, times, strict=True) if size <= 10_000]
        verdict = '' if not goals else 'met' if all(goals) else 'missed'
        exponent = placement.exponent(sizes, times)
        print(f'| {name} | {" | ".join(f"{one:.1f}" for one in times)} | {exponent:.2f} | {verdict} |')

    row('who may be evicted', lambda bench: bench.eligible())
    for question in QUESTIONS:
        row(question, lambda bench, question=question: bench.search(question))  # type: ignore[misc]


if __name__ == '__main__':
    main()
