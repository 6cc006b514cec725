"""A client that remembers what it was told, and finds it again."""

import asyncio
import random
from dataclasses import dataclass
from typing import Final

from tests.recovery.diary import Diary
from tests.recovery.server import MERGE, Object, Server, UnansweredError

PLURAL: Final = 'configmaps'
NAMES: Final = 12
"""Objects of one writer: few, so that names are used again."""

APPLY: Final = 'application/apply-patch+yaml'


@dataclass(frozen=True)
class Known:
    """A state that was acknowledged."""

    uid: str
    revision: int
    text: str


class Writer:
    """The only one that writes its objects, so that it knows exactly what they must be."""

    def __init__(self, server: Server, diary: Diary, name: str, seed: str) -> None:
        self.enough = False
        self.acknowledged = 0
        self.unanswered = 0
        self._server = server
        self._diary = diary
        self._name = name
        self._chance = random.Random(f'{seed}/{name}')
        self._known: dict[str, Known] = {}
        self._count = 0

    async def run(self, pause: float = 0.03) -> None:
        """Write until it is enough."""
        while not self.enough:
            await self.write()
            await asyncio.sleep(self._chance.uniform(0, 2 * pause))

    async def write(self) -> None:
        """One change, and now and then a look at what was written before."""
        self._count += 1
        name = f'{self._name}-{self._chance.randrange(NAMES)}'
        known = self._known.get(name)
        text = f'{self._count} ' + 'x' * self._chance.randrange(2000)
        wanted = None if known is not None and self._chance.random() < 0.2 else text
        try:
            if wanted is None:
                await self._server.once('DELETE', self._server.path(PLURAL, name))
                self._known.pop(name)
            else:
                self._take(name, await self._send(name, known, wanted))
        except UnansweredError:
            self.unanswered += 1
            await self._find_out(name, wanted)
        else:
            self.acknowledged += 1
        if self._chance.random() < 0.1:
            await self.check(self._chance.randrange(NAMES))

    async def check_all(self) -> None:
        """Compare all objects with what was acknowledged."""
        for number in range(NAMES):
            await self.check(number)

    async def check(self, number: int) -> None:
        """Compare one."""
        name = f'{self._name}-{number}'
        found = await self._server.find(PLURAL, name)
        assert (found and _state(found)) == self._known.get(name), f'{name} is not what was acknowledged'

    async def _send(self, name: str, known: Known | None, text: str) -> Object:
        path = self._server.path(PLURAL, name)
        body = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': {'text': text}}
        match self._chance.randrange(3):
            case 0:
                query = '?fieldManager=recovery&force=true'
                return await self._server.once('PATCH', path + query, body, APPLY)
            case _ if known is None:
                return await self._server.once('POST', self._server.path(PLURAL), body)
            case 1:
                body['metadata'] = {'name': name, 'uid': known.uid, 'resourceVersion': str(known.revision)}
                return await self._server.once('PUT', path, body)
            case _:
                return await self._server.once('PATCH', path, {'data': {'text': text}}, MERGE)

    def _take(self, name: str, answer: Object) -> None:
        self._diary.note(answer)
        before, now = self._known.get(name), _state(answer)
        if before is not None:
            assert now.uid == before.uid, f'{name} became another object'
            assert now.revision > before.revision
        self._known[name] = now

    async def _find_out(self, name: str, wanted: str | None) -> None:
        """Either it has happened, all of it, or it has not."""
        before = self._known.get(name)
        found = await self._server.find(PLURAL, name)
        if found is None:
            assert before is None or wanted is None, f'{name} was lost: it was {before}'
            self._known.pop(name, None)
            return
        state = _state(found)
        if state != before:
            assert state.text == wanted, f'{name} is neither {before} nor {wanted!r} but {state}'
            self._take(name, found)


def _state(obj: Object) -> Known:
    meta = obj['metadata']
    return Known(meta['uid'], int(meta['resourceVersion']), obj['data']['text'])
