"""Short ways to say what the scheduler is told."""

from collections.abc import Iterable, Mapping
from typing import Final

from jobset.scheduler import engine, model, rules
from jobset.scheduler.books import Books, Setup
from jobset.scheduler.model import Cell
from jobset.scheduler.topology import nodes, requests
from jobset.scheduler.topology.results import Assignment

GPU: Final = 'gpu'
QUEUE: Final = 'q'


def node(name: str, gpus: int, *, labels: Mapping[str, str] | None = None, **others: int) -> nodes.Node:
    return nodes.Node(name=name, labels=dict(labels or {}), allocatable={GPU: gpus, 'pods': 110, **others})


def pods(
    count: int = 1,
    gpus: int = 1,
    *,
    name: str = 'w',
    least: int | None = None,
    mode: requests.Mode = requests.Mode.UNCONSTRAINED,
    level: str | None = None,
    **others: int,
) -> model.PodSet:
    shape = requests.PodShape(amounts={GPU: gpus, **others})
    request = requests.Request(name=name, count=count, pod=shape, mode=mode, level=level)
    return model.PodSet(request=request, least=least)


def job(
    name: str,
    *sets: model.PodSet,
    gpus: int = 1,
    priority: int = 0,
    at: float = 0,
    duration: float | None = None,
    queue: str = QUEUE,
    **others: object,
) -> model.Workload:
    """A JobSet of one stage; of one pod where nothing is said of its pods."""
    stage = sets or (pods(gpus=gpus),)
    facts = {'stages': (stage,), 'priority': priority, 'duration': duration, **others}
    return model.Workload(key=f'a/{name}', queue=queue, submitted=at, **facts)  # type: ignore[arg-type]


def running(workload: model.Workload, *on: str, admitted: float = 0, saved: float | None = None) -> model.Run:
    """A run of a JobSet of one pod set, with one pod on each of these nodes."""
    (each,) = workload.pod_sets
    shape = each.request.pod.amounts
    counts = {name: on.count(name) for name in on}
    admission = model.Admission(
        flavours={},
        assignments={each.request.name: Assignment(name=each.request.name, pods={(n,): c for n, c in counts.items()})},
        counts={each.request.name: len(on)},
        usage={},
        holds={n: {'pods': c} | {key: amount * c for key, amount in shape.items()} for n, c in counts.items()},
    )
    return model.Run(workload=workload, admission=admission, admitted=admitted, saved=saved)


def quota(flavour: str = 'f', **limits: int | tuple[int, int | None, int | None]) -> dict[Cell, model.Quota]:
    """Quotas by resource: nominal, or nominal with borrowing and lending limit."""
    found = {}
    for resource, given in limits.items():
        nominal, borrowing, lending = given if isinstance(given, tuple) else (given, None, None)
        found[Cell(flavour, resource)] = model.Quota(nominal=nominal, borrowing_limit=borrowing, lending_limit=lending)
    return found


def counted(name: str, *, cohort: str | None = None, flavours: Iterable[str] = ('f',), **facts: object) -> model.Queue:
    """A queue that counts GPUs, with the same quota for each flavour unless ``quotas`` says otherwise."""
    flavours = tuple(flavours)
    facts.setdefault('quotas', {})
    groups = (model.ResourceGroup(resources=(GPU,), flavours=flavours),)
    return model.Queue(name=name, cohort=cohort, groups=groups, **facts)  # type: ignore[arg-type]


PLAIN: Final = Setup(queues=(model.Queue(name=QUEUE),))


class World:
    """A scheduler that runs through time, and its story."""

    def __init__(
        self,
        known: Iterable[nodes.Node],
        setup: Setup = PLAIN,
        settings: rules.Rules = rules.DEFAULT,
    ) -> None:
        self.story: list[engine.Change] = []
        self.books = Books(setup, known, by_priority=settings.uses_priority)
        self.engine = engine.Engine(self.books, settings, tell=self.story.append)

    def submit(self, workload: model.Workload, runtime: float = 100, *, keeps_work: bool = False) -> None:
        self.engine.at(workload.submitted, engine.Submission(workload=workload, runtime=runtime, keeps_work=keeps_work))

    def moments(self, what: str) -> list[tuple[float, str]]:
        """When what happened to whom."""
        return [(change.at, change.key.removeprefix('a/')) for change in self.story if change.what == what]

    def starts(self) -> list[tuple[float, str]]:
        self.engine.run()
        return self.moments('started')
