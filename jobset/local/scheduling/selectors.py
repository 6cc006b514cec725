"""Which labels a selector means: of pods (``LabelSelector``) and of nodes (``NodeSelector``)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that labels must have or lack."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str | None]) -> bool:
        """Whether these labels are so."""
        value = labels.get(self.key)
        match self.operator:
            case 'In':
                return value is not None and value in self.values
            case 'NotIn':
                return value is None or value not in self.values
            case 'Exists':
                return value is not None
            case 'DoesNotExist':
                return value is None
            case 'Gt' | 'Lt':
                return value is not None and self._compares(value)
        return False

    def _compares(self, value: str) -> bool:
        try:
            (limit,) = (int(one) for one in self.values)
            number = int(value)
        except ValueError:
            return False
        return number > limit if self.operator == 'Gt' else number < limit


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements together; none at all hold for everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str | None]) -> bool:
        """Whether it means something with these labels."""
        return all(one.holds(labels) for one in self.requirements)

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels that it looks at."""
        return tuple(sorted({one.key for one in self.requirements}))


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One alternative of a selector of nodes."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, name: str, labels: Mapping[str, str | None]) -> bool:
        """Whether it means the node of that name; a term that says nothing means none."""
        if not self.labels and not self.fields:
            return False
        field = {'metadata.name': name}
        return all(one.holds(labels) for one in self.labels) and all(one.holds(field) for one in self.fields)


def of_pods(selector: Mapping[str, Any] | None) -> Selector | None:
    """A ``LabelSelector``; None, which means nothing, where there is none."""
    if selector is None:
        return None
    exact = [Requirement(key, 'In', frozenset((value,))) for key, value in (selector.get('matchLabels') or {}).items()]
    return Selector(tuple(sorted((*exact, *_requirements(selector)), key=repr)))


def of_nodes(selector: Mapping[str, Any] | None) -> tuple[NodeTerm, ...] | None:
    """A ``NodeSelector``, of which one term must match; None where there is none."""
    if selector is None:
        return None
    return tuple(node_term(term) for term in selector.get('nodeSelectorTerms') or ())


def node_term(term: Mapping[str, Any]) -> NodeTerm:
    """A ``NodeSelectorTerm``."""
    return NodeTerm(tuple(_requirements(term)), tuple(_requirements(term, 'matchFields')))


def any_matches(terms: Sequence[NodeTerm], name: str, labels: Mapping[str, str | None]) -> bool:
    """Whether one of the terms means that node."""
    return any(term.matches(name, labels) for term in terms)


def _requirements(selector: Mapping[str, Any], field: str = 'matchExpressions') -> list[Requirement]:
    return [
        Requirement(one.get('key', ''), one.get('operator', ''), frozenset(one.get('values') or ()))
        for one in selector.get(field) or ()
    ]
