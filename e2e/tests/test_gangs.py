"""Gangs on the real kube-scheduler, with nodes that are objects only.

Run it a second time with ``CLUSTER_FEATURE_GATES=WorkloadWithJob=true`` and a ``CLUSTER_NAME`` of its own: the Job
controller, which makes groups by itself then, must make none beside ours.
"""

from e2e.fakenodes import Pool, bound, is_disrupted, priorities, until_bound
from jobset.api import extras
from tests.scenarios.api import Object
from tests.scenarios.space import Space, conditions, jobset, message, replicated

RACK = 'jobset.test/rack'
GROUPS = '/apis/scheduling.k8s.io/v1beta1'


def gang(pool: Pool, name: str, *parts: Object, shape: str = 'set', **more: str) -> Object:
    """A JobSet that asks for gangs, of pods that want a CPU each."""
    one = jobset(name, *parts)
    asked = {extras.GANG.key: shape, **{f'{extras.PREFIX}gang-{key}': value for key, value in more.items()}}
    one['metadata']['annotations'] = asked
    for part in one['spec']['replicatedJobs']:
        job = part['template']['spec']
        pod = job['template']['spec']
        pod.update(pool.wanted())
        pod['containers'][0]['resources'] = {'requests': {'cpu': '1'}}
        # What is taken away by a preemption is no failure.
        job['podFailurePolicy'] = {'rules': [{'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget'}]}]}
        job['podReplacementPolicy'] = 'Failed'
    return one


def groups(here: Space) -> dict[str, int]:
    """The PodGroups of the namespace, with the sizes of their gangs."""
    found, _ = here.server.snapshot(f'{GROUPS}/namespaces/{here.name}/podgroups')
    return {name: one['spec']['schedulingPolicy']['gang']['minCount'] for name, one in found.items()}


def workloads(here: Space) -> int:
    return len(here.server.snapshot(f'{GROUPS}/namespaces/{here.name}/workloads')[0])


def waits(here: Space, name: str, reason: str = 'Unschedulable') -> Object:
    return here.until_jobset(
        name,
        lambda one: conditions(one).get('Waiting') == ('True', reason),
        what=f'{name} to wait as {reason}',
    )


def test_all_or_nothing(here: Space, pool: Pool) -> None:
    pool.add(1, cpu=4)
    with here.history('pods') as story:
        here.apply(gang(pool, 'five', replicated('w', 'true', pods=5)))
        one = here.until_jobset(
            'five',
            # The scheduler may look for the first time before it has heard of the node.
            lambda seen: 'Waiting' in conditions(seen) and '1 Insufficient cpu' in message(seen, 'Waiting'),
            what='five to wait for room on the node',
        )

    assert [moment for moment in story.moments if bound(moment)] == []
    assert conditions(one)['Waiting'] == ('True', 'Unschedulable')
    assert groups(here) == {'five-set-0': 5}
    assert workloads(here) == 1
    told = message(one, 'Waiting')
    assert told.startswith(
        'the gang of the whole set (PodGroup five-set-0): 5 of 5 pods exist, 0 have a node; there is'
    )
    events = here.all('events').values()
    assert {each['reason'] for each in events if each['regarding']['kind'] == 'JobSet'} == {'Unschedulable'}

    pool.add(1, cpu=4)
    until_bound(here, 'five', 5)
    here.until_condition('five', 'Waiting', 'False')

    here.delete_foreground('five')
    here.server.until(f'{GROUPS}/namespaces/{here.name}/podgroups', lambda seen: not seen, what='the groups to go')


def test_two_gangs_that_do_not_fit_both(here: Space, pool: Pool) -> None:
    pool.add(2, cpu=5)
    with here.history('pods') as story:
        here.apply(gang(pool, 'one', replicated('w', 'true', pods=6)))
        here.apply(gang(pool, 'two', replicated('w', 'true', pods=6)))
        seen = here.until('pods', lambda seen: len(bound(seen)) == 6, what='six pods to run')
        first, second = ('one', 'two') if bound(seen, 'one') else ('two', 'one')
        waits(here, second)

    assert (len(bound(seen, first)), len(bound(seen, second))) == (6, 0)
    assert [moment for moment in story.moments if bound(moment, second)] == []

    here.delete_foreground(first)
    until_bound(here, second, 6)


def test_a_gang_is_preempted_as_a_whole(here: Space, pool: Pool) -> None:
    pool.add(1, cpu=4)
    with priorities(here, 'low', 'high') as classes:
        here.apply(
            gang(pool, 'low', replicated('w', 'true', pods=4, priorityClassName=classes['low']), disruption='all')
        )
        until_bound(here, 'low', 4)
        here.apply(gang(pool, 'high', replicated('w', 'true', pods=2, priorityClassName=classes['high'])))
        seen = until_bound(here, 'high', 2)
        one = waits(here, 'low', 'Preempted')

        assert bound(seen, 'low') == set()
        assert one['status'].get('restarts', 0) == 0
        # Two would fit beside the high ones, and that is not what was asked for.
        here.delete_foreground('high')
        until_bound(here, 'low', 4)
        here.until_condition('low', 'Waiting', 'False')


