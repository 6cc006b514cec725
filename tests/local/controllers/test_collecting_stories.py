"""The garbage collector at work. Each of these was seen on a real cluster, too."""

from jobset.kube import errors, requests
from jobset.local.objects import Object
from tests.local.controllers import world
from tests.local.controllers.world import CONFIG_MAPS, SECRETS, World, owner

FOREGROUND = requests.Propagation.FOREGROUND
ORPHAN = requests.Propagation.ORPHAN
HOLD = 'h-g.example.com/hold'


@world.story
async def test_dependants_go_after_their_owner(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    middle = await w.create(SECRETS, 'middle', owners=[owner(top)])
    await w.create(CONFIG_MAPS, 'bottom', owners=[owner(middle)])
    await w.create(CONFIG_MAPS, 'stranger')
    await w.settle()

    await w.delete(CONFIG_MAPS, 'top')

    await w.gone(SECRETS, 'middle')
    await w.gone(CONFIG_MAPS, 'bottom')
    assert 'stranger' in await w.names(CONFIG_MAPS)


@world.story
async def test_one_owner_that_is_left_is_enough(w: World) -> None:
    one, two = await w.create(CONFIG_MAPS, 'one'), await w.create(CONFIG_MAPS, 'two')
    await w.create(SECRETS, 'both', owners=[owner(one), owner(two, controller=True)])
    await w.settle()

    await w.delete(CONFIG_MAPS, 'one')

    async def look() -> bool:
        both = await w.get(SECRETS, 'both')
        assert both is not None
        return bool(both['metadata']['ownerReferences'] == [owner(two, controller=True)])

    await w.until(look)
    await w.delete(CONFIG_MAPS, 'two')
    await w.gone(SECRETS, 'both')


@world.story
async def test_what_is_made_for_an_owner_that_is_gone(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    await w.delete(CONFIG_MAPS, 'top')
    await w.gone(CONFIG_MAPS, 'top')

    await w.create(SECRETS, 'late', owners=[owner(top)])

    await w.gone(SECRETS, 'late')


@world.story
async def test_a_name_alone_is_no_owner(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    await w.create(SECRETS, 'other-uid', owners=[owner(top, uid='00000000-0000-0000-0000-000000000000')])
    await w.create(SECRETS, 'other-kind', owners=[owner(top, kind='Secret')])
    await w.create(SECRETS, 'good', owners=[owner(top)])

    await w.gone(SECRETS, 'other-uid', 'other-kind')
    await w.settle()
    assert await w.get(SECRETS, 'good') is not None


@world.story
async def test_in_the_foreground_those_that_block_go_first(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    await w.create(SECRETS, 'blocking', owners=[owner(top, block=True)], finalizers=[HOLD])
    await w.create(SECRETS, 'free', owners=[owner(top)], finalizers=[HOLD])
    await w.settle()

    await w.delete(CONFIG_MAPS, 'top', FOREGROUND)

    async def both_are_going() -> bool:
        found = [await w.get(SECRETS, name) for name in ('blocking', 'free')]
        return all(one is not None and 'deletionTimestamp' in one['metadata'] for one in found)

    await w.until(both_are_going)
    waiting = await w.get(CONFIG_MAPS, 'top')
    assert waiting is not None
    assert waiting['metadata']['finalizers'] == ['foregroundDeletion']
    await w.patch(SECRETS, 'blocking', {'metadata': {'finalizers': None}})
    await w.gone(CONFIG_MAPS, 'top')
    assert await w.get(SECRETS, 'free') is not None
    await w.patch(SECRETS, 'free', {'metadata': {'finalizers': None}})
    await w.gone(SECRETS, 'free')


@world.story
async def test_in_the_foreground_all_the_way_down(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    middle = await w.create(SECRETS, 'middle', owners=[owner(top, block=True)])
    await w.create(CONFIG_MAPS, 'bottom', owners=[owner(middle, block=True)], finalizers=[HOLD])
    await w.settle()

    await w.delete(CONFIG_MAPS, 'top', FOREGROUND)

    async def bottom_is_going() -> bool:
        found = await w.get(CONFIG_MAPS, 'bottom')
        return found is not None and 'deletionTimestamp' in found['metadata']

    await w.until(bottom_is_going)
    middle_now = await w.get(SECRETS, 'middle')
    assert middle_now is not None
    assert middle_now['metadata']['finalizers'] == ['foregroundDeletion']
    await w.patch(CONFIG_MAPS, 'bottom', {'metadata': {'finalizers': None}})
    await w.gone(CONFIG_MAPS, 'top', 'bottom')
    await w.gone(SECRETS, 'middle')


@world.story
async def test_in_the_foreground_without_dependants(w: World) -> None:
    await w.create(CONFIG_MAPS, 'top')
    await w.settle()

    await w.delete(CONFIG_MAPS, 'top', FOREGROUND)

    await w.gone(CONFIG_MAPS, 'top')


@world.story
async def test_who_no_longer_belongs_to_the_owner_blocks_it_no_more(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    await w.create(SECRETS, 'held', owners=[owner(top, block=True)], finalizers=[HOLD])
    await w.settle()
    await w.delete(CONFIG_MAPS, 'top', FOREGROUND)
    await w.settle()
    assert await w.get(CONFIG_MAPS, 'top') is not None

    await w.patch(SECRETS, 'held', {'metadata': {'ownerReferences': None}})

    await w.gone(CONFIG_MAPS, 'top')
    await w.patch(SECRETS, 'held', {'metadata': {'finalizers': None}})


@world.story
async def test_orphans_stay_and_lose_the_reference(w: World) -> None:
    top, other = await w.create(CONFIG_MAPS, 'top'), await w.create(CONFIG_MAPS, 'other')
    await w.create(SECRETS, 'one', owners=[owner(top, block=True)])
    await w.create(SECRETS, 'two', owners=[owner(top), owner(other)])
    await w.settle()

    await w.delete(CONFIG_MAPS, 'top', ORPHAN)

    await w.gone(CONFIG_MAPS, 'top')
    one, two = await w.get(SECRETS, 'one'), await w.get(SECRETS, 'two')
    assert one is not None
    assert two is not None
    assert 'ownerReferences' not in one['metadata']
    assert two['metadata']['ownerReferences'] == [owner(other)]


@world.story
async def test_owners_in_a_circle(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    one = await w.create(SECRETS, 'one', owners=[owner(top, block=True)])
    two = await w.create(SECRETS, 'two', owners=[owner(one, block=True)])
    await w.patch(SECRETS, 'one', {'metadata': {'ownerReferences': [owner(top, block=True), owner(two, block=True)]}})
    await w.settle()

    await w.delete(CONFIG_MAPS, 'top', FOREGROUND)
    await w.delete(SECRETS, 'two', FOREGROUND)

    await w.gone(CONFIG_MAPS, 'top')
    await w.gone(SECRETS, 'one', 'two')


@world.story
async def test_kinds_that_come_and_go(w: World) -> None:
    await w.create(world.DEFINITIONS, world.WIDGETS_DEFINITION['metadata']['name'], **_spec())

    async def widget() -> Object | None:
        try:
            return await w.create(world.WIDGETS, 'w')
        except errors.NotFound:
            return None

    made = await w.until(widget)
    await w.create(CONFIG_MAPS, 'of-widget', owners=[owner(made)])
    await w.create(world.WIDGETS, 'of-map', owners=[owner(await w.create(CONFIG_MAPS, 'top'))])
    await w.settle(5)

    await w.delete(CONFIG_MAPS, 'top')
    await w.gone(world.WIDGETS, 'of-map')
    await w.delete(world.DEFINITIONS, world.WIDGETS_DEFINITION['metadata']['name'])
    await w.gone(CONFIG_MAPS, 'of-widget')


def _spec() -> Object:
    return {'spec': world.WIDGETS_DEFINITION['spec']}


@world.story
async def test_owners_of_the_cluster(w: World) -> None:
    name = f'{w.namespace}-node'
    node = await w.create(requests.NODES, name)
    await w.create(CONFIG_MAPS, 'of-node', owners=[owner(node)])
    await w.settle()

    await w.delete(requests.NODES, name)

    await w.gone(CONFIG_MAPS, 'of-node')


@world.story
async def test_an_object_of_the_cluster_with_an_owner_in_a_namespace_stays(w: World) -> None:
    top = await w.create(CONFIG_MAPS, 'top')
    name = f'{w.namespace}-node'
    await w.create(requests.NODES, name, owners=[owner(top)])
    await w.delete(CONFIG_MAPS, 'top')
    await w.settle()

    assert await w.get(requests.NODES, name) is not None
    await w.delete(requests.NODES, name)
