"""Keeps the endpoint slices of all services."""

from dataclasses import dataclass
from typing import NoReturn

from jobset.kube import errors, index, requests, workqueue
from jobset.local.controllers import models, shared
from jobset.local.controllers.endpoints import matching, slicing

Key = matching.Key


@dataclass(frozen=True, kw_only=True)
class Batching:
    """How long changes of pods are gathered before the slices are written."""

    seconds_per_pod: float = 0.001
    """For each pod of the service: writing is as long as the service is large, and a large one starts in many steps."""

    cap_seconds: float = 1


class Endpoints:
    """The controller. Subscribed when it is made; the informers have to run beside it."""

    def __init__(self, informers: shared.Informers, *, settings: Batching | None = None) -> None:
        self._source = informers.source
        self._settings = settings or Batching()
        self._matching = matching.Matching()
        self._services = informers.services()
        self._slices = informers.slices()
        self._by_service: index.Index[Key, models.EndpointSlice] = index.Index(_service_of)
        self._queue: workqueue.WorkQueue[Key] = workqueue.WorkQueue()
        self._informers = informers
        self._observes = False
        """Whether what is told just now is a write of our own."""

        informers.pods().subscribe(self._seen_pod)
        self._services.subscribe(self._seen_service)
        self._slices.subscribe(self._by_service.on_change)
        self._slices.subscribe(self._seen_slice)

    async def run(self) -> NoReturn:
        """Works until cancelled."""
        for one in (self._informers.pods(), self._services, self._slices):
            await one.synced()
        await self._queue.run(self._pass, workers=8)
        raise AssertionError('nobody stops the queue')

    def _seen_service(self, old: models.Service | None, new: models.Service | None) -> None:
        self._matching.on_service(old, new)
        if new is not None and (
            old is None
            or (old.spec, old.metadata.labels, old.metadata.is_deleting)
            != (new.spec, new.metadata.labels, new.metadata.is_deleting)
        ):
            self._queue.add((new.metadata.namespace, new.metadata.name))

    def _seen_pod(self, old: models.Pod | None, new: models.Pod | None) -> None:
        self._matching.on_pod(old, new)
        if old is not None and new is not None and _shown(old) == _shown(new):
            return
        for pod in (old, new):
            # One without an address is in no slice, before or after.
            if pod is not None and pod.status.pod_ip:
                for service in self._matching.services(pod):
                    self._soon(service)

    def _seen_slice(self, old: models.EndpointSlice | None, new: models.EndpointSlice | None) -> None:
        # Of our own writes we know; others must not change what is ours.
        one = new or old
        if one is not None and (new is None or old is not None) and not self._observes:
            for key in _service_of(one):
                self._queue.add(key)

    def _soon(self, service: models.Service) -> None:
        settings = self._settings
        wait = min(settings.cap_seconds, settings.seconds_per_pod * self._matching.count(service))
        self._queue.add_after((service.metadata.namespace, service.metadata.name), wait)

    async def _pass(self, key: Key) -> None:
        service = self._services.get(*key)
        if service is None or not slicing.is_served(service):
            # Slices of a service that is gone go with it.
            return
        plan = slicing.plan(service, self._matching.pods(service), list(self._by_service.get(key).values()))
        for body in plan.create:
            request = requests.create(shared.SLICES, key[0], body)
            await self._observe(request)
        for one, body in plan.update:
            request = requests.patch(shared.SLICES, key[0], one.metadata.name, body, requests.Patch.MERGE)
            await self._observe(request)
        for one in plan.delete:
            await self._delete(one)

    async def _observe(self, request: requests.Request) -> None:
        try:
            written = await self._source.request(request, models.EndpointSlice)
        except errors.NotFound:
            # The namespace, or the slice: the watch tells.
            return
        except errors.Forbidden:
            # The namespace is on its way out.
            return
        self._observes = True
        try:
            self._slices.observe(written)
        finally:
            self._observes = False

    async def _delete(self, one: models.EndpointSlice) -> None:
        metadata = one.metadata
        try:
            await self._source.send(requests.delete(shared.SLICES, metadata.namespace, metadata.name, uid=metadata.uid))
        except errors.NotFound:
            return


def _service_of(one: models.EndpointSlice) -> tuple[Key, ...]:
    labels = one.metadata.labels
    if labels.get(slicing.MANAGED_BY) != slicing.MANAGER:
        return ()
    return ((one.metadata.namespace, labels.get(slicing.SERVICE_NAME, '')),)


def _shown(pod: models.Pod) -> tuple[object, ...]:
    """What of a pod is in a slice, or decides which one."""
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    return (
        metadata.uid,
        metadata.labels,
        metadata.deletion_timestamp,
        status.pod_ip,
        pod.is_ready,
        pod.is_finished,
        spec.hostname,
        spec.subdomain,
        spec.node_name,
    )
