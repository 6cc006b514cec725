"""What kinds of objects the server has, read by discovery and read anew when definitions come and go."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

import msgspec

from jobset.api import meta
from jobset.kube import backoff, client, errors, informer, requests

logger = logging.getLogger(__name__)

DEFINITIONS: Final = requests.Resource(
    'apiextensions.k8s.io', 'v1', 'customresourcedefinitions', 'CustomResourceDefinition', namespaced=False
)


class _Resource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    namespaced: bool = False
    verbs: tuple[str, ...] | None = None


class _Resources(msgspec.Struct, frozen=True, kw_only=True):
    resources: tuple[_Resource, ...] | None = None


class _Version(msgspec.Struct, frozen=True, kw_only=True):
    version: str


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    versions: tuple[_Version, ...] | None = None


class _Groups(msgspec.Struct, frozen=True, kw_only=True):
    groups: tuple[_Group, ...] | None = None


@dataclass(frozen=True)
class Entry:
    """A resource and what can be done with it."""

    resource: requests.Resource
    verbs: frozenset[str]


@dataclass(frozen=True)
class Snapshot:
    """All that the server has at one time."""

    entries: Sequence[Entry] = ()
    """One for each resource, in the version that the server prefers among those that have it."""

    by_kind: Mapping[tuple[str, str], requests.Resource] = field(default_factory=dict)
    """Resources by ``apiVersion`` and ``kind``, as references name them; in all versions."""

    def able(self, *verbs: str) -> Sequence[requests.Resource]:
        """The resources that can do all of that."""
        return [entry.resource for entry in self.entries if entry.verbs.issuperset(verbs)]


async def read(source: client.Client) -> Snapshot:
    """Asks the server. Raises the errors of :mod:`jobset.kube.errors`."""
    found = await source.request(requests.Request('GET', '/apis'), _Groups)
    places = [('', 'v1')]
    for group in found.groups or ():
        places.extend((group.name, version.version) for version in group.versions or ())
    entries: dict[tuple[str, str], Entry] = {}
    by_kind: dict[tuple[str, str], requests.Resource] = {}
    for group_name, version in places:
        for entry in await _read_version(source, group_name, version):
            resource = entry.resource
            entries.setdefault((group_name, resource.plural), entry)
            by_kind[(resource.api_version, resource.kind)] = resource
    return Snapshot(tuple(entries.values()), by_kind)


async def _read_version(source: client.Client, group: str, version: str) -> list[Entry]:
    path = f'/apis/{group}/{version}' if group else f'/api/{version}'
    try:
        found = await source.request(requests.Request('GET', path), _Resources)
    except errors.NotFound:
        # It has gone since the groups were read.
        return []
    return [
        Entry(
            requests.Resource(group, version, one.name, one.kind, namespaced=one.namespaced),
            frozenset(one.verbs or ()),
        )
        for one in found.resources or ()
        if '/' not in one.name
    ]


@dataclass(frozen=True, kw_only=True)
class Following:
    """When the server is asked again."""

    delays: Sequence[float] = (0.05, 2)
    """Seconds after a change of a definition. Twice, because it is served a moment after it says so, or before."""

    backoff_base: float = 0.5
    """Seconds before asking again after a failure, doubled for each further one."""

    backoff_cap: float = 30


OnChange = Callable[[Snapshot], None]


class Catalogue:
    """The latest snapshot, while :meth:`run` runs. Handlers are told each new one."""

    def __init__(self, source: client.Client, *, settings: Following | None = None) -> None:
        self.latest: Snapshot | None = None
        self._source = source
        self._settings = settings or Following()
        self._handlers: list[OnChange] = []
        self._due = asyncio.Event()
        self._known = asyncio.Event()
        self._definitions = informer.Informer(source, DEFINITIONS, meta.Partial)
        self._definitions.subscribe(self._changed)

    def subscribe(self, handler: OnChange) -> None:
        """Has ``handler`` called with each new snapshot from now on."""
        self._handlers.append(handler)

    async def first(self) -> Snapshot:
        """Waits for the first snapshot."""
        await self._known.wait()
        assert self.latest is not None  # noqa: S101 - for the type checker
        return self.latest

    async def run(self) -> NoReturn:
        """Follows the server until cancelled; failures are retried."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._definitions.run())
            await self._refresh()
            while True:
                await self._due.wait()
                for delay in self._settings.delays:
                    self._due.clear()
                    await asyncio.sleep(delay)
                    await self._refresh()

    def _changed(self, *_: object) -> None:
        self._due.set()

    async def _refresh(self) -> None:
        pause = backoff.Backoff(base=self._settings.backoff_base, cap=self._settings.backoff_cap)
        while True:
            try:
                found = await read(self._source)
                break
            except errors.ApiError as error:
                logger.warning('what the server has cannot be seen: %s; trying again', error)
                await asyncio.sleep(pause.next(at_least=error.retry_after or 0))
        if found == self.latest:
            return
        self.latest = found
        self._known.set()
        for handler in self._handlers:
            handler(found)
