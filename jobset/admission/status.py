"""What the process tells about itself, over plain HTTP: ``/healthz``, ``/readyz``, ``/metrics``.

It is meant for the process that started this one, which answers probes and scrapes for both: see the package's
``__main__``.
"""

import contextlib
import socket
from collections.abc import AsyncIterator

from jobset.admission import metrics
from jobset.kube import pages
from jobset.kube.httpserver import Answer, Head

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
        answers = {'/healthz': self._healthz, '/readyz': self._readyz, '/metrics': self._metrics}
        async with pages.served(answers, where):
            yield

    async def _healthz(self, _: Head) -> Answer:
        return pages.text('ok')

    async def _readyz(self, _: Head) -> Answer:
        return pages.text('ok') if self.trouble is None else pages.text(self.trouble, 503)

    async def _metrics(self, _: Head) -> Answer:
        return Answer(200, self._counters.text(), EXPOSITION)
