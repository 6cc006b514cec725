"""Controllers that are killed at random moments and started again, one at a time or with another in waiting."""

import asyncio
import json
import pathlib
import random
import re
from dataclasses import dataclass, field
from typing import Any, Final

from e2e import controller
from e2e.soak.server import Server, Story

ARGUMENTS: Final = ('--disable-webhooks',)
LEASE: Final = 'soak'
ELECTION: Final[dict[str, Any]] = {
    'leaderElect': True,
    'resourceName': LEASE,
    'leaseDuration': '3s',
    'renewDeadline': '2s',
    'retryPeriod': '300ms',
}
"""Quick, so that the next one takes over in seconds."""

EARLY: Final = 0.25
"""How many of the kills come while the controller still starts."""

LATE_SECONDS: Final = 1.5
"""A controller that sees nothing happen is killed after so long."""


@dataclass
class Killer:
    """``story`` says when something has happened: that is when a kill hurts."""

    kubeconfig: str
    folder: pathlib.Path
    server: Server
    story: Story
    chance: random.Random
    kills: int = 0
    _made: list[controller.Controller] = field(default_factory=list)

    async def alone(self, times: int) -> None:
        """Kill a controller that has no other beside it, so many times; the last one runs on."""
        one = self._make('alone', ELECTION | {'leaderElect': False})
        for _ in range(times):
            one.start()
            await self._wait_for_the_moment(one)
            await asyncio.to_thread(one.kill)
            self.kills += 1
        one.start()
        await asyncio.to_thread(one.wait_until_ready)

    async def in_turn(self, times: int) -> None:
        """Kill the one of two that leads, so many times; both run on."""
        pair = [self._make(f'replica-{number}', ELECTION) for number in range(2)]
        for one in pair:
            one.start()
        for _ in range(times):
            leader = await self._leader(pair)
            await self._changes(self.chance.randrange(30))
            await asyncio.to_thread(leader.kill)
            self.kills += 1
            leader.start()
        await self._leader(pair)

    async def stop(self) -> list[int]:
        """Ask those that run to end; returns their exit codes."""
        alive = [one for one in self._made if one.process is not None and one.process.poll() is None]
        return [await asyncio.to_thread(one.stop) for one in alive]

    def _make(self, name: str, election: dict[str, Any]) -> controller.Controller:
        changes = {'leaderElection': election | {'resourceNamespace': self.server.namespace}}
        one = controller.Controller(self.kubeconfig, self.folder / name, changes=changes, arguments=ARGUMENTS)
        self._made.append(one)
        return one

    async def _wait_for_the_moment(self, one: controller.Controller) -> None:
        if self.chance.random() < EARLY:
            await asyncio.sleep(self.chance.uniform(0, LATE_SECONDS))
            return
        await asyncio.to_thread(one.wait_until_ready)
        await self._changes(self.chance.randrange(30))

    async def _changes(self, count: int) -> None:
        """Let so many changes happen, or a while pass."""
        wanted = self.story.changes + count
        try:
            await self.story.until(lambda: self.story.changes >= wanted, what='changes', seconds=LATE_SECONDS)
        except AssertionError:
            return

    async def _leader(self, pair: list[controller.Controller]) -> controller.Controller:
        """The one that holds the lease, once one does that is alive."""
        async with asyncio.timeout(controller.READY_SECONDS):
            while True:
                lease = await self.server.find('leases', LEASE)
                holder = (lease or {'spec': {}})['spec'].get('holderIdentity')
                for one in pair:
                    if holder and holder == await asyncio.to_thread(_identity, one.log):
                        return one
                await asyncio.sleep(0.1)


def _identity(log: pathlib.Path) -> str:
    """Who the last process that wrote a log was when it began to lead; empty when it did not."""
    last = ''
    for line in log.read_text(errors='replace').splitlines() if log.exists() else ():
        try:
            message = json.loads(line)['msg']
        except ValueError:
            continue  # cut off by a kill
        found = re.fullmatch(r'lease \S+: (\S+) leads', message)
        last = found.group(1) if found else last
    return last
