"""What happens as things change: waiting, trying again, gangs, and saying why."""

import pytest

from jobset.local.scheduling import model, planner, plans
from tests.local.scheduling import build


def _binds(plan: plans.Plan) -> dict[str, str]:
    return {bind.pod.metadata.name: bind.node for bind in plan.binds}


def _held(plan: plans.Plan) -> list[str]:
    return [hold.pod.metadata.name for hold in plan.holds]


def _planner(*nodes: model.Node) -> planner.Planner:
    plans = planner.Planner()
    for node in nodes or (build.node('n'),):
        plans.put_node(node)
    return plans


def _gang(plans: planner.Planner, name: str, pods: int, *, cpu: str = '1', **fields: str) -> None:
    for number in range(pods):
        plans.put_pod(build.pod(f'{name}-{number}', group=name, requests={'cpu': cpu}, **fields))


def test_a_pod_waits_for_room() -> None:
    plans = _planner()
    for name in ('a', 'b'):
        plans.put_pod(build.pod(name, requests={'cpu': '3'}))

    first = plans.plan(0)
    assert (_binds(first), _held(first)) == ({'a': 'n'}, ['b'])
    assert not plans.needs_plan

    plans.drop_pod('uid-a')

    assert _binds(plans.plan(1)) == {'b': 'n'}


def test_what_has_ended_takes_up_nothing() -> None:
    plans = _planner()
    plans.put_pod(build.pod('a', requests={'cpu': '3'}))
    plans.put_pod(build.pod('b', requests={'cpu': '3'}))
    plans.plan(0)

    plans.put_pod(build.pod('a', requests={'cpu': '3'}, nodeName='n', status={'phase': 'Succeeded'}))

    assert _binds(plans.plan(1)) == {'b': 'n'}


def test_a_new_node_helps() -> None:
    plans = _planner()
    plans.put_pod(build.pod('a', requests={'cpu': '8'}))
    plans.plan(0)

    plans.put_node(build.node('big', cpu='16'))

    assert _binds(plans.plan(1)) == {'a': 'big'}


@pytest.mark.parametrize(
    'after',
    [
        pytest.param(build.node('n', cpu='16'), id='it has grown'),
        pytest.param(build.node('n', cpu='16', labels={'a': 'b'}), id='it has grown and has another label'),
    ],
)
def test_a_changed_node_helps(after: model.Node) -> None:
    plans = _planner()
    plans.put_pod(build.pod('a', requests={'cpu': '8'}))
    plans.plan(0)

    plans.put_node(after)

    assert _binds(plans.plan(1)) == {'a': 'n'}


def test_a_heartbeat_changes_nothing() -> None:
    plans = _planner()
    plans.put_pod(build.pod('a', requests={'cpu': '8'}))
    plans.plan(0)

    plans.put_node(build.node('n'))

    assert not plans.needs_plan


def test_a_taint_that_goes_helps() -> None:
    plans = _planner(build.node('n', taints=[{'key': 'k', 'effect': 'NoSchedule'}]))
    plans.put_pod(build.pod('a'))
    assert _binds(plans.plan(0)) == {}

    plans.put_node(build.node('n'))

    assert _binds(plans.plan(1)) == {'a': 'n'}


def test_a_node_that_goes_leaves_the_rest_right() -> None:
    plans = _planner(build.node('a'), build.node('b'))
    plans.put_pod(build.pod('there', nodeName='a', requests={'cpu': '4'}))
    plans.drop_node('a')
    plans.put_node(build.node('a'))
    plans.put_pod(build.pod('p', requests={'cpu': '4'}))
    plans.put_pod(build.pod('q', requests={'cpu': '4'}))

    assert _binds(plans.plan(0)) == {'p': 'b'}


def test_gates_go() -> None:
    plans = _planner()
    plans.put_pod(build.pod('a', schedulingGates=[{'name': 'g'}]))
    assert [hold.reason for hold in plans.plan(0).holds] == ['SchedulingGated']

    plans.put_pod(build.pod('a'))

    assert _binds(plans.plan(1)) == {'a': 'n'}


def test_old_news_of_a_pod_that_was_given_a_node() -> None:
    plans = _planner()
    plans.put_pod(build.pod('a', requests={'cpu': '3'}))
    assert _binds(plans.plan(0)) == {'a': 'n'}

    plans.put_pod(build.pod('a', requests={'cpu': '3'}, labels={'new': 'label'}))

    assert not plans.needs_plan


def test_a_binding_that_failed() -> None:
    plans = _planner()
    pod = build.pod('a', requests={'cpu': '3'})
    plans.put_pod(pod)
    plans.plan(0)

    plans.forget('uid-a', pod)

    assert _binds(plans.plan(1)) == {'a': 'n'}


