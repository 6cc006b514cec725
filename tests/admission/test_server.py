"""The server over real TLS on loopback: answers, bounds, metrics, and a certificate that changes under load."""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from jobset.admission import certificates, handshake, listen, metrics, reviews, server, status
from jobset.api import features, keys, validation
from tests.admission import asking

POD_REVIEW = {
    'apiVersion': 'admission.k8s.io/v1',
    'kind': 'AdmissionReview',
    'request': {
        'uid': 'u-1',
        'kind': {'group': '', 'version': 'v1', 'kind': 'Pod'},
        'operation': 'CREATE',
        'object': {'metadata': {'name': 'p'}, 'spec': {}},
    },
}
ALLOWED = {
    'apiVersion': 'admission.k8s.io/v1',
    'kind': 'AdmissionReview',
    'response': {'uid': 'u-1', 'allowed': True},
}


async def nothing_exists(_: str, __: Sequence[str]) -> Mapping[str, validation.Found]:
    return {}


ROUTES = reviews.routes(gates=features.FeatureGates(), look_up=nothing_exists, leaders=asking.NOBODY)


@dataclass
class Running:
    url: str
    presenter: handshake.Presenter
    counters: metrics.Metrics

    def client(self, trusted: certificates.Bundle, **more: Any) -> aiohttp.ClientSession:
        context = ssl.create_default_context(cadata=trusted.authority.decode())
        return aiohttp.ClientSession(self.url, connector=aiohttp.TCPConnector(ssl=context, **more))

    def count(self, name: str, **labels: str) -> float | None:
        return self.counters.registry.get_sample_value(f'controller_runtime_webhook_{name}', labels)


@contextlib.asynccontextmanager
async def running(
    bundle: certificates.Bundle,
    routes: Mapping[str, tuple[reviews.GroupVersionKind, reviews.Handler]] = ROUTES,
    *,
    settings: server.Serving | None = None,
) -> AsyncIterator[Running]:
    counters = metrics.Metrics()
    presenter = handshake.Presenter(handshake.context())
    presenter.show(bundle.server)
    bound = listen.bind(listen.Address('127.0.0.1', 0))
    port = bound.getsockname()[1]
    made = server.Server(routes, counters, settings=settings)
    async with made.listening(bound, presenter.context):
        yield Running(f'https://localhost:{port}', presenter, counters)


@pytest.mark.parametrize('path', [keys.MUTATE_POD_PATH, keys.VALIDATE_POD_PATH])
async def test_a_review_is_answered(bundle: certificates.Bundle, path: str) -> None:
    async with running(bundle) as up, up.client(bundle) as session:
        async with session.post(path, json=POD_REVIEW, params={'timeout': '10s'}) as response:
            assert (response.status, response.content_type) == (200, 'application/json')
            assert await response.json() == ALLOWED
        assert up.count('requests_total', webhook=path, code='200') == 1
        assert up.count('requests_in_flight', webhook=path) == 0
        assert up.count('latency_seconds_count', webhook=path) == 1


def failure(code: int, reason: str, message: str) -> dict[str, Any]:
    return {
        'kind': 'Status',
        'apiVersion': 'v1',
        'status': 'Failure',
        'reason': reason,
        'message': message,
        'code': code,
    }


PATH = keys.VALIDATE_JOBSET_PATH


@pytest.mark.parametrize(
    ('body', 'content_type', 'expected'),
    [
        pytest.param(
            b'{',
            'application/json',
            failure(400, 'BadRequest', f'{PATH}: request body: not an AdmissionReview: Input data was truncated'),
            id='not JSON',
        ),
        pytest.param(
            json.dumps(POD_REVIEW).encode(),
            'application/json',
            failure(
                400,
                'BadRequest',
                f'{PATH}: request.kind: Pod.v1.core is not answered at this path, '
                'only JobSet.v1alpha2.jobset.x-k8s.io is',
            ),
            id='a review of something else',
        ),
        pytest.param(
            b'<a/>',
            'text/xml',
            failure(400, 'BadRequest', f'{PATH}: Content-Type: text/xml; send application/json'),
            id='another type of content',
        ),
        pytest.param(
            b' ' * 1001,
            'application/json',
            failure(413, 'RequestEntityTooLarge', f'{PATH}: the review is longer than 1000 bytes'),
            id='too long',
        ),
    ],
)
async def test_bad_requests_are_told_what_is_wrong(
    bundle: certificates.Bundle, body: bytes, content_type: str, expected: Mapping[str, Any]
) -> None:
    settings = server.Serving(largest_body=1000)
    async with running(bundle, settings=settings) as up, up.client(bundle) as session:
        async with session.post(PATH, data=body, headers={'Content-Type': content_type}) as response:
            assert response.status == expected['code']
            assert await response.json() == expected
        assert up.count('requests_total', webhook=PATH, code=str(expected['code'])) == 1
        # And it goes on.
        async with session.post(keys.VALIDATE_POD_PATH, json=POD_REVIEW) as response:
            assert await response.json() == ALLOWED


@pytest.mark.parametrize(
    ('method', 'path', 'code'),
    [
        pytest.param('GET', PATH, 405, id='another method'),
        pytest.param('POST', '/convert', 404, id='another path'),
    ],
)
async def test_other_requests(bundle: certificates.Bundle, method: str, path: str, code: int) -> None:
    async with running(bundle) as up, up.client(bundle) as session, session.request(method, path) as response:
        assert response.status == code


