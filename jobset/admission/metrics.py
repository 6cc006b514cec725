"""What the webhook server counts, under controller-runtime's names."""

import contextlib
import datetime
import time
from collections.abc import Iterator

import prometheus_client

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        self._requests = prometheus_client.Counter(
            'controller_runtime_webhook_requests_total',
            'Total number of admission requests by HTTP status code.',
            ['webhook', 'code'],
            registry=self.registry,
        )
        self._latency = prometheus_client.Histogram(
            'controller_runtime_webhook_latency_seconds',
            'Histogram of the latency of processing admission requests.',
            ['webhook'],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._in_flight = prometheus_client.Gauge(
            'controller_runtime_webhook_requests_in_flight',
            'Current number of admission requests being served.',
            ['webhook'],
            registry=self.registry,
        )
        self._expiry = prometheus_client.Gauge(
            'jobset_webhook_certificate_expiry_timestamp_seconds',
            'When the serving certificate of the webhooks expires, in seconds since the epoch; 0 while there is none.',
            registry=self.registry,
        )

        # Not rest_client_requests_total: the controller serves that beside this, and a name may stand there only once.
        self._asked = prometheus_client.Counter(
            'jobset_webhook_api_requests_total',
            'Requests of the webhook server to the API server, by HTTP status code and method.',
            ['code', 'method'],
            registry=self.registry,
        )

    def asked(self, code: str, method: str, host: str, seconds: float) -> None:
        """Counts one request to the API server."""
        del host, seconds
        self._asked.labels(code, method).inc()

    @contextlib.contextmanager
    def served(self, webhook: str) -> Iterator['Outcome']:
        """Counts one request; the block sets the code."""
        outcome = Outcome()
        started = time.perf_counter()
        self._in_flight.labels(webhook).inc()
        try:
            yield outcome
        finally:
            self._in_flight.labels(webhook).dec()
            self._latency.labels(webhook).observe(time.perf_counter() - started)
            self._requests.labels(webhook, str(outcome.code)).inc()

    def certificate_expires(self, at: datetime.datetime) -> None:
        """Tell of the certificate that is shown now; ``at`` is aware."""
        self._expiry.set(at.timestamp())

    def text(self) -> bytes:
        """The exposition format, ``text/plain; version=0.0.4``."""
        return prometheus_client.generate_latest(self.registry)


class Outcome:
    """The HTTP status that a request was answered with; an exception is a 500."""

    code: int = 500
