"""Random patterns and texts, the same for the same seed."""

import random
from collections.abc import Callable, Sequence

from jobset.re2 import folding, nodes, runes

PLAIN = 'aabbcxyzABKks019 _-:,./'
"""Characters that stand for themselves in a pattern, but for the dot, which is among them as it is in messages."""

FOREIGN = 'éÉßẞſKΣσςΩΩδжЖ中\U0001f642\xa0\x0b\x85\u2028ǅǆİıµμÅ'
"""Characters that ASCII-minded or case-minded engines are known to stumble over."""

TEXT = f'{PLAIN}{FOREIGN}\n\n\r\t\x00"\'[](){{}}*+?^$|\\'

_PROPERTIES = [
    *(r'\pL', r'\PL', r'\pN', r'\pP', r'\pS', r'\pZ', r'\PM', r'\pC', r'\p{Lu}', r'\P{Lu}', r'\p{Ll}', r'\p{^Ll}'),
    *(r'\P{^Lu}', r'\p{Lt}', r'\p{Nd}', r'\p{Zs}', r'\p{Mn}', r'\p{Greek}', r'\P{Greek}', r'\p{Latin}', r'\p{Han}'),
    *(r'\p{Cyrillic}', r'\p{Common}', r'\p{Any}'),
]
_PERL = [r'\d', r'\D', r'\s', r'\S', r'\w', r'\W']
_POSIX = [
    f'[:{negation}{name}:]'
    for name in (
        *('alnum', 'alpha', 'ascii', 'blank', 'cntrl', 'digit', 'graph'),
        *('lower', 'print', 'punct', 'space', 'upper', 'word', 'xdigit'),
    )
    for negation in ('', '^')
]
_ESCAPES = [
    *(f'\\{character}' for character in '.*\\[]{}|$^ntrvfa_-/'),
    *(r'\x41', r'\x6b', r'\x{4e2d}', r'\x{1F642}', r'\x{0}', r'\101', r'\012'),
]
_FLAG_GROUPS = ['i', 's', 'm', 'U', 'im', 'is', 'ims', '-i', 'i-s', 'm-i', 'U-s', 's-m']
_ANCHORS = ['^', '$', r'\A', r'\z', r'\b', r'\B']
_COUNTS = ['{0}', '{1}', '{2}', '{3}', '{0,}', '{1,}', '{2,}', '{0,1}', '{0,2}', '{1,3}', '{2,4}', '{0,0}', '{12}']
_CONSTRUCTS = [
    *'()[]{}|*+?^$.\\-:,<>=!&~#PQEUisx019aAzbkſK\n\ufffd',
    *(
        '(?',
        '(?P<',
        '(?<',
        '(?:',
        '(?i',
        '(?-',
        '(?=',
        '(?!',
        '(?>',
        '(?#',
        '(?x)',
        '(?P=n)',
        '(?P<n>',
        '(?P<1>',
        '(?P<é>',
    ),
    *('[^', '[[:', ':]', '[a-', '[z-a]', '[]a]', '[^]a]', '[a-b-c]', '[[:foo:]]', r'[\Q]', r'[\d-z]', '(|', '||', '**'),
    *(
        '++',
        '{0}',
        '{2,',
        ',3}',
        '{,2}',
        '{1000}',
        '{1001}',
        '{9999999999}',
        '{e<=1}',
        '}',
        r'\Q',
        r'\E',
        r'\x',
        r'\x{',
    ),
    *(r'\p', r'\p{', r'\pX', r'\p{Foo}', r'\C', r'\Z', r'\G', r'\K', r'\1', r'\8', r'\07', r'\u0041', r'\R', r'\h'),
]


