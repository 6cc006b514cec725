"""Writes the status of one pod to the server: always the latest, and again until it is there."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from jobset.kube import backoff, client, errors, requests
from jobset.local.node.model import Pod

logger = logging.getLogger(__name__)

_FREE: Final = frozenset({'reason', 'message'})


class Gone(Exception):  # noqa: N818
    """The pod is no more, or another one has its name."""


class Reporter:
    """Holds the status that the server should have."""

    def __init__(self, api: client.Client, pod: Pod) -> None:
        self._api = api
        self._pod = pod
        self._written: Mapping[str, Any] = pod.status
        self._wanted: Mapping[str, Any] | None = None
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self.is_gone = False

    def offer(self, status: Mapping[str, Any]) -> None:
        """This is how the pod is now."""
        if self.is_gone or (self._wanted is None and not patch(self._written, status)):
            return
        self._wanted = status
        self._settled.clear()
        self._news.set()

    async def settled(self) -> None:
        """Waits until the server has what was offered. Raises :class:`Gone`."""
        await self._settled.wait()
        if self.is_gone:
            raise Gone

    async def run(self) -> None:
        """Writes until cancelled, or until there is no such pod any more."""
        pause = backoff.Backoff(base=0.1, cap=10)
        while not self.is_gone:
            await self._news.wait()
            self._news.clear()
            if self._wanted is None:
                continue
            status = self._wanted
            try:
                await self._write(status)
            except errors.NotFound:
                self.is_gone = True
            except errors.ApiError as error:
                if isinstance(error, errors.Conflict) and await self._is_replaced():
                    self.is_gone = True
                    self._settled.set()
                    return
                logger.warning('status of pod %s/%s: %s', self._pod.metadata.namespace, self._pod.metadata.name, error)
                await asyncio.sleep(pause.next(at_least=getattr(error, 'retry_after', None) or 0))
                self._news.set()
                continue
            pause.reset()
            if self._wanted is status or self.is_gone:
                self._wanted = None
                self._settled.set()

    async def _is_replaced(self) -> bool:
        meta = self._pod.metadata
        try:
            found = await self._api.request(requests.read(requests.PODS, meta.namespace, meta.name), Pod)
        except errors.NotFound:
            return True
        except errors.ApiError:
            return False
        return found.metadata.uid != meta.uid

    async def _write(self, status: Mapping[str, Any]) -> None:
        changes = patch(self._written, status)
        if changes:
            meta = self._pod.metadata
            # The uid makes the server refuse when the name is another pod's by now.
            body = {'metadata': {'uid': meta.uid}, 'status': changes}
            await self._api.send(
                requests.patch(
                    requests.PODS, meta.namespace, meta.name, body, requests.Patch.STRATEGIC, subresource='status'
                )
            )
        self._written = status


def patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The strategic merge patch that makes ``new`` of ``old``, and leaves conditions alone that are not in ``new``."""
    changes = {key: value for key, value in new.items() if key != 'conditions' and old.get(key) != value}
    changes |= dict.fromkeys(_FREE & old.keys() - new.keys())
    before = {condition['type']: condition for condition in old.get('conditions') or ()}
    conditions = [
        dict.fromkeys(_FREE & before.get(condition['type'], {}).keys() - condition.keys()) | condition
        for condition in new.get('conditions') or ()
        if before.get(condition['type']) != condition
    ]
    if conditions:
        changes['conditions'] = conditions
    return changes
