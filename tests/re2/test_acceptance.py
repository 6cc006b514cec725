"""Which patterns are accepted, and what is said of the others: as Go does it, with a position added."""

import functools
import random
from collections.abc import Callable

import pytest

from jobset.re2 import errors, syntax
from jobset.re2.errors import Reason
from tests.re2 import golang

REFUSED = [
    pytest.param('(a', Reason.MISSING_PARENTHESIS, '(a', 0, id='group never closed'),
    pytest.param('a(b)(c|(d)', Reason.MISSING_PARENTHESIS, 'a(b)(c|(d)', 4, id='the group that is not closed is named'),
    pytest.param('(?i:a', Reason.MISSING_PARENTHESIS, '(?i:a', 0, id='group with flags never closed'),
    pytest.param('a)b', Reason.UNEXPECTED_PARENTHESIS, 'a)b', 1, id='group never opened'),
    pytest.param('a|)', Reason.UNEXPECTED_PARENTHESIS, 'a|)', 2, id='group never opened, behind a bar'),
    pytest.param('x[a', Reason.MISSING_BRACKET, '[a', 1, id='class never closed'),
    pytest.param('[[:alpha:]', Reason.MISSING_BRACKET, '[[:alpha:]', 0, id='POSIX class, and the bracket not closed'),
    pytest.param('[]', Reason.MISSING_BRACKET, '[]', 0, id='a closing bracket that comes first is a character'),
    pytest.param('x[z-a]', Reason.BAD_CLASS_RANGE, 'z-a', 2, id='range the wrong way round'),
    pytest.param('[[:foo:]]', Reason.BAD_CLASS_RANGE, '[:foo:]', 1, id='unknown POSIX class'),
    pytest.param(r'a\p{Foo}', Reason.BAD_CLASS_RANGE, r'\p{Foo}', 1, id='unknown script'),
    pytest.param(r'\p{Greek', Reason.BAD_CLASS_RANGE, r'\p{Greek', 0, id='brace never closed'),
    pytest.param(r'\pX', Reason.BAD_CLASS_RANGE, r'\pX', 0, id='unknown category'),
    pytest.param(r'\p', Reason.BAD_CLASS_RANGE, r'\p', 0, id='property without a name'),
    pytest.param(r'[a-\d]', Reason.BAD_ESCAPE, r'\d', 3, id='range up to a class'),
    pytest.param(r'ab\C', Reason.BAD_ESCAPE, r'\C', 2, id='any byte'),
    pytest.param(r'(a)\1', Reason.BAD_ESCAPE, r'\1', 3, id='back-reference'),
    pytest.param(r'\8', Reason.BAD_ESCAPE, r'\8', 0, id='no octal digit'),
    pytest.param(r'\Z', Reason.BAD_ESCAPE, r'\Z', 0, id='end of text in capitals'),
    pytest.param(r'\u0041', Reason.BAD_ESCAPE, r'\u', 0, id='code point the Python way'),
    pytest.param(r'\é', Reason.BAD_ESCAPE, r'\é', 0, id='escaped letter beyond ASCII'),
    pytest.param(r'\x4', Reason.BAD_ESCAPE, r'\x4', 0, id='one hexadecimal digit'),
    pytest.param(r'\xg0', Reason.BAD_ESCAPE, r'\xg0', 0, id='no hexadecimal digit'),
    pytest.param(r'\x', Reason.BAD_ESCAPE, r'\x', 0, id='no digit at all'),
    pytest.param(r'\x{}', Reason.BAD_ESCAPE, r'\x{}', 0, id='no digit in braces'),
    pytest.param(r'\x{110000}', Reason.BAD_ESCAPE, r'\x{110000', 0, id='beyond the last code point'),
    pytest.param(r'\x{12', Reason.BAD_ESCAPE, r'\x{12', 0, id='code point never closed'),
    pytest.param(r'\x{1 2}', Reason.BAD_ESCAPE, r'\x{1 ', 0, id='blank in a code point'),
    pytest.param('abc\\', Reason.TRAILING_BACKSLASH, '', 3, id='nothing behind the backslash'),
    pytest.param('[a\\', Reason.TRAILING_BACKSLASH, '', 2, id='nothing behind the backslash in a class'),
    pytest.param('*a', Reason.NOTHING_TO_REPEAT, '*', 0, id='star at the start'),
    pytest.param('a|+?', Reason.NOTHING_TO_REPEAT, '+?', 2, id='lazy plus behind a bar'),
    pytest.param('({2,3})', Reason.NOTHING_TO_REPEAT, '{2,3}', 1, id='count in an empty group'),
    pytest.param('(?i)*', Reason.NOTHING_TO_REPEAT, '*', 4, id='flags alone are nothing to repeat'),
    pytest.param('a**', Reason.REPEATED_REPEAT, '**', 1, id='star of a star'),
    pytest.param('xa+?{2}?', Reason.REPEATED_REPEAT, '+?{2}?', 2, id='possessive and more'),
    pytest.param('a{1001}', Reason.BAD_REPEAT_COUNT, '{1001}', 1, id='count over the limit'),
    pytest.param('a{2,1001}?', Reason.BAD_REPEAT_COUNT, '{2,1001}', 1, id='upper count over the limit'),
    pytest.param('a{3,2}', Reason.BAD_REPEAT_COUNT, '{3,2}', 1, id='counts the wrong way round'),
    pytest.param('a{99999999999999999999}', Reason.BAD_REPEAT_COUNT, '{99999999999999999999}', 1, id='huge count'),
    pytest.param('((a{100}){11})', Reason.BAD_REPEAT_COUNT, '{11}', 9, id='product of counts over the limit'),
    pytest.param('((a{1,1000}){1,1000})', Reason.BAD_REPEAT_COUNT, '{1,1000}', 12, id='product far over the limit'),
    pytest.param('(?P<n', Reason.BAD_GROUP_NAME, '(?P<n', 0, id='name never closed'),
    pytest.param('a(?P<n m>b)', Reason.BAD_GROUP_NAME, '(?P<n m>', 1, id='blank in a name'),
    pytest.param('(?<é>a)', Reason.BAD_GROUP_NAME, '(?<é>', 0, id='name beyond ASCII'),
    pytest.param('(?P<>a)', Reason.BAD_GROUP_NAME, '(?P<>', 0, id='empty name'),
    pytest.param('(?P<', Reason.BAD_GROUP, '(?P', 0, id='the opening of a name and no more'),
    pytest.param('(?P=n)', Reason.BAD_GROUP, '(?P', 0, id='back-reference by name'),
    pytest.param("(?'n'a)", Reason.BAD_GROUP, "(?'", 0, id='name in quotes'),
    pytest.param('a(?=b)', Reason.BAD_GROUP, '(?=', 1, id='look-ahead'),
    pytest.param('(?<=b)a', Reason.BAD_GROUP_NAME, '(?<=b)a', 0, id='look-behind, which begins like a name'),
    pytest.param('(?>a)', Reason.BAD_GROUP, '(?>', 0, id='atomic group'),
    pytest.param('(?#a)', Reason.BAD_GROUP, '(?#', 0, id='comment'),
    pytest.param('(?x)a', Reason.BAD_GROUP, '(?x', 0, id='free spacing'),
    pytest.param('(?i-)a', Reason.BAD_GROUP, '(?i-)', 0, id='minus without a flag'),
    pytest.param('(?i-s-m)a', Reason.BAD_GROUP, '(?i-s-', 0, id='two minuses'),
    pytest.param('(?i', Reason.BAD_GROUP, '(?i', 0, id='flags never closed'),
]

