"""What an object in lasting trouble costs the server: queue, client and server together, on a clock that jumps."""

import asyncio

import pytest

from jobset.api import meta
from jobset.kube import client, requests, workqueue
from tests.kube import fakes, virtual

JOBS = requests.JOBS


@pytest.mark.parametrize(
    ('faults', 'most'),
    [
        pytest.param([None, fakes.refusal(409, 'Conflict')], 20, id='409 for each write'),
        pytest.param([None, fakes.refusal(422, 'Invalid')], 20, id='422 for each write'),
        pytest.param([None, fakes.refusal(500, 'InternalError')], 20, id='500 for each write'),
        pytest.param([None, fakes.Answer(cut=True)], 20, id='each write is cut'),
        pytest.param([fakes.refusal(500, 'InternalError')], 20, id='500 for each request'),
        pytest.param([fakes.refusal(429, 'TooManyRequests')], 20, id='429 for each request'),
        pytest.param([fakes.refusal(429, 'TooManyRequests', headers={'Retry-After': '1'})], 20, id='429, a second'),
        pytest.param([fakes.refusal(429, 'TooManyRequests', headers={'Retry-After': '60'})], 1, id='429, a minute'),
        pytest.param([fakes.Answer(cut=True)], 20, id='each request is cut'),
    ],
)
@virtual.timed
async def test_few_requests_and_then_less_than_one_a_second(faults: list[fakes.Answer | None], most: int) -> None:
    server = fakes.Server()
    server.put(JOBS, 'ns', 'a')
    source = client.Client(fakes.Carrier(server))
    times: list[float] = []
    answer = server.answer

    def counting(seen: fakes.Seen) -> fakes.Answer:
        server.faults.clear()
        is_write = seen.method == 'PUT'
        server.faults.append(faults[-1] if is_write or len(faults) == 1 else faults[0])
        times.append(virtual.now())
        return answer(seen)

    server.answer = counting  # type: ignore[method-assign]

    async def reconcile(key: str) -> None:
        found = await source.request(requests.read(JOBS, 'ns', key), meta.Partial)
        await source.send(requests.replace(JOBS, 'ns', key, found))

    queue = workqueue.WorkQueue[str](on_error=lambda _key, _error: None)
    queue.add('a')
    asyncio.get_running_loop().call_later(3600, queue.stop)
    await queue.run(reconcile, workers=1)

    assert sum(at < 10 for at in times) <= most
    later = [at for at in times if at >= 10]
    for start in range(10, 3590, 10):
        assert sum(start <= at < start + 10 for at in later) <= 10
    assert len(later) >= 50
