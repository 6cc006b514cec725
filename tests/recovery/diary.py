"""All that was ever seen of a plane, over all of its lives: nothing of it may be taken back."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.recovery.server import PAUSE, Object, RefusedError, Server, UnansweredError

SECONDS: Final = 300
"""How long anything that must happen may take; a defect, not slowness, makes it fail."""

Key = tuple[str, str]
"""Plural and name."""

GONE: Final = 410


@dataclass
class Diary:
    """Follows kinds by watches that are taken up again, as every good client does."""

    server: Server
    objects: dict[Key, Object] = field(default_factory=dict)
    highest: int = 0
    """The latest revision that anybody has seen."""

    completed: dict[str, int] = field(default_factory=dict)
    """What :attr:`mark` was when a Job was first seen complete, by its uid."""

    mark: Callable[[], int] = lambda: 0
    changes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _addresses: set[str] = field(default_factory=set)
    _states: dict[int, str] = field(default_factory=dict)
    """What was seen with which revision."""

    _happened: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def follow(self, plural: str) -> None:
        """Keep up with a kind until cancelled."""
        version, was_cut = '', False
        while True:
            version = version or await self._list(plural)
            try:
                async for event in self.server.watch(plural, version):
                    self.counts['watches taken up'] += was_cut
                    was_cut = False
                    self.changes += 1
                    version = event['object']['metadata']['resourceVersion']
                    self._see(plural, event['object'], gone=event['type'] == 'DELETED')
                    await self._tell()
            except UnansweredError:
                was_cut = True
            except RefusedError as error:
                if error.code != GONE:
                    raise
                # After a restart the history is empty: a client that has missed changes is told so.
                self.counts['watches expired'] += 1
                version, was_cut = '', False
            await asyncio.sleep(PAUSE)

    def note(self, obj: Object, *, gone: bool = False) -> None:
        """One state of an object, from whoever has seen it."""
        revision = int(obj['metadata']['resourceVersion'])
        state = hashlib.sha256(json.dumps([gone, obj], sort_keys=True).encode()).hexdigest()
        held = self._states.setdefault(revision, state)
        assert held == state, f'revision {revision} was given twice, now to {obj}'
        self.highest = max(self.highest, revision)

    async def until(self, holds: Callable[[], object], *, what: str, seconds: float = SECONDS) -> None:
        """Wait for a state. Raises AssertionError, naming it, when it does not come."""
        try:
            async with asyncio.timeout(seconds), self._happened:
                await self._happened.wait_for(holds)
        except TimeoutError:
            raise AssertionError(f'not within {seconds} s: {what}') from None

    def get(self, plural: str, name: str) -> Object | None:
        """An object as it was seen last."""
        return self.objects.get((plural, name))

    def _see(self, plural: str, obj: Object, *, gone: bool = False) -> None:
        self.note(obj, gone=gone)
        key = (plural, obj['metadata']['name'])
        if gone:
            self.objects.pop(key, None)
            return
        self.objects[key] = obj
        if ip := obj.get('status', {}).get('podIP'):
            self._addresses.add(ip)
        if plural == 'jobs' and has_condition(obj, 'Complete'):
            self.completed.setdefault(obj['metadata']['uid'], self.mark())

    def address_ranges(self) -> set[str]:
        """The ranges that the addresses of pods were from, as :mod:`tests.recovery.processes` names them."""
        return {f'@jobset/{ip.rsplit(".", 2)[0]}' for ip in self._addresses}

    async def _list(self, plural: str) -> str:
        before = self.highest
        listed = await self.server.ask('GET', self.server.path(plural))
        version = int(listed['metadata']['resourceVersion'])
        assert version >= before, f'revision {before} was seen, and now it is {version}'
        known = {name: obj for (kind, name), obj in self.objects.items() if kind == plural}
        found = {obj['metadata']['name']: obj for obj in listed['items']}
        for name, obj in found.items():
            old = known.get(name)
            if old is not None:
                _compare(old, obj)
            self._see(plural, obj | {'apiVersion': listed['apiVersion'], 'kind': listed['kind'].removesuffix('List')})
        for name in set(known) - set(found):
            # A deletion that nobody has seen takes a revision that nobody has seen.
            assert version > int(known[name]['metadata']['resourceVersion']), f'{plural}/{name} was lost'
            del self.objects[plural, name]
        await self._tell()
        return str(version)

    async def _tell(self) -> None:
        async with self._happened:
            self._happened.notify_all()


def has_condition(obj: Object, kind: str) -> bool:
    """Whether a condition holds."""
    conditions = obj.get('status', {}).get('conditions', [])
    return any(each['type'] == kind and each['status'] == 'True' for each in conditions)


def _compare(old: Object, new: Object) -> None:
    before, now = old['metadata'], new['metadata']
    assert int(now['resourceVersion']) >= int(before['resourceVersion']), f'{old} became {new}'
    if now['uid'] == before['uid']:
        assert now['creationTimestamp'] == before['creationTimestamp']
    else:
        assert int(now['resourceVersion']) > int(before['resourceVersion']), f'{old} became {new}'
