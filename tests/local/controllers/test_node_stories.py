"""Nodes that go silent or away, and what becomes of their pods."""

import datetime

import pytest

from jobset.api import meta
from jobset.kube import requests
from jobset.local import objects
from jobset.local.controllers import models, suite
from jobset.local.controllers.nodes import lifecycle, podgc, tolerating
from jobset.local.objects import Object
from tests.local.controllers import world
from tests.local.controllers.world import World

NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
GONE = models.Taint(key='gone', effect='NoExecute', time_added='2026-11-30T11:59:00Z')
HOT = models.Taint(key='hot', value='very', effect='NoExecute')
SHY = models.Taint(key='shy', effect='NoSchedule')


def _bears(key: str = '', seconds: int | None = None, **more: str) -> models.Toleration:
    return models.Toleration(key=key, toleration_seconds=seconds, **{'operator': 'Exists', **more})


@pytest.mark.parametrize(
    ('tolerations', 'taints', 'seconds'),
    [
        pytest.param([], [], None, id='nothing to bear'),
        pytest.param([], [SHY], None, id='only for new ones'),
        pytest.param([], [GONE], -60, id='at once, which was then'),
        pytest.param([], [HOT], 0, id='at once'),
        pytest.param([_bears('gone')], [GONE], None, id='for ever'),
        pytest.param([_bears('gone', 300)], [GONE], 240, id='for a time'),
        pytest.param([_bears('gone', 300), _bears('gone', 100)], [GONE], 40, id='the shorter time'),
        pytest.param([_bears('gone', 300), _bears('hot', 30)], [GONE, HOT], 30, id='both'),
        pytest.param([_bears('gone', 300)], [GONE, HOT], 0, id='one of two'),
        pytest.param([_bears()], [GONE, HOT], None, id='everything'),
        pytest.param([_bears('hot', operator='Equal', value='very')], [HOT], None, id='the value'),
        pytest.param([_bears('hot', operator='', value='mild')], [HOT], 0, id='another value'),
        pytest.param([_bears('hot', effect='NoSchedule')], [HOT], 0, id='another effect'),
        pytest.param([_bears('hot', -5)], [HOT], 0, id='less than no time'),
    ],
)
def test_how_long_a_pod_stays(
    tolerations: list[models.Toleration], taints: list[models.Taint], seconds: float | None
) -> None:
    end = tolerating.evicted_at(tolerations, taints, NOW)
    assert (None if end is None else (end - NOW).total_seconds()) == seconds


def _node(ready: str | None, *taints: models.Taint) -> models.Node:
    conditions = () if ready is None else (meta.Condition(type='Ready', status=ready),)
    return models.Node(
        metadata=meta.Common(name='n'),
        spec=models.NodeSpec(taints=taints),
        status=models.NodeStatus(conditions=conditions),
    )


def _pair(key: str) -> list[models.Taint]:
    return [models.Taint(key=key, effect=effect, time_added=objects.stamp(NOW)) for effect in lifecycle._EFFECTS]


@pytest.mark.parametrize(
    ('node', 'taints'),
    [
        pytest.param(_node('True', SHY), [SHY], id='well'),
        pytest.param(_node(None), [], id='says nothing'),
        pytest.param(_node('False', SHY), [SHY, *_pair(lifecycle.NOT_READY)], id='not ready'),
        pytest.param(_node('Unknown', *_pair(lifecycle.NOT_READY)), _pair(lifecycle.UNREACHABLE), id='silent'),
        pytest.param(_node('True', *_pair(lifecycle.UNREACHABLE)), [], id='well again'),
    ],
)
def test_taints_follow_the_condition(node: models.Node, taints: list[models.Taint]) -> None:
    assert list(lifecycle.wanted_taints(node, NOW)) == taints


def test_nobody_is_evicted_while_no_node_is_ready() -> None:
    no_schedule, _ = _pair(lifecycle.UNREACHABLE)
    node = _node('Unknown', *_pair(lifecycle.UNREACHABLE))
    assert list(lifecycle.wanted_taints(node, NOW, evicts=False)) == [no_schedule]


async def _place(w: World, name: str, node: str, **status: object) -> None:
    spec: Object = {'nodeName': node, 'containers': [world.CONTAINER]}
    await w.create(requests.PODS, name, spec=spec, finalizers=['h-g.example.com/hold'])
    if status:
        await w.patch(requests.PODS, name, {'status': status}, 'status')


async def _condition(w: World, name: str, kind: str) -> tuple[str, str, str]:
    found = await w.get(requests.PODS, name)
    assert found is not None
    one = next(one for one in found['status']['conditions'] if one['type'] == kind)
    return one['status'], one['reason'], one['message']


async def _give_lease(w: World, node: str) -> None:
    lease: Object = {'apiVersion': 'coordination.k8s.io/v1', 'kind': 'Lease', 'metadata': {'name': node}}
    lease['spec'] = {'renewTime': objects.micro_stamp(w.now()), 'leaseDurationSeconds': 40, 'holderIdentity': node}
    await w.source.send(requests.create(requests.LEASES, lifecycle.LEASES, lease))


async def _renew_lease(w: World, node: str) -> None:
    body = {'spec': {'renewTime': objects.micro_stamp(w.now())}}
    await w.source.send(requests.patch(requests.LEASES, lifecycle.LEASES, node, body, requests.Patch.MERGE))


async def _let_go(w: World, *names: str) -> None:
    for name in names:
        await w.patch(requests.PODS, name, {'metadata': {'finalizers': None}})


