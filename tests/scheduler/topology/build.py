"""Topologies, requests and results in a notation that fits a table.

``[a b]`` are the hosts of a rack with the units that are free there, ``{…}`` a block of racks, ``<…>`` a data centre of
blocks; ``·`` is 0, a ``p`` after a number marks a host that the pods prefer. A result has the same shape as its tree;
in it, ``…`` stands for as many zeros as belong there. Names follow the order of writing.
"""

import re
from collections.abc import Sequence
from typing import Final

from jobset.scheduler.topology import nodes, placing, requests, results, single, tree
from jobset.scheduler.topology.requests import Layer, Mode, Profile

LEVELS: Final = ('dc', 'block', 'rack', 'host')
OPEN: Final = {'<': '>', '{': '}', '[': ']'}

Nested = list['Nested'] | str | int


def parse(text: str) -> list[Nested]:
    """The lists that ``text`` shows."""
    stack: list[list[Nested]] = [[]]
    for token in re.findall(r'[<{\[\]}>]|[^\s<{\[\]}>]+', text):
        if token in OPEN:
            inner: list[Nested] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif token in OPEN.values():
            stack.pop()
        else:
            stack[-1].append(token)
    (parsed,) = stack
    return parsed


def leaves(nested: Nested, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """All numbers by path."""
    if isinstance(nested, list):
        found: dict[tuple[str, ...], str] = {}
        for i, child in enumerate(nested):
            found |= leaves(child, (*path, f'{i:02}'))
        return found
    return {path: str(nested)}


def levels(depth: int) -> tuple[str, ...]:
    """The names of that many levels; a single one is that of hosts."""
    return LEVELS[-depth:]


def unwrapped(text: str) -> Nested:
    """A tree; flat ones have hosts and nothing above them."""
    parsed = parse(text)
    first = parsed[0]
    is_flat = len(parsed) == 1 and isinstance(first, list) and all(isinstance(child, str) for child in first)
    return first if is_flat else parsed


def host(path: tuple[str, ...], units: int, names: Sequence[str], *, preferred: bool = False) -> nodes.Node:
    """A node of that many units."""
    labels = dict(zip(names, path, strict=True))
    return nodes.Node(
        name='-'.join(path), labels=labels | ({'preferred': 'yes'} if preferred else {}), allocatable={'u': units}
    )


def hosts(text: str) -> list[nodes.Node]:
    """The nodes of a tree."""
    found = leaves(unwrapped(text))
    names = levels(len(next(iter(found))))
    return [
        host(path, int(number.rstrip('p').replace('·', '0')), names, preferred=number.endswith('p'))
        for path, number in found.items()
    ]


def topology(text: str) -> tree.Tree:
    """A tree."""
    found = hosts(text)
    return tree.Tree.of(found, tuple(key for key in found[0].labels if key in LEVELS), ('u',), by_node=True)


def pod(units: int = 1, *, prefers: bool = False) -> requests.PodShape:
    """A shape."""
    liked = (nodes.Requirement(key='preferred', operator='Exists'),)
    return requests.PodShape(amounts={'u': units}, node_preferences=((1, liked),) if prefers else ())


def request(
    count: int,
    mode: Mode | str,
    level: str | None = None,
    *,
    units: int = 1,
    slices: Sequence[tuple[str, int]] = (),
    leader: int | None = None,
    prefers: bool = False,
) -> requests.Request:
    """A request of pods with one resource."""
    return requests.Request(
        name='workers',
        count=count,
        pod=pod(units, prefers=prefers),
        mode=Mode(mode),
        level=level,
        slices=tuple(Layer(*layer) for layer in slices),
        leader=None if leader is None else pod(leader),
    )


def place(
    on: str | tree.Tree, wanted: requests.Request, profile: Profile | str = Profile.MIXED, *, parity: bool = False
) -> results.Assignment | results.NoRoom | results.Invalid:
    """What comes of one request."""
    where = topology(on) if isinstance(on, str) else on
    answer = placing.Placer(where).place([wanted], single.Settings(profile=Profile(profile), parity=parity))
    return answer.assignments[0] if isinstance(answer, results.Placement) else answer


def shown(on: str, pods: dict[tuple[str, ...], int]) -> Nested:
    """Pods in the shape of the tree they are on."""

    def fill(nested: Nested, path: tuple[str, ...]) -> Nested:
        if isinstance(nested, list):
            return [fill(child, (*path, f'{i:02}')) for i, child in enumerate(nested)]
        return pods.get(path, 0)

    return fill(unwrapped(on), ())


def expected(on: str, text: str) -> Nested:
    """A result as written, with its zeros spelt out."""

    def fill(like: Nested, written: Nested) -> Nested:
        if written in ('…', ['…']):
            return [fill(child, '…') for child in like] if isinstance(like, list) else 0
        if isinstance(like, list):
            assert isinstance(written, list)
            return [fill(*pair) for pair in zip(like, written, strict=True)]
        return int(str(written).replace('·', '0'))

    return fill(unwrapped(on), unwrapped(text))


def pods_of(answer: object) -> dict[tuple[str, ...], int]:
    """The pods of a request that has found its place."""
    assert isinstance(answer, results.Assignment), answer
    return answer.pods


def text_of(answer: object) -> str:
    """Why there is no place."""
    assert isinstance(answer, results.NoRoom | results.Invalid), answer
    return answer.text
