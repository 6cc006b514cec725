"""How Go's Unicode tables become the text of :mod:`jobset.re2.unicode15`.

Run as a program with Go 1.26 on PATH it prints that module anew::

    cd tests/re2/goparse && go run . tables | python ../packing.py > ../../../jobset/re2/unicode15.py
"""

import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

Ranges = Sequence[Sequence[int]]

_HEADER = '''"""Unicode 15.0, the edition that Go 1.26 carries, packed as text.

Written by ``tests/re2/packing.py``; :mod:`jobset.re2.properties` and :mod:`jobset.re2.folding` read it and say how.
"""
'''


def module(tables: Mapping[str, object]) -> str:
    """The whole text of the data module for the answer of ``goparse tables``."""
    categories: dict[str, Ranges] = tables['categories']  # type: ignore[assignment]
    scripts: dict[str, Ranges] = tables['scripts']  # type: ignore[assignment]
    orbits: list[list[int]] = tables['orbits']  # type: ignore[assignment]
    return '\n'.join([
        _HEADER,
        _constant('CATEGORIES', packed_categories(categories)),
        _constant('SCRIPTS', packed_scripts(scripts)),
        _constant('ORBITS', packed_orbits(orbits)),
    ])  # fmt: skip


def packed_categories(categories: Mapping[str, Ranges]) -> str:
    """One word a run of code points: the two letters of its category, then its length in decimals unless that is 1."""
    leaves = {name: ranges for name, ranges in categories.items() if len(name) == 2 and name not in {'LC', 'Cn'}}
    return ''.join(_runs(leaves, gap='Cn', word=lambda name, length: f'{name}{length if length > 1 else ""}'))


def packed_scripts(scripts: Mapping[str, Ranges]) -> str:
    """One word a run: the name of its script (``_`` between scripts), then its length. Names with ``_`` are left out.

    Go 1.26 drops the ``_`` of a name before it looks the script up under a key that has one, and so never finds it.
    """
    findable = {name: ranges for name, ranges in scripts.items() if '_' not in name}
    return ' '.join(_runs(findable, gap='_', word=lambda name, length: f'{name}{length if length > 1 else ""}'))


def packed_orbits(orbits: Iterable[Sequence[int]]) -> str:
    """Words ``first,count,step,distance`` in hexadecimal for runs of pairs, ``a=b=c`` for larger orbits."""
    pairs = [(low, high - low) for low, high in (orbit for orbit in orbits if len(orbit) == 2)]
    words = ['='.join(f'{member:x}' for member in orbit) for orbit in orbits if len(orbit) > 2]
    while pairs:
        first, distance = pairs[0]
        run = max((_pair_run(pairs, step) for step in (1, 2)), key=len)
        step = run[1][0] - first if len(run) > 1 else 1
        words.append(f'{first:x},{len(run):x},{step:x},{distance:x}')
        pairs = [pair for pair in pairs if pair not in set(run)]
    return ' '.join(words)


def _pair_run(pairs: Sequence[tuple[int, int]], step: int) -> list[tuple[int, int]]:
    present = set(pairs)
    run = [pairs[0]]
    while (following := (run[-1][0] + step, run[-1][1])) in present:
        run.append(following)
    return run


def _runs(tables: Mapping[str, Ranges], *, gap: str, word: Callable[[str, int], str]) -> list[str]:
    """The words of all runs of code points, gaps between the tables included, from 0 to the last range."""
    words = []
    at = 0
    for low, high, name in sorted((low, high, name) for name, ranges in tables.items() for low, high in ranges):
        if low > at:
            words.append(word(gap, low - at))
        words.append(word(name, high - low + 1))
        at = high + 1
    return words


def _constant(name: str, text: str) -> str:
    lines = textwrap.wrap(text, 112, break_on_hyphens=False)
    # Wrapping drops the blank at which it breaks, which is part of the text.
    blank = ' ' if ' ' in text else ''
    body = ''.join(f"    '{line}{blank if line is not lines[-1] else ''}'\n" for line in lines)
    return f'{name} = (\n{body})\n'


if __name__ == '__main__':
    sys.stdout.write(module(json.load(sys.stdin)))
