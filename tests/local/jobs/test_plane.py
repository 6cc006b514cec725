"""The recorded stories on the plane itself, in virtual time: its server, its garbage collector, this controller."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from jobset.kube import client
from jobset.local import clock, kinds
from jobset.local.controllers import catalogue, defaults, namespaces, shared
from jobset.local.controllers.collecting import collector
from jobset.local.jobs import controller
from jobset.local.server import direct, server
from jobset.local.store import storage
from tests.local.jobs import record, stage, stories
from tests.local.jobs.narration import Object


@contextlib.asynccontextmanager
async def _plane() -> AsyncIterator[stage.Server]:
    """A stage on a plane without nodes, and without what else would look after their pods."""
    now = clock.Clock().now
    api = client.Client(direct.Direct(server.Server(storage.Store(), kinds.all_(), now=now)))
    informers, known = shared.Informers(api), catalogue.Catalogue(api)
    runners = (
        controller.Controller(api, now=now).run(),
        namespaces.Namespaces(informers, known, now).run(),
        defaults.Defaults(informers).run(),
        collector.Collector(informers, known).run(),
        informers.run(),
        known.run(),
    )
    tasks = [asyncio.create_task(runner) for runner in runners]
    try:
        async with asyncio.timeout(600), stage.Server(api, 'stories', now=now) as played:
            yield played
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.mark.parametrize('story', [pytest.param(story, id=story.name) for story in stories.STORIES])
def test_story_goes_as_recorded(story: stories.Story) -> None:
    async def play() -> Object:
        async with _plane() as played:
            return await played.play(story)

    told = clock.run(play())

    assert stage.differences(record.recorded()[story.name], told) == []
