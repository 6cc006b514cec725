"""Which pods a service selects, and the other way round, at a cost that does not grow with the number of either.

One pair of each selector, its *handle*, is looked up; the rest is compared. Pods are indexed by the keys of handles
only, of which there are few: those of JobSets all have the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jobset.local.controllers import models

Key = tuple[str, str]
"""Namespace and name of a service."""


@dataclass
class _Label:
    """Pods and services by namespace and value of one label."""

    pods: dict[tuple[str, str], dict[str, models.Pod]] = field(default_factory=dict)
    services: dict[tuple[str, str], dict[str, models.Service]] = field(default_factory=dict)


class Matching:
    """Follows pods and services."""

    def __init__(self) -> None:
        self._labels: dict[str, _Label] = {}
        self._pods: dict[str, models.Pod] = {}

    def pods(self, service: models.Service) -> Iterator[models.Pod]:
        """The pods that a service selects."""
        selector = service.spec.selector or {}
        if not selector:
            return
        key, value = _handle(selector)
        label = self._labels.get(key)
        if label is not None:
            for pod in label.pods.get((service.metadata.namespace, value), {}).values():
                if _selects(selector, pod):
                    yield pod

    def count(self, service: models.Service) -> int:
        """How many pods at most that are."""
        selector = service.spec.selector or {}
        if not selector:
            return 0
        key, value = _handle(selector)
        label = self._labels.get(key)
        return len(label.pods.get((service.metadata.namespace, value), ())) if label is not None else 0

    def services(self, pod: models.Pod) -> Iterator[models.Service]:
        """The services that select a pod."""
        for key, label in self._labels.items():
            value = pod.metadata.labels.get(key)
            if value is not None:
                for service in label.services.get((pod.metadata.namespace, value), {}).values():
                    if _selects(service.spec.selector or {}, pod):
                        yield service

    def on_pod(self, old: models.Pod | None, new: models.Pod | None) -> None:
        """Takes one change of a pod."""
        if old is not None:
            self._pods.pop(old.metadata.uid, None)
        if new is not None:
            self._pods[new.metadata.uid] = new
        for key, label in self._labels.items():
            if old is not None:
                _remove(label.pods, _place(old, key), old.metadata.uid)
            if new is not None and (place := _place(new, key)) is not None:
                label.pods.setdefault(place, {})[new.metadata.uid] = new

    def on_service(self, old: models.Service | None, new: models.Service | None) -> None:
        """Takes one change of a service."""
        if old is not None and old.spec.selector:
            key, value = _handle(old.spec.selector)
            _remove(self._labels[key].services, (old.metadata.namespace, value), old.metadata.uid)
        if new is not None and new.spec.selector:
            key, value = _handle(new.spec.selector)
            label = self._labels.get(key)
            if label is None:
                label = self._labels[key] = _Label()
                for pod in self._pods.values():
                    if (place := _place(pod, key)) is not None:
                        label.pods.setdefault(place, {})[pod.metadata.uid] = pod
            label.services.setdefault((new.metadata.namespace, value), {})[new.metadata.uid] = new


def _handle(selector: Mapping[str, str]) -> tuple[str, str]:
    return min(selector.items())


def _selects(selector: Mapping[str, str], pod: models.Pod) -> bool:
    labels = pod.metadata.labels
    return all(labels.get(key) == value for key, value in selector.items())


def _place(pod: models.Pod, key: str) -> tuple[str, str] | None:
    value = pod.metadata.labels.get(key)
    return None if value is None else (pod.metadata.namespace, value)


def _remove(
    table: dict[tuple[str, str], dict[str, models.Pod]] | dict[tuple[str, str], dict[str, models.Service]],
    place: tuple[str, str] | None,
    uid: str,
) -> None:
    held = table.get(place) if place is not None else None
    if held is not None and place is not None:
        held.pop(uid, None)
        if not held:
            del table[place]
