"""What is wrong with queues and cohorts: what makes no sense, and what would be counted twice or never."""

import enum
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from jobset.scheduler.model import Cell, Cohort, Queue, Quota


class Kind(enum.StrEnum):
    """What has quota."""

    COHORT = 'cohort'
    QUEUE = 'queue'


class Problem(msgspec.Struct, frozen=True, order=True):
    """Something that an administrator has to change: where it is, which rule it breaks, and the fix."""

    kind: Kind
    name: str
    path: str
    rule: str

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}", {self.path}: {self.rule}'


Found = Iterator[tuple[str, str]]
"""Paths and rules."""


def problems(queues: Sequence[Queue], cohorts: Sequence[Cohort]) -> tuple[Problem, ...]:
    """All problems, sorted, each once."""
    names = {Kind.QUEUE: Counter(each.name for each in queues), Kind.COHORT: Counter(each.name for each in cohorts)}
    found = {
        Problem(kind, name, 'name', f'{count} {kind}s have this name; rename all but one')
        for kind, counts in names.items()
        for name, count in counts.items()
        if count > 1
    }
    circles = circular({each.name: each.parent for each in cohorts})
    for cohort in cohorts:
        found |= {Problem(Kind.COHORT, cohort.name, *each) for each in _of_cohort(cohort, circles)}
    for queue in queues:
        found |= {Problem(Kind.QUEUE, queue.name, *each) for each in _of_queue(queue)}
    return tuple(sorted(found))


def circular(parents: Mapping[str, str | None]) -> frozenset[str]:
    """Cohorts that are their own ancestors. Those that merely lie below such a circle are not among them."""
    found: set[str] = set()
    settled: set[str] = set()
    for start in parents:
        walked: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in settled and name not in walked:
            walked[name] = None
            name = parents.get(name)
        if name in walked:
            steps = list(walked)
            found.update(steps[steps.index(name) :])
        settled.update(walked)
    return frozenset(found)


def _of_cohort(cohort: Cohort, circles: frozenset[str]) -> Found:
    if cohort.name in circles:
        yield 'parent', f'cohort "{cohort.parent}" lies below this one itself; leave out one parent of the circle'
    yield from _of_weight(cohort.weight)
    for cell, quota in cohort.quotas.items():
        yield from _of_quota(cell, quota, has_parent=cohort.parent is not None)


def _of_queue(queue: Queue) -> Found:
    yield from _of_weight(queue.weight)
    for cell, quota in queue.quotas.items():
        yield from _of_quota(cell, quota, has_parent=queue.cohort is not None)
        if quota.lending_limit is not None and quota.lending_limit > quota.nominal:
            # A cohort may lend more than is its own: what its queues have and leave.
            yield (
                f'quotas[{_at(cell)}].lendingLimit',
                f'{quota.lending_limit} is more than the nominal amount; give at most {quota.nominal}',
            )
    yield from _of_groups(queue)


def _of_weight(weight: float) -> Found:
    if not (weight >= 0 and math.isfinite(weight)):
        yield 'weight', f'{weight} is no weight; give 0 or more'


def _of_quota(cell: Cell, quota: Quota, *, has_parent: bool) -> Found:
    limits = (('borrowingLimit', quota.borrowing_limit), ('lendingLimit', quota.lending_limit))
    for field, amount in (('nominal', quota.nominal), *limits):
        if amount is not None and amount < 0:
            yield f'quotas[{_at(cell)}].{field}', f'{amount} is negative; give 0 or more'
    if not has_parent:
        for field, amount in limits:
            if amount is not None:
                yield f'quotas[{_at(cell)}].{field}', 'nobody to share with; name a cohort, or leave it out'


def _of_groups(queue: Queue) -> Found:
    flavours = Counter(each for group in queue.groups for each in group.flavours)
    resources = Counter(each for group in queue.groups for each in group.resources)
    for i, group in enumerate(queue.groups):
        if not group.flavours:
            yield f'groups[{i}].flavours', 'there is none; name at least one'
        if not group.resources:
            yield f'groups[{i}].resources', 'there is none; name at least one'
    for field, counts in (('flavours', flavours), ('resources', resources)):
        for name, count in counts.items():
            if count > 1:
                yield f'groups[*].{field}', f'"{name}" is there {count} times; leave it in one place'
    counted = {
        Cell(flavour, resource) for each in queue.groups for flavour in each.flavours for resource in each.resources
    }
    for cell in queue.quotas:
        if cell not in counted:
            yield f'quotas[{_at(cell)}]', 'no group has this flavour with this resource; add them to one'


def _at(cell: Cell) -> str:
    return f'{cell.flavour}/{cell.resource}'