ACCEPTED = [
    pytest.param('', id='nothing'),
    pytest.param('|', id='nothing or nothing'),
    pytest.param('()|(|)', id='empty groups'),
    pytest.param('a{,2}', id='a brace that counts nothing is a character'),
    pytest.param('{2x}{', id='braces at the start are characters'),
    pytest.param('a{01}', id='a leading zero is no count'),
    pytest.param('a{2}{', id='a brace behind a count'),
    pytest.param('x{e<=1}', id='what is fuzzy matching elsewhere'),
    pytest.param('((a{100}){10}b){0}', id='counts up to the limit, and none of it'),
    pytest.param('(a{500}|b{1000}){1}', id='one times the limit'),
    pytest.param('(?P<n>a)(?P<n>b)(?<n>c)', id='one name for three groups'),
    pytest.param('(?P<1_>a)', id='name that begins with a digit'),
    pytest.param('(?)(?i)(?-s:a)(?U-i:b)', id='flags'),
    pytest.param('a(?i)*', id='a repeat of what is before the flags'),
    pytest.param('a*(?i)*', id='flags between two repeats'),
    pytest.param(r'a\Q\E*', id='a repeat behind an empty quotation'),
    pytest.param(r'\Qa*(', id='quotation never closed'),
    pytest.param(r'\Q\\E', id='backslash in a quotation'),
    pytest.param(r'\_\-\ \/\@', id='escaped punctuation'),
    pytest.param(r'\07\012\101', id='octal'),
    pytest.param(r'\x{10FFFF}\x{D800}\x{0}', id='first and last code point, and a surrogate'),
    pytest.param('[]a]', id='closing bracket first'),
    pytest.param('[^]a]', id='closing bracket first in what is left out'),
    pytest.param('[a-]', id='hyphen last'),
    pytest.param('[a-b-c]', id='hyphen behind a range'),
    pytest.param(r'[\d-z]', id='hyphen behind a class'),
    pytest.param('[[:alpha:]x]', id='POSIX class in a bracket'),
    pytest.param('[[:]', id='bracket and colon'),
    pytest.param('[[:x]', id='POSIX class never closed is characters'),
    pytest.param('[a&&b~~c||d]', id='what are operations on sets elsewhere'),
    pytest.param(r'\pL\p{^lu}\P{uppercase letter}\p{PUNCT}\p{any}\p{LC}', id='categories by loose names'),
    pytest.param(r'\p{greek}\p{ han }\p{Ascii}\p{Assigned}', id='scripts by loose names'),
    pytest.param('^*$+\\b?', id='repeats of places'),
    pytest.param('\udc80[\ud800]', id='lone surrogates'),
    pytest.param('\x00\n\u2028\U0010ffff', id='any character stands for itself'),
]


