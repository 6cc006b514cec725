"""What the real kube-scheduler takes away for something more important, with nodes that are objects only."""

from e2e.fakenodes import Pool, bound, is_disrupted, priorities, until_bound
from jobset.api import extras, keys
from tests.scenarios.api import Object
from tests.scenarios.space import Space, attempt, conditions, jobset, message, replicated

RACK = 'jobset.test/rack'


def of_class(pool: Pool, name: str, *, priority: str, pods: int, replicas: int = 1) -> Object:
    """A JobSet of pods that want a CPU of the pool each."""
    one = jobset(name, replicated('w', 'true', pods=pods, replicas=replicas, priorityClassName=priority))
    pod = one['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']
    pod.update(pool.wanted())
    pod['containers'][0]['resources'] = {'requests': {'cpu': '1'}}
    return one


def exclusive(one: Object) -> Object:
    """With a rack for each Job, and for which a preemption is no failure."""
    one['metadata']['annotations'] = {keys.EXCLUSIVE_TOPOLOGY: RACK}
    job = one['spec']['replicatedJobs'][0]['template']['spec']
    job['podFailurePolicy'] = {'rules': [{'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget'}]}]}
    job['podReplacementPolicy'] = 'Failed'
    return one


def test_a_preemption_is_free_of_charge(here: Space, pool: Pool) -> None:
    """A set that may not restart at all does so whenever the scheduler takes one of its pods, and for nothing else."""
    pool.add(1, cpu=2)
    with priorities(here, 'low', 'high') as classes:
        low = of_class(pool, 'low', priority=classes['low'], pods=2)
        low['metadata']['annotations'] = {extras.RESTART_BUDGETS.key: 'disruption=free'}
        low['spec']['failurePolicy'] = {'maxRestarts': 0}
        here.apply(low)
        until_bound(here, 'low', 2)
        for number in (1, 2):
            with here.history('pods') as story:
                here.apply(of_class(pool, f'high-{number}', priority=classes['high'], pods=1))
                until_bound(here, f'high-{number}', 1)
                one = restarted(here, 'low', number)
            taken = {name for moment in story.moments for name, pod in moment.items() if is_disrupted(pod)}
            assert len(taken) == 1
            assert one['status'].get('restartsCountTowardsMax', 0) == 0
            assert message(one, 'RestartsCharged') == f'disruption={number}'
            here.delete_foreground(f'high-{number}')
            seen = until_bound(here, 'low', 2)
            assert {attempt(pod) for pod in seen.values()} == {number}

        pool.fail(sorted(bound(seen, 'low'))[:1])
        one = here.until_condition('low', 'Failed')
        assert conditions(one)['Failed'] == ('True', 'ReachedMaxRestarts')


def test_scenario_18_priority_and_exclusivity(here: Space, pool: Pool) -> None:
    """Three racks are taken by Jobs of low priority: one of high priority takes one of them from exactly one Job.

    There is room for one pod more on each rack, and a set of the same priority without placement never gets it.
    """
    racks = {f'r{number}': pool.add(1, cpu=4, labels={RACK: f'r{number}'})[0] for number in (1, 2, 3)}
    with priorities(here, 'low', 'high') as classes:
        here.apply(exclusive(of_class(pool, 'low', priority=classes['low'], pods=3, replicas=3)))
        before = until_bound(here, 'low', 9)
        where = {job: {before[name]['spec']['nodeName'] for name in bound(before, f'low-w-{job}-')} for job in range(3)}
        assert sorted(map(sorted, where.values())) == sorted([node] for node in racks.values())

        with here.history('pods') as story:
            here.apply(of_class(pool, 'plain', priority=classes['low'], pods=1))
            here.until('pods', lambda seen: any(map(has_no_place, named(seen, 'plain'))), what='plain to find no place')
            here.apply(exclusive(of_class(pool, 'high', priority=classes['high'], pods=4)))
            seen = until_bound(here, 'high', 4)
            seen = here.until('pods', lambda seen: len(bound(seen, 'low')) == 6, what='one low Job to be gone')

        [taken] = {seen[name]['spec']['nodeName'] for name in bound(seen, 'high')}
        [evicted] = [job for job, nodes in where.items() if nodes == {taken}]
        disrupted = {name for moment in story.moments for name, pod in moment.items() if is_disrupted(pod)}
        assert disrupted == bound(before, f'low-w-{evicted}-')
        kept = bound(before, 'low') - disrupted
        assert bound(seen, 'low') == kept
        assert {name: seen[name]['metadata']['uid'] for name in kept} == {
            name: before[name]['metadata']['uid'] for name in kept
        }
        assert [moment for moment in story.moments if bound(moment, 'plain')] == []
        assert here.jobset('low')['status'].get('restarts', 0) == 0


def restarted(here: Space, name: str, times: int) -> Object:
    """The JobSet once it was restarted so often."""
    return here.until_jobset(name, lambda one: one['status'].get('restarts') == times, what=f'restart {times}')


def named(pods: dict[str, Object], prefix: str) -> list[Object]:
    return [pod for name, pod in pods.items() if name.startswith(prefix)]


def has_no_place(pod: Object) -> bool:
    """Whether the scheduler has looked, and said that there is no node for it."""
    held = pod['status'].get('conditions', [])
    return any((each['type'], each.get('reason')) == ('PodScheduled', 'Unschedulable') for each in held)
