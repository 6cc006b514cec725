"""Whether the packed Unicode tables are those of Go, and whether every class is searched for as it is defined."""

import os
import pathlib

import pytest
import regex

from jobset.re2 import folding, nodes, properties, runes, syntax, translation, unicode15
from tests.re2 import dumps, golang, packing

SOAK = os.environ.get('JOBSET_SOAK') == '1'

CATEGORIES = [
    *(
        'C',
        'Cc',
        'Cf',
        'Cn',
        'Co',
        'Cs',
        'L',
        'LC',
        'Ll',
        'Lm',
        'Lo',
        'Lt',
        'Lu',
        'M',
        'Mc',
        'Me',
        'Mn',
        'N',
        'Nd',
        'Nl',
    ),
    *('No', 'P', 'Pc', 'Pd', 'Pe', 'Pf', 'Pi', 'Po', 'Ps', 'S', 'Sc', 'Sk', 'Sm', 'So', 'Z', 'Zl', 'Zp', 'Zs'),
]
OTHERS = ['Any', 'Ascii', 'Assigned', 'Greek', 'Common', 'Inherited', 'Latin', 'Han']
SPELLINGS = [r'\p{%s}', r'\P{%s}', r'(?i)\p{%s}', r'(?i)\P{%s}', r'(?i)[^a\p{%s}]']

MOVED = {0x295, 0x1171E}
"""Code points whose category a later edition of Unicode has changed."""


def test_tables_are_those_of_go(go: golang.Golang) -> None:
    tables = go.tables
    if tables['unicode'] == '15.0.0':
        assert pathlib.Path(unicode15.__file__).read_text(encoding='utf-8') == packing.module(tables)
        return

    # A newer Go: it must agree on all that was assigned by then.
    unassigned = _members(properties.named('Cn', fold=False))
    for kind in ('categories', 'scripts'):
        for name, ranges in tables[kind].items():
            ours = properties.named(name, fold=False)
            if ours is not None:
                assert _members(ours) - unassigned - MOVED == _members(ranges) - unassigned - MOVED, name
    assert all(len(folding.orbit(orbit[0])) in {1, len(orbit)} for orbit in tables['orbits'])


@pytest.mark.parametrize('name', [*CATEGORIES, *OTHERS])
def test_properties_mean_what_they_mean_in_go(go: golang.Golang, name: str) -> None:
    if go.tables['unicode'] != '15.0.0':
        # What it has added since would have to be taken out of each class: the test above compares as much.
        assert properties.named(name, fold=False)
        return
    patterns = [spelling % name for spelling in SPELLINGS]

    answers = go.answers([golang.Question(pattern) for pattern in patterns])

    assert [dumps.dump(syntax.parse(pattern)) for pattern in patterns] == [answer.tree for answer in answers]


@pytest.mark.parametrize(
    'pattern',
    [
        pytest.param(r'\pL', id='large class'),
        pytest.param(r'(?i)\P{Lu}', id='large class negated, any case'),
        pytest.param(r'[^\pL\d]', id='large class and another, negated'),
        pytest.param(r'[[:^alpha:]\t]', id='POSIX class'),
        pytest.param('(?i)[^k-s]', id='range negated, any case'),
        *[pytest.param(rf'[\p{{{name}}}~\n]', id=f'class {name}') for name in (CATEGORIES if SOAK else ['Lt', 'Nd'])],
    ],
)
def test_classes_are_searched_for_as_defined(pattern: str) -> None:
    node = syntax.parse(pattern)
    assert isinstance(node, nodes.Class)
    # No text holds a surrogate when it is searched.
    everything = ''.join(chr(code) for code in range(runes.LAST + 1) if not 0xD800 <= code <= 0xDFFF)

    found = regex.findall(translation.translate(node), everything, translation.FLAGS)

    assert set(map(ord, found)) == {code for code in _members(node.ranges) if not 0xD800 <= code <= 0xDFFF}


def test_orbits_are_complete(go: golang.Golang) -> None:
    edition_15 = go.tables['unicode'] == '15.0.0'
    for orbit in go.tables['orbits']:
        ours = {folding.orbit(code) for code in orbit}
        assert ours == {tuple(orbit)} or not edition_15


def _members(ranges: runes.Ranges | list[list[int]] | None) -> set[int]:
    assert ranges is not None
    return {code for low, high in ranges for code in range(low, high + 1)}
