"""What the webhook server counts, under controller-runtime's names."""

import datetime
import time
from typing import Self

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
        self._routes: dict[str, _Route] = {}
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

    def served(self, webhook: str) -> 'Outcome':
        """Counts one request; the block sets the code."""
        return Outcome(self._routes.get(webhook) or self._route(webhook))

    def _route(self, webhook: str) -> '_Route':
        # Looking up labels takes longer than counting: it is done once for each webhook.
        route = self._routes[webhook] = _Route(self._latency.labels(webhook), self._requests, webhook)
        self._in_flight.labels(webhook).set_function(lambda: route.in_flight)
        return route

    def certificate_expires(self, at: datetime.datetime) -> None:
        """Tell of the certificate that is shown now; ``at`` is aware."""
        self._expiry.set(at.timestamp())

    def text(self) -> bytes:
        """The exposition format, ``text/plain; version=0.0.4``."""
        return prometheus_client.generate_latest(self.registry)


class _Route:
    """The counters of one webhook."""

    def __init__(
        self,
        latency: prometheus_client.Histogram,
        requests: prometheus_client.Counter,
        webhook: str,
    ) -> None:
        self.latency = latency
        self.in_flight = 0
        self._requests = requests
        self._webhook = webhook
        self._by_code: dict[int, prometheus_client.Counter] = {}

    def answered(self, code: int) -> None:
        counter = self._by_code.get(code)
        if counter is None:
            counter = self._by_code[code] = self._requests.labels(self._webhook, str(code))
        counter.inc()


class Outcome:
    """One request while it is answered, and the HTTP status that it is answered with; an exception is a 500."""

    __slots__ = ('_route', '_started', 'code')

    def __init__(self, route: _Route) -> None:
        self.code = 500
        self._route = route
        self._started = 0.0

    def __enter__(self) -> Self:
        self._route.in_flight += 1
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        route = self._route
        route.in_flight -= 1
        route.latency.observe(time.perf_counter() - self._started)
        route.answered(self.code)
