"""What users of JobSet were hurt by, played through with real pods: on a real cluster, and on the embedded plane.

A story gets a namespace of its own.
"""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Final

import pytest

from jobset.api import extras, keys
from tests.scenarios.api import ApiError, Object, Objects
from tests.scenarios.endings import trained
from tests.scenarios.space import Space, attempt, conditions, counters, jobset, message, replicated, sample, state

UNTIL_TOLD = 'until [ -e /tmp/told ]; do sleep 0.2; done'
FOREVER = 'exec sleep 3600'


def tell(here: Space, prefix: str, count: int = 1) -> None:
    """Tell so many running pods of a Job or JobSet to go on."""
    for pod in running(here, prefix, count):
        here.execute(pod, 'touch', '/tmp/told')


def running(here: Space, prefix: str, count: int = 1) -> list[str]:
    """The names of the pods of a Job or JobSet once so many of them run."""

    def found(seen: Objects) -> list[str]:
        return [name for name, pod in seen.items() if name.startswith(prefix) and _runs(pod)]

    seen = here.until('pods', lambda seen: len(found(seen)) == count, what=f'{count} pods of {prefix} to run')
    return sorted(found(seen))


def _runs(pod: Object) -> bool:
    return pod['status'].get('phase') == 'Running' and 'deletionTimestamp' not in pod['metadata']


def attempts_never_mix(here: Space) -> None:
    leader = f'if [ "$ATTEMPT" = 0 ]; then {UNTIL_TOLD}; exit 1; fi'
    worker = f'if [ "$ATTEMPT" = 0 ]; then trap "" TERM; {FOREVER}; fi'
    with here.history('pods') as pods, here.history('jobs') as jobs:
        here.apply(
            jobset(
                'strict',
                replicated('leader', leader, grace_seconds=0),
                replicated('worker', worker, pods=2, grace_seconds=8),
                failurePolicy={'maxRestarts': 1, 'restartStrategy': 'BlockingRecreate'},
            )
        )
        running(here, 'strict-worker', 2)
        tell(here, 'strict-leader')
        one = here.until_condition('strict', 'Completed')

    assert one['status']['restarts'] == 1
    for story in (pods, jobs):
        live = [{attempt(each) for each in moment.values()} for moment in story.moments]
        assert [attempts for attempts in live if len(attempts) > 1] == []
        assert set().union(*live) == {0, 1}
    # The workers ignore the request to end: the new attempt had to wait for the whole of their grace period.
    ever = {pod['metadata']['uid']: pod for moment in pods.moments for pod in moment.values()}.values()
    ended = [_time(pod['metadata']['deletionTimestamp']) for pod in ever if _of(pod, 'worker', 0)]
    begun = [_time(pod['metadata']['creationTimestamp']) for pod in ever if attempt(pod) == 1]
    assert (len(ended), len(begun)) == (2, 3)
    assert min(begun) >= max(ended)


def _of(pod: Object, replicated_job: str, number: int) -> bool:
    return (pod['metadata']['labels'][keys.REPLICATED_JOB_NAME], attempt(pod)) == (replicated_job, number)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def ambiguous_name_belongs_to_the_first_and_is_free_after_it(here: Space) -> None:
    here.apply(jobset('a', replicated('b-c', UNTIL_TOLD)))
    running(here, 'a-b-c-0')
    here.apply(jobset('a-b', replicated('c', 'true')))
    second = here.until_condition('a-b', 'NameConflict')

    (job,) = here.all('jobs').values()
    assert (job['metadata']['name'], job['metadata']['ownerReferences'][0]['name']) == ('a-b-c-0', 'a')
    assert conditions(second) == {'NameConflict': ('True', 'ForeignObject')}
    assert message(second, 'NameConflict') == (
        'in the way, and not of this JobSet: Job "a-b-c-0"; delete it or rename the JobSet'
    )

    tell(here, 'a-b-c-0')
    first = here.until_condition('a', 'Completed')
    assert (first['status']['restarts'], set(here.all('jobs'))) == (0, {'a-b-c-0'})

    here.delete_foreground('a')
    second = here.until_condition('a-b', 'Completed')
    (job,) = here.all('jobs').values()
    assert (job['metadata']['name'], job['metadata']['ownerReferences'][0]['name']) == ('a-b-c-0', 'a-b')
    assert conditions(second)['NameConflict'] == ('False', 'NamesAreFree')


