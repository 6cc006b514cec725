"""Label selectors: the whole grammar, and what is wrong in the words of the real server."""

import pytest

from jobset.local.problems import Problem
from jobset.local.server import selectors

LABELS = {'app': 'web', 'tier': 'front', 'n': '5', 'example.com/x': ''}


@pytest.mark.parametrize(
    ('text', 'matches'),
    [
        ('', True),
        ('app=web', True),
        ('app==web', True),
        ('app = web', True),
        ('app=db', False),
        ('app!=db', True),
        ('app!=web', False),
        ('none!=x', True),
        ('app', True),
        ('none', False),
        ('!app', False),
        ('!none', True),
        ('app in (web)', True),
        ('app in (db,web)', True),
        ('app in (db, cache)', False),
        ('app notin (db, cache)', True),
        ('none notin (db)', True),
        ('app notin (web)', False),
        ('none in (web)', False),
        ('n > 4', True),
        ('n>5', False),
        ('n<6', True),
        ('app>1', False),
        ('none<1', False),
        ('app=web,tier=front', True),
        ('app=web,tier=back', False),
        ('app=web,!none,tier in (front,back),n', True),
        ('example.com/x=', True),
        ('example.com/x in (,a)', True),
        ('example.com/x in ()', True),
        ('app in ()', False),
        ('app=', False),
        ('app=,tier', False),
    ],
)
def test_matches(text: str, matches: bool) -> None:
    assert all(one.matches(LABELS) for one in selectors.labels(text)) is matches


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('a,', "found '', expected: identifier after ','"),
        ('a in (b', "unable to parse requirement: found '', expected: ',' or ')'"),
        ('=a', "found '=', expected: !, identifier, or 'end of string'"),
        ('a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ('!', "unable to parse requirement: found '', expected: identifier"),
        ('a=d e!', "found 'e', expected: ',' or 'end of string'"),
        (
            'a>x',
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",  # noqa: E501
        ),
        ('a=(b)', "unable to parse requirement: found '(', expected: identifier"),
        (',a', "found ',', expected: !, identifier, or 'end of string'"),
        (')', "found ')', expected: !, identifier, or 'end of string'"),
        ('a!', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
        ('a=b,,c', "found ',', expected: identifier after ','"),
        ('a notin b', "unable to parse requirement: found 'b' expected: '('"),
        ('a in', "unable to parse requirement: found '' expected: '('"),
        ('a==b==c', "found '==', expected: ',' or 'end of string'"),
        (
            'n>',
            "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer",  # noqa: E501
        ),
        (
            'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
            (
                'unable to parse requirement: <nil>: Invalid value: '
                '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": name part must be no more '
                'than 63 bytes'
            ),
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(Problem) as refused:
        selectors.labels(text)

    assert (refused.value.code, refused.value.message) == (400, message)
