"""From the parser's own tree to frozen values."""

from jobset.re2 import nodes, runes
from jobset.re2.drafts import Draft, Flag, Kind

_PLACES = {
    Kind.TEXT_START: nodes.Place.TEXT_START,
    Kind.TEXT_END: nodes.Place.TEXT_END,
    Kind.LINE_START: nodes.Place.LINE_START,
    Kind.LINE_END: nodes.Place.LINE_END,
    Kind.WORD_BOUNDARY: nodes.Place.WORD_BOUNDARY,
    Kind.NO_WORD_BOUNDARY: nodes.Place.NO_WORD_BOUNDARY,
}

_COUNTS: dict[Kind, tuple[int, int | None]] = {Kind.STAR: (0, None), Kind.PLUS: (1, None), Kind.QUESTION: (0, 1)}


def finished(draft: Draft) -> nodes.Node:
    """The value of a parsed tree. Trees may be deeper than Python calls nest, so those below are made first."""
    pending = [draft]
    order: list[Draft] = []
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(node.subs)
    made: dict[int, nodes.Node] = {}
    for node in reversed(order):
        made[id(node)] = _value(node, tuple(made[id(sub)] for sub in node.subs))
    return made[id(draft)]


def _value(draft: Draft, subs: tuple[nodes.Node, ...]) -> nodes.Node:
    value: nodes.Node
    match draft.kind:
        case Kind.EMPTY:
            value = nodes.Empty()
        case Kind.LITERAL:
            value = nodes.Literal(''.join(map(chr, draft.runes)), fold=bool(draft.flags & Flag.FOLD))
        case Kind.CLASS:
            value = nodes.Class(tuple(zip(draft.runes[::2], draft.runes[1::2], strict=True)))
        case Kind.NOT_NEWLINE:
            value = nodes.Class(runes.ALL_BUT_NEWLINE)
        case Kind.ANY:
            value = nodes.Class(runes.EVERYTHING)
        case Kind.CAPTURE:
            value = nodes.Capture(subs[0], draft.index, draft.name)
        case Kind.CONCAT:
            value = nodes.Concat(subs)
        case Kind.ALTERNATE:
            value = nodes.Alternate(subs)
        case Kind.STAR | Kind.PLUS | Kind.QUESTION:
            low, high = _COUNTS[draft.kind]
            value = nodes.Repeat(subs[0], low, high, lazy=bool(draft.flags & Flag.LAZY))
        case Kind.REPEAT:
            high = None if draft.high < 0 else draft.high
            value = nodes.Repeat(subs[0], draft.low, high, lazy=bool(draft.flags & Flag.LAZY))
        case kind:
            value = nodes.At(_PLACES[kind])
    return value
