from fractions import Fraction

import pytest

from jobset.api import quantities


@pytest.mark.parametrize(
    ('value', 'exact'),
    [
        pytest.param('1', Fraction(1), id='whole'),
        pytest.param(2, Fraction(2), id='a JSON integer'),
        pytest.param(0.5, Fraction(1, 2), id='a JSON number'),
        pytest.param('500m', Fraction(1, 2), id='thousandths'),
        pytest.param('1u', Fraction(1, 10**6), id='millionths'),
        pytest.param('1n', Fraction(1, 10**9), id='billionths'),
        pytest.param('1k', Fraction(1000), id='thousands'),
        pytest.param('1E', Fraction(10**18), id='a suffix that looks like an exponent'),
        pytest.param('1Ei', Fraction(2**60), id='the largest binary suffix'),
        pytest.param('1024Mi', Fraction(2**30), id='binary'),
        pytest.param('2e3', Fraction(2000), id='an exponent'),
        pytest.param('2E-3', Fraction(2, 1000), id='a negative exponent'),
        pytest.param('-1.5Ki', Fraction(-1536), id='negative and broken'),
        pytest.param('+.5', Fraction(1, 2), id='no digit before the dot'),
        pytest.param('5.', Fraction(5), id='no digit after the dot'),
        pytest.param('0.1', Fraction(1, 10), id='no rounding'),
    ],
)
def test_parse(value: str | int | float, exact: Fraction) -> None:
    assert quantities.parse(value) == exact


@pytest.mark.parametrize('value', ['', 'm', '1 Gi', '1gi', '1KI', '1e', '1e2Ki', '.', '--1', True, '1e1001', '１'])
def test_no_quantity(value: str | bool) -> None:
    with pytest.raises(quantities.QuantityError):
        quantities.parse(value)


@pytest.mark.parametrize(
    ('number', 'text'),
    [
        (0.5, '500m'),
        (1.0, '1'),
        (0.0001, '100u'),
        (1e-9, '1n'),
        (1.5e-10, '1n'),
        (-0.25, '-250m'),
        (1e22, f'1{"0" * 22}'),
    ],
)
def test_text_of_a_number(number: float, text: str) -> None:
    assert quantities.text(number) == text
