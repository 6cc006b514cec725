import pytest

from jobset.api.validation import fields


@pytest.mark.parametrize(
    ('error', 'text', 'cause'),
    [
        pytest.param(
            fields.invalid('a.b', 'x"y\n', 'is bad'),
            r'a.b: Invalid value: "x\"y\n": is bad',
            {'reason': 'FieldValueInvalid', 'message': r'Invalid value: "x\"y\n": is bad', 'field': 'a.b'},
            id='a text',
        ),
        pytest.param(
            fields.invalid('a', None, 'is bad'),
            'a: Invalid value: null: is bad',
            {'reason': 'FieldValueInvalid', 'message': 'Invalid value: null: is bad', 'field': 'a'},
            id='nothing',
        ),
        pytest.param(
            fields.invalid('a', [{'b': 1}], 'is bad'),
            'a: Invalid value: [{"b":1}]: is bad',
            {'reason': 'FieldValueInvalid', 'message': 'Invalid value: [{"b":1}]: is bad', 'field': 'a'},
            id='a list of objects',
        ),
        pytest.param(
            fields.required('a'),
            'a: Required value',
            {'reason': 'FieldValueRequired', 'message': 'Required value', 'field': 'a'},
            id='no value',
        ),
        pytest.param(
            fields.too_long('a', 63),
            'a: Too long: may not be more than 63 bytes',
            {'reason': 'FieldValueTooLong', 'message': 'Too long: may not be more than 63 bytes', 'field': 'a'},
            id='too many bytes',
        ),
        pytest.param(
            fields.forbidden('a', 'not now'),
            'a: Forbidden: not now',
            {'reason': 'FieldValueForbidden', 'message': 'Forbidden: not now', 'field': 'a'},
            id='not now',
        ),
        pytest.param(
            fields.plain('nonsense'),
            '<nil>: Internal error: nonsense',
            {'reason': 'InternalError', 'message': 'Internal error: nonsense', 'field': '<nil>'},
            id='of no field',
        ),
    ],
)
def test_an_error_as_text_and_as_cause(error: fields.FieldError, text: str, cause: dict[str, str]) -> None:
    assert str(error) == text
    assert error.cause() == cause


@pytest.mark.parametrize(
    ('errors', 'listed'),
    [
        pytest.param([fields.plain('x')], '<nil>: Internal error: x', id='one'),
        pytest.param([fields.plain('x'), fields.plain('x')], '<nil>: Internal error: x', id='one told twice'),
        pytest.param(
            [fields.plain('x'), fields.required('a'), fields.plain('x')],
            '[<nil>: Internal error: x, a: Required value]',
            id='two, one of them twice',
        ),
    ],
)
def test_status_422(errors: list[fields.FieldError], listed: str) -> None:
    assert fields.status_422('js', errors) == {
        'kind': 'Status',
        'apiVersion': 'v1',
        'metadata': {},
        'status': 'Failure',
        'message': f'JobSet.jobset.x-k8s.io "js" is invalid: {listed}',
        'reason': 'Invalid',
        'details': {
            'name': 'js',
            'group': 'jobset.x-k8s.io',
            'kind': 'JobSet',
            'causes': [error.cause() for error in dict.fromkeys(errors)],
        },
        'code': 422,
    }


@pytest.mark.parametrize(
    ('text', 'quoted'),
    [
        pytest.param('a b', '"a b"', id='as it is'),
        pytest.param('"\\', r'"\"\\"', id='quote and backslash'),
        pytest.param('\x00\t', r'"\x00\t"', id='control characters'),
        pytest.param('é', '"é"', id='a letter beyond ASCII'),
        pytest.param('\u200b', r'"\u200b"', id='what cannot be seen'),
    ],
)
def test_quote(text: str, quoted: str) -> None:
    assert fields.quote(text) == quoted