@pytest.mark.parametrize(('pattern', 'reason', 'fragment', 'position'), REFUSED)
def test_refused(go: golang.Golang, pattern: str, reason: Reason, fragment: str, position: int) -> None:
    with pytest.raises(errors.PatternError) as caught:
        syntax.parse(pattern)

    found = caught.value
    assert (found.reason, found.fragment, found.position) == (reason, fragment, position)
    assert str(found) == f'error parsing regexp: {reason}: `{fragment}` at position {position}'
    assert go.answers([golang.Question(pattern)])[0].error == f'error parsing regexp: {reason}: `{fragment}`'


@pytest.mark.parametrize('pattern', ACCEPTED)
def test_accepted(go: golang.Golang, pattern: str) -> None:
    syntax.parse(pattern)

    assert go.answers([golang.Question(syntax.without_surrogates(pattern))])[0].error == ''


@pytest.mark.parametrize(
    ('name', 'found'),
    [
        pytest.param('Latin', True, id='one word'),
        pytest.param('Old_Italic', False, id='two words, which Go 1.26 does not find'),
        pytest.param('OldItalic', False, id='two words run together'),
        pytest.param('Lowercase_Letter', True, id='long name of a category'),
        pytest.param('LC', True, id='cased letters'),
        pytest.param('Script=Latin', False, id='name of a property'),
        pytest.param('Alphabetic', False, id='neither category nor script'),
    ],
)
def test_property_names(name: str, *, found: bool) -> None:
    # Not compared with the Go at hand: from 1.27 on, it finds scripts of two words.
    if found:
        syntax.parse(f'\\p{{{name}}}')
    else:
        with pytest.raises(errors.PatternError, match='invalid character class range'):
            syntax.parse(f'\\p{{{name}}}')