async def test_a_failure_of_ours_fails_one_review_only(
    bundle: certificates.Bundle, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: reviews.Request) -> reviews.Answer:
        raise KeyError('a mistake')

    path = keys.VALIDATE_POD_PATH
    routes = {**ROUTES, path: (reviews.POD, fail)}
    async with running(bundle, routes) as up, up.client(bundle) as session:
        async with session.post(path, json=POD_REVIEW) as response:
            message = f'{path}: the review failed; see the log of the controller'
            assert await response.json() == failure(500, 'InternalError', message)
        assert up.count('requests_total', webhook=path, code='500') == 1
        async with session.post(keys.MUTATE_POD_PATH, json=POD_REVIEW) as response:
            assert await response.json() == ALLOWED
    assert [record.getMessage() for record in caplog.records] == [f'{path}: review failed']


async def test_a_body_that_does_not_come_is_not_waited_for(bundle: certificates.Bundle) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{'
        await asyncio.Event().wait()

    settings = server.Serving(read_seconds=0.05)
    async with running(bundle, settings=settings) as up, up.client(bundle) as session:
        headers = {'Content-Type': 'application/json'}
        async with session.post(PATH, data=endless(), headers=headers) as response:
            message = f'{PATH}: request body: not complete after 0.05 s'
            assert await response.json() == failure(400, 'BadRequest', message)


async def test_requests_under_way_are_answered_at_the_end(bundle: certificates.Bundle) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def slow(_: reviews.Request) -> reviews.Answer:
        asked.set()
        await may_answer.wait()
        return reviews.ALLOWED

    path = keys.VALIDATE_POD_PATH
    routes = {**ROUTES, path: (reviews.POD, slow)}
    stop = asyncio.Event()
    address: list[Running] = []
    up = asyncio.Event()

    async def serve() -> None:
        async with running(bundle, routes) as made:
            address.append(made)
            up.set()
            await stop.wait()

    async def ask() -> Any:
        async with address[0].client(bundle) as session, session.post(path, json=POD_REVIEW) as response:
            return await response.json()

    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(serve())
        await up.wait()
        answer = tasks.create_task(ask())
        await asked.wait()
        stop.set()
        await refused(int(address[0].url.rpartition(':')[2]))
        assert not serving.done()
        may_answer.set()
    assert answer.result() == ALLOWED


async def refused(port: int) -> None:
    """Returns once nobody listens on the port any more."""
    while True:
        try:
            _, writer = await asyncio.open_connection('127.0.0.1', port)
        except ConnectionError:
            return
        writer.close()


async def test_a_new_certificate_fails_no_request(
    bundle: certificates.Bundle, other_bundle: certificates.Bundle
) -> None:
    both = certificates.Bundle(
        authority=bundle.authority + other_bundle.authority, authority_key=b'', server=bundle.server
    )
    changed = asyncio.Event()
    answered = {False: 0, True: 0}

    async with running(bundle) as up:

        async def ask(session: aiohttp.ClientSession) -> None:
            # Until twenty answers have come after the change.
            while answered[True] < 20:
                after = changed.is_set()
                async with session.post(keys.MUTATE_POD_PATH, json=POD_REVIEW) as response:
                    assert await response.json() == ALLOWED
                answered[after] += 1
                if answered[False] >= 20 and not after:
                    up.presenter.show(other_bundle.server)
                    changed.set()

        async with up.client(both) as kept, up.client(both, force_close=True) as fresh, asyncio.TaskGroup() as tasks:
            for session in (kept, kept, fresh, fresh):
                tasks.create_task(ask(session))

        # New connections see the new certificate, and it alone.
        async with up.client(other_bundle) as session, session.post(keys.MUTATE_POD_PATH, json=POD_REVIEW) as response:
            assert await response.json() == ALLOWED
        async with up.client(bundle) as session:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.post(keys.MUTATE_POD_PATH, json=POD_REVIEW)


async def test_status() -> None:
    counters = metrics.Metrics()
    state = status.Status(counters)
    bound = listen.bind(listen.Address('127.0.0.1', 0))
    url = f'http://127.0.0.1:{bound.getsockname()[1]}'

    async with state.listening(bound), aiohttp.ClientSession(url) as session:

        async def get(path: str) -> tuple[int, str]:
            async with session.get(path) as response:
                return response.status, await response.text()

        assert await get('/healthz') == (200, 'ok')
        assert await get('/readyz') == (503, 'certificates are not ready')
        state.trouble = None
        assert await get('/readyz') == (200, 'ok')
        state.trouble = status.ENDING
        assert await get('/readyz') == (503, 'webhook server is ending')
        assert await get('/healthz') == (200, 'ok')

        counters.served('/p').end(200)
        counters.served('/p')
        code, text = await get('/metrics')
        assert code == 200
        assert 'controller_runtime_webhook_requests_total{code="200",webhook="/p"} 1.0\n' in text
        assert 'controller_runtime_webhook_requests_in_flight{webhook="/p"} 1.0\n' in text
        assert 'controller_runtime_webhook_latency_seconds_bucket{le="0.005",webhook="/p"} 1.0\n' in text
        assert 'controller_runtime_webhook_latency_seconds_bucket{le="+Inf",webhook="/p"} 1.0\n' in text
        assert 'controller_runtime_webhook_latency_seconds_count{webhook="/p"} 1.0\n' in text
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', int(url.rpartition(':')[2])))
