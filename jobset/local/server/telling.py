"""How a watch tells of a change: with the whole object, with its metadata only, or with the row of a table."""

from typing import Final

from jobset.local.describing import tables
from jobset.local.objects import Object
from jobset.local.resources import Kind
from jobset.local.server import answers, queries, reading
from jobset.local.server.negotiating import Form
from jobset.local.server.planes import Plane
from jobset.local.store.records import Record, Type


class Encoder:
    """Lines of one watch."""

    def __init__(self, plane: Plane, kind: Kind) -> None:
        self._plane = plane
        self._kind = kind

    def line(self, change: Type, record: Record) -> bytes:
        """One change."""
        return _LINES[change] % self.body(record)

    def body(self, record: Record) -> bytes:
        """The object of a change."""
        return self._plane.show(self._kind, record)

    def bookmark(self, revision: int, annotations: Object | None) -> bytes:
        """One bookmark."""
        return b'{"type":"BOOKMARK","object":%s}\n' % answers.encode(self._mark(revision, annotations))

    def _mark(self, revision: int, annotations: Object | None) -> Object:
        metadata: Object = {'resourceVersion': str(revision)}
        if annotations:
            metadata['annotations'] = annotations
        return {'kind': self._kind.kind, 'apiVersion': self._kind.api_version, 'metadata': metadata}


_LINES: Final = {change: b'{"type":"%s","object":%%s}\n' % change.value.encode() for change in Type}


class _Partials(Encoder):
    def body(self, record: Record) -> bytes:
        return answers.encode(tables.partial(self._plane.open(self._kind, record)))

    def _mark(self, revision: int, annotations: Object | None) -> Object:
        return tables.partial(super()._mark(revision, annotations))


class _Tables(Encoder):
    def __init__(self, plane: Plane, kind: Kind, include: tables.Include) -> None:
        super().__init__(plane, kind)
        self._include = include
        self._is_first = True

    def body(self, record: Record) -> bytes:
        return answers.encode(self._table(self._plane.open(self._kind, record)))

    def _mark(self, revision: int, annotations: Object | None) -> Object:
        return self._table(super()._mark(revision, annotations))

    def _table(self, obj: Object) -> Object:
        first, self._is_first = self._is_first, False
        return tables.render(self._kind, [obj], self._plane.now(), include=self._include, is_first=first)


def encoder(plane: Plane, kind: Kind, form: Form, params: queries.Params) -> Encoder:
    match form:
        case Form.TABLE:
            return _Tables(plane, kind, reading.include(params))
        case Form.PARTIAL:
            return _Partials(plane, kind)
        case Form.WHOLE:
            return Encoder(plane, kind)
