"""Answers that are errors: which class, which text, how long to wait."""

import msgspec
import pytest

from jobset.kube import errors


@pytest.mark.parametrize(
    ('code', 'reason', 'error'),
    [
        pytest.param(400, 'BadRequest', errors.Invalid, id='400'),
        pytest.param(401, 'Unauthorized', errors.Unauthorized, id='401'),
        pytest.param(403, 'Forbidden', errors.Forbidden, id='403'),
        pytest.param(404, 'NotFound', errors.NotFound, id='404'),
        pytest.param(405, 'MethodNotAllowed', errors.Invalid, id='405'),
        pytest.param(409, 'AlreadyExists', errors.AlreadyExists, id='409 of a create'),
        pytest.param(409, 'Conflict', errors.Conflict, id='409 of an update'),
        pytest.param(410, 'Expired', errors.Gone, id='410'),
        pytest.param(413, 'RequestEntityTooLarge', errors.Invalid, id='413'),
        pytest.param(418, 'Teapot', errors.ApiError, id='one that nobody knows'),
        pytest.param(422, 'Invalid', errors.Invalid, id='422'),
        pytest.param(429, 'TooManyRequests', errors.TooManyRequests, id='429'),
        pytest.param(500, 'InternalError', errors.ServerError, id='500'),
        pytest.param(504, 'Timeout', errors.ServerError, id='504'),
    ],
)
def test_class(code: int, reason: str, error: type[errors.ApiError]) -> None:
    body = msgspec.json.encode({'kind': 'Status', 'code': code, 'reason': reason, 'message': 'text'})
    made = errors.from_answer(code, body, where='GET /x')

    assert type(made) is error
    assert (made.code, made.reason, made.message, made.retry_after) == (code, reason, 'text', None)
    assert str(made) == f'GET /x: {code} {reason}: text'


@pytest.mark.parametrize(
    ('header', 'seconds', 'wait'),
    [
        pytest.param('7', 0, 7, id='header'),
        pytest.param(None, 5, 5, id='body'),
        pytest.param('7', 5, 7, id='the header wins'),
        pytest.param('0', 5, 0, id='even when it says now'),
        pytest.param('-3', 0, 0, id='never in the past'),
        pytest.param('Wed, 21 Oct 2026 07:28:00 GMT', 0, None, id='a date is not understood'),
        pytest.param(None, 0, None, id='nothing'),
    ],
)
def test_how_long_to_wait(header: str | None, seconds: int, wait: float | None) -> None:
    body = msgspec.json.encode({'reason': 'TooManyRequests', 'details': {'retryAfterSeconds': seconds}})

    assert errors.from_answer(429, body, where='', retry_after=header).retry_after == wait


def test_causes_of_an_invalid_object() -> None:
    cause = {'reason': 'FieldValueRequired', 'message': 'Required value', 'field': 'spec.replicatedJobs[0].name'}
    body = msgspec.json.encode({'reason': 'Invalid', 'message': 'm', 'details': {'causes': [cause]}})

    assert errors.from_answer(422, body, where='').causes == (
        errors.Cause(field='spec.replicatedJobs[0].name', reason='FieldValueRequired', message='Required value'),
    )


@pytest.mark.parametrize(
    ('body', 'text'),
    [
        pytest.param(b'<html>bad gateway</html>', '502 ServerError: <html>bad gateway</html>', id="a proxy's page"),
        pytest.param(b'x' * 1000, f'502 ServerError: {"x" * 200}', id='long ones are cut'),
        pytest.param(b'\xff\xfe', '502 ServerError: \ufffd\ufffd', id='no text'),
        pytest.param(b'', '502 ServerError: the server gave no message', id='nothing'),
        pytest.param(b'{"details": null}', '502 ServerError: the server gave no message', id='an empty status'),
    ],
)
def test_answers_that_are_not_from_an_api_server(body: bytes, text: str) -> None:
    assert str(errors.from_answer(502, body, where='')) == text


def test_status_inside_a_stream() -> None:
    made = errors.from_status(errors.Status(code=410, reason='Expired', message='too old'), where='GET /x')

    assert type(made) is errors.Gone
    assert str(made) == 'GET /x: 410 Expired: too old'
