"""What is left of a pattern when only one thing is asked: does the text contain a match, or not.

Then groups capture nothing, alternatives have no order, and what may be missing at the edge of a pattern may be left
out: ``.*exit code 1.*`` is found exactly where ``exit code 1`` is. A backtracking engine tries for each of these in
vain, some in quadratic and some in exponential time, so that this is what makes most patterns cheap. Every step keeps
the set of texts in which there is a match.
"""

from collections.abc import Iterable, Sequence

from jobset.re2 import folding, nodes, runes

_EMPTY = nodes.Empty()
_NOTHING = nodes.Class(runes.NOTHING)


def reduced(node: nodes.Node) -> nodes.Node:
    """A pattern that is found in the same texts, without captures and with less to try."""
    return _without_right_edge(_without_left_edge(_simplified(node)))


def _simplified(node: nodes.Node) -> nodes.Node:
    # Trees may be deeper than Python calls nest, so those below are made first.
    pending = [node]
    order: list[nodes.Node] = []
    while pending:
        order.append(pending.pop())
        pending.extend(_subs(order[-1]))
    made: dict[int, nodes.Node] = {}
    for each in reversed(order):
        made[id(each)] = _combined(each, [made[id(sub)] for sub in _subs(each)])
    return made[id(node)]


def _subs(node: nodes.Node) -> tuple[nodes.Node, ...]:
    match node:
        case nodes.Repeat(body) | nodes.Capture(body):
            return (body,)
        case nodes.Concat(parts):
            return parts
        case nodes.Alternate(branches):
            return branches
        case _:
            return ()


def _combined(node: nodes.Node, subs: Sequence[nodes.Node]) -> nodes.Node:
    match node:
        case nodes.Capture():
            return subs[0]
        case nodes.Repeat(_, low, high, lazy):
            return _repeated(subs[0], low, high, lazy=lazy)
        case nodes.Concat():
            return _sequence(subs)
        case nodes.Alternate():
            return _choice(subs)
        case nodes.Literal(text, fold=True) if len(text) == 1:
            return nodes.Class(folding.closure(((ord(text), ord(text)),)))
        case _:
            return node


def _repeated(body: nodes.Node, low: int, high: int | None, *, lazy: bool) -> nodes.Node:
    if high == 0 or (low == 0 and (_consumes_nothing(body) or body == _NOTHING)):
        return _EMPTY
    if _consumes_nothing(body) or body == _NOTHING or low == high == 1:
        return body
    if low and _may_be_empty(body):
        # Turns that match nothing make up the number, so that none is needed.
        low = 0
    if high is None and low <= 1:
        # (a*|b)+ is [ab]*: around a loop it makes no difference that a branch loops too, nor that it may be empty.
        looped = [_unlooped(branch) for branch in _branches(body)]
        body = _choice(branch for branch, _ in looped)
        low = min(low, *(least for _, least in looped))
        if _consumes_nothing(body):
            return body if low else _EMPTY
        if isinstance(body, nodes.Repeat) and body.high is None:
            return body if low else _repeated(body, 0, 1, lazy=lazy)
    elif (low, high) == (0, 1) and isinstance(body, nodes.Repeat) and body.low <= 1:
        return nodes.Repeat(body.body, 0, body.high, body.lazy)
    return nodes.Repeat(body, low, high, lazy)


def _unlooped(branch: nodes.Node) -> tuple[nodes.Node, int]:
    """What a branch of a loop consumes in one go, and whether it must at all: 0 or 1."""
    match branch:
        case nodes.Empty():
            return _NOTHING, 0
        case nodes.Repeat(body, 0 | 1 as low, None):
            return body, low
        case nodes.Repeat(body, 0, 1):
            return body, 0
        case _:
            return branch, 1


def _branches(node: nodes.Node) -> tuple[nodes.Node, ...]:
    return node.branches if isinstance(node, nodes.Alternate) else (node,)


def _consumes_nothing(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Empty | nodes.At)


