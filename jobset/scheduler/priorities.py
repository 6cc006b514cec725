"""How important a JobSet is, who says so, and whether it may.

In this order: the class that holds for all clusters (group ``scheduling.jobset.x-k8s.io``), named by a label of the
JobSet; the Kubernetes PriorityClass that its pod templates name, of several the highest; the number in an annotation;
the class that is the default, the lowest if there are several; 0. What was found is recorded by the caller and counts
from then on, whatever becomes of the class, until the JobSet names something else.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from jobset.api import keys, schedulingextras, types
from jobset.scheduler.topology.requests import Problem


class Source(enum.StrEnum):
    """Where a priority comes from."""

    FEDERATED = 'FederatedPriorityClass'
    KUBERNETES = 'PriorityClass'
    ANNOTATION = 'Annotation'
    DEFAULT = 'GlobalDefault'
    NOBODY = 'Nobody'


class PriorityClass(msgspec.Struct, frozen=True, kw_only=True):
    """A class of either kind."""

    name: str
    value: int
    may_preempt: bool = True
    """False with ``preemptionPolicy: Never``. It may be evicted all the same."""
    is_default: bool = False
    description: str = ''


class Classes(msgspec.Struct, frozen=True, kw_only=True):
    """All classes, by name."""

    federated: dict[str, PriorityClass] = {}
    kubernetes: dict[str, PriorityClass] = {}


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the administrator: only these namespaces may have such priorities."""

    name: str
    namespaces: tuple[str, ...] = ()
    at_least: int | None = None
    """Priorities from this on, wherever they come from."""
    classes: tuple[str, ...] = ()
    """And those of classes of these names."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Who may have what. A priority must be allowed by each limit that it falls under."""

    limits: tuple[Limit, ...] = ()
    protecting_namespaces: tuple[str, ...] = ()
    protecting_classes: tuple[str, ...] = ()
    """JobSets of these namespaces, and those of these classes, may be protected from eviction; nobody else."""


NO_RULES: Final = Rules()