def test_a_gang_stays_within_a_rack(here: Space, pool: Pool) -> None:
    pool.add(2, cpu=1, labels={RACK: 'small'})
    large = pool.add(4, cpu=1, labels={RACK: 'large'})

    here.apply(gang(pool, 'near', replicated('w', 'true', pods=4), topology=RACK))
    seen = until_bound(here, 'near', 4)

    assert {pod['spec']['nodeName'] for pod in seen.values()} == set(large)

    here.apply(gang(pool, 'wide', replicated('w', 'true', pods=5), topology=RACK))
    assert 'PodGroup wide-set-0' in message(waits(here, 'wide'), 'Waiting')


def test_stages_do_not_wait_for_each_other(here: Space, pool: Pool) -> None:
    pool.add(1, cpu=3)
    data = replicated('data', 'true', pods=2)
    needs = {'name': 'data', 'status': 'Complete'}
    workers = replicated('workers', 'true', pods=2, depends_on=needs)
    server = replicated('server', 'true', depends_on=needs)

    here.apply(gang(pool, 'staged', data, workers, server, shape='stage'))
    first = until_bound(here, 'staged-data', 2)
    assert groups(here) == {'staged-stage-0-0': 2}
    here.until_jobset('staged', lambda one: counters_of(one, 'data').get('ready') == 1, what='data to be ready')
    pool.succeed(sorted(first))

    second = here.until(
        'pods',
        lambda seen: len(bound(seen, 'staged-workers') | bound(seen, 'staged-server')) == 3,
        what='stage 1 to run',
    )
    assert groups(here)['staged-stage-1-0'] == 3
    pool.succeed(sorted(bound(second)))
    here.until_condition('staged', 'Completed')
    here.server.until(f'{GROUPS}/namespaces/{here.name}/podgroups', lambda seen: not seen, what='the groups to go')
    assert workloads(here) == 0


def test_scenario_12_staged_readiness(here: Space, pool: Pool) -> None:
    """A runs and completes, then B starts: with room and quota for three, nothing is ever evicted or held back."""
    pool.add(1, cpu=3)
    here.apply(
        {'apiVersion': 'v1', 'kind': 'ResourceQuota', 'metadata': {'name': 'three'}, 'spec': {'hard': {'pods': '3'}}}
    )
    parts = (replicated('a', 'true'), replicated('b', 'true', pods=3, depends_on={'name': 'a', 'status': 'Complete'}))
    with here.history('pods') as story, here.history('podgroups') as gangs:
        here.apply(gang(pool, 'staged', *parts, shape='stage'))
        first = until_bound(here, 'staged-a', 1)
        pool.succeed(sorted(first))
        second = until_bound(here, 'staged-b', 3)
        pool.succeed(sorted(bound(second, 'staged-b')))
        one = here.until_condition('staged', 'Completed')

    # One pod each, from its first day to its end: nothing was evicted, and nothing made again.
    assert len({pod['metadata']['uid'] for moment in story.moments for pod in moment.values()}) == 4
    assert {name for moment in story.moments for name, pod in moment.items() if is_disrupted(pod)} == set()
    # No pod of B was there before the one of A had ended.
    with_b = story.first(lambda moment: any(name.startswith('staged-b') for name in moment))
    assert {pod['status']['phase'] for name, pod in with_b.items() if name.startswith('staged-a')} == {'Succeeded'}
    sizes = {
        (name, group['spec']['schedulingPolicy']['gang']['minCount'])
        for moment in gangs.moments
        for name, group in moment.items()
    }
    assert sizes == {('staged-stage-0-0', 1), ('staged-stage-1-0', 3)}
    assert one['status'].get('restarts', 0) == 0
    assert {each['reason'] for each in here.all('events').values()} & {'FailedCreate', 'Preempted', 'Evicted'} == set()


def counters_of(one: Object, name: str) -> dict[str, int]:
    found = one.get('status', {}).get('replicatedJobsStatus', [])
    return next((entry for entry in found if entry['name'] == name), {})


def test_a_restart_is_a_gang_again(here: Space, pool: Pool) -> None:
    pool.add(1, cpu=2)
    one = gang(pool, 'again', replicated('w', 'true', pods=2))
    one['spec']['failurePolicy'] = {'maxRestarts': 1}
    del one['spec']['replicatedJobs'][0]['template']['spec']['podFailurePolicy']
    here.apply(one)
    first = until_bound(here, 'again', 2)

    pool.fail(sorted(first)[:1])
    here.until(
        'pods',
        lambda seen: len(bound(seen)) == 2 and not set(first) & bound(seen),
        what='the pods of the next attempt to run',
    )

    assert here.jobset('again')['status']['restarts'] == 1
    here.server.until(
        f'{GROUPS}/namespaces/{here.name}/podgroups',
        lambda seen: set(seen) == {'again-set-1'},
        what='the old group to go',
    )
