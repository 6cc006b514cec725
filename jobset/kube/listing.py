"""All objects of a resource at one resource version, read in pages."""

from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from jobset.api import meta
from jobset.kube import client, errors, frames, requests

T = TypeVar('T', bound=meta.Object)


class _ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    resource_version: str = ''
    continue_: str = msgspec.field(name='continue', default='')


class _Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    metadata: _ListMeta = _ListMeta()
    # Go writes an empty list as null where nobody has made it.
    items: list[T] | None = None


class _RawPage(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


@dataclass(kw_only=True)
class Listing(Generic[T]):
    """What a list holds, while it is read and after."""

    objects: dict[tuple[str, str], T] = field(default_factory=dict)
    """By namespace and name."""

    version: str = ''
    """The resource version for a watch to go on from."""

    unread: dict[meta.Ref, str] = field(default_factory=dict)
    """Objects of an unexpected shape, and what is wrong with them."""

    def add(self, obj: T) -> None:
        """One more object, or a newer state of one."""
        self.objects[(obj.metadata.namespace, obj.metadata.name)] = obj

    def take(self, event: frames.Added[T] | frames.Modified[T] | frames.Deleted[T] | frames.Unread) -> None:
        """One event of a streamed list: it may change before it is complete."""
        match event:
            case frames.Added(obj) | frames.Modified(obj):
                self.add(obj)
            case frames.Deleted(obj):
                self.objects.pop((obj.metadata.namespace, obj.metadata.name), None)
            case frames.Unread(metadata, is_deleted, problem):
                self.objects.pop(metadata.ref, None)
                if not is_deleted:
                    self.unread[metadata.ref] = problem


class Reader(Generic[T]):
    """Lists objects of one resource and reads them as ``model``."""

    def __init__(self, source: client.Client, model: type[T], *, page_size: int, accept: str = '') -> None:
        self._source = source
        self._page_size = page_size
        self._accept = accept
        # Made at run time from the caller's structure, so the type checker cannot follow.
        page: Any = _Page[model]  # type: ignore[valid-type]
        self._pages: msgspec.json.Decoder[_Page[T]] = msgspec.json.Decoder(page)
        self._objects = msgspec.json.Decoder(model)

    async def read(
        self,
        resource: requests.Resource,
        namespace: str | None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Listing[T]:
        """Everything that matches, consistent at one version. Raises the errors of :mod:`jobset.kube.errors`."""
        found: Listing[T] = Listing()
        limit, token = self._page_size, ''
        while True:
            request = requests.list_(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                continue_=token,
                accept=self._accept,
            )
            try:
                body = await self._source.send(request)
            except errors.Gone:
                if not token:
                    raise
                # The list took longer than the server keeps old versions: take it in one piece.
                found, limit, token = Listing(), 0, ''
                continue
            metadata = self._add(found, body, where=str(request))
            found.version = metadata.resource_version
            token = metadata.continue_
            if not token:
                return found

    def _add(self, found: Listing[T], body: bytes, *, where: str) -> _ListMeta:
        try:
            page = self._pages.decode(body)
        except msgspec.MsgspecError:
            return self._add_singly(found, body, where=where)
        for obj in page.items or ():
            found.add(obj)
        return page.metadata

    def _add_singly(self, found: Listing[T], body: bytes, *, where: str) -> _ListMeta:
        """Reads a page in which something does not fit, object by object."""
        try:
            page = _RAW_PAGES.decode(body)
            for raw in page.items or ():
                try:
                    found.add(self._objects.decode(raw))
                except msgspec.MsgspecError as error:
                    found.unread[_PARTIALS.decode(raw).metadata.ref] = str(error)
        except msgspec.MsgspecError as error:
            raise errors.Malformed(0, 'Malformed', f'the list cannot be read: {error}', where=where) from error
        return page.metadata


_PARTIALS: Final = msgspec.json.Decoder(meta.Partial)
_RAW_PAGES: Final = msgspec.json.Decoder(_RawPage)