def target_without_jobs_does_not_end_the_others(here: Space) -> None:
    with here.history('jobsets') as story:
        here.apply(
            jobset(
                'zero',
                replicated('z', 'true', replicas=0),
                replicated('a', 'true'),
                replicated('b', UNTIL_TOLD),
                successPolicy={'operator': 'All', 'targetReplicatedJobs': ['z']},
            )
        )
        here.until_jobset('zero', lambda one: counters(one).get('a') == {'succeeded': 1}, what='a to be counted')
        tell(here, 'zero-b-0')
        here.until_condition('zero', 'Completed')

    ended = story.first(lambda seen: 'Completed' in conditions(seen.get('zero', {})))
    assert counters(ended['zero']) == {'z': {}, 'a': {'succeeded': 1}, 'b': {'succeeded': 1}}


def nothing_to_run_is_complete(here: Space) -> None:
    here.apply(jobset('empty', replicated('z', 'true', replicas=0)))

    one = here.until_condition('empty', 'Completed')

    assert conditions(one) == {'Completed': ('True', 'AllJobsCompleted')}
    assert here.all('jobs') == {}


def resumed_pods_go_where_the_new_template_says(here: Space) -> None:
    old, new = {'kubernetes.io/os': 'linux'}, {'kubernetes.io/arch': _architecture(here)}
    here.apply(jobset('moved', replicated('main', UNTIL_TOLD, pods=2, nodeSelector=old)))
    running(here, 'moved', 2)

    here.patch('jobsets', 'moved', {'op': 'add', 'path': '/spec/suspend', 'value': True})
    suspended = here.until_condition('moved', 'Suspended')
    here.until('pods', lambda seen: not seen, what='the pods to go')
    here.until('jobs', lambda seen: state(seen['moved-main-0']) == 'Suspended', what='the Job to be suspended')
    template = '/spec/replicatedJobs/0/template/spec/template'
    here.patch(
        'jobsets',
        'moved',
        {'op': 'replace', 'path': f'{template}/spec/nodeSelector', 'value': new},
        {'op': 'add', 'path': f'{template}/metadata', 'value': {'labels': {'queue': 'second'}}},
        {'op': 'replace', 'path': '/spec/suspend', 'value': False},
    )
    pods = running(here, 'moved', 2)

    assert suspended['status']['restarts'] == 0
    for pod in (here.all('pods')[name] for name in pods):
        assert pod['spec']['nodeSelector'] == new
        assert pod['metadata']['labels']['queue'] == 'second'
    tell(here, 'moved', 2)
    one = here.until_condition('moved', 'Completed')
    assert (one['status']['restarts'], conditions(one)['Suspended']) == (0, ('False', 'ResumeJobs'))


def _architecture(here: Space) -> str:
    nodes = here.server.snapshot('/api/v1/nodes')[0].values()
    return str(next(iter(nodes))['metadata']['labels']['kubernetes.io/arch'])


