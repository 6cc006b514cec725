"""Gangs on the real kube-scheduler, with nodes that are objects only.

Run it a second time with ``CLUSTER_FEATURE_GATES=WorkloadWithJob=true`` and a ``CLUSTER_NAME`` of its own: the Job
controller, which makes groups by itself then, must make none beside ours.
"""

from collections.abc import Iterator

import pytest

from e2e import fakenodes
from e2e.fakenodes import Pool
from jobset.api import extras
from tests.scenarios.api import Object, Objects
from tests.scenarios.space import Space, conditions, jobset, message, replicated

RACK = 'jobset.test/rack'
GROUPS = '/apis/scheduling.k8s.io/v1beta1'


@pytest.fixture
def pool(here: Space) -> Iterator[Pool]:
    with fakenodes.pool(here) as made:
        yield made


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


def bound(pods: Objects, prefix: str = '') -> set[str]:
    """The pods that have a node and have not ended."""
    return {
        name
        for name, pod in pods.items()
        if name.startswith(prefix)
        and pod['spec'].get('nodeName')
        and pod['status'].get('phase') not in ('Failed', 'Succeeded')
        and 'deletionTimestamp' not in pod['metadata']
    }


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


def runs(here: Space, prefix: str, count: int) -> Objects:
    return here.until('pods', lambda seen: len(bound(seen, prefix)) == count, what=f'{count} pods of {prefix} to run')


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
    runs(here, 'five', 5)
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
    runs(here, second, 6)


def test_a_gang_is_preempted_as_a_whole(here: Space, pool: Pool) -> None:
    classes = {name: f'{here.name}-{name}' for name in ('low', 'high')}
    for value, name in enumerate(classes.values(), start=1000):
        body: Object = {'metadata': {'name': name}, 'value': value}
        here.server.request('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', body)
    pool.add(1, cpu=4)
    try:
        here.apply(
            gang(pool, 'low', replicated('w', 'true', pods=4, priorityClassName=classes['low']), disruption='all')
        )
        runs(here, 'low', 4)
        here.apply(gang(pool, 'high', replicated('w', 'true', pods=2, priorityClassName=classes['high'])))
        seen = runs(here, 'high', 2)
        one = waits(here, 'low', 'Preempted')

        assert bound(seen, 'low') == set()
        assert one['status'].get('restarts', 0) == 0
        # Two would fit beside the high ones, and that is not what was asked for.
        here.delete_foreground('high')
        runs(here, 'low', 4)
        here.until_condition('low', 'Waiting', 'False')
    finally:
        for name in classes.values():
            here.server.request('DELETE', f'/apis/scheduling.k8s.io/v1/priorityclasses/{name}')


def test_a_gang_stays_within_a_rack(here: Space, pool: Pool) -> None:
    pool.add(2, cpu=1, labels={RACK: 'small'})
    large = pool.add(4, cpu=1, labels={RACK: 'large'})

    here.apply(gang(pool, 'near', replicated('w', 'true', pods=4), topology=RACK))
    seen = runs(here, 'near', 4)

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
    first = runs(here, 'staged-data', 2)
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


def counters_of(one: Object, name: str) -> dict[str, int]:
    found = one.get('status', {}).get('replicatedJobsStatus', [])
    return next((entry for entry in found if entry['name'] == name), {})


def test_a_restart_is_a_gang_again(here: Space, pool: Pool) -> None:
    pool.add(1, cpu=2)
    one = gang(pool, 'again', replicated('w', 'true', pods=2))
    one['spec']['failurePolicy'] = {'maxRestarts': 1}
    del one['spec']['replicatedJobs'][0]['template']['spec']['podFailurePolicy']
    here.apply(one)
    first = runs(here, 'again', 2)

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
