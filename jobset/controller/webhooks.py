"""The webhook server as a child process, kept running.

It is a process of its own so that admission, which every creation waits for, never waits for a pass.
"""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence
from typing import Final

import aiohttp

from jobset.admission import listen

logger = logging.getLogger(__name__)

_GRACE_SECONDS: Final = 8
"""How long the server may take to finish what is under way; less than the pod's own grace of ten seconds."""

_PAUSE_SECONDS: Final = (0.5, 1, 2, 5, 10, 30)
"""Before each new start after the server ended by itself; the last one for all further ones."""

_STEADY_SECONDS: Final = 60
"""A server that ran this long was well: the pauses begin anew."""


class Webhooks:
    """Runs ``python -m jobset.admission`` with the given arguments; its health is asked on a loopback port."""

    def __init__(self, arguments: Sequence[str], *, health_port: int) -> None:
        where = f'{listen.LOOPBACK}:{health_port}'
        self._arguments = (*arguments, '--health-probe-bind-address', where, '--stop-at-end-of-input')
        self._status = f'http://{where}'
        self._process: asyncio.subprocess.Process | None = None

    async def run(self) -> None:
        """Keep the server running until cancelled, then end it."""
        loop = asyncio.get_running_loop()
        pauses = iter(_PAUSE_SECONDS)
        while True:
            started = loop.time()
            try:
                code = await self._run_once()
            finally:
                await self._end()
            if loop.time() - started > _STEADY_SECONDS:
                pauses = iter(_PAUSE_SECONDS)
            pause = next(pauses, _PAUSE_SECONDS[-1])
            logger.error('the webhook server ended with code %s; starting it again in %s s', code, pause)
            await asyncio.sleep(pause)

    async def _run_once(self) -> int:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            '-m',
            'jobset.admission',
            *self._arguments,
            # It reads nothing there, but sees it closed when we are gone, however we went.
            stdin=asyncio.subprocess.PIPE,
        )
        return await self._process.wait()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            process.send_signal(signal.SIGTERM)
        try:
            # Not asyncio.timeout: before Python 3.11.5 it does not work in a task that is being cancelled, as here.
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
        except TimeoutError:
            logger.warning('the webhook server did not end within %s s; killing it', _GRACE_SECONDS)
            process.kill()
            await process.wait()

    async def trouble(self) -> str | None:
        """Why the server is not ready to answer; None when it is."""
        if self._process is None:
            return 'the webhook server is not running'
        try:
            status, text = await self._ask('/readyz')
        except (aiohttp.ClientError, TimeoutError) as error:
            return f'the webhook server does not answer: {error!r}'
        return None if status == 200 else text.decode(errors='replace').strip()

    async def metrics(self) -> bytes:
        """What the server measures, in the text format; nothing while it does not answer."""
        try:
            status, text = await self._ask('/metrics')
        except (aiohttp.ClientError, TimeoutError) as error:
            logger.warning('the webhook server gives no metrics: %r', error)
            return b''
        return text if status == 200 else b''

    async def _ask(self, path: str) -> tuple[int, bytes]:
        timeout = aiohttp.ClientTimeout(total=2)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(self._status + path) as answer:
            return answer.status, await answer.read()
