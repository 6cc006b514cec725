"""What placement knows of a node, and which nodes the pods of one shape may use at all."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

HOSTNAME: Final = 'kubernetes.io/hostname'
"""The level at which a domain is one node: only there do taints, selectors and affinity of nodes count."""

NAME_FIELD: Final = 'metadata.name'
"""The one field that node affinity may ask for beside labels, as the key of a requirement."""

BLOCKING: Final = frozenset({'NoSchedule', 'NoExecute'})


class Taint(msgspec.Struct, frozen=True, kw_only=True):
    """Keeps pods away that do not tolerate it."""

    key: str
    value: str = ''
    effect: str = 'NoSchedule'

    def __str__(self) -> str:
        return f'{self.key}={self.value}:{self.effect}'


class Toleration(msgspec.Struct, frozen=True, kw_only=True):
    """Lets pods onto tainted nodes. An empty key or effect stands for any."""

    key: str = ''
    operator: str = 'Equal'
    value: str = ''
    effect: str = ''

    def covers(self, taint: Taint) -> bool:
        """Whether pods with this toleration may be where ``taint`` is."""
        if self.effect and self.effect != taint.effect:
            return False
        if not self.key:
            return self.operator == 'Exists'
        return self.key == taint.key and (self.operator == 'Exists' or self.value == taint.value)


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One expression of a node affinity term, over a label or :data:`NAME_FIELD`."""

    key: str
    operator: str = 'In'
    values: tuple[str, ...] = ()

    def accepts(self, value: str | None) -> bool:
        """Whether a node with ``value`` (None: no such label) satisfies this."""
        test = _OPERATORS.get(self.operator)
        return test is not None and test(value, self.values)


def _is_above(value: str | None, bounds: tuple[str, ...]) -> bool:
    numbers = _numbers(value, bounds)
    return numbers is not None and numbers[0] > numbers[1]


def _is_below(value: str | None, bounds: tuple[str, ...]) -> bool:
    numbers = _numbers(value, bounds)
    return numbers is not None and numbers[0] < numbers[1]


def _numbers(value: str | None, bounds: tuple[str, ...]) -> tuple[int, int] | None:
    """Label and bound as numbers; None where there is no number, which satisfies nothing."""
    if value is None or len(bounds) != 1:
        return None
    try:
        return int(value), int(bounds[0])
    except ValueError:
        return None


_OPERATORS: Final[Mapping[str, Callable[[str | None, tuple[str, ...]], bool]]] = {
    'In': lambda value, values: value in values,
    'NotIn': lambda value, values: value not in values,
    'Exists': lambda value, values: value is not None,
    'DoesNotExist': lambda value, values: value is None,
    'Gt': _is_above,
    'Lt': _is_below,
}
OPERATORS: Final = tuple(_OPERATORS)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node as a fact. Names are unique in a tree: where a cluster is the top level, put its name in front."""

    name: str
    labels: dict[str, str]
    allocatable: dict[str, int]
    """Whole numbers of the smallest unit, by resource; what others hold besides is taken from the tree."""
    taints: tuple[Taint, ...] = ()
    is_ready: bool = True
    is_schedulable: bool = True
