"""Queues, cohorts and pod sets in few words. Without a flavour the amounts are of ``cpu`` of ``default``."""

from collections.abc import Iterable, Mapping
from typing import Final

from jobset.scheduler.model import Cell, Cohort, PodSet, Preemption, Queue, Quota, ResourceGroup, Stage
from jobset.scheduler.topology.requests import PodShape, Request

CPU: Final = Cell('default', 'cpu')


def quota(nominal: int, *, borrow: int | None = None, lend: int | None = None) -> Quota:
    return Quota(nominal=nominal, borrowing_limit=borrow, lending_limit=lend)


def queue(
    name: str,
    quotas: Quota | int | Mapping[str, int],
    cohort: str | None = None,
    *,
    weight: float = 1,
    preemption: Preemption | None = None,
) -> Queue:
    """A number is the nominal amount; a mapping has those of flavours, in order."""
    cells = cells_of(quotas)
    return Queue(
        name=name,
        cohort=cohort,
        groups=groups(cells),
        quotas=cells,
        weight=weight,
        preemption=preemption or Preemption(),
    )


def cohort(
    name: str, quotas: Quota | int | Mapping[str, int] = 0, parent: str | None = None, *, weight: float = 1
) -> Cohort:
    return Cohort(name=name, parent=parent, quotas=cells_of(quotas) if quotas else {}, weight=weight)


def groups(cells: Iterable[Cell]) -> tuple[ResourceGroup, ...]:
    """One that has them all."""
    cells = tuple(cells)
    return (
        ResourceGroup(
            resources=tuple(dict.fromkeys(cell.resource for cell in cells)),
            flavours=tuple(dict.fromkeys(cell.flavour for cell in cells)),
        ),
    )


def cells_of(quotas: Quota | int | Mapping[str, int]) -> dict[Cell, Quota]:
    if isinstance(quotas, Mapping):
        return {Cell(flavour, 'cpu'): quota(amount) for flavour, amount in quotas.items()}
    return {CPU: quotas if isinstance(quotas, Quota) else quota(quotas)}


def pod_set(name: str, count: int, cpu: int = 1, *, shape: PodShape | None = None, leader: int | None = None) -> PodSet:
    """``count`` pods of ``cpu`` each, and a leader of ``leader``."""
    return PodSet(
        request=Request(
            name=name,
            count=count,
            pod=shape or PodShape(amounts={'cpu': cpu}),
            leader=None if leader is None else PodShape(amounts={'cpu': leader}),
        )
    )


def stage(*pod_sets: PodSet) -> Stage:
    return pod_sets
