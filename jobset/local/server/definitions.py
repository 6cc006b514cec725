"""CustomResourceDefinitions: their kinds are served as long as they are there, and their objects go before they do."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Problem
from jobset.local.resources import Kind
from jobset.local.schemas import definitions
from jobset.local.server.planes import Plane
from jobset.local.store import storage
from jobset.local.store.records import Event, Type

logger = logging.getLogger(__name__)

KEY: Final = 'customresourcedefinitions.apiextensions.k8s.io'

FINALIZER: Final = 'customresourcecleanup.apiextensions.k8s.io'
"""Keeps a definition until there are no objects of it."""

Remove = Callable[[Kind, str, str], None]
"""Deletes the object of that namespace and name, or at least says that it has to go."""


class Definitions:
    """Follows the definitions in the store."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._ending: dict[str, str] = {}
        """Names of definitions that end, by where their objects lie."""

        self._remove: Remove | None = None
        plane.store.subscribe(KEY, self._on_change)
        for record in plane.store.walk(KEY):
            self._serve(record.decode())

    def clean_with(self, remove: Remove) -> None:
        """How objects are deleted when their definition goes; picks up what an earlier process has left half done."""
        self._remove = remove
        for name in list(self._ending.values()):
            self.clean(name)

    def establish(self, obj: Object) -> Object:
        """A new or changed definition as it is stored: served from now on."""
        others = [record.decode() for record in self._plane.store.walk(KEY) if record.name != objects.name(obj)]
        obj = definitions.establish(obj, self._plane.now(), others)
        found = objects.metadata(obj)
        finalizers = found.setdefault('finalizers', [])
        if FINALIZER not in finalizers and not found.get('deletionTimestamp'):
            finalizers.append(FINALIZER)
        return obj

    def demand_serving(self, kind: Kind, verb: str) -> None:
        """No new objects while the definition ends. Raises Problem 405."""
        if kind.key in self._ending:
            text = f'{verb} not allowed while custom resource definition is terminating'
            raise Problem(405, 'MethodNotAllowed', text, group=kind.group, kind=kind.plural)

    def clean(self, name: str) -> None:
        """Deletes the objects of an ending definition, and the definition when there are none left."""
        record = self._plane.store.get(KEY, '', name)
        if record is None or self._remove is None:
            return
        obj = record.decode()
        if not objects.metadata(obj).get('deletionTimestamp'):
            return
        kind = self._plane.registry.by_key(name)
        if kind is not None:
            for one in list(self._plane.store.walk(name)):
                self._remove(kind, one.namespace, one.name)
        if self._plane.store.count(name) == 0:
            self._finish(name)

    def _finish(self, name: str) -> None:
        record = self._plane.store.get(KEY, '', name)
        if record is None:
            return
        obj = record.decode()
        found = objects.metadata(obj)
        found['finalizers'] = [one for one in found.get('finalizers') or () if one != FINALIZER]
        try:
            if found['finalizers']:
                self._plane.store.update(KEY, obj, expected=record)
            else:
                del found['finalizers']
                self._plane.store.delete(KEY, obj, expected=record)
        except storage.ChangedError:
            self._later(name)

    def _on_change(self, event: Event) -> None:
        if event.type is Type.DELETED:
            self._ending.pop(event.record.name, None)
            self._plane.registry.put(event.record.name, ())
        else:
            self._serve(event.record.decode())

    def _serve(self, obj: Object) -> None:
        name = objects.name(obj)
        self._plane.registry.put(name, definitions.kinds(obj) if _is_established(obj) else ())
        if objects.metadata(obj).get('deletionTimestamp') and name not in self._ending:
            self._ending[name] = name
            self._plane.store.subscribe(name, self._on_object)
            self._later(name)

    def _on_object(self, event: Event) -> None:
        for name in self._ending.values():
            if event.type is Type.DELETED and self._plane.store.count(name) == 0:
                self._later(name)

    def _later(self, name: str) -> None:
        # A change of the store may not be made while another one takes effect.
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # While the server is being made: see clean_with.
            return
        loop.call_soon(self.clean, name)


def _is_established(obj: Object) -> bool:
    status: Any = obj.get('status') or {}
    return any(
        condition.get('type') == 'Established' and condition.get('status') == 'True'
        for condition in status.get('conditions') or ()
    )
