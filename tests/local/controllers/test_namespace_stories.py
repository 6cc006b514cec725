"""Namespaces: what they are given, and how they end."""

import pytest

from jobset.kube import errors, requests
from jobset.local.objects import Object
from tests.local.controllers import world
from tests.local.controllers.world import ACCOUNTS, CONFIG_MAPS, SECRETS, World

HOLD, KEEP = 'h-g.example.com/hold', 'h-g.example.com/keep'
REMAINING = 'Some content in the namespace has finalizers remaining'


@world.story
async def test_a_new_namespace_is_given_its_account_again_and_again(w: World) -> None:
    first = await w.until(lambda: w.get(ACCOUNTS, 'default'))

    await w.delete(ACCOUNTS, 'default')

    async def another() -> bool:
        found = await w.get(ACCOUNTS, 'default')
        return found is not None and found['metadata']['uid'] != first['metadata']['uid']

    await w.until(another)


@world.story
async def test_an_empty_namespace_goes(w: World) -> None:
    await w.create(CONFIG_MAPS, 'a')
    await w.create(requests.PODS, 'p', spec={'containers': [world.CONTAINER]})
    await w.settle()

    await w.delete(requests.NAMESPACES, w.namespace, None)

    await w.gone(requests.NAMESPACES, w.namespace)
    assert await w.get(CONFIG_MAPS, 'a') is None


@world.story
async def test_what_a_namespace_waits_for_is_told(w: World) -> None:
    await w.create(CONFIG_MAPS, 'a', finalizers=[HOLD])
    await w.create(SECRETS, 'b', finalizers=[HOLD, KEEP])
    await w.settle()

    await w.delete(requests.NAMESPACES, w.namespace, None)

    async def told() -> list[Object] | None:
        found = await w.get(requests.NAMESPACES, w.namespace)
        assert found is not None
        assert found['status']['phase'] == 'Terminating'
        conditions: list[Object] | None = found['status'].get('conditions')
        return conditions

    conditions = {one['type']: one for one in await w.until(told)}
    assert {name: (one['status'], one['reason'], one['message']) for name, one in conditions.items()} == {
        'NamespaceDeletionDiscoveryFailure': (
            'False',
            'ResourcesDiscovered',
            'All resources successfully discovered',
        ),
        'NamespaceDeletionGroupVersionParsingFailure': (
            'False',
            'ParsedGroupVersions',
            'All legacy kube types successfully parsed',
        ),
        'NamespaceDeletionContentFailure': (
            'False',
            'ContentDeleted',
            'All content successfully deleted, may be waiting on finalization',
        ),
        'NamespaceContentRemaining': (
            'True',
            'SomeResourcesRemain',
            'Some resources are remaining: configmaps. has 1 resource instances, secrets. has 1 resource instances',
        ),
        'NamespaceFinalizersRemaining': (
            'True',
            'SomeFinalizersRemain',
            f'{REMAINING}: {HOLD} in 2 resource instances, {KEEP} in 1 resource instances',
        ),
    }
    await w.patch(CONFIG_MAPS, 'a', {'metadata': {'finalizers': None}})
    await w.patch(SECRETS, 'b', {'metadata': {'finalizers': None}})
    await w.gone(requests.NAMESPACES, w.namespace)


@world.story
async def test_nothing_is_made_in_a_namespace_that_ends(w: World) -> None:
    await w.create(CONFIG_MAPS, 'a', finalizers=[HOLD])
    await w.delete(requests.NAMESPACES, w.namespace, None)

    with pytest.raises(errors.Forbidden, match='being terminated'):
        await w.create(CONFIG_MAPS, 'b')
    await w.patch(CONFIG_MAPS, 'a', {'metadata': {'finalizers': None}})