def gate_that_comes_with_the_resumption_holds_the_pods(here: Space) -> None:
    here.apply(jobset('gated', replicated('main', 'true'), suspend=True))
    here.until_condition('gated', 'Suspended')
    here.until('jobs', lambda seen: [state(job) for job in seen.values()] == ['Suspended'], what='a suspended Job')
    gates = [{'name': 'example.com/queue'}]
    here.patch(
        'jobsets',
        'gated',
        {'op': 'add', 'path': '/spec/replicatedJobs/0/template/spec/template/spec/schedulingGates', 'value': gates},
        {'op': 'replace', 'path': '/spec/suspend', 'value': False},
    )

    (pod,) = here.until('pods', lambda seen: len(seen) == 1, what='the pod').values()
    assert pod['spec']['schedulingGates'] == gates
    here.patch('pods', pod['metadata']['name'], {'op': 'remove', 'path': '/spec/schedulingGates'})
    here.until_condition('gated', 'Completed')


def foreground_deletion_takes_all_and_makes_nothing_anew(here: Space) -> None:
    here.apply(jobset('going', replicated('main', FOREVER, replicas=3)))
    running(here, 'going', 3)

    with here.history('jobs') as jobs:
        here.delete_foreground('going')
        for plural in ('jobsets', 'jobs', 'pods', 'services'):
            here.until(plural, lambda seen: not seen, what=f'no {plural}')

    assert len({job['metadata']['uid'] for moment in jobs.moments for job in moment.values()}) == 3


def training_goes_on_from_its_checkpoint_when_a_rank_is_lost(here: Space) -> None:
    code, pipeline = sample('pipeline.yaml')
    (container,) = pipeline['spec']['replicatedJobs'][1]['template']['spec']['template']['spec']['containers']
    steps = next(each for each in container['env'] if each['name'] == 'STEPS')
    # Long enough for the loss to come amid the training.
    steps['value'] = '2500'
    here.apply(code)
    here.apply(pipeline)
    (first, _) = running(here, 'pipeline-train-0', 2)
    (*_, lost) = running(here, 'pipeline-train-1', 2)
    here.until_line(first, 'step 100 ')

    here.delete('pods', lost)
    one = here.until_condition('pipeline', 'Completed')

    assert one['status']['restarts'] == 1
    assert set(here.logs('pipeline-prep-0')) == {'train.csv is there already', 'test.csv is there already'}
    (resumed,) = [
        int(line.split()[-1]) for line in here.logs('pipeline-train-0') if line.startswith('resumes at step ')
    ]
    assert (resumed >= 50, resumed % 50) == (True, 0)
    assert trained(here) > 0.95


def gang_without_room_holds_no_node_and_says_why(here: Space) -> None:
    small, large = replicated('small', 'true'), replicated('large', 'true')
    large['template']['spec']['template']['spec']['containers'][0]['resources'] = {'requests': {'cpu': '10000'}}
    one = jobset('gang', small, large)
    one['metadata']['annotations'] = {extras.GANG.key: 'set'}
    with here.history('pods') as pods:
        here.apply(one)
        text = 'the gang of the whole set (PodGroup gang-set-0): 2 of 2 pods exist, 0 have a node; there is room for '
        waits = here.until_jobset(
            'gang',
            # What is told first may be older than the last of the pods.
            lambda seen: bool(conditions(seen)) and message(seen, 'Waiting').startswith(text),
            what='the gang to wait for room',
        )

    assert conditions(waits) == {'Waiting': ('True', 'Unschedulable')}
    assert {pod['spec'].get('nodeName') for moment in pods.moments for pod in moment.values()} == {None}

    here.patch('jobsets', 'gang', {'op': 'add', 'path': '/spec/suspend', 'value': True})
    here.until('podgroups', lambda seen: not seen, what='the groups to go with the suspension')
    here.until(
        'jobs', lambda seen: all(state(job) == 'Suspended' for job in seen.values()), what='Jobs to be suspended'
    )
    here.until_condition('gang', 'Suspended')
    annotation = '/metadata/annotations/' + extras.GANG.key.replace('/', '~1')
    here.patch(
        'jobsets',
        'gang',
        {'op': 'replace', 'path': annotation, 'value': 'replicatedJob'},
        {'op': 'replace', 'path': '/spec/suspend', 'value': False},
    )
    # Each for itself: the small one has room.
    here.until(
        'jobs', lambda seen: 'gang-small-0' in seen and state(seen['gang-small-0']) == 'Complete', what='its end'
    )
    assert here.all('podgroups').keys() >= {'gang-large-0'}
    here.delete_foreground('gang')
    here.until('podgroups', lambda seen: not seen, what='the groups to go with the set')


