"""Which kinds the server has, and waiting for those that it lacks yet."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from jobset.kube import backoff, client, errors, requests

logger = logging.getLogger(__name__)

OnMissing = Callable[[Sequence[requests.Resource]], None]
"""Called with what is missing, each time that this has changed."""


class _Served(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ''


class _ResourceList(msgspec.Struct, frozen=True, kw_only=True):
    resources: tuple[_Served, ...] | None = None


class _Version(msgspec.Struct, frozen=True, kw_only=True):
    version: str = ''


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    versions: tuple[_Version, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """How the server is asked again for what it lacks."""

    base: float = 1
    """Seconds before the second look."""

    cap: float = 30
    """Seconds between looks in the long run: so late a newly installed kind may be noticed."""


async def served(source: client.Client, group: str, version: str) -> frozenset[str]:
    """Plural names, and ``plural/subresource``, of what is served; empty when the version of the group is not there."""
    path = f'/apis/{group}/{version}' if group else f'/api/{version}'
    try:
        found = await source.request(requests.Request('GET', path), _ResourceList)
    except errors.NotFound:
        return frozenset()
    return frozenset(resource.name for resource in found.resources or ())


async def versions(source: client.Client, group: str) -> tuple[str, ...]:
    """Versions of a named group, the preferred one first; empty when the group is not there."""
    try:
        found = await source.request(requests.Request('GET', f'/apis/{group}'), _Group)
    except errors.NotFound:
        return ()
    return tuple(entry.version for entry in found.versions or ())


async def missing(source: client.Client, resources: Iterable[requests.Resource]) -> tuple[requests.Resource, ...]:
    """Those of the resources that are not served, in their order."""
    wanted = tuple(resources)
    found = {
        (group, version): await served(source, group, version)
        for group, version in dict.fromkeys((resource.group, resource.version) for resource in wanted)
    }
    return tuple(one for one in wanted if one.plural not in found[(one.group, one.version)])


async def wait_for(
    source: client.Client,
    resources: Iterable[requests.Resource],
    *,
    settings: Waiting | None = None,
    on_missing: OnMissing | None = None,
) -> None:
    """Waits until all are served, and says in the log which ones are not; failures to ask are waited out alike."""
    settings = settings or Waiting()
    pause = backoff.Backoff(base=settings.base, cap=settings.cap)
    wanted = tuple(resources)
    said: object = None
    while True:
        wait = 0.0
        try:
            lacking = await missing(source, wanted)
            if not lacking:
                return
            if lacking != said:
                said = lacking
                names = ', '.join(f'{one} ({one.version})' for one in lacking)
                logger.warning('the server does not have %s; install the definition; waiting', names)
                if on_missing is not None:
                    on_missing(lacking)
        except errors.ApiError as error:
            wait = error.retry_after or 0.0
            if str(error) != said:
                said = str(error)
                logger.warning('what the server has cannot be seen: %s; trying again', error)
        await asyncio.sleep(pause.next(at_least=wait))