class Patterns:
    """A source of random patterns. Nearly all of them are valid in Go and in google-re2 alike."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = 0

    def pattern(self) -> str:
        """One pattern, of any size from nothing to a line."""
        self._names = 0
        return self._alternation(self._rng.choice((1, 2, 2, 3, 3, 4)))

    def mutated(self, pattern: str) -> str:
        """``pattern`` with a few pieces cut, put in, doubled or replaced. Most such are invalid."""
        rng = self._rng
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            start = rng.randint(0, len(pattern))
            end = min(len(pattern), start + rng.choice((0, 0, 1, 1, 2, 5)))
            piece = rng.choice(('', rng.choice(_CONSTRUCTS), rng.choice(_CONSTRUCTS), pattern[start:end] * 2))
            pattern = pattern[:start] + piece + pattern[end:]
        return pattern

    def _alternation(self, depth: int) -> str:
        branches = self._rng.choice((1, 1, 1, 1, 2, 2, 3, 4))
        return '|'.join(self._sequence(depth) for _ in range(branches))

    def _sequence(self, depth: int) -> str:
        return ''.join(self._repeated(depth) for _ in range(self._rng.choice((0, 1, 1, 2, 2, 3, 4))))

    def _repeated(self, depth: int) -> str:
        atom = self._atom(depth)
        rng = self._rng
        if rng.random() < 0.3:
            suffix = rng.choice(('*', '+', '?', '*', '+', '?', rng.choice(_COUNTS)))
            return atom + suffix + rng.choice(('', '', '?'))
        return atom

    def _atom(self, depth: int) -> str:
        rng = self._rng
        makers: list[tuple[float, Callable[[], str]]] = [
            (5, lambda: rng.choice(PLAIN)),
            (2, lambda: ''.join(rng.choices('abckK', k=rng.randint(2, 4)))),
            (1, lambda: rng.choice(FOREIGN)),
            (1, lambda: '.'),
            (1, lambda: rng.choice(_ESCAPES)),
            (1, lambda: rng.choice(_PERL)),
            (0.4, lambda: rng.choice(_PROPERTIES)),
            (2, self._class),
            (1, lambda: rng.choice(_ANCHORS)),
            (0.2, lambda: f'\\Q{"".join(rng.choices("ab.*[(k+", k=rng.randint(1, 4)))}\\E'),
            (0.2, lambda: rng.choice(('{', '}', ']', '{,2}', '{a}', '-', '{1', ','))),
        ]
        if depth > 0:
            makers += [(4, lambda: self._group(depth - 1)), (0.4, lambda: f'(?{rng.choice(_FLAG_GROUPS)})a')]
        weights = [weight for weight, _ in makers]
        return rng.choices([make for _, make in makers], weights)[0]()

    def _group(self, depth: int) -> str:
        rng = self._rng
        self._names += 1
        name = f'n{self._names}'
        flags = rng.choice(_FLAG_GROUPS)
        opening = rng.choice(('(', '(', '(?:', '(?:', f'(?P<{name}>', f'(?<{name}>', f'(?{flags}:'))
        return f'{opening}{self._alternation(depth)})'

    def _class(self) -> str:
        rng = self._rng
        members = []
        for _ in range(rng.randint(1, 4)):
            low, high = sorted(rng.choices('abcdkszABKSZ0159', k=2))
            far_low, far_high = sorted(rng.choices(f'é{FOREIGN}', k=2))
            members.append(
                rng.choice(
                    (
                        rng.choice('abkKsS01 .*+?|(){}$&~#'),
                        f'{low}-{high}',
                        f'{far_low}-{far_high}',
                        rng.choice(FOREIGN),
                        rng.choice(_PERL),
                        rng.choice(_POSIX),
                        rng.choice(_PROPERTIES),
                        rng.choice(_ESCAPES),
                    )
                ),
            )
        first = rng.choice(('', '', '', ']', '-'))
        return f'[{rng.choice(("", "", "^"))}{first}{"".join(members)}{rng.choice(("", "", "-"))}]'


class Texts:
    """A source of random texts, many of which a given pattern is found in."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def text(self, node: nodes.Node) -> str:
        """A text: chance alone, or what ``node`` is made of, whole or spoilt a little, amid chance."""
        rng = self._rng
        noise = ''.join(rng.choices(TEXT, k=rng.choice((0, 0, 1, 2, 4, 8))))
        kind = rng.random()
        if kind < 0.25:
            return noise
        likely = self._sample(node, 0)[:200]
        if kind < 0.65 and likely:
            at = rng.randrange(len(likely))
            likely = likely[:at] + rng.choice(('', rng.choice(TEXT), likely[at].swapcase()[:1])) + likely[at + 1 :]
        cut = rng.randint(0, len(noise))
        return noise[:cut] + likely + noise[cut:] if rng.random() < 0.6 else likely

    def _sample(self, node: nodes.Node, depth: int) -> str:
        rng = self._rng
        match node:
            case nodes.Literal(text, fold=False):
                sample = text
            case nodes.Literal(text):
                sample = ''.join(chr(rng.choice(folding.orbit(ord(each)))) for each in text)
            case nodes.Class(ranges):
                sample = self._member(ranges)
            case nodes.Repeat(body, low, high, _) if depth < 20:
                turns = low + rng.choice((0, 0, 1, 2))
                turns = min(turns, 40, turns if high is None else high)
                sample = ''.join(self._sample(body, depth + 1) for _ in range(turns))
            case nodes.Capture(body):
                sample = self._sample(body, depth + 1)
            case nodes.Concat(parts):
                sample = ''.join(self._sample(part, depth + 1) for part in parts)
            case nodes.Alternate(branches):
                sample = self._sample(rng.choice(branches), depth + 1)
            case nodes.At():
                sample = rng.choice(('', '', '\n', ' '))
            case _:
                sample = ''
        return sample

    def _member(self, ranges: runes.Ranges) -> str:
        """A character of a class, one that these tests know if there is any: on others the Unicode editions differ."""
        known = [each for each in TEXT if _contains(ranges, ord(each))]
        return self._rng.choice(known) if known else ''


def _contains(ranges: Sequence[runes.Range], code: int) -> bool:
    return any(low <= code <= high for low, high in ranges)