def kept_volume_serves_the_next_jobset_of_its_name(here: Space) -> None:
    claim = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Mi'}}}
    here.apply(_keeper('echo kept > /models/model', claim))
    here.until_condition('keeper', 'Completed')
    here.delete_foreground('keeper')
    (left,) = here.all('persistentvolumeclaims').values()

    with pytest.raises(ApiError) as refused:
        here.apply(_keeper('cat /models/model', claim))
    here.apply(_keeper('cat /models/model', left['spec']))
    here.until_condition('keeper', 'Completed')

    assert 'spec does not match existing PVC models-keeper in namespace' in str(refused.value)
    assert here.logs('keeper-main-0') == ['kept']
    assert [each['metadata']['uid'] for each in here.all('persistentvolumeclaims').values()] == [
        left['metadata']['uid']
    ]


def _keeper(command: str, claim: Object) -> Object:
    main = replicated('main', command)
    (container,) = main['template']['spec']['template']['spec']['containers']
    container['volumeMounts'] = [{'name': 'models', 'mountPath': '/models'}]
    policy = {
        'retentionPolicy': {'whenDeleted': 'Retain'},
        'templates': [{'metadata': {'name': 'models'}, 'spec': claim}],
    }
    return jobset('keeper', main, volumeClaimPolicies=[policy])


def asking(one: Object, **values: str) -> Object:
    """A JobSet with annotations of ours: ``asking(jobset(...), run_limit='1m')``."""
    one['metadata']['annotations'] = {extras.PREFIX + name.replace('_', '-'): value for name, value in values.items()}
    return one


def what_is_done_is_not_run_again(here: Space) -> None:
    first = replicated('a', 'true')
    first['template']['spec']['ttlSecondsAfterFinished'] = 1
    with here.history('jobs') as jobs:
        here.apply(asking(jobset('done', first, replicated('b', UNTIL_TOLD)), done_stays_done='true'))
        here.until('jobs', lambda seen: set(seen) == {'done-b-0'}, what='the first Job to have lived its time')
        tell(here, 'done-b-0')
        one = here.until_condition('done', 'Completed')

    assert counters(one) == {'a': {'succeeded': 1}, 'b': {'succeeded': 1}}
    assert len({job['metadata']['uid'] for moment in jobs.moments for job in moment.values()}) == 2


def what_never_starts_ends_at_its_limit(here: Space) -> None:
    nowhere = replicated('main', 'true', nodeSelector={'example.com/nowhere': 'x'})
    here.apply(asking(jobset('late', nowhere), start_limit='3s'))

    one = here.until_condition('late', 'Failed')

    assert conditions(one)['Failed'] == ('True', 'StartLimitExceeded')
    assert message(one, 'Failed').startswith(
        'pods were not all ready within 0:00:03 of the start of their job (first late job: late-main-0)'
    )
    here.until('pods', lambda seen: not seen, what='nothing to be left')


