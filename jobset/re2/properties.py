"""What ``\\p{...}`` names: Unicode general categories and scripts, in the edition and by the names of Go 1.26.

Neither :mod:`unicodedata` nor the ``regex`` module is asked: their Unicode editions differ from Go's and from one
Python to the next, and a pattern must mean the same everywhere.
"""

import functools
import re
from collections.abc import Mapping

from jobset.re2 import folding, runes, unicode15

_ASCII: runes.Ranges = ((0, 0x7F),)

_ALIASES = {
    'Casedletter': 'LC',
    'Closepunctuation': 'Pe',
    'Cntrl': 'Cc',
    'Combiningmark': 'M',
    'Connectorpunctuation': 'Pc',
    'Control': 'Cc',
    'Currencysymbol': 'Sc',
    'Dashpunctuation': 'Pd',
    'Decimalnumber': 'Nd',
    'Digit': 'Nd',
    'Enclosingmark': 'Me',
    'Finalpunctuation': 'Pf',
    'Format': 'Cf',
    'Initialpunctuation': 'Pi',
    'Lc': 'LC',
    'Letter': 'L',
    'Letternumber': 'Nl',
    'Lineseparator': 'Zl',
    'Lowercaseletter': 'Ll',
    'Mark': 'M',
    'Mathsymbol': 'Sm',
    'Modifierletter': 'Lm',
    'Modifiersymbol': 'Sk',
    'Nonspacingmark': 'Mn',
    'Number': 'N',
    'Openpunctuation': 'Ps',
    'Other': 'C',
    'Otherletter': 'Lo',
    'Othernumber': 'No',
    'Otherpunctuation': 'Po',
    'Othersymbol': 'So',
    'Paragraphseparator': 'Zp',
    'Privateuse': 'Co',
    'Punct': 'P',
    'Punctuation': 'P',
    'Separator': 'Z',
    'Spaceseparator': 'Zs',
    'Spacingmark': 'Mc',
    'Surrogate': 'Cs',
    'Symbol': 'S',
    'Titlecaseletter': 'Lt',
    'Unassigned': 'Cn',
    'Uppercaseletter': 'Lu',
}

_NOT_FOLDED = frozenset({'LC'})
"""Categories that gain nothing under ``(?i)`` in Go, though a character outside folds to one inside (U+0345)."""


@functools.lru_cache(maxsize=256)
def named(name: str, *, fold: bool) -> runes.Ranges | None:
    """The code points of a category or script, closed under case folding if asked; None for a name Go does not know."""
    key = _canonical(name)
    if key == 'Any':
        return runes.EVERYTHING
    if key == 'Assigned':
        return runes.complement(_categories()['Cn'])
    if key == 'Ascii':
        return folding.closure(_ASCII) if fold else _ASCII
    category = _ALIASES.get(key, key)
    found = _categories().get(category) or _scripts().get(key)
    if found is None or not fold or category in _NOT_FOLDED:
        return found
    return folding.closure(found)


def _canonical(name: str) -> str:
    """The name without blanks, hyphens and underscores, with an upper-case first letter and lower-case others."""
    bare = re.sub('[ _-]', '', name)
    if not bare.isascii():
        # Outside ASCII there is no case to ignore, and no name to find.
        return bare
    return bare.capitalize()


@functools.cache
def _categories() -> Mapping[str, runes.Ranges]:
    """By two-letter name, by first letter for the union of such, and ``LC`` for the three kinds of cased letters."""
    runs = re.findall(r'([A-Z][a-z])(\d*)', unicode15.CATEGORIES)
    leaves = _spread(runs)
    used = sum(int(length or 1) for _, length in runs)
    leaves['Cn'].append((used, runes.LAST))
    groups: dict[str, list[runes.Range]] = {}
    for name, ranges in leaves.items():
        groups.setdefault(name, []).extend(ranges)
        groups.setdefault(name[0], []).extend(ranges)
        if name in {'Lu', 'Ll', 'Lt'}:
            groups.setdefault('LC', []).extend(ranges)
    return {name: runes.union(ranges) for name, ranges in groups.items()}


@functools.cache
def _scripts() -> Mapping[str, runes.Ranges]:
    scripts = _spread(re.findall(r'([A-Za-z]+|_)(\d*)', unicode15.SCRIPTS))
    del scripts['_']
    return {name: runes.union(ranges) for name, ranges in scripts.items()}


def _spread(runs: list[tuple[str, str]]) -> dict[str, list[runes.Range]]:
    """The ranges of each name, for runs of ``(name, length in decimals or nothing for one)`` from code point 0 on."""
    result: dict[str, list[runes.Range]] = {}
    at = 0
    for name, length in runs:
        following = at + int(length or 1)
        result.setdefault(name, []).append((at, following - 1))
        at = following
    return result
