"""What the webhook server counts, under controller-runtime's names."""

import bisect
import datetime
import itertools
import time
from collections.abc import Iterator

import prometheus_client
from prometheus_client import core

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        self._routes: dict[str, _Route] = {}
        self.registry.register(self)
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

    def served(self, webhook: str) -> 'Serving':
        """One request to a webhook, from now until its caller says that it is answered."""
        route = self._routes.get(webhook)
        if route is None:
            route = self._routes[webhook] = _Route()
        return Serving(route)

    def collect(self) -> Iterator[core.Metric]:
        """What has been counted of requests, for the registry.

        Counters of the library, with their locks, would take as long as a quick answer itself.
        """
        requests = core.CounterMetricFamily(
            'controller_runtime_webhook_requests_total',
            'Total number of admission requests by HTTP status code.',
            labels=['webhook', 'code'],
        )
        latency = core.HistogramMetricFamily(
            'controller_runtime_webhook_latency_seconds',
            'Histogram of the latency of processing admission requests.',
            labels=['webhook'],
        )
        in_flight = core.GaugeMetricFamily(
            'controller_runtime_webhook_requests_in_flight',
            'Current number of admission requests being served.',
            labels=['webhook'],
        )
        for webhook, route in self._routes.items():
            for code, count in route.codes.items():
                requests.add_metric([webhook, str(code)], count)
            below = itertools.accumulate(route.buckets)
            bounds = [*map(str, map(float, BUCKETS)), '+Inf']
            latency.add_metric([webhook], list(zip(bounds, below, strict=True)), route.seconds)
            in_flight.add_metric([webhook], route.in_flight)
        yield from (requests, latency, in_flight)

    def certificate_expires(self, at: datetime.datetime) -> None:
        """Tell of the certificate that is shown now; ``at`` is aware."""
        self._expiry.set(at.timestamp())

    def text(self) -> bytes:
        """The exposition format, ``text/plain; version=0.0.4``."""
        return prometheus_client.generate_latest(self.registry)


class _Route:
    """What has been counted of one webhook."""

    __slots__ = ('buckets', 'codes', 'in_flight', 'seconds')

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.codes: dict[int, int] = {}
        self.in_flight = 0
        self.seconds = 0.0


class Serving:
    """One request while it is answered."""

    __slots__ = ('_route', '_started')

    def __init__(self, route: _Route) -> None:
        self._route = route
        route.in_flight += 1
        self._started = time.perf_counter()

    def end(self, code: int) -> None:
        """It is answered, with this HTTP status."""
        route = self._route
        route.in_flight -= 1
        route.codes[code] = route.codes.get(code, 0) + 1
        taken = time.perf_counter() - self._started
        route.seconds += taken
        route.buckets[bisect.bisect_left(BUCKETS, taken)] += 1