def test_a_pod_that_somebody_else_has_bound() -> None:
    plans = _planner(build.node('n'), build.node('m'))
    plans.put_pod(build.pod('a', requests={'cpu': '3'}))
    assert _binds(plans.plan(0)) == {'a': 'n'}

    plans.put_pod(build.pod('a', requests={'cpu': '3'}, nodeName='m'))
    plans.put_pod(build.pod('b', requests={'cpu': '3'}))

    assert _binds(plans.plan(1)) == {'b': 'n'}


def test_pods_of_one_shape_are_told_once() -> None:
    plans = _planner()
    for number in range(3):
        plans.put_pod(build.pod(f'p{number}', requests={'cpu': '5'}))
    assert _held(plans.plan(0)) == ['p0', 'p1', 'p2']

    plans.put_pod(build.pod('p3', requests={'cpu': '5'}))

    assert _held(plans.plan(1)) == ['p3']


def test_another_reason_is_told_after_a_while() -> None:
    plans = _planner()
    plans.put_pod(build.pod('p', requests={'cpu': '5'}))
    assert _held(plans.plan(0)) == ['p']

    plans.put_node(build.node('m'))
    assert _held(plans.plan(1)) == []

    plans.put_node(build.node('o'))
    later = plans.plan(11)

    assert [hold.message.partition('.')[0] for hold in later.holds] == ['0/3 nodes are available: 3 Insufficient cpu']


def test_what_was_said_before_a_restart_is_not_said_again() -> None:
    said = '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: '
    said += '1 Preemption is not helpful for scheduling.'
    condition = {'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', 'message': said}
    plans = _planner()

    plans.put_pod(build.pod('p', requests={'cpu': '5'}, status={'conditions': [condition]}))

    assert _held(plans.plan(0)) == []


# Gangs.


def test_a_gang_is_placed_as_a_whole() -> None:
    plans = _planner(build.node('a'), build.node('b'))
    plans.put_group(build.group('g', min_count=4))
    _gang(plans, 'g', 4, cpu='2')

    plan = plans.plan(0)

    assert _binds(plan) == {'g-0': 'a', 'g-1': 'b', 'g-2': 'a', 'g-3': 'b'}
    assert [(one.is_scheduled, one.reason) for one in plan.judgements] == [(True, 'Scheduled')]


def test_a_gang_takes_nothing_while_it_is_not_whole() -> None:
    plans = _planner()
    plans.put_group(build.group('g', min_count=3))
    _gang(plans, 'g', 2)
    plans.put_pod(build.pod('single', requests={'cpu': '4'}))

    plan = plans.plan(0)

    assert (_binds(plan), plan.judgements) == ({'single': 'n'}, [])


def test_a_gang_that_does_not_fit_leaves_room_for_others() -> None:
    plans = _planner()
    plans.put_group(build.group('g', min_count=3))
    _gang(plans, 'g', 3, cpu='2')
    plans.put_pod(build.pod('z', requests={'cpu': '4'}))

    plan = plans.plan(0)

    assert _binds(plan) == {'z': 'n'}
    assert [one.is_scheduled for one in plan.judgements] == [False]


def test_a_gang_tries_again_after_a_pause() -> None:
    plans = _planner()
    plans.put_pod(build.pod('there', created='2025-12-31T00:00:00Z', requests={'cpu': '1'}))
    plans.put_group(build.group('g', min_count=2))
    _gang(plans, 'g', 2, cpu='2')
    assert _binds(plans.plan(0)) == {'there': 'n'}

    plans.drop_pod('uid-there')

    early = plans.plan(0.5)
    assert (_binds(early), early.again_at) == ({}, 1.0)
    assert _binds(plans.plan(1.0)) == {'g-0': 'n', 'g-1': 'n'}


def test_pods_without_their_group_wait_in_silence() -> None:
    plans = _planner()
    _gang(plans, 'g', 2)
    plan = plans.plan(0)
    assert (plan.binds, plan.holds) == ([], [])

    plans.put_group(build.group('g', min_count=2))

    assert _binds(plans.plan(1)) == {'g-0': 'n', 'g-1': 'n'}


def test_more_than_the_least() -> None:
    plans = _planner()
    plans.put_group(build.group('g', min_count=2))
    _gang(plans, 'g', 6)

    plan = plans.plan(0)

    assert (_binds(plan), _held(plan)) == ({f'g-{number}': 'n' for number in range(4)}, ['g-4', 'g-5'])


def test_a_settled_gang_is_filled_up_one_by_one() -> None:
    plans = _planner()
    plans.put_group(build.group('g', min_count=4))
    _gang(plans, 'g', 4)
    assert len(plans.plan(0).binds) == 4

    for number in range(2):
        plans.drop_pod(f'uid-g-{number}')
    plans.put_pod(build.pod('g-again', group='g', requests={'cpu': '1'}))

    plan = plans.plan(1)
    assert (_binds(plan), plan.judgements) == ({'g-again': 'n'}, [])