def free_failures_leave_their_traces(here: Space) -> None:
    """Two attempts fail for a reason that costs nothing, and each leaves its cause; of the last one the pod stays."""
    main = replicated('main', 'echo attempt $ATTEMPT; [ $ATTEMPT = 2 ] || exit 42')
    sent = asking(
        jobset('flaky', main, failurePolicy={'maxRestarts': 0}),
        restart_budgets='exit-42=free',
        restart_pause='base=1s',
        archive_attempts='true',
        keep_failed_attempts='1',
    )
    here.apply(sent)
    one = here.until_condition('flaky', 'Completed')

    assert (one['status']['restarts'], one['status'].get('restartsCountTowardsMax', 0)) == (2, 0)
    archive = here.all('configmaps')['flaky-attempts']['data']
    entries = {number: json.loads(text) for number, text in archive.items()}
    assert {number: (entry['cause'], entry['exitCode']) for number, entry in entries.items()} == {
        '0': ('application', 42),
        '1': ('application', 42),
    }
    kept = {name for name, pod in here.all('pods').items() if keys.KEPT_OF in pod['metadata']['labels']}
    assert kept == {entries['1']['pod']}
    assert here.log(entries['1']['pod']) == ['attempt 1']


def lost_rank_restarts_all(here: Space) -> None:
    main = replicated('main', f'[ $ATTEMPT = 1 ] || {FOREVER}', pods=3)
    main['template']['spec']['backoffLimit'] = 6
    here.apply(asking(jobset('ranks', main, failurePolicy={'maxRestarts': 3}), restart_on='PodLost'))
    (lost, *_) = running(here, 'ranks', 3)

    with here.history('pods') as pods:
        here.delete('pods', lost)
        one = here.until_condition('ranks', 'Completed')

    assert one['status']['restarts'] == 1
    ever = {pod['metadata']['uid']: attempt(pod) for moment in pods.moments for pod in moment.values()}
    assert sum(number == 1 for number in ever.values()) == 3


def held_pod_keeps_the_next_attempt_away_and_its_holder_is_named(here: Space) -> None:
    holder = 'example.com/holder'
    leader = f'[ $ATTEMPT = 1 ] || {{ {UNTIL_TOLD}; exit 1; }}'
    worker = f'[ $ATTEMPT = 1 ] || {FOREVER}'
    sent = jobset('held', replicated('leader', leader), replicated('worker', worker), failurePolicy={'maxRestarts': 1})
    here.apply(asking(sent, fence_after='2s'))
    (pod,) = running(here, 'held-worker')
    finalizers = here.all('pods')[pod]['metadata'].get('finalizers', [])
    here.patch('pods', pod, {'op': 'add', 'path': '/metadata/finalizers', 'value': [*finalizers, holder]})
    tell(here, 'held-leader')
    with here.history('pods') as pods:
        blocked = here.until_condition('held', 'EndingBlocked')

        assert conditions(blocked)['EndingBlocked'] == ('True', 'ForeignFinalizers')
        assert message(blocked, 'EndingBlocked') == f'pod {pod}: held by {holder}; ask who put them there'
        assert {attempt(each) for each in here.all('jobs').values()} == {0}
        here.patch('pods', pod, {'op': 'add', 'path': '/metadata/finalizers', 'value': []})
        one = here.until_condition('held', 'Completed')

    assert (one['status']['restarts'], conditions(one)['EndingBlocked']) == (1, ('False', 'EndingsAreOver'))
    assert [each for each in ({attempt(one) for one in m.values()} for m in pods.moments) if len(each) > 1] == []


ALL: Final[tuple[Callable[[Space], None], ...]] = (
    attempts_never_mix,
    ambiguous_name_belongs_to_the_first_and_is_free_after_it,
    target_without_jobs_does_not_end_the_others,
    nothing_to_run_is_complete,
    resumed_pods_go_where_the_new_template_says,
    gate_that_comes_with_the_resumption_holds_the_pods,
    foreground_deletion_takes_all_and_makes_nothing_anew,
    training_goes_on_from_its_checkpoint_when_a_rank_is_lost,
    kept_volume_serves_the_next_jobset_of_its_name,
    what_is_done_is_not_run_again,
    what_never_starts_ends_at_its_limit,
    free_failures_leave_their_traces,
    lost_rank_restarts_all,
    held_pod_keeps_the_next_attempt_away_and_its_holder_is_named,
    gang_without_room_holds_no_node_and_says_why,
)
"""All stories."""
