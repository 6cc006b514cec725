"""One look at pods for all who want one: from when, at which, and what a late one gets to hear."""

import asyncio
import contextlib
from typing import Any, cast

import msgspec
import pytest

from jobset.api import features, keys, pods
from jobset.controller import manager, metrics, podcache, world
from jobset.kube import client, requests, transport
from tests.controller import bench, plane
from tests.model import engine

SECONDS = 60
PLAIN: Any = {'labels': {}, 'annotations': {}, 'status': {'phase': 'Running'}}
OWNERS = [{'apiVersion': 'batch/v1', 'kind': 'Job', 'uid': 'job-uid', 'controller': True}]


def pod(name: str, version: int, labels: Any, annotations: Any, status: Any) -> pods.Pod:
    metadata = {
        'name': name,
        'namespace': 'default',
        'uid': name,
        'resourceVersion': str(version),
        'labels': {keys.JOBSET_NAME: 'js', keys.JOBSET_UID: 'js-uid', **labels},
        'annotations': annotations,
        'ownerReferences': OWNERS,
    }
    return msgspec.convert({'metadata': metadata, 'status': status}, pods.Pod)


def nobody() -> client.Client:
    return client.Client(cast(transport.Transport, bench.Bench().line))


@pytest.mark.parametrize(
    ('what', 'is_held'),
    [
        pytest.param({}, False, id='any other'),
        pytest.param({'labels': {keys.POD_GROUP: 'js-set-0'}}, True, id='in a gang'),
        pytest.param({'annotations': {keys.EXCLUSIVE_TOPOLOGY: 'rack'}}, True, id='placed exclusively'),
        pytest.param({'status': engine.exited(1)}, True, id='failed'),
    ],
)
def test_what_is_held(what: Any, is_held: bool) -> None:
    for holds_all in (False, True):
        one = podcache.PodCache(nobody(), holds_all=holds_all)
        one.cache.observe(pod('p', 1, **(PLAIN | what)))
        assert len(one.cache) == int(is_held or holds_all)


def test_a_late_follower_hears_of_all_that_is_there() -> None:
    one = podcache.PodCache(nobody(), holds_all=True)
    first, second = pod('p', 1, **PLAIN), pod('q', 2, **PLAIN)
    heard: list[tuple[str, str, str]] = []

    def follower(who: str) -> podcache.OnPod:
        return lambda old, new: heard.append(
            (who, old.metadata.name if old else '', new.metadata.name if new else ''),
        )

    before = one.is_wanted
    one.follow(follower('early'))
    one.cache.observe(first)
    one.follow(follower('late'))
    one.cache.observe(second)

    assert (before, one.is_wanted) == (False, True)
    assert heard == [('early', '', 'p'), ('late', '', 'p'), ('early', '', 'q'), ('late', '', 'q')]


async def test_all_who_look_share_one_informer() -> None:
    """In-place restarts, exclusive placement, causes of failures: each of them wants pods."""
    server = plane.Plane()
    server.apply()
    held = server.objects[world.JOBSETS.item('default', 'js')]
    asked = {keys.EXCLUSIVE_TOPOLOGY: 'rack', **engine.asking(archive_attempts='true')}
    server.put(world.JOBSETS, 'default', 'js', metadata=held['metadata'] | {'annotations': asked})
    server.kinds |= {requests.PODS, requests.NODES}

    def lists(kind: requests.Resource) -> int:
        seen = [one for one in server.seen if one.path == kind.collection()]
        return len([one for one in seen if 'watch' not in one.query])

    async with plane.carrier(server) as line:
        settings = manager.Settings(
            gates=features.FeatureGates(in_place_restart=True), leadership=None, instance='test'
        )
        one = manager.Manager(line, settings, metrics.Metrics())
        task = asyncio.create_task(one.run())
        try:
            async with asyncio.timeout(SECONDS):
                await server.until(lambda: server.names(requests.JOBS) == ['js-a-0'] and lists(requests.NODES) > 0)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    assert lists(requests.PODS) == 1
