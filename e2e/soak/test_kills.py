"""Kills at random moments while twenty JobSets run: nothing is lost, and nothing happens twice."""

import asyncio
import pathlib
import random
import secrets
from typing import Final

from e2e.kubectl import Kubectl
from e2e.soak.conftest import IN_FULL, SEED
from e2e.soak.killing import Killer
from e2e.soak.load import Load
from e2e.soak.server import connected, told

ALONE: Final = 190 if IN_FULL else 10
IN_TURN: Final = 10 if IN_FULL else 2


async def test_kills_lose_nothing_and_double_nothing(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    async with connected(kubectl.kubeconfig, f'kills-{secrets.token_hex(3)}') as server, told(server) as story:
        load = Load(server, story, seed=SEED)
        killer = Killer(kubectl.kubeconfig, tmp_path, server, story, random.Random(SEED))
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(load.run())
                await killer.alone(ALONE)
                assert await killer.stop() == [0]
                await killer.in_turn(IN_TURN)
                survivors = story.running()
                load.enough = True
                await work
            assert await killer.stop() == [0, 0]
        finally:
            await killer.stop()
        untold = await load.untold()
        print(f'{killer.kills} kills: {load.account}; {len(untold)} ends without an event')
        assert killer.kills == ALONE + IN_TURN
        # A kill costs the Events that are not sent yet; without one, none is lost.
        assert survivors & set(untold) == set()
