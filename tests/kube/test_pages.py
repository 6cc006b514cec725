"""Pages by their paths."""

import socket

import aiohttp
import pytest

from jobset.kube import pages
from jobset.kube.httpserver import Answer, Head


async def ask(method: str, path: str) -> tuple[int, str, str]:
    """Code, type and text of the answer."""

    async def hello(head: Head) -> Answer:
        return pages.text(f'hello, {head.headers["x-name"]}')

    async def broken(_: Head) -> Answer:
        raise KeyError('secret')

    where = socket.create_server(('127.0.0.1', 0))
    url = 'http://{}:{}'.format(*where.getsockname())
    async with (
        pages.served({'/hello': hello, '/broken': broken}, where),
        aiohttp.ClientSession(headers={'X-Name': 'you'}) as session,
        session.request(method, url + path) as answer,
    ):
        return answer.status, answer.headers['Content-Type'], await answer.text()


@pytest.mark.parametrize(
    ('method', 'path', 'code', 'text'),
    [
        ('GET', '/hello?x=y', 200, 'hello, you'),
        ('HEAD', '/hello', 200, ''),
        ('GET', '/other', 404, '404: Not Found'),
        ('POST', '/hello', 405, '405: Method Not Allowed'),
        ('GET', '/broken', 500, 'the page cannot be made; see the log'),
    ],
)
async def test_pages(method: str, path: str, code: int, text: str) -> None:
    assert await ask(method, path) == (code, 'text/plain; charset=utf-8', text)
