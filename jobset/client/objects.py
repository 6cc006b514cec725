"""Objects of any kind, as the server has them: read, tabled, applied, deleted."""

import asyncio
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jobset.kube import client, errors, requests

Object = dict[str, Any]

MANAGER: Final = 'jobset-cli'

_TABLE: Final = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

_WATCH_SECONDS: Final = 300


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table."""

    name: str = ''
    priority: int = 0


class _RowMeta(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ''
    namespace: str = ''


class _RowObject(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _RowMeta = _RowMeta()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table: an object."""

    cells: tuple[Any, ...] = ()
    object: _RowObject = _RowObject()


class Table(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """Objects as the server shows them to people."""

    column_definitions: tuple[Column, ...] | None = None
    rows: tuple[Row, ...] | None = None


class Outcome(enum.StrEnum):
    """What an apply has done."""

    CREATED = 'created'
    CHANGED = 'configured'
    UNCHANGED = 'unchanged'


@dataclass(frozen=True)
class Selection:
    """Which objects of a kind."""

    namespace: str | None = None
    """None for all namespaces."""

    name: str = ''
    labels: str | None = None
    fields: str | None = None

    def request(self, resource: requests.Resource) -> requests.Request:
        """What reads them."""
        if self.name:
            return requests.read(resource, self.namespace, self.name)
        return requests.list_(resource, self.namespace, label_selector=self.labels, field_selector=self.fields)


async def table(source: client.Client, resource: requests.Resource, selection: Selection) -> Table:
    """The objects in the columns that the server has for them."""
    request = msgspec.structs.replace(selection.request(resource), accept=_TABLE)
    return await source.request(request, Table)


async def read(source: client.Client, resource: requests.Resource, selection: Selection) -> list[Object]:
    """The objects as they are."""
    found: Object = msgspec.json.decode(await source.send(selection.request(resource)))
    if selection.name:
        return [found]
    # The items of a list do not say what they are; the list does.
    kind = {'apiVersion': resource.api_version, 'kind': resource.kind}
    return [kind | item for item in found.get('items') or ()]


async def apply(
    source: client.Client,
    resource: requests.Resource,
    namespace: str | None,
    obj: Mapping[str, Any],
    *,
    force: bool = False,
    dry_run: bool = False,
) -> tuple[Outcome, Object]:
    """Server-side apply: what it has done, and the object as it is now."""
    name = str(obj['metadata']['name'])
    before = await _version(source, resource, namespace, name)
    request = requests.patch(
        resource, namespace, name, dict(obj), requests.Patch.APPLY, field_manager=MANAGER, force=force
    )
    query = f'{request.query}&fieldValidation=Strict{"&dryRun=All" if dry_run else ""}'
    after: Object = msgspec.json.decode(await source.send(msgspec.structs.replace(request, query=query)))
    if before is None:
        return Outcome.CREATED, after
    same = before == after.get('metadata', {}).get('resourceVersion')
    return (Outcome.UNCHANGED if same else Outcome.CHANGED), after


async def _version(source: client.Client, resource: requests.Resource, namespace: str | None, name: str) -> str | None:
    try:
        body = await source.send(requests.read(resource, namespace, name))
    except errors.NotFound:
        return None
    found: Object = msgspec.json.decode(body)
    return str(found['metadata'].get('resourceVersion'))


async def create(source: client.Client, resource: requests.Resource, namespace: str | None, obj: Object) -> Object:
    """Create an object whose name the server completes: it cannot be applied."""
    created: Object = msgspec.json.decode(await source.send(requests.create(resource, namespace, obj)))
    return created


async def delete(
    source: client.Client,
    resource: requests.Resource,
    namespace: str | None,
    name: str,
    *,
    propagation: requests.Propagation | None = None,
    grace_seconds: int | None = None,
) -> str:
    """Begin to delete an object; gives its uid, for :func:`gone`."""
    body = await source.send(
        requests.delete(resource, namespace, name, propagation=propagation, grace_seconds=grace_seconds)
    )
    answer: Object = msgspec.json.decode(body)
    # At once gone: a Status with the uid in its details. Still there, for finalizers or its grace: the object.
    return str(answer.get('metadata', {}).get('uid') or answer.get('details', {}).get('uid') or '')


async def gone(source: client.Client, resource: requests.Resource, namespace: str | None, name: str, uid: str) -> None:
    """Waits until the object of that uid is no longer there, however long that takes: bound it outside."""
    selector = f'metadata.name={name}'
    while True:
        request = requests.list_(resource, namespace, field_selector=selector)
        found: Object = msgspec.json.decode(await source.send(request))
        there = [one for one in found.get('items') or () if not uid or one['metadata'].get('uid') == uid]
        if not there:
            return
        await _change(source, resource, namespace, selector, found['metadata'].get('resourceVersion', ''))


async def _change(
    source: client.Client,
    resource: requests.Resource,
    namespace: str | None,
    selector: str,
    since: str,
) -> None:
    """Waits for a sign that something is different."""
    request = requests.watch(resource, namespace, field_selector=selector, since=since, timeout_seconds=_WATCH_SECONDS)
    try:
        async with source.stream(request, idle_timeout=_WATCH_SECONDS + 10) as content:
            rest = b''
            while piece := await content.readany():
                *whole, rest = (rest + piece).split(b'\n')
                if any(b'"BOOKMARK"' not in line[:40] for line in whole):
                    return
    except errors.RetryLater as error:
        await asyncio.sleep(error.retry_after or 1)
    except errors.Gone:
        return


def parse_names(words: Sequence[str]) -> tuple[str, list[str]] | list[tuple[str, str]]:
    """What is named on a command line: a kind and names, or ``kind/name`` pairs."""
    if any('/' in word for word in words):
        pairs = [word.partition('/') for word in words]
        wrong = [word for word, pair in zip(words, pairs, strict=True) if not pair[0] or not pair[2] or '/' in pair[2]]
        if wrong:
            raise ValueError(f'{wrong[0]}: write all as kind/name, or a kind and then names')
        return [(kind, name) for kind, _, name in pairs]
    return words[0], list(words[1:])