def _may_be_empty(node: nodes.Node) -> bool:
    """Whether a node matches everywhere without consuming anything."""
    match node:
        case nodes.Empty():
            return True
        case nodes.Repeat(body, low, _):
            return low == 0 or _may_be_empty(body)
        case nodes.Concat(parts):
            return all(map(_may_be_empty, parts))
        case nodes.Alternate(branches):
            return any(map(_may_be_empty, branches))
        case _:
            return False


def _sequence(parts: Iterable[nodes.Node]) -> nodes.Node:
    result: list[nodes.Node] = []
    for part in parts:
        for each in part.parts if isinstance(part, nodes.Concat) else (part,):
            if each == _NOTHING:
                return _NOTHING
            if isinstance(each, nodes.Empty):
                continue
            joined = _joined(result[-1], each) if result else None
            if joined is None:
                result.append(each)
            else:
                result[-1] = joined
    if len(result) > 1:
        return nodes.Concat(tuple(result))
    return result[0] if result else _EMPTY


def _joined(one: nodes.Node, other: nodes.Node) -> nodes.Node | None:
    """``x+x+`` as ``x{2,}``: two loops over the same can share a text in many ways, one cannot."""
    if not (isinstance(one, nodes.Repeat) and isinstance(other, nodes.Repeat) and one.body == other.body):
        return None
    high = None if one.high is None or other.high is None else one.high + other.high
    return nodes.Repeat(one.body, one.low + other.low, high, one.lazy)


def _choice(branches: Iterable[nodes.Node]) -> nodes.Node:
    result: dict[nodes.Node, None] = {}
    characters: list[runes.Range] = []
    for branch in branches:
        for each in _branches(branch):
            match each:
                case nodes.Class(ranges):
                    characters.extend(ranges)
                case nodes.Literal(text, fold=False) if len(text) == 1:
                    characters.append((ord(text), ord(text)))
                case _:
                    result[each] = None
    if characters:
        result = {nodes.Class(runes.union(characters)): None, **result}
    if len(result) > 1:
        return nodes.Alternate(tuple(result))
    return next(iter(result), _NOTHING)


def _without_left_edge(node: nodes.Node) -> nodes.Node:
    match node:
        case nodes.Repeat():
            trimmed = _fewest(node)
            return trimmed if isinstance(trimmed, nodes.Repeat) else _without_left_edge(trimmed)
        case nodes.Alternate(branches):
            return _shortest_choice([_without_left_edge(branch) for branch in branches])
        case nodes.Concat(parts):
            for place, part in enumerate(parts):
                trimmed = _without_left_edge(part)
                if not isinstance(trimmed, nodes.Empty):
                    return _sequence([trimmed, *parts[place + 1 :]])
            return _EMPTY
        case _:
            return node


def _without_right_edge(node: nodes.Node) -> nodes.Node:
    match node:
        case nodes.Repeat():
            trimmed = _fewest(node)
            return trimmed if isinstance(trimmed, nodes.Repeat) else _without_right_edge(trimmed)
        case nodes.Alternate(branches):
            return _shortest_choice([_without_right_edge(branch) for branch in branches])
        case nodes.Concat(parts):
            for place in reversed(range(len(parts))):
                trimmed = _without_right_edge(parts[place])
                if not isinstance(trimmed, nodes.Empty):
                    return _sequence([*parts[:place], trimmed])
            return _EMPTY
        case _:
            return node


def _fewest(node: nodes.Repeat) -> nodes.Node:
    """The repeat with no more turns than it must take: at the edge of a pattern, more of them change nothing."""
    if node.low == 0:
        return _EMPTY
    return _repeated(node.body, node.low, node.low, lazy=False)


def _shortest_choice(branches: Sequence[nodes.Node]) -> nodes.Node:
    """Branches at the edge of a pattern: where one of them may be empty, the others add nothing."""
    return _EMPTY if _EMPTY in branches else _choice(branches)
