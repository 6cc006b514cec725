"""Requests over HTTP: what comes back, what is sent again, what is never sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from jobset.api import meta
from jobset.kube import auth, client, errors, requests, transport
from tests.kube import fakes

PATH = '/apis/batch/v1/namespaces/ns/jobs'
JOB = {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'a', 'namespace': 'ns'}}
CREATE = requests.create(requests.JOBS, 'ns', dict(JOB))
READ = requests.read(requests.JOBS, 'ns', 'a')
REPLACE = requests.replace(requests.JOBS, 'ns', 'a', dict(JOB))
DELETE = requests.delete(requests.JOBS, 'ns', 'a', uid='uid-1')

QUICK = client.Retrying(base=0.001)
BUSY = fakes.refusal(429, 'TooManyRequests', 'slow down')
SOON = fakes.refusal(429, 'TooManyRequests', 'slow down', headers={'Retry-After': '0'})
BROKEN = fakes.refusal(500, 'InternalError', 'etcd leader changed')
CUT = fakes.Answer(cut=True)


@dataclass
class Notes:
    """What the client reports beside its answers."""

    answers: list[tuple[str, str]] = field(default_factory=list)
    retries: list[tuple[str, str]] = field(default_factory=list)

    def on_answer(self, code: str, method: str, host: str, seconds: float) -> None:
        assert host.startswith('127.0.0.1:')
        assert seconds > 0
        self.answers.append((code, method))

    def on_retry(self, method: str, reason: str) -> None:
        self.retries.append((method, reason))


@contextlib.asynccontextmanager
async def connected(
    server: fakes.Server,
    *,
    notes: Notes | None = None,
    settings: transport.Requesting | None = None,
    retrying: client.Retrying = QUICK,
) -> AsyncIterator[client.Client]:
    notes = notes or Notes()
    async with fakes.served(server) as url:
        carrier = transport.Transport(
            auth.Plain(url), user_agent='test/1.0 (linux/amd64)', settings=settings, on_answer=notes.on_answer
        )
        async with carrier:
            yield client.Client(carrier, settings=retrying, on_retry=notes.on_retry)


async def test_answers_are_values() -> None:
    server = fakes.Server()
    async with connected(server) as one:
        created = await one.request(CREATE, meta.Partial)
        read = await one.request(READ, meta.Partial)
        await one.send(DELETE)
        with pytest.raises(errors.NotFound) as missing:
            await one.request(READ, meta.Partial)

    assert created == read
    assert created.metadata == meta.ObjectMeta(name='a', namespace='ns', uid='uid-1', resource_version='101')
    assert str(missing.value) == f'GET {PATH}/a: 404 NotFound: jobs "a" not found'
    assert [str(one) for one in server.seen] == [
        f'POST {PATH}',
        f'GET {PATH}/a',
        f'DELETE {PATH}/a',
        f'GET {PATH}/a',
    ]


async def test_headers() -> None:
    server = fakes.Server()
    async with connected(server) as one:
        await one.send(CREATE)
        await one.send(requests.patch(requests.JOBS, 'ns', 'a', {'spec': {}}, requests.Patch.MERGE))

    assert [one.headers['Content-Type'] for one in server.seen] == ['application/json', 'application/merge-patch+json']
    assert {one.headers['User-Agent'] for one in server.seen} == {'test/1.0 (linux/amd64)'}
    assert {one.headers['Accept'] for one in server.seen} == {'application/json'}


@pytest.mark.parametrize(
    ('request_', 'faults', 'sent'),
    [
        pytest.param(READ, [BROKEN, BROKEN], 3, id='a read is repeated after a server error'),
        pytest.param(READ, [CUT], 2, id='a read is repeated after a cut'),
        pytest.param(DELETE, [BROKEN, CUT], 3, id='a deletion may be repeated, it is of one uid'),
        pytest.param(CREATE, [BUSY, SOON], 3, id='a creation that was refused unseen is repeated'),
        pytest.param(REPLACE, [BUSY], 2, id='a replacement that was refused unseen is repeated'),
    ],
)
async def test_repeated(request_: requests.Request, faults: list[fakes.Answer], sent: int) -> None:
    server = fakes.Server()
    if request_ is not CREATE:
        server.put(requests.JOBS, 'ns', 'a')
    server.faults.extend(faults)
    notes = Notes()
    async with connected(server, notes=notes) as one:
        await one.send(request_)

    assert [one.method for one in server.seen] == [request_.method] * sent
    assert len(notes.retries) == sent - 1
    codes = ['<error>' if fault.cut else str(fault.code) for fault in faults]
    assert notes.answers[:-1] == [(code, request_.method) for code in codes]


@pytest.mark.parametrize(
    ('request_', 'fault', 'error', 'reason'),
    [
        pytest.param(CREATE, BROKEN, errors.ServerError, 'InternalError', id='a creation that may have happened'),
        pytest.param(REPLACE, BROKEN, errors.ServerError, 'InternalError', id='a replacement that may have happened'),
        pytest.param(CREATE, CUT, errors.Unreachable, 'Unreachable', id='a creation that was cut'),
        pytest.param(READ, fakes.refusal(403, 'Forbidden'), errors.Forbidden, 'Forbidden', id='a lack of permission'),
        pytest.param(REPLACE, fakes.refusal(409, 'Conflict'), errors.Conflict, 'Conflict', id='a conflict'),
        pytest.param(
            CREATE, fakes.refusal(409, 'AlreadyExists'), errors.AlreadyExists, 'AlreadyExists', id='a name in use'
        ),
        pytest.param(READ, fakes.refusal(410, 'Expired'), errors.Gone, 'Expired', id='a version of long ago'),
        pytest.param(
            CREATE,
            fakes.refusal(429, 'TooManyRequests', headers={'Retry-After': '60'}),
            errors.TooManyRequests,
            'TooManyRequests',
            id='a wait that is too long to sit out',
        ),
    ],
)
async def test_not_repeated(
    request_: requests.Request,
    fault: fakes.Answer,
    error: type[errors.ApiError],
    reason: str,
) -> None:
    server = fakes.Server()
    server.faults.append(fault)
    async with connected(server) as one:
        with pytest.raises(errors.ApiError) as raised:
            await one.send(request_)

    assert type(raised.value) is error
    assert raised.value.reason == reason
    assert len(server.seen) == 1


async def test_repetition_is_bounded() -> None:
    server = fakes.Server()
    server.faults.extend([BROKEN] * 10)
    async with connected(server) as one:
        with pytest.raises(errors.ServerError, match='etcd leader changed'):
            await one.send(READ)

    assert len(server.seen) == 3


async def test_what_the_server_asks_to_wait_comes_through() -> None:
    server = fakes.Server()
    server.faults.append(fakes.refusal(503, 'ServiceUnavailable', headers={'Retry-After': '30'}))
    async with connected(server) as one:
        with pytest.raises(errors.RetryLater) as raised:
            await one.send(CREATE)

    assert raised.value.retry_after == 30


async def test_a_cut_write_says_that_it_was_sent_and_a_refused_connection_that_it_was_not() -> None:
    server = fakes.Server()
    server.faults.append(CUT)
    async with connected(server) as one:
        with pytest.raises(errors.Unreachable) as cut:
            await one.send(CREATE)
    # The port is free again: nobody listens there.
    carrier = transport.Transport(auth.Plain('http://127.0.0.1:9'), user_agent='test')
    async with carrier:
        with pytest.raises(errors.Unreachable) as refused:
            await client.Client(carrier, settings=QUICK).send(CREATE)

    assert cut.value.sent
    assert not refused.value.sent
    assert str(refused.value).startswith(f'POST {PATH}: Unreachable: cannot connect to 127.0.0.1:9: Connection refused')


async def test_a_silent_server_is_given_up() -> None:
    # It waits for a second request, which never comes.
    crowd = Crowd(size=2)
    listener = await asyncio.start_server(crowd.serve, '127.0.0.1', 0)
    port = listener.sockets[0].getsockname()[1]
    settings = transport.Requesting(timeout=0.05)
    carrier = transport.Transport(auth.Plain(f'http://127.0.0.1:{port}'), user_agent='test', settings=settings)
    async with listener, carrier:
        with pytest.raises(errors.Unreachable) as raised:
            await client.Client(carrier, settings=QUICK).send(REPLACE)

    assert raised.value.sent


async def test_an_answer_that_cannot_be_read_is_an_error_of_its_own() -> None:
    server = fakes.Server()
    server.faults.append(fakes.Answer(body={'metadata': 'none'}))
    async with connected(server) as one:
        with pytest.raises(errors.Malformed, match=r'Expected `object`, got `str` - at `\$.metadata`'):
            await one.request(READ, meta.Partial)


async def test_the_guard_is_asked_before_each_attempt_to_write() -> None:
    server = fakes.Server()
    server.put(requests.JOBS, 'ns', 'a')
    server.faults.extend([BUSY, BUSY])
    asked: list[int] = []

    def guard() -> None:
        asked.append(len(server.seen))
        if len(asked) == 3:
            raise errors.NotLeading('lost')

    async with connected(server) as one:
        guarded = one.guarded(guard)
        with pytest.raises(errors.NotLeading):
            await guarded.send(REPLACE)
        await guarded.send(READ)
        await one.send(DELETE)

    assert asked == [0, 1, 2]
    assert [one.method for one in server.seen] == ['PUT', 'PUT', 'GET', 'DELETE']


@dataclass
class Crowd:
    """A server that answers nobody before so many wait at once."""

    size: int
    now: int = 0
    most: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await reader.readuntil(b'\r\n\r\n')
            self.now += 1
            self.most = max(self.most, self.now)
            async with self.changed:
                self.changed.notify_all()
                await self.changed.wait_for(lambda: self.most >= self.size)
            self.now -= 1
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
        writer.close()


async def test_requests_in_flight_are_bounded() -> None:
    crowd = Crowd(size=4)
    listener = await asyncio.start_server(crowd.serve, '127.0.0.1', 0)
    port = listener.sockets[0].getsockname()[1]
    settings = transport.Requesting(in_flight=4)
    carrier = transport.Transport(auth.Plain(f'http://127.0.0.1:{port}'), user_agent='test', settings=settings)
    async with listener, carrier:
        await asyncio.gather(*(client.Client(carrier).send(READ) for _ in range(20)))

    assert crowd.most == 4


class Tokens(auth.Plain):
    """A token that can be renewed."""

    def __init__(self, server: str, *tokens: str) -> None:
        super().__init__(server)
        self.tokens = list(tokens)
        self.is_due = False
        self.renewals = 0

    def headers(self) -> dict[str, str]:
        return {'Authorization': f'Bearer {self.tokens[0]}'}

    def due(self) -> bool:
        return self.is_due

    async def refresh(self) -> None:
        self.renewals += 1
        self.is_due = False
        await asyncio.sleep(0)
        if len(self.tokens) == 1:
            raise OSError('the identity provider is down')
        self.tokens.pop(0)


async def test_a_token_that_is_refused_is_renewed_once_for_all_who_use_it() -> None:
    server = fakes.Server()
    server.put(requests.JOBS, 'ns', 'a')
    server.faults.extend([fakes.refusal(401, 'Unauthorized')] * 4)
    async with fakes.served(server) as url:
        tokens = Tokens(url, 'old', 'new', 'newer')
        async with transport.Transport(tokens, user_agent='test') as carrier:
            one = client.Client(carrier)
            await asyncio.gather(*(one.send(READ) for _ in range(4)))

    assert tokens.renewals == 1
    assert [one.headers['Authorization'] for one in server.seen] == ['Bearer old'] * 4 + ['Bearer new'] * 4


async def test_a_token_that_stays_refused_is_an_error() -> None:
    server = fakes.Server()
    server.faults.extend([fakes.refusal(401, 'Unauthorized', 'token expired')] * 2)
    async with fakes.served(server) as url, transport.Transport(Tokens(url, 'a', 'b'), user_agent='test') as carrier:
        with pytest.raises(errors.Unauthorized, match='token expired'):
            await client.Client(carrier).send(READ)

    assert len(server.seen) == 2


async def test_a_token_that_cannot_be_renewed_early_is_used_on() -> None:
    server = fakes.Server()
    server.put(requests.JOBS, 'ns', 'a')
    async with fakes.served(server) as url:
        tokens = Tokens(url, 'old')
        tokens.is_due = True
        async with transport.Transport(tokens, user_agent='test') as carrier:
            await client.Client(carrier).send(READ)

    assert [one.headers['Authorization'] for one in server.seen] == ['Bearer old']


async def test_a_login_that_fails_is_not_tried_for_each_request() -> None:
    server = fakes.Server()
    server.faults.extend([fakes.refusal(401, 'Unauthorized')] * 3)
    async with fakes.served(server) as url:
        tokens = Tokens(url, 'old')
        async with transport.Transport(tokens, user_agent='test') as carrier:
            for _ in range(3):
                with pytest.raises(errors.Unreachable, match='credentials: '):
                    await client.Client(carrier, settings=client.Retrying(attempts=1)).send(READ)

    assert tokens.renewals == 1


@pytest.mark.parametrize(
    ('qps', 'burst', 'waits'),
    [
        pytest.param(10, 3, [0, 0, 0, 0.1, 0.2], id='a burst, then the rate'),
        pytest.param(2, 1, [0, 0.5, 1, 1.5, 2], id='the rate from the start'),
    ],
)
def test_token_bucket(qps: float, burst: int, waits: list[float]) -> None:
    bucket = transport.TokenBucket(qps, burst, clock=lambda: 50.0)

    assert [bucket.reserve() for _ in waits] == pytest.approx(waits)


def test_token_bucket_fills_up_again_to_its_burst() -> None:
    now = 50.0
    bucket = transport.TokenBucket(10, 2, clock=lambda: now)
    for _ in range(4):
        bucket.reserve()
    now = 90.0

    assert [bucket.reserve() for _ in range(4)] == pytest.approx([0, 0, 0.1, 0.2])
