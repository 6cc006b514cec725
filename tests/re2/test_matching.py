"""In which texts a pattern is found, and what happens when that cannot be told in time."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from jobset.re2 import errors, matching, syntax, translation

FOUND = [
    pytest.param('', '', True, id='nothing in nothing'),
    pytest.param('b', 'abc', True, id='anywhere in the text'),
    pytest.param('B', 'abc', False, id='case counts'),
    pytest.param('^b', 'abc', False, id='start of the text'),
    pytest.param('^b', 'a\nb', False, id='start of a line is none of the text'),
    pytest.param('(?m)^b', 'a\nb', True, id='start of a line'),
    pytest.param('(?m)^$', 'a\n', True, id='an empty last line'),
    pytest.param('a$', 'a\n', False, id='end of the text, not before its last newline'),
    pytest.param(r'a\z', 'a\n', False, id='very end of the text'),
    pytest.param('(?m)a$', 'a\nb', True, id='end of a line'),
    pytest.param('(?m)a$', 'a\r\nb', False, id='a carriage return is part of the line'),
    pytest.param(r'(?m)\Aa\z', 'b\na\nb', False, id='start and end of the text, whatever the flag'),
    pytest.param('a.b', 'a\nb', False, id='dot is no newline'),
    pytest.param('a.b', 'a\u2028b', True, id='dot is any other line separator'),
    pytest.param('(?s)a.b', 'a\nb', True, id='dot is a newline when told so'),
    pytest.param('[^x]b', 'a\nb', True, id='a negated class is a newline'),
    pytest.param(r'^\w+$', 'é', False, id='word characters are ASCII'),
    pytest.param(r'^\d+$', '٣', False, id='digits are ASCII'),
    pytest.param(r'^\s$', '\x0b', False, id='the vertical tab is no blank'),
    pytest.param(r'^[[:space:]]$', '\x0b', True, id='the vertical tab is a POSIX blank'),
    pytest.param(r'^\s$', '\xa0', False, id='the no-break space is no blank'),
    pytest.param(r'a\b', 'aé', True, id='word boundaries are ASCII'),
    pytest.param(r'\B', '', True, id='no word boundary in an empty text'),
    pytest.param(r'\b', '', False, id='word boundary in an empty text'),
    pytest.param('(?i)k', '\u212a', True, id='the Kelvin sign is a k'),
    pytest.param(r'(?i)\w', '\u212a', True, id='the Kelvin sign is a word character in any case'),
    pytest.param(r'(?i)\W', 'ſ', False, id='the long s is none that is not'),
    pytest.param('(?i)ss', 'ß', False, id='folding is simple'),
    pytest.param('(?i)ß', 'ẞ', True, id='the capital sharp s'),
    pytest.param('(?i)i', 'ı', False, id='no Turkish i'),
    pytest.param('(?i)σ', 'ς', True, id='three sigmas'),
    pytest.param('(?i:A)b', 'aB', False, id='flags end with their group'),
    pytest.param('a(?i)b', 'aB', True, id='flags begin where they stand'),
    pytest.param('(a(?i)b)c', 'aBC', False, id='flags end with the group around them'),
    pytest.param(r'(?i)\p{Lu}', 'a', True, id='upper case in any case'),
    pytest.param(r'^\p{Greek}\P{Greek}$', 'δd', True, id='script'),
    pytest.param(r'^\pN$', 'Ⅷ', True, id='category'),
    pytest.param('^x{,3}$', 'x{,3}', True, id='a brace without a lower count is a character'),
    pytest.param('^(?:foo){e<=1}$', 'foo{e<=1}', True, id='what is fuzzy matching elsewhere'),
    pytest.param(r'^\Q.*\E$', '.*', True, id='quotation'),
    pytest.param(r'^\x{1F642}\x41\101\n$', '🙂AA\n', True, id='characters by number'),
    pytest.param('^[a&&b]+$', 'a&b', True, id='ampersands in a class'),
    pytest.param('^[[a]]$', 'a]', True, id='a bracket in a class'),
    pytest.param('^[#-%~]+$', '#$%~', True, id='punctuation in a class'),
    pytest.param('^a  # b$', 'a  # b', True, id='blanks and hash signs'),
    pytest.param('(?U)^a+?$', 'aaa', True, id='laziness changes no answer'),
    pytest.param('^(?:a?){3}$', 'aa', True, id='turns that match nothing'),
    pytest.param('^(|a)+$', 'aaa', True, id='a loop over nothing or something'),
    pytest.param('^(a|b*)*c$', 'abbac', True, id='a loop over a loop'),
    pytest.param(r'^(?:\b|a)*c', 'aac', True, id='a loop over a place or something'),
    pytest.param(r'(?:^)*a', 'ba', True, id='a place that need not be'),
    pytest.param(r'(?:^)+a', 'ba', False, id='a place that must be'),
    pytest.param('[^\\x00-\\x{10FFFF}]', 'a', False, id='a class of nothing'),
    pytest.param('x*', 'y', True, id='what may be missing'),
    pytest.param('.*exit code (1|2)\\b.*', 'failed with exit code 2', True, id='what may be missing at both edges'),
    pytest.param('.*exit code (1|2)\\b.*', 'failed with exit code 23', False, id='what may not be missing between'),
]

# The last characters are what keeps a search for all that a pattern must contain from ending it at once.
BOMBS = [
    pytest.param('^(a|a)*$', 'a' * 5000 + 'b', id='equal branches'),
    pytest.param('^(a|aa)*$', 'a' * 5000 + 'b', id='branches that begin alike'),
    pytest.param('^(a*)*$', 'a' * 5000 + 'b', id='star of a star'),
    pytest.param('(x+x+)+y', 'x' * 5000, id='plus of two pluses'),
    pytest.param('^(x+x+)+y', 'x' * 5000 + 'zy', id='plus of two pluses from the start'),
    pytest.param('^(([a-z])+.)+[A-Z]([a-z])+$', 'a' * 5000, id='overlapping classes'),
    pytest.param(r'^(\w|\d)*_?$', '1' * 5000 + '-', id='a class within another'),
    pytest.param('(.*)(.*)(.*)(.*)(.*)[^x]y', 'x' * 5000 + 'y', id='many stars'),
    pytest.param('^(?:a?){500}b', 'a' * 500 + 'cb', id='many that may be missing'),
    pytest.param('^(?:a?b?){500}c$', 'ab' * 400 + 'dc', id='many pairs that may be missing'),
    pytest.param('^(?:a|b|ab)*c', 'ab' * 5000 + 'dc', id='two ways to read every pair'),
    pytest.param('^(?:(?:a|b)*?(?:ab)*?)*?c', 'ab' * 5000 + 'dc', id='lazy loops in a lazy loop'),
    pytest.param('^(?:[^z]{1,30}){1,30}z', 'x' * 30000 + 'z', id='counts within counts'),
    pytest.param(r'(?:\pL+\PL*)+!$', 'ab ' * 5000 + '! ', id='large classes in loops'),
]


@pytest.mark.parametrize(('pattern', 'text', 'found'), FOUND)
def test_search(pattern: str, text: str, *, found: bool) -> None:
    assert matching.compile(pattern).search(text, 10) is found


@pytest.mark.parametrize(('pattern', 'text'), BOMBS)
def test_bombs_end(pattern: str, text: str) -> None:
    matcher = matching.compile(pattern)
    try:
        found = matcher.search(text, 0.05)
    except errors.MatchTimeout:
        return

    assert not found


@pytest.mark.parametrize(
    ('pattern', 'text', 'found'),
    [
        pytest.param('^(a|a)*$', 'a' * 30000 + 'b', False, id='equal branches'),
        pytest.param('^(a*|b*)*$', 'ab' * 15000 + 'c', False, id='stars of stars'),
        pytest.param('^(x+x+)+y', 'x' * 30000, False, id='plus of two pluses'),
        pytest.param('.*foo.*', 'x' * 30000, False, id='anything before and behind'),
        pytest.param('(.*)(.*)(.*)foo', 'x' * 30000 + 'foo', True, id='anything thrice'),
    ],
)
def test_reduction_defuses(pattern: str, text: str, *, found: bool) -> None:
    assert matching.compile(pattern).search(text, 10) is found


def test_timeout_says_what_to_do() -> None:
    matcher = matching.compile('^(a|aa)*$')

    with pytest.raises(errors.MatchTimeout) as caught:
        matcher.search('a' * 10000 + 'b', 0.01)

    assert str(caught.value) == (
        'the pattern `^(a|aa)*$` took over 0.01 s on a text of 10001 characters: '
        'write it with fewer repeats within repeats'
    )


def test_text_is_looked_at_up_to_the_cap() -> None:
    matcher = matching.compile('end')
    padding = ' ' * (matching.MAX_TEXT_LENGTH - 3)

    assert (matcher.search(f'{padding}end'), matcher.search(f'{padding} end')) == (True, False)


@pytest.mark.parametrize(
    ('pattern', 'text', 'found'),
    [
        pytest.param('\ud800', '\udfff', True, id='each is the replacement character'),
        pytest.param('^\ufffd{2}$', '\udfff\ud800', True, id='one character for each'),
        pytest.param(r'\x{D800}', '\ud800', False, id='one that is named is in no text'),
    ],
)
def test_lone_surrogates(pattern: str, text: str, *, found: bool) -> None:
    assert matching.compile(pattern).search(text) is found


def test_compiled_patterns_are_kept() -> None:
    assert matching.compile('kept (once)') is matching.compile('kept (once)')


def test_refused_pattern_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(errors.PatternError, match=r'missing closing \): `\(a` at position 0'):
            matching.compile('(a')


@pytest.mark.parametrize(
    ('pattern', 'message'),
    [
        pytest.param(
            '(a|b' * 200 + ')' * 200,
            'the pattern is too deep to be matched: at most 150 levels are allowed; use fewer groups within groups',
            id='too deep',
        ),
        pytest.param(
            r'\pL' * 2000,
            'the pattern is too large to be matched: spelled out, it has more than 131072 characters; '
            'make it shorter, or use fewer and smaller classes',
            id='too large',
        ),
    ],
)
def test_too_complex(pattern: str, message: str) -> None:
    with pytest.raises(errors.PatternTooComplexError) as caught:
        matching.compile(pattern)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ('pattern', 'text', 'found'),
    [
        pytest.param('^' + '(a|b' * 45 + ')' * 45, 'ab' * 5 + 'a', True, id='nested branches'),
        pytest.param('(' * 900 + 'a' + ')' * 900, 'xa', True, id='groups that only capture'),
        pytest.param('^(?:' + 'a*)*(?:' * 80 + 'b)$', 'aab', True, id='loops in a row'),
        pytest.param('^' + '(?:a' * 140 + 'b' + ')' * 140 + '$', 'a' * 140 + 'b', True, id='groups that only group'),
    ],
)
def test_deep_patterns_are_matched(pattern: str, text: str, *, found: bool) -> None:
    assert matching.compile(pattern).search(text, 10) is found


def test_one_matcher_serves_many_threads() -> None:
    matcher = matching.compile(r'rank (\d+)$')
    texts = [f'lost rank {rank}{"!" * (rank % 2)}' for rank in range(200)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(matcher.search, texts))

    assert found == [rank % 2 == 0 for rank in range(200)]


@pytest.mark.parametrize(
    ('pattern', 'source'),
    [
        pytest.param('a.b', 'a.b', id='dot'),
        pytest.param('^a$', r'\Aa\Z', id='ends of the text'),
        pytest.param('(?m)^a$', '(?m:^)a(?m:$)', id='ends of lines'),
        pytest.param(r'a\w', 'a[0-9A-Z\\x5fa-z]', id='word characters'),
        pytest.param('(?i)ok', '[Oo][Kk\\u212a]', id='any case'),
        pytest.param('(?P<n>ab)+c', 'abc', id='one turn is enough at the edge, and groups do not capture'),
        pytest.param('^(?:ab)+?c', r'\A(?:ab)+?c', id='lazy repeat'),
        pytest.param('(?U)^(?:ab)+c', r'\A(?:ab)+?c', id='lazy unless told otherwise'),
        pytest.param('(?U)^(?:ab){2,}?c', r'\A(?:ab){2,}c', id='told otherwise'),
        pytest.param('a|b|cd|ce', '(?:[a-b]|c[d-e])', id='factored branches'),
        pytest.param('a*', '', id='nothing is left of what may be missing'),
    ],
)
def test_translation(pattern: str, source: str) -> None:
    assert translation.translate(syntax.parse(pattern)) == source
