"""A pattern in the words of the third-party ``regex`` module, to be compiled with :data:`FLAGS`.

Nothing is left to that module's own ideas: every class is spelled out in code points, every character with a meaning
of its own is written as a number, the ends of lines and of the text are named one by one. What comes out finds a match
in exactly the texts in which Go finds one; where the match lies and what its groups hold is not kept.
"""

import regex

from jobset.re2 import errors, folding, nodes, reduction, runes

FLAGS = regex.VERSION1 | regex.ASCII
"""Sets of sets, for large classes; and word boundaries in ASCII, as RE2 has them."""

MAX_DEPTH = 150
"""Levels of the reduced tree. The ``regex`` module calls itself for each, and Python allows it about 1,000 calls."""

MAX_SOURCE_LENGTH = 128 * 1024
"""Characters of the translation. Compilation takes about a second for as many, and none of it can be bounded."""

_PLACES = {
    nodes.Place.TEXT_START: r'\A',
    nodes.Place.TEXT_END: r'\Z',
    nodes.Place.LINE_START: '(?m:^)',
    nodes.Place.LINE_END: '(?m:$)',
    nodes.Place.WORD_BOUNDARY: r'\b',
    # Not \B, which an empty text has or has not, by version.
    nodes.Place.NO_WORD_BOUNDARY: r'(?!\b)',
}

_CLASSES = {
    runes.NOTHING: '(?!)',
    runes.EVERYTHING: '(?s:.)',
    runes.ALL_BUT_NEWLINE: '.',
}

_PORTION = 24
"""Ranges that are looked through one by one. More are parted, so that a character is first sought among portions."""


def translate(node: nodes.Node) -> str:
    """The source for ``regex.compile(source, FLAGS)``. Raises :class:`errors.PatternTooComplexError`."""
    try:
        source = _source(reduction.reduced(node), 0)
    except RecursionError:
        raise too_deep() from None
    return _bounded(source)


def _bounded(source: str) -> str:
    """``source``, if it is not too long. Asked for each part, lest a huge whole be built first."""
    if len(source) > MAX_SOURCE_LENGTH:
        raise errors.PatternTooComplexError(
            f'the pattern is too large to be matched: spelled out, it has more than {MAX_SOURCE_LENGTH} characters; '
            'make it shorter, or use fewer and smaller classes'
        )
    return source


def _source(node: nodes.Node, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise too_deep()
    source = ''
    match node:
        case nodes.Literal(text, fold):
            source = ''.join(_cased(character) if fold else _escaped(ord(character)) for character in text)
        case nodes.Class(ranges):
            source = _set(ranges)
        case nodes.At(place):
            source = _PLACES[place]
        case nodes.Concat(parts):
            for part in parts:
                source = _bounded(source + _source(part, depth + 1))
        case nodes.Alternate(branches):
            for branch in branches:
                source = _bounded(f'{source}{"|" if source else "(?:"}{_source(branch, depth + 1)}')
            source += ')'
        case nodes.Repeat(body, low, high, lazy):
            source = _source(body, depth + 1)
            if not isinstance(body, nodes.Class | nodes.Alternate):
                source = f'(?:{source})'
            source += _counts(low, high) + ('?' if lazy else '')
        case nodes.Capture(body):
            source = f'(?:{_source(body, depth + 1)})'
        case nodes.Empty():
            pass
    return source


def too_deep() -> errors.PatternTooComplexError:
    """What to raise for a pattern that nests deeper than it can be worked on."""
    return errors.PatternTooComplexError(
        f'the pattern is too deep to be matched: at most {MAX_DEPTH} levels are allowed; use fewer groups within groups'
    )


def _counts(low: int, high: int | None) -> str:
    match low, high:
        case 0, None:
            return '*'
        case 1, None:
            return '+'
        case 0, 1:
            return '?'
        case _ if low == high:
            return f'{{{low}}}'
        case _:
            return f'{{{low},{"" if high is None else high}}}'


def _cased(character: str) -> str:
    orbit = folding.orbit(ord(character))
    if len(orbit) == 1:
        return _escaped(orbit[0])
    return f'[{"".join(map(_escaped, orbit))}]'


def _set(ranges: runes.Ranges) -> str:
    if ranges in _CLASSES:
        return _CLASSES[ranges]
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escaped(ranges[0][0])
    if len(ranges) <= _PORTION:
        return f'[{_spans(ranges)}]'
    portions = [ranges[start : start + _PORTION] for start in range(0, len(ranges), _PORTION)]
    return f'[{"".join(f"[{_span(part[0][0], part[-1][1])}&&[{_spans(part)}]]" for part in portions)}]'


def _spans(ranges: runes.Ranges) -> str:
    return ''.join(_span(low, high) for low, high in ranges)


def _span(low: int, high: int) -> str:
    return _escaped(low) if low == high else f'{_escaped(low)}-{_escaped(high)}'


def _escaped(code: int) -> str:
    character = chr(code)
    if character.isascii() and character.isalnum():
        return character
    if code <= 0xFF:
        return f'\\x{code:02x}'
    return f'\\u{code:04x}' if code <= 0xFFFF else f'\\U{code:08x}'
