"""Empties namespaces that are to be deleted, and then lets them go.

Source: Kubernetes, "Namespaces" and the conditions in ``NamespaceStatus``; texts as kube-controller-manager 1.37 gives
them.
"""

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import msgspec

from jobset.api import meta
from jobset.kube import client, errors, requests, workqueue
from jobset.local import objects
from jobset.local.controllers import catalogue, models, shared

FINALIZER: Final = 'kubernetes'


@dataclass
class Content:
    """What was found in a namespace after everything in it has been told to go."""

    remaining: dict[requests.Resource, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left, as far as could be seen."""
        return not self.remaining and not self.failures


def conditions(content: Content, old: Sequence[meta.Condition], now: datetime.datetime) -> list[dict[str, Any]]:
    """The conditions that tell people what a namespace waits for."""
    kinds = [
        f'{resource.plural}.{resource.group} has {count} resource instances'
        for resource, count in sorted(content.remaining.items(), key=lambda entry: (entry[0].plural, entry[0].group))
    ]
    waits = [f'{name} in {count} resource instances' for name, count in sorted(content.finalizers.items())]
    failed = f'Failed to delete all resource types, {len(content.failures)} remaining: {"; ".join(content.failures)}'
    found = [
        _condition(
            'NamespaceDeletionDiscoveryFailure', '', 'ResourcesDiscovered', 'All resources successfully discovered'
        ),
        _condition(
            'NamespaceDeletionGroupVersionParsingFailure',
            '',
            'ParsedGroupVersions',
            'All legacy kube types successfully parsed',
        ),
        _condition(
            'NamespaceDeletionContentFailure',
            failed if content.failures else '',
            'ContentDeletionFailed' if content.failures else 'ContentDeleted',
            'All content successfully deleted, may be waiting on finalization',
        ),
        _condition(
            'NamespaceContentRemaining',
            f'Some resources are remaining: {", ".join(kinds)}' if kinds else '',
            'SomeResourcesRemain' if kinds else 'ContentRemoved',
            'All content successfully removed',
        ),
        _condition(
            'NamespaceFinalizersRemaining',
            f'Some content in the namespace has finalizers remaining: {", ".join(waits)}' if waits else '',
            'SomeFinalizersRemain' if waits else 'ContentHasNoFinalizers',
            'All content-preserving finalizers finished',
        ),
    ]
    before = {one.type: one for one in old}
    for one in found:
        known = before.get(one['type'])
        kept = known.last_transition_time if known is not None and known.status == one['status'] else None
        one['lastTransitionTime'] = kept or objects.stamp(now)
    return found


def _condition(kind: str, trouble: str, reason: str, otherwise: str) -> dict[str, Any]:
    return {
        'type': kind,
        'status': 'True' if trouble else 'False',
        'reason': reason,
        'message': trouble or otherwise,
    }


class _Listed(msgspec.Struct, frozen=True):
    items: tuple['_Object', ...] | None = None


class _Object(msgspec.Struct, frozen=True):
    metadata: meta.Common


class Namespaces:
    """The controller. Subscribed when it is made; the informers and the catalogue have to run beside it."""

    def __init__(
        self,
        informers: shared.Informers,
        kinds: catalogue.Catalogue,
        now: Callable[[], datetime.datetime],
        *,
        pacing: workqueue.Pacing | None = None,
    ) -> None:
        self._source: client.Client = informers.source
        self._kinds = kinds
        self._now = now
        self._namespaces = informers.namespaces()
        self._namespaces.subscribe(self._seen)
        self._queue: workqueue.WorkQueue[str] = workqueue.WorkQueue(
            pacing=pacing or workqueue.Pacing(base=0.05, factor=1.5, cap=5)
        )

    async def run(self) -> NoReturn:
        """Works until cancelled."""
        await self._kinds.first()
        await self._queue.run(self._pass, workers=4)
        raise AssertionError('nobody stops the queue')

    def _seen(self, _: models.Namespace | None, new: models.Namespace | None) -> None:
        if new is not None and new.metadata.is_deleting:
            self._queue.add(new.metadata.name)

    async def _pass(self, name: str) -> float | None:
        namespace = self._namespaces.get('', name)
        if namespace is None or not namespace.metadata.is_deleting:
            return None
        if FINALIZER not in (namespace.spec.finalizers or ()):
            return None
        content = await self._empty(name)
        if content.is_gone:
            await self._finalize(name)
            return None
        await self._tell(namespace, content)
        # Nobody says when the last one has gone: so it is looked for, less and less often.
        self._queue.retry(name)
        return None

    async def _empty(self, namespace: str) -> Content:
        content = Content()
        latest = self._kinds.latest or catalogue.Snapshot()
        for resource in latest.able('list', 'delete', 'deletecollection'):
            if resource.namespaced:
                try:
                    await self._empty_of(resource, namespace, content)
                except errors.NotFound:
                    # The kind has gone, and its objects with it.
                    continue
                except errors.ApiError as error:
                    content.failures.append(str(error))
        return content

    async def _empty_of(self, resource: requests.Resource, namespace: str, content: Content) -> None:
        if not await self._look(resource, namespace):
            return
        options = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': requests.Propagation.BACKGROUND}
        await self._source.send(
            requests.Request('DELETE', resource.collection(namespace), body=requests.encode(options))
        )
        left = await self._look(resource, namespace)
        if left:
            content.remaining[resource] = len(left)
            for one in left:
                content.finalizers.update(one.metadata.finalizers)

    async def _look(self, resource: requests.Resource, namespace: str) -> Sequence[_Object]:
        listed = await self._source.request(requests.list_(resource, namespace), _Listed)
        return listed.items or ()

    async def _tell(self, namespace: models.Namespace, content: Content) -> None:
        old = namespace.status.conditions or ()
        found = conditions(content, old, self._now())
        if found == [_as_object(one) for one in old]:
            return
        name = namespace.metadata.name
        body: Mapping[str, Any] = {'status': {'conditions': found}}
        await self._source.send(
            requests.patch(requests.NAMESPACES, None, name, dict(body), requests.Patch.MERGE, subresource='status')
        )

    async def _finalize(self, name: str) -> None:
        try:
            raw = await self._source.send(requests.read(requests.NAMESPACES, None, name))
        except errors.NotFound:
            return
        namespace = msgspec.json.decode(raw, type=dict[str, Any])
        spec = namespace.setdefault('spec', {})
        spec['finalizers'] = [one for one in spec.get('finalizers') or () if one != FINALIZER]
        await self._source.send(requests.replace(requests.NAMESPACES, None, name, namespace, subresource='finalize'))


def _as_object(condition: meta.Condition) -> dict[str, Any]:
    return {
        'type': condition.type,
        'status': condition.status,
        'reason': condition.reason,
        'message': condition.message,
        'lastTransitionTime': condition.last_transition_time,
    }