def test_a_gang_that_is_made_anew_is_whole_again_or_nothing() -> None:
    plans = _planner(build.node('n', cpu='6'))
    plans.put_group(build.group('g', min_count=4))
    _gang(plans, 'g', 4)
    assert len(plans.plan(0).binds) == 4
    for number in range(4):
        # They take their time to end, and are no part of the new attempt.
        fields = {'group': 'g', 'requests': {'cpu': '1'}, 'nodeName': 'n', 'deleted': '2026-01-01T00:00:10Z'}
        plans.put_pod(build.pod(f'g-{number}', **fields))
    for number in range(4):
        plans.put_pod(build.pod(f'again-{number}', group='g', requests={'cpu': '1'}))

    plan = plans.plan(1)
    assert (plan.binds, plan.judgements) == ([], [])

    for number in range(4):
        plans.drop_pod(f'uid-g-{number}')
    assert len(plans.plan(20).binds) == 4


def test_a_new_gang_of_an_old_name_is_not_settled() -> None:
    plans = _planner()
    plans.put_group(build.group('g', min_count=2))
    _gang(plans, 'g', 2)
    assert len(plans.plan(0).binds) == 2
    for number in range(2):
        plans.drop_pod(f'uid-g-{number}')
    plans.drop_group(build.group('g', min_count=2).metadata.ref)

    plans.put_group(build.group('g', min_count=2))
    plans.put_pod(build.pod('g-0', group='g'))

    assert plans.plan(1).binds == []


def test_a_gang_shares_a_domain() -> None:
    nodes = [build.node(f'n{number}', labels={'rack': 'ab'[number // 2]}) for number in range(4)]
    plans = _planner(*nodes)
    plans.put_pod(build.pod('there', nodeName='n0', requests={'cpu': '3'}))
    plans.put_group(build.group('g', min_count=4, topology='rack'))
    _gang(plans, 'g', 4, cpu='2')

    assert _binds(plans.plan(0)) == {'g-0': 'n2', 'g-1': 'n3', 'g-2': 'n2', 'g-3': 'n3'}


def test_a_replacement_stays_in_the_domain() -> None:
    nodes = [build.node(f'n{number}', labels={'rack': 'ab'[number]}) for number in range(2)]
    plans = _planner(*nodes)
    plans.put_group(build.group('g', min_count=2, topology='rack'))
    _gang(plans, 'g', 2, cpu='2')
    assert _binds(plans.plan(0)) == {'g-0': 'n0', 'g-1': 'n0'}
    plans.drop_pod('uid-g-1')
    plans.put_pod(build.pod('filler', nodeName='n0', requests={'cpu': '2'}))
    plans.put_pod(build.pod('g-2', group='g', requests={'cpu': '2'}))

    assert _binds(plans.plan(1)) == {}

    plans.drop_pod('uid-filler')
    assert _binds(plans.plan(20)) == {'g-2': 'n0'}


def test_a_basic_group_counts_its_pods_for_themselves() -> None:
    plans = _planner()
    plans.put_group(build.group('g', min_count=None))
    _gang(plans, 'g', 3, cpu='2')

    plan = plans.plan(0)

    assert (_binds(plan), [one.is_scheduled for one in plan.judgements]) == ({'g-0': 'n', 'g-1': 'n'}, [True])


def test_gangs_do_not_block_each_other() -> None:
    plans = _planner(build.node('a'), build.node('b'))
    for name in ('g', 'h'):
        plans.put_group(build.group(name, min_count=3))
    for number in range(3):
        for name in ('g', 'h'):
            plans.put_pod(build.pod(f'{name}-{number}', group=name, requests={'cpu': '2'}))

    plan = plans.plan(0)

    assert _binds(plan) == {'g-0': 'a', 'g-1': 'b', 'g-2': 'a'}
    assert {one.group.metadata.name: one.is_scheduled for one in plan.judgements} == {'g': True, 'h': False}


def test_a_crowd_of_many_shapes_and_changes_is_placed_as_from_scratch() -> None:
    """What is kept from plan to plan is as good as looking at everything: no node is overfull, none is forgotten."""
    nodes = [build.node(f'n{number:02}', cpu='8', labels={'rack': f'r{number // 4}'}) for number in range(20)]
    plans = _planner(*nodes)
    sizes = ('1', '2', '3', '5')
    running: list[str] = []
    for step in range(400):
        fields = {'nodeSelector': {'rack': f'r{step % 5}'}} if step % 3 == 0 else {}
        plans.put_pod(build.pod(f'p{step:03}', requests={'cpu': sizes[step % 4]}, **fields))
        running += [bind.pod.metadata.uid for bind in plans.plan(step).binds]
        if step % 2:
            plans.drop_pod(running.pop(step * 7 % len(running)))
    while plans.unplaced:
        plan = plans.plan(1000)
        running += [bind.pod.metadata.uid for bind in plan.binds]
        assert all(left >= 0 for place in plans.room for left in place.free)
        plans.drop_pod(running.pop(0))

    assert len(plans.room.residents) == len(running)
