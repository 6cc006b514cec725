"""What can be measured of the controller, under the names that dashboards for the Go controller use.

Source: controller-runtime's metric names for work queues, clients, reconciles and leadership, and JobSet's own two
counters. Names and labels are a contract; numbers of JobSets are not counted into label values that never go away: see
:meth:`Metrics.forget`.
"""

from collections.abc import Callable
from typing import Final

import prometheus_client
from prometheus_client import registry

from jobset.api import types

CONTROLLER: Final = 'jobset'
_DURATIONS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_QUEUE_DURATIONS: Final = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000)


prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """All metrics of one process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.GCCollector(registry=self.registry)
        counter, gauge, histogram = self._counter, self._gauge, self._histogram

        self._completed = counter('jobset_completed_total', 'JobSets that completed', 'jobset_name', 'namespace')
        self._failed = counter('jobset_failed_total', 'JobSets that failed', 'jobset_name', 'namespace')
        self._passes = counter('controller_runtime_reconcile_total', 'Passes by result', 'controller', 'result')
        self._looked_up: dict[tuple[prometheus_client.Counter, *tuple[str, ...]], prometheus_client.Counter] = {}
        self._pass_errors = counter('controller_runtime_reconcile_errors_total', 'Failed passes', 'controller')
        # Looking up labels takes longer than counting: what each pass counts is looked up once, here.
        self._pass_times = histogram(
            'controller_runtime_reconcile_time_seconds', 'How long a pass takes', _DURATIONS, 'controller'
        ).labels(CONTROLLER)
        self._requests = counter('rest_client_requests_total', 'Requests to the API server', 'code', 'host', 'method')
        self._leads = gauge('leader_election_master_status', 'Whether this replica leads', 'name')
        self._dropped_events = counter('jobset_events_dropped_total', 'Events that could not be sent')

        self._depth = gauge('workqueue_depth', 'JobSets that wait for a pass', 'name').labels(CONTROLLER)
        self._adds = counter('workqueue_adds_total', 'JobSets put into the queue', 'name')
        self._retries = counter('workqueue_retries_total', 'Passes that are to be repeated', 'name')
        self._waited = histogram(
            'workqueue_queue_duration_seconds', 'How long a JobSet waits', _QUEUE_DURATIONS, 'name'
        ).labels(CONTROLLER)
        worked = histogram('workqueue_work_duration_seconds', 'How long work takes', _QUEUE_DURATIONS, 'name')
        self._worked = worked.labels(CONTROLLER)

    def _counter(self, name: str, text: str, *labels: str) -> prometheus_client.Counter:
        return prometheus_client.Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> prometheus_client.Gauge:
        return prometheus_client.Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> prometheus_client.Histogram:
        return prometheus_client.Histogram(name, text, labels, buckets=buckets, registry=self.registry)

    def _of(self, counter: prometheus_client.Counter, *labels: str) -> prometheus_client.Counter:
        found = self._looked_up.get((counter, *labels))
        if found is None:
            found = self._looked_up[(counter, *labels)] = counter.labels(*labels)
        return found

    def follow(self, unfinished: Callable[[], float], longest: Callable[[], float]) -> None:
        """Measure the passes under way, in seconds, each time that somebody looks: all together, and the oldest."""
        names = {
            'workqueue_unfinished_work_seconds': unfinished,
            'workqueue_longest_running_processor_seconds': longest,
        }
        for name, measure in names.items():
            gauge = self._gauge(name, 'How long passes under way have taken so far', 'name')
            gauge.labels(CONTROLLER).set_function(measure)

    def ended(self, jobset: types.JobSet, state: str) -> None:
        """A terminal state has been stored."""
        counter = self._completed if state == types.TerminalState.COMPLETED else self._failed
        counter.labels(jobset.metadata.name, jobset.metadata.namespace).inc()

    def forget(self, namespace: str, name: str) -> None:
        """A JobSet is gone: its label values go with it."""
        for counter in (self._completed, self._failed):
            counter.remove_by_labels({'jobset_name': name, 'namespace': namespace})

    def passed(self, result: str, seconds: float) -> None:
        """A pass is over; ``result`` is ``success``, ``error`` or ``requeue_after``."""
        self._of(self._passes, CONTROLLER, result).inc()
        if result == 'error':
            self._pass_errors.labels(CONTROLLER).inc()
        self._pass_times.observe(seconds)

    def answered(self, code: str, method: str, host: str, seconds: float) -> None:
        """The API server answered; ``code`` is ``<error>`` where it did not."""
        del seconds
        self._requests.labels(code, host, method).inc()

    def leads(self, name: str, now: bool) -> None:
        """This replica leads, or does not."""
        self._leads.labels(name).set(int(now))

    def event_dropped(self, reason: str) -> None:
        """An event could not be sent."""
        del reason
        self._dropped_events.inc()

    # What the work queue reports.

    def depth(self, length: int) -> None:
        """So many keys wait."""
        self._depth.set(length)

    def added(self) -> None:
        """A key was put into the queue."""
        self._of(self._adds, CONTROLLER).inc()

    def retried(self) -> None:
        """A key is to be worked on again after a failure."""
        self._retries.labels(CONTROLLER).inc()

    def waited(self, seconds: float) -> None:
        """A key has waited."""
        self._waited.observe(seconds)

    def worked(self, seconds: float) -> None:
        """A key has been worked on."""
        self._worked.observe(seconds)

    def exposition(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return prometheus_client.generate_latest(self.registry)
