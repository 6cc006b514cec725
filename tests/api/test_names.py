import pytest

from jobset.api.validation import names

DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
PATH = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"


@pytest.mark.parametrize(
    ('text', 'reasons'),
    [
        pytest.param('a', [], id='one letter'),
        pytest.param('a-1', [], id='letters, digits and dashes'),
        pytest.param('a' * 63, [], id='as long as may be'),
        pytest.param('a' * 64, ['must be no more than 63 characters'], id='one too long'),
        pytest.param('', [DNS_1035], id='empty'),
        pytest.param('1a', [DNS_1035], id='starts with a digit'),
        pytest.param('a-', [DNS_1035], id='ends with a dash'),
        pytest.param('a.b', [DNS_1035], id='a dot'),
        pytest.param('a\n', [DNS_1035], id='a line feed at the end'),
        pytest.param('ä' * 32, ['must be no more than 63 characters', DNS_1035], id='long in bytes and not in letters'),
    ],
)
def test_dns_1035_label(text: str, reasons: list[str]) -> None:
    assert names.dns_1035_label(text) == reasons


@pytest.mark.parametrize(
    ('text', 'reasons'),
    [
        pytest.param('1a.b-c', [], id='labels with dots between'),
        pytest.param('a' * 253, [], id='as long as may be'),
        pytest.param('a' * 254, ['must be no more than 253 characters'], id='one too long'),
        pytest.param('a..b', [SUBDOMAIN], id='an empty label'),
        pytest.param('A', [SUBDOMAIN], id='upper case'),
        pytest.param('', [SUBDOMAIN], id='empty'),
    ],
)
def test_dns_1123_subdomain(text: str, reasons: list[str]) -> None:
    assert names.dns_1123_subdomain(text) == reasons


@pytest.mark.parametrize(
    ('text', 'reasons'),
    [
        pytest.param('', [], id='empty'),
        pytest.param('A_b.c-1', [], id='all that is allowed'),
        pytest.param('a' * 64, ['must be no more than 63 bytes'], id='one too long'),
        pytest.param('-a', [LABEL_VALUE], id='starts with a dash'),
    ],
)
def test_label_value(text: str, reasons: list[str]) -> None:
    assert names.label_value(text) == reasons


@pytest.mark.parametrize(
    ('text', 'errors'),
    [
        pytest.param('acme.io/foo', [], id='as it should be'),
        pytest.param('acme.io/a/b', [], id='slashes in the path'),
        pytest.param('', ['f: Required value'], id='empty'),
        pytest.param(
            'foo',
            ['f: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")'],
            id='no slash',
        ),
        pytest.param(
            '/foo',
            ['f: Invalid value: "/foo": must be a domain-prefixed path (such as "acme.io/foo")'],
            id='no domain',
        ),
        pytest.param(
            'A/b c',
            [f'f: Invalid value: "A": {SUBDOMAIN}', f'f: Invalid value: "b c": {PATH}'],
            id='both parts wrong',
        ),
    ],
)
def test_domain_prefixed_path(text: str, errors: list[str]) -> None:
    assert [str(error) for error in names.domain_prefixed_path('f', text)] == errors
