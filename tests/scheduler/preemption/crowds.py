"""Short ways to say who runs where, and who wants to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from jobset.scheduler import model
from jobset.scheduler.model import Run
from jobset.scheduler.preemption import trials
from jobset.scheduler.topology import nodes, placing, requests, tree
from jobset.scheduler.topology.requests import Mode

GPU: Final = 'gpu'
NOW: Final = 1000.0
CLUSTER: Final = 'cluster'

Sizes = Mapping[str, int] | Mapping[tuple[str, str], int]


def job(name: str, priority: int = 0, **facts: object) -> model.Workload:
    known = {'key': f'a/{name}', 'queue': 'q', 'submitted': 0, 'stages': (), 'priority': priority}
    return model.Workload(**(known | facts))  # type: ignore[arg-type]


def run(
    name: str,
    priority: int = 0,
    on: Mapping[str, int | Mapping[str, int]] | None = None,
    *,
    admitted: float = 0,
    saved: float | None = None,
    eviction: model.Eviction | None = None,
    usage: model.Usage | None = None,
    **facts: object,
) -> Run:
    """A run that holds so many GPUs, or other amounts, on nodes; one GPU of node ``n`` if nothing is said."""
    holds = {
        node: {'pods': 1} | ({GPU: held} if isinstance(held, int) else dict(held))
        for node, held in ({'n': 1} if on is None else on).items()
    }
    admission = model.Admission(flavours={}, assignments={}, counts={}, usage=usage or {}, holds=holds)
    workload = job(name, priority, **facts)
    return Run(workload=workload, admission=admission, admitted=admitted, saved=saved, eviction=eviction)


def pods(
    count: int = 1, gpus: int = 1, *, mode: Mode = Mode.UNCONSTRAINED, level: str | None = None, **more: int
) -> requests.Request:
    """Pods that want so many GPUs each."""
    shape = requests.PodShape(amounts={GPU: gpus, **more})
    return requests.Request(name='w', count=count, pod=shape, mode=mode, level=level)


def forest(sizes: Sizes, runs: Iterable[Run], **more: int) -> tree.Tree:
    """Nodes of so many GPUs, or of a cluster and so many GPUs, on which these runs hold what they hold."""
    found = []
    for key, gpus in sizes.items():
        cluster, name = ('c', key) if isinstance(key, str) else key
        labels = {CLUSTER: cluster, nodes.HOSTNAME: name}
        found.append(nodes.Node(name=name, labels=labels, allocatable={GPU: gpus, 'pods': 99, **more}))
    where = tree.Tree.of(found, (CLUSTER, nodes.HOSTNAME), (GPU, 'pods', *more))
    leaves = {leaf[-1]: leaf for leaf in where.names[-1]}
    for each in runs:
        for node, held in each.admission.holds.items():
            where.take({leaves[node]: 1}, held)
    return where


def trial(sizes: Sizes, runs: Sequence[Run], *gang: requests.Request, **more: int) -> trials.NodeTrial:
    """What would fit of a gang on nodes full of runs."""
    return trials.NodeTrial.of_gang(placing.Placer(forest(sizes, runs, **more)), gang, runs)


def names(victims: Iterable[Run] | None) -> list[str] | None:
    """Who goes, without the namespace."""
    return None if victims is None else [each.workload.key.removeprefix('a/') for each in victims]
