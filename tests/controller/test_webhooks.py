"""The webhook server as a child: started again when it ends, ended when we end, asked how it is."""

import asyncio
import contextlib
import pathlib
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from jobset.controller import webhooks

SECONDS = 60
"""How long a test waits for something that must come; a defect, not slowness, makes it fail."""

STAND_IN = """#!{python}
import pathlib, signal, sys, time
notes = pathlib.Path({notes!r})
def note(text):
    with notes.open('a') as file:
        file.write(text + '\\n')
def end(number, frame):
    note('told to end')
    if {behaviour!r} != 'deaf':
        sys.exit(0)
signal.signal(signal.SIGTERM, end)
note('started ' + ' '.join(sys.argv[1:]))
if {behaviour!r} == 'ends':
    sys.exit(3)
sys.stdin.read()
note('input ended')
"""


class StandIn:
    """A program in place of Python, which notes what happens to it."""

    def __init__(self, folder: pathlib.Path, behaviour: str) -> None:
        self.notes = folder / 'notes'
        self.program = folder / 'program'
        text = STAND_IN.format(python=sys.executable, notes=str(self.notes), behaviour=behaviour)
        self.program.write_text(text)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def said(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    async def until(self, holds: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not holds(self.said()):
                await asyncio.sleep(0.01)


@pytest.fixture
def stand_in(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], StandIn]:
    def make(behaviour: str) -> StandIn:
        one = StandIn(tmp_path, behaviour)
        monkeypatch.setattr(sys, 'executable', str(one.program))
        return one

    return make


@contextlib.asynccontextmanager
async def running(one: webhooks.Webhooks) -> AsyncIterator['asyncio.Task[None]']:
    task = asyncio.create_task(one.run())
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_server_that_ends_is_started_again_ever_more_slowly(
    stand_in: Callable[[str], StandIn], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhooks, '_PAUSE_SECONDS', (0.01, 0.02, 0.03))
    child = stand_in('ends')

    async with running(webhooks.Webhooks(['--config', 'file'], health_port=5)):
        await child.until(lambda said: len(said) >= 5)

    said = child.said()
    arguments = '-m jobset.admission --config file --health-probe-bind-address 127.0.0.1:5 --stop-at-end-of-input'
    assert set(said) == {f'started {arguments}'}
    texts = [record.getMessage() for record in caplog.records]
    assert texts[:4] == [
        f'the webhook server ended with code 3; starting it again in {pause} s' for pause in (0.01, 0.02, 0.03, 0.03)
    ]


async def test_pauses_begin_anew_after_a_steady_time(
    stand_in: Callable[[str], StandIn], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhooks, '_PAUSE_SECONDS', (0.01, 1000))
    monkeypatch.setattr(webhooks, '_STEADY_SECONDS', 0)
    child = stand_in('ends')

    async with running(webhooks.Webhooks([], health_port=5)):
        await child.until(lambda said: len(said) >= 4)

    assert {record.args[1] for record in caplog.records if isinstance(record.args, tuple)} == {0.01}


async def test_end_asks_the_server_to_end(stand_in: Callable[[str], StandIn]) -> None:
    child = stand_in('stays')

    async with running(webhooks.Webhooks([], health_port=5)) as task:
        await child.until(bool)

    assert child.said()[1:] == ['told to end']
    assert task.cancelled()


async def test_server_that_does_not_listen_is_killed(
    stand_in: Callable[[str], StandIn], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhooks, '_GRACE_SECONDS', 0.2)
    child, codes = stand_in('deaf'), []
    one = webhooks.Webhooks([], health_port=5)

    async with running(one):
        await child.until(bool)
        process = one._process
        assert process is not None
    codes.append(process.returncode)

    assert codes == [-signal.SIGKILL]
    assert 'the webhook server did not end within 0.2 s; killing it' in caplog.text


@contextlib.asynccontextmanager
async def answering(status: int, text: str) -> AsyncIterator[int]:
    """A webhook server that answers every question alike; gives its port."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=text)

    app = web.Application()
    app.router.add_get('/{path:.*}', answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, '127.0.0.1', 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ('status', 'text', 'trouble', 'metrics'),
    [
        pytest.param(200, 'ok', None, b'ok', id='well'),
        pytest.param(500, 'no certificate yet\n', 'no certificate yet', b'', id='not ready'),
    ],
)
async def test_health_and_metrics_are_those_of_the_server(
    status: int, text: str, trouble: str | None, metrics: bytes, stand_in: Callable[[str], StandIn]
) -> None:
    child = stand_in('stays')

    async with answering(status, text) as port:
        one = webhooks.Webhooks([], health_port=port)
        async with running(one):
            await child.until(bool)
            seen = await one.trouble(), await one.metrics()

    assert seen == (trouble, metrics)


async def test_server_that_is_not_there_is_trouble_and_has_no_metrics(stand_in: Callable[[str], StandIn]) -> None:
    child = stand_in('stays')
    async with answering(200, 'ok') as port:
        pass
    one = webhooks.Webhooks([], health_port=port)

    before = await one.trouble()
    async with running(one):
        await child.until(bool)
        trouble, metrics = await one.trouble(), await one.metrics()

    assert before == 'the webhook server is not running'
    assert trouble is not None
    assert trouble.startswith('the webhook server does not answer: ')
    assert metrics == b''