class Priority(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. As JSON it can be recorded."""

    value: int
    source: Source
    name: str | None = None
    """Of the class."""
    may_preempt: bool = True
    is_protected: bool = False
    asked: str = ''
    """What the JobSet named when this was found."""
    note: str = ''


class Reason(enum.StrEnum):
    """Why there is no priority yet."""

    MISSING = 'PriorityClassMissing'
    """Over as soon as the class is there."""
    FORBIDDEN = 'PriorityForbidden'
    """A rule of the administrator is against it."""


class Unresolved(msgspec.Struct, frozen=True, kw_only=True):
    """The JobSet waits, outside of all queues."""

    reason: Reason
    text: str


def resolve(
    jobset: types.JobSet,
    *,
    classes: Classes,
    rules: Rules = NO_RULES,
    recorded: Priority | None = None,
) -> Priority | Unresolved:
    """The priority of a JobSet whose templates can be decoded; ``recorded`` is what this function said before."""
    asked = _asked(jobset)
    if recorded is not None and recorded.asked == asked:
        found: Priority | Unresolved = recorded
    else:
        found = _found(jobset, classes)
    if isinstance(found, Unresolved):
        return found
    never = any(job.job.spec.template.spec.preemption_policy == 'Never' for job in jobset.spec.replicated_jobs)
    wanted = msgspec.structs.replace(
        found,
        asked=asked,
        may_preempt=found.may_preempt and not never,
        is_protected=bool(schedulingextras.PROTECTED.of(jobset.metadata.annotations)),
    )
    against = _against(jobset.metadata.namespace, wanted, rules)
    return wanted if against is None else Unresolved(reason=Reason.FORBIDDEN, text=against)


def changes(before: PriorityClass, after: PriorityClass, *, strict: bool = False) -> tuple[Problem, ...]:
    """What of a change of a class is not allowed; with ``strict`` it stays the default, or not, too."""
    judged = [('value', before.value, after.value), ('preemptionPolicy', _policy(before), _policy(after))]
    if strict:
        judged.append(('globalDefault', before.is_default, after.is_default))
    return tuple(
        Problem(path, f'is {was} and cannot become {wanted}; delete the class and create it anew')
        for path, was, wanted in judged
        if was != wanted
    )


def _policy(one: PriorityClass) -> str:
    return 'PreemptLowerPriority' if one.may_preempt else 'Never'


def _named(jobset: types.JobSet) -> list[str]:
    """The Kubernetes classes that pod templates name, each once."""
    names = (job.job.spec.template.spec.priority_class_name for job in jobset.spec.replicated_jobs)
    return sorted({name for name in names if name})


def _asked(jobset: types.JobSet) -> str:
    """All that the priority follows from, as text."""
    label = jobset.metadata.labels.get(keys.PRIORITY_CLASS)
    if label:
        return f'{Source.FEDERATED} {label}'
    names = _named(jobset)
    if names:
        return f'{Source.KUBERNETES} {",".join(names)}'
    number = schedulingextras.PRIORITY.of(jobset.metadata.annotations)
    return '' if number is None else f'{Source.ANNOTATION} {number}'


def _found(jobset: types.JobSet, classes: Classes) -> Priority | Unresolved:
    label = jobset.metadata.labels.get(keys.PRIORITY_CLASS)
    if label:
        where = f'metadata.labels[{keys.PRIORITY_CLASS}]'
        return _of_classes([label], classes.federated, Source.FEDERATED, where)
    names = _named(jobset)
    if names:
        return _of_classes(names, classes.kubernetes, Source.KUBERNETES, 'priorityClassName of pod templates')
    number = schedulingextras.PRIORITY.of(jobset.metadata.annotations)
    if number is not None:
        return Priority(value=number, source=Source.ANNOTATION)
    for kind in (classes.federated, classes.kubernetes):
        defaults = [one for one in kind.values() if one.is_default]
        if defaults:
            lowest = min(defaults, key=lambda one: (one.value, one.name))
            names = sorted(one.name for one in defaults)
            note = f'{", ".join(names)} are all the global default; the lowest counts' if len(names) > 1 else ''
            return _of(lowest, Source.DEFAULT, note)
    return Priority(value=0, source=Source.NOBODY)


def _of_classes(
    names: list[str], classes: Mapping[str, PriorityClass], source: Source, where: str
) -> Priority | Unresolved:
    missing = [name for name in names if name not in classes]
    if missing:
        text = f'{where}: there is no {source} {_listed(missing)}; create it, or name another'
        return Unresolved(reason=Reason.MISSING, text=text)
    highest = min((classes[name] for name in names), key=lambda one: (-one.value, one.name))
    note = f'{where} are {_listed(names)}; the highest, "{highest.name}", counts' if len(names) > 1 else ''
    return _of(highest, source, note)


def _of(one: PriorityClass, source: Source, note: str) -> Priority:
    return Priority(value=one.value, source=source, name=one.name, may_preempt=one.may_preempt, note=note)


def _against(namespace: str, wanted: Priority, rules: Rules) -> str | None:
    """The rule that forbids this, in words; None where there is none."""
    for limit in rules.limits:
        is_high = limit.at_least is not None and wanted.value >= limit.at_least
        if (is_high or wanted.name in limit.classes) and namespace not in limit.namespaces:
            of_class = f' of class "{wanted.name}"' if wanted.name else ''
            return (
                f'rule "{limit.name}" allows priority {wanted.value}{of_class} in namespaces '
                f'{_listed(limit.namespaces)} only, not in "{namespace}"; choose a lower one'
            )
    allowed = namespace in rules.protecting_namespaces or wanted.name in rules.protecting_classes
    if wanted.is_protected and not allowed:
        return (
            f'metadata.annotations[{schedulingextras.PROTECTED.key}]: rule "protected" allows it in namespaces '
            f'{_listed(rules.protecting_namespaces)} and to classes {_listed(rules.protecting_classes)} only; remove it'
        )
    return None


def _listed(names: Iterable[str]) -> str:
    return ', '.join(f'"{name}"' for name in names) or 'none'
