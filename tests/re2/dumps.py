"""Trees of patterns in the notation of ``goparse``, so that ours and Go's can be compared."""

from jobset.re2 import nodes


def dump(node: nodes.Node) -> str:
    """The notation of a tree. Deep ones are for the stack to bear, so that tests of limits do not come here."""
    match node:
        case nodes.Empty():
            notation = 'empty'
        case nodes.At(place):
            notation = place.value
        case nodes.Literal(text, fold):
            notation = f'({"fold" if fold else "lit"}{"".join(f" {ord(character):x}" for character in text)})'
        case nodes.Class(ranges):
            notation = f'(class{"".join(f" {low:x} {high:x}" for low, high in ranges)})'
        case nodes.Repeat(body, low, high, lazy):
            notation = f'(rep{"?" if lazy else ""} {low},{-1 if high is None else high} {dump(body)})'
        case nodes.Capture(body, index, name):
            notation = f"(cap {index} '{name}' {dump(body)})"
        case nodes.Concat(parts):
            notation = f'(cat {" ".join(map(dump, parts))})'
        case nodes.Alternate(branches):
            notation = f'(alt {" ".join(map(dump, branches))})'
    return notation
