"""Which volume claims exist already: the only thing that validation has to ask the API server."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from jobset.api import validation
from jobset.kube import client, errors, requests

PATIENCE: Final = 5.0
"""Seconds for all claims of a JobSet. The API server waits ten for our answer, and a refusal must reach it in time."""

AT_ONCE: Final = 16
"""Requests under way for one JobSet, so that one with thousands of claims leaves connections to the others."""


class _Claim(msgspec.Struct, frozen=True):
    spec: dict[str, object] = {}


class Claims:
    """Looks claims up, one by one."""

    def __init__(self, api: client.Client, *, patience: float = PATIENCE) -> None:
        self._api = api
        self._patience = patience

    async def look_up(self, namespace: str, names: Sequence[str]) -> Mapping[str, validation.Found]:
        """What exists of ``names``; a claim that could not be looked up in time is told as such, never left out."""
        found: dict[str, validation.Found | None] = {}
        waiting = iter(names)

        async def work() -> None:
            for name in waiting:
                found[name] = await self._one(namespace, name)

        try:
            async with asyncio.timeout(self._patience), asyncio.TaskGroup() as workers:
                for _ in range(min(AT_ONCE, len(names))):
                    workers.create_task(work())
        except TimeoutError:
            late = validation.UnknownClaim(f'no answer from the API server within {self._patience:g} s')
            found = {name: found.get(name, late) for name in names}
        return {name: one for name, one in found.items() if one is not None}

    async def _one(self, namespace: str, name: str) -> validation.Found | None:
        try:
            claim = await self._api.request(requests.read(requests.CLAIMS, namespace, name), _Claim)
        except errors.NotFound:
            return None
        except errors.ApiError as error:
            return validation.UnknownClaim(str(error))
        return validation.ExistingClaim(spec=claim.spec)