@world.story
async def test_a_silent_node_is_tainted_and_its_pods_go_five_minutes_later(w: World) -> None:
    name = f'{w.namespace}-node'
    await w.create(requests.NODES, name)
    ready = [{'type': 'Ready', 'status': 'True', 'lastHeartbeatTime': objects.stamp(w.now())}]
    await w.patch(requests.NODES, name, {'status': {'conditions': ready}}, 'status')
    await _give_lease(w, name)
    other = f'{w.namespace}-other'
    await w.create(requests.NODES, other)
    await w.patch(requests.NODES, other, {'status': {'conditions': ready}}, 'status')
    await _give_lease(w, other)
    await _place(w, 'patient', name, phase='Running', conditions=[{'type': 'Ready', 'status': 'True'}])

    async def tainted() -> list[Object] | None:
        await _renew_lease(w, other)
        found = await w.get(requests.NODES, name)
        assert found is not None
        taints = found['spec'].get('taints') or []
        effects = {one['effect'] for one in taints if one['key'] == lifecycle.UNREACHABLE}
        return taints if effects == {'NoSchedule', 'NoExecute'} else None

    await w.until(tainted)
    found = await w.get(requests.NODES, name)
    assert found is not None
    (condition,) = [one for one in found['status']['conditions'] if one['type'] == 'Ready']
    assert (condition['status'], condition['reason'], condition['message']) == (
        'Unknown',
        'NodeStatusUnknown',
        'Kubelet stopped posting node status.',
    )

    async def unready() -> bool:
        pod = await w.get(requests.PODS, 'patient')
        assert pod is not None
        return any(one['type'] == 'Ready' and one['status'] == 'False' for one in pod['status']['conditions'])

    await w.until(unready)
    if not world.KUBECONFIG:
        for _ in range(29):
            await w.settle(10)
            await _renew_lease(w, other)
        pod = await w.get(requests.PODS, 'patient')
        assert pod is not None
        assert 'deletionTimestamp' not in pod['metadata']
        await w.settle(15)
        assert await _condition(w, 'patient', 'DisruptionTarget') == (
            'True',
            'DeletionByTaintManager',
            'Taint manager: deleting due to NoExecute taint',
        )
        pod = await w.get(requests.PODS, 'patient')
        assert pod is not None
        assert 'deletionTimestamp' in pod['metadata']
    await _let_go(w, 'patient')
    await w.delete(requests.NODES, name)
    await w.delete(requests.NODES, other)


@world.story
async def test_a_taint_of_somebody_else_evicts_who_does_not_bear_it(w: World) -> None:
    name = f'{w.namespace}-node'
    await w.create(requests.NODES, name)
    await _place(w, 'weak', name, phase='Running')
    await w.settle()

    await w.patch(requests.NODES, name, {'spec': {'taints': [{'key': 'hot', 'effect': 'NoExecute'}]}})

    async def going() -> bool:
        pod = await w.get(requests.PODS, 'weak')
        assert pod is not None
        return 'deletionTimestamp' in pod['metadata']

    await w.until(going)
    status, reason, message = await _condition(w, 'weak', 'DisruptionTarget')
    assert (status, reason) == ('True', 'DeletionByTaintManager')
    assert message == 'Taint manager: deleting due to NoExecute taint'
    await _let_go(w, 'weak')
    await w.delete(requests.NODES, name)


@world.story
async def test_pods_of_a_node_that_is_gone_fail_and_go(w: World) -> None:
    name = f'{w.namespace}-node'
    await w.create(requests.NODES, name)
    await _place(w, 'lost', name, phase='Running')
    await _place(w, 'done', name, phase='Succeeded')
    await w.settle()

    await w.delete(requests.NODES, name)

    async def both_going() -> bool:
        found = [await w.get(requests.PODS, one) for one in ('lost', 'done')]
        return all(one is not None and 'deletionTimestamp' in one['metadata'] for one in found)

    await w.until(both_going)
    lost, done = await w.get(requests.PODS, 'lost'), await w.get(requests.PODS, 'done')
    assert lost is not None
    assert done is not None
    assert (lost['status']['phase'], done['status']['phase']) == ('Failed', 'Succeeded')
    assert await _condition(w, 'lost', 'DisruptionTarget') == (
        'True',
        'DeletionByPodGC',
        'PodGC: node no longer exists',
    )
    await _let_go(w, 'lost', 'done')


@world.story(choices=suite.Choices(limits=podgc.Limits(ended_kept=2)), is_ours=True)
async def test_of_ended_pods_the_oldest_go_when_there_are_too_many(w: World) -> None:
    for place in range(4):
        name = f'p{place}'
        await w.create(requests.PODS, name, spec={'containers': [world.CONTAINER]})
        await w.patch(requests.PODS, name, {'status': {'phase': 'Succeeded'}}, 'status')
        await w.settle(1)

    await w.gone(requests.PODS, 'p0', 'p1')
    assert await w.names(requests.PODS) == {'p2', 'p3'}


@world.story(is_ours=True)
async def test_when_the_last_node_goes_silent_its_pods_stay_until_another_is_ready(w: World) -> None:
    await w.create(requests.NODES, 'one')
    ready = [{'type': 'Ready', 'status': 'True'}]
    await w.patch(requests.NODES, 'one', {'status': {'conditions': ready}}, 'status')
    await _give_lease(w, 'one')

    async def effects() -> set[str]:
        found = await w.get(requests.NODES, 'one')
        assert found is not None
        return {one['effect'] for one in found['spec'].get('taints') or []}

    await w.settle(60)
    assert await effects() == {'NoSchedule'}
    await w.create(requests.NODES, 'two')
    await w.settle()
    assert await effects() == {'NoSchedule', 'NoExecute'}
    await w.delete(requests.NODES, 'two')
    await w.settle()
    assert await effects() == {'NoSchedule'}