def _random_nest(seed: int) -> str:
    rng = random.Random(seed)
    shapes = ['({})', '(?:{})*', '(?:{}b)', '(?:{}|b)', '(?:[ab]c|[ab]{})', '(?:x{}|x)', '(?:{})+?']
    pattern = 'a'
    for _ in range(rng.randint(400, 1100)):
        pattern = rng.choice(shapes).replace('{}', pattern)
    return pattern


def _random_length(seed: int) -> str:
    rng = random.Random(seed)
    pieces = ['a', '.', '[xy]', '(a)', 'b*', 'c?', '(?:ab|ac)', r'\d{1}', '(?:x|y)', '(?:.a|.b)', '^']
    body = ''.join(rng.choices(pieces, k=rng.randint(500, 3000)))
    return f'(?:{body}){{{rng.choice((500, 900, 1000))}}}'


LIMITS: list[tuple[str, Callable[[int], str], list[int]]] = [
    ('captures within captures', lambda n: '(' * n + 'a' + ')' * n, [998, 999, 1000]),
    ('groups that make no level', lambda n: '(?:' * n + 'a' + ')' * n, [1500]),
    ('stars of stars', lambda n: '(?:' * n + 'a*' + ')*' * n, [998, 999]),
    ('branches within branches', lambda n: '(a|b' * n + ')' * n, [333, 334, 499, 500]),
    ('empty branches', lambda n: '(|a' * n + ')' * n, [333, 499, 500]),
    ('two equal branches, factored', lambda n: f'{".a" * n}|{".a" * n}', [332, 333, 334, 499, 500]),
    ('prefixes of one another', lambda n: '|'.join('.' * size for size in range(1, n)), [40, 200]),
    ('a long text often', lambda n: f'(?:{"x" * n}){{1000}}', [3355, 3356, 5000]),
    ('many classes often', lambda n: f'(?:{"[ab]x" * n}){{1000}}', [1600, 1700]),
    ('many groups often', lambda n: f'(?:{"(x)" * n}){{1000}}', [1100, 1200]),
    ('two equal long branches often', lambda n: f'(?:{"." * n}|{"." * n}){{1000}}', [1500, 1700]),
    ('many counted characters', lambda n: 'a{1000}' * n, [3354, 3356]),
    ('one large class in many groups', lambda n: '(?:' * n + r'\pL' + ')' * n, [7500, 9500]),
    ('random nests', _random_nest, list(range(12))),
    ('random lengths', _random_length, list(range(8))),
]


@pytest.mark.parametrize(
    ('make', 'sizes'),
    [pytest.param(make, sizes, id=name) for name, make, sizes in LIMITS],
)
def test_limits(go: golang.Golang, make: Callable[[int], str], sizes: list[int]) -> None:
    patterns = [make(size) for size in sizes]

    answers = go.answers([golang.Question(pattern) for pattern in patterns])

    assert [_refusal(pattern) for pattern in patterns] == [answer.error for answer in answers]


def test_limits_are_met_on_both_sides() -> None:
    """So that the comparison above compares something."""
    refusals = [_refusal(make(size)).split('`')[0] for _, make, sizes in LIMITS for size in sizes]

    assert set(refusals) == {
        '',
        'error parsing regexp: expression nests too deeply: ',
        'error parsing regexp: expression too large: ',
    }


@functools.cache
def _refusal(pattern: str) -> str:
    """Go's words for what is wrong; nothing if nothing is."""
    try:
        syntax.parse(pattern)
    except errors.PatternError as error:
        return str(error).removesuffix(f' at position {error.position}')
    return ''
