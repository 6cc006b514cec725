"""What the process tells about itself, over plain HTTP: ``/healthz``, ``/readyz``, ``/metrics``.

It is meant for the process that started this one, which answers probes and scrapes for both: see the package's
``__main__``.
"""

import contextlib
import socket
from collections.abc import AsyncIterator

from aiohttp import web

from jobset.admission import metrics

NO_CERTIFICATE = 'certificates are not ready'
NOT_LISTENING = 'webhook server is not listening'
ENDING = 'webhook server is ending'

EXPOSITION = 'text/plain; version=0.0.4; charset=utf-8'


class Status:
    """Whether webhooks are answered."""

    def __init__(self, counters: metrics.Metrics) -> None:
        self.trouble: str | None = NO_CERTIFICATE
        """Why not; None while they are."""

        self._counters = counters

    @contextlib.asynccontextmanager
    async def listening(self, where: socket.socket) -> AsyncIterator[None]:
        """Answers on a bound socket inside the block, and closes it."""
        app = web.Application()
        app.add_routes(
            [
                web.get('/healthz', self._healthz),
                web.get('/readyz', self._readyz),
                web.get('/metrics', self._metrics),
            ]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.SockSite(runner, where).start()
            yield
        finally:
            await runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text='ok')

    async def _readyz(self, _: web.Request) -> web.Response:
        return web.Response(text='ok') if self.trouble is None else web.Response(status=503, text=self.trouble)

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._counters.text(), headers={'Content-Type': EXPOSITION})
