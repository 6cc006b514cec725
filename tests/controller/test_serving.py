"""Who may read what this process serves."""

import contextlib
from collections.abc import AsyncIterator

import aiohttp
import pytest

from jobset.admission import listen
from jobset.controller import metrics, serving
from jobset.kube import client, pages
from tests.controller import plane
from tests.kube import fakes

LOOPBACK = listen.Address('127.0.0.1', 0)


@contextlib.asynccontextmanager
async def serving_metrics(server: plane.Plane, more: serving.More | None = None) -> AsyncIterator[str]:
    """The metrics of a process that has put one key into its queue; gives the URL."""
    measured = metrics.Metrics()
    measured.added()
    async with plane.carrier(server) as line:
        page = serving.exposition(measured, client.Client(line, settings=client.Retrying(attempts=1)), more)
        where = listen.bind(LOOPBACK)
        url = 'http://{}:{}/metrics'.format(*where.getsockname())
        async with pages.served({'/metrics': page}, where):
            yield url


async def get(url: str, authorization: str | None = None) -> tuple[int, str]:
    headers = {'Authorization': authorization} if authorization else {}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ('authorization', 'status', 'text'),
    [
        pytest.param(None, 401, 'a bearer token is needed', id='nobody'),
        pytest.param('Basic YTpi', 401, 'a bearer token is needed', id='another scheme'),
        pytest.param('Bearer ', 401, 'a bearer token is needed', id='no token'),
        pytest.param('Bearer guessed', 401, 'the token is not valid', id='a token of nobody'),
        pytest.param('Bearer of-eve', 403, 'eve may not get /metrics', id='somebody without the right'),
        pytest.param('Bearer of-prometheus', 200, 'workqueue_adds_total{name="jobset"} 1.0', id='a reader'),
        pytest.param('bearer of-prometheus', 200, 'workqueue_adds_total{name="jobset"} 1.0', id='scheme in any case'),
    ],
)
async def test_metrics_are_for_those_who_may_get_them(authorization: str | None, status: int, text: str) -> None:
    server = plane.Plane()
    server.tokens = {'of-eve': 'eve', 'of-prometheus': 'prometheus'}
    server.readers = {'prometheus'}

    async with serving_metrics(server) as url:
        answer = await get(url, authorization)

    assert answer[0] == status
    assert text in answer[1]
    assert ('workqueue_adds_total' in answer[1]) == (status == 200)


async def test_caller_that_cannot_be_checked_gets_nothing() -> None:
    server = plane.Plane()
    server.refuse = lambda seen: fakes.refusal(500, 'InternalError')

    async with serving_metrics(server) as url:
        status, text = await get(url, 'Bearer of-prometheus')

    assert (status, text) == (500, 'the caller cannot be checked\n')


async def test_metrics_of_the_webhook_server_are_added() -> None:
    server = plane.Plane()
    server.tokens, server.readers = {'t': 'prometheus'}, {'prometheus'}

    async def more() -> bytes:
        return b'controller_runtime_webhook_requests_total 5\n'

    async with serving_metrics(server, more) as url:
        status, text = await get(url, 'Bearer t')

    assert status == 200
    assert text.endswith('\ncontroller_runtime_webhook_requests_total 5\n')


@pytest.mark.parametrize(
    ('trouble', 'status', 'text'),
    [
        pytest.param(None, 200, 'ok', id='all is well'),
        pytest.param('caches are being filled', 500, 'caches are being filled\n', id='something is not'),
    ],
)
async def test_probe(trouble: str | None, status: int, text: str) -> None:
    async def check() -> str | None:
        return trouble

    where = listen.bind(LOOPBACK)
    url = 'http://{}:{}/readyz'.format(*where.getsockname())
    async with pages.served({'/readyz': serving.probe(check)}, where):
        answer = await get(url)

    assert answer == (status, text)
