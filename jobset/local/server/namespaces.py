"""What namespaces mean for writes: objects need one that is not ending, and it ends in two steps.

Source: kube-apiserver's admission plugin NamespaceLifecycle and the namespace's ``spec.finalizers``. Whoever empties an
ending namespace (:mod:`jobset.local.controllers`) confirms it through the subresource ``finalize``.
"""

from typing import Final

import msgspec

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind
from jobset.local.server.planes import Plane
from jobset.local.store.records import Record

KEY: Final = 'namespaces'

_UNDELETABLE: Final = frozenset({'default', 'kube-system', 'kube-public'})


class _Metadata(msgspec.Struct, frozen=True, rename='camel'):
    deletion_timestamp: str = ''


class _Glimpse(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_glimpse: Final = msgspec.json.Decoder(_Glimpse).decode


class _Ending(Problem):
    def __init__(self, kind: Kind, name: str, namespace: str) -> None:
        shown = f'{kind.plural}.{kind.group}' if kind.group else kind.plural
        text = (
            f'{shown} "{name}" is forbidden: unable to create new content in namespace {namespace} '
            'because it is being terminated'
        )
        cause = Cause('metadata.namespace', f'namespace {namespace} is being terminated', 'NamespaceTerminating')
        super().__init__(403, 'Forbidden', text, group=kind.group, kind=kind.plural, name=name, causes=[cause])


class Gate:
    """Whether objects may be made in a namespace; remembers the last state of each that it has looked at."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._open: dict[str, Record] = {}

    def demand(self, kind: Kind, namespace: str, name: str) -> None:
        """Raises Problem 404 when the namespace is not there, 403 when it is ending."""
        record = self._plane.store.get(KEY, '', namespace)
        if record is not None and self._open.get(namespace) is record:
            return
        self._open.pop(namespace, None)
        if record is None:
            raise Problem.not_found(KEY, '', namespace)
        if _glimpse(record.body).metadata.deletion_timestamp:
            raise _Ending(kind, name, namespace)
        self._open[namespace] = record


def is_namespace(kind: Kind) -> bool:
    """Whether it is about namespaces themselves."""
    return kind.key == KEY


def demand_deletable(name: str) -> None:
    """Some are for ever. Raises Problem 403."""
    if name in _UNDELETABLE:
        raise Problem.forbidden(KEY, '', name, 'this namespace may not be deleted')


def finalizers(obj: Object) -> list[str]:
    """Who has to confirm that the namespace is empty."""
    spec = obj.get('spec')
    return list(spec.get('finalizers') or ()) if isinstance(spec, dict) else []


def is_done(obj: Object) -> bool:
    """Whether an ending namespace may go."""
    found = objects.metadata(obj)
    return bool(found.get('deletionTimestamp')) and not finalizers(obj) and not found.get('finalizers')


def end(obj: Object) -> None:
    """Says in the status that it is ending."""
    status = obj.setdefault('status', {})
    status['phase'] = 'Terminating'


def take_finalizers(obj: Object, old: Object) -> Object:
    """What the subresource ``finalize`` makes of ``old``: its finalizers, and nothing else, are those of ``obj``."""
    new = dict(old)
    new['metadata'] = dict(old['metadata'])
    new['spec'] = dict(old.get('spec') or {}) | {'finalizers': finalizers(obj)}
    if not new['spec']['finalizers']:
        del new['spec']['finalizers']
    return new
