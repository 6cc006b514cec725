"""Which groups a pass makes, resizes and deletes, and which Jobs wait for them."""

import dataclasses
from typing import Any

import msgspec
import pytest

from jobset.api import extras, features, gangs, jobs, keys, types
from jobset.core import children, plan, reconcile
from jobset.core.groups import members, observed
from tests.core import build

GATES = features.FeatureGates(workload_aware_scheduling=True)
READY = observed.Seen(state=observed.State.READY)
NAME = gangs.workload_name(build.jobset(build.part('a')))


def asking(shape: str, **more: str) -> dict[str, Any]:
    annotations = {extras.GANG.key: shape, **{f'{extras.PREFIX}gang-{key}': value for key, value in more.items()}}
    return {'annotations': annotations}


def part(name: str, replicas: int = 1, pods: int = 1, *, needs: str = '', **pod: Any) -> Any:
    waits = {'dependsOn': [build.needs(needs, 'Ready')]} if needs else {}
    return build.part(name, replicas, template={'spec': build.pods(parallelism=pods, **pod)}, **waits)


def job(child: str, group: str | None = None, *, completions: int = 1, **more: Any) -> jobs.Job:
    made = build.job(child, parallelism=completions, completions=completions, **more)
    labels = msgspec.structs.replace(made.metadata.labels, pod_group=group)
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, labels=labels))


def pod_group(name: str, least: int | None = 1, *, attempt: int = 0, deleting: bool = False, **more: Any) -> Any:
    metadata: Any = {
        'name': name,
        'namespace': 'default',
        'uid': f'{name}-uid',
        'labels': {keys.RESTART_ATTEMPT: str(attempt)},
        'ownerReferences': [build.OWNER],
        'creationTimestamp': build.stamp(0),
    }
    if deleting:
        metadata['deletionTimestamp'] = build.stamp(0)
    policy: Any = {'basic': {}} if least is None else {'gang': {'minCount': least}}
    conditions = more.pop('conditions', [])
    manifest = {
        'metadata': metadata,
        'spec': {'schedulingPolicy': policy, **more},
        'status': {'conditions': conditions},
    }
    return msgspec.json.decode(msgspec.json.encode(manifest), type=observed.PodGroup)


def workload(*templates: tuple[str, int], deleting: bool = False) -> Any:
    metadata: Any = {'name': NAME, 'namespace': 'default', 'uid': 'wl-uid', 'ownerReferences': [build.OWNER]}
    if deleting:
        metadata['deletionTimestamp'] = build.stamp(0)
    listed = [{'name': name, 'schedulingPolicy': {'gang': {'minCount': least}}} for name, least in templates]
    manifest = {'metadata': metadata, 'spec': {'podGroupTemplates': listed}}
    return msgspec.json.decode(msgspec.json.encode(manifest), type=observed.Workload)


def seen(*groups: Any, templates: tuple[tuple[str, int], ...] | None = None, **more: Any) -> observed.Seen:
    """Groups that are there, with the Workload that they are of."""
    workloads = {} if templates is None else {NAME: workload(*templates)}
    return observed.Seen(
        state=observed.State.READY,
        workloads=more.pop('workloads', workloads),
        pod_groups={group.metadata.name: group for group in groups},
        **more,
    )


def pods(exist: int, bound: int, said: str = '') -> observed.PodTally:
    tally = observed.PodTally(exist=exist, bound=bound)
    if said:
        tally.said[said] = exist - bound
    return tally


def pass_(
    jobset: types.JobSet,
    *family: jobs.Job,
    groups: observed.Seen = READY,
    gates: features.FeatureGates = GATES,
    at: float = 5,
    **more: Any,
) -> plan.Plan:
    facts = dataclasses.replace(build.facts(jobset, *family), groups=groups, gates=gates, **more)
    return reconcile.reconcile(facts, build.at(at))


def made(found: plan.Plan) -> dict[str, Any]:
    """The groups that a plan makes, with the sizes of their gangs."""
    sizes = {}
    for one in found.groups.create:
        spec: Any = one.body['spec']
        if one.kind == 'Workload':
            sizes[one.kind] = [
                (each['name'], each['schedulingPolicy'].get('gang', {}).get('minCount'))
                for each in spec['podGroupTemplates']
            ]
        else:
            sizes[one.name] = spec['schedulingPolicy'].get('gang', {}).get('minCount')
    return sizes


STAGED = (part('a', 2, 2), part('b', 1, 3, needs='a'), part('c', 2, 1, needs='a'))


@pytest.mark.parametrize(
    ('shape', 'parts', 'expected'),
    [
        pytest.param(
            'set', (part('a', 2, 2), part('b', 1, 3)), {'Workload': [('set', 7)], 'js-set-0': 7}, id='the whole set'
        ),
        pytest.param(
            'replicatedJob',
            (part('a', 2, 2), part('b', 1, 3)),
            {'Workload': [('a', 4), ('b', 3)], 'js-a-0': 4, 'js-b-0': 3},
            id='each replicated job',
        ),
        pytest.param(
            'job',
            (part('a', 2, 2), part('b', 1, 3)),
            {'Workload': [('a', 2), ('b', 3)], 'js-a-0-0': 2, 'js-a-1-0': 2, 'js-b-0-0': 3},
            id='each Job',
        ),
        pytest.param(
            'stage', STAGED, {'Workload': [('stage-0', 4), ('stage-1', 5)], 'js-stage-0-0': 4}, id='the first stage'
        ),
        pytest.param(
            'set', STAGED, {'Workload': [('set', 9)], 'js-set-0': 4}, id='of the whole set, what may exist now'
        ),
        pytest.param('set', (part('a', 0),), {}, id='nothing for nothing'),
        pytest.param(
            'set',
            (part('a', schedulingGroup={'podGroupName': 'mine'}), part('b', 1, 2)),
            {'Workload': [('set', 2)], 'js-set-0': 2},
            id='not those who bring their own',
        ),
        pytest.param('set', (part('a', schedulingGroup={'podGroupName': 'mine'}),), {}, id='all bring their own'),
    ],
)
def test_a_fresh_set(shape: str, parts: tuple[Any, ...], expected: Any) -> None:
    assert made(pass_(build.jobset(*parts, metadata=asking(shape)))) == expected


def test_nothing_is_made_where_nothing_was_asked_for() -> None:
    field = {'replicatedJobs': [{'targetReplicatedJobs': ['a']}]}

    found = pass_(build.jobset(part('a'), scheduling=field), gates=features.FeatureGates())

    assert (found.groups, found.grouped) == (plan.NO_GROUPS, ())
    assert found.create == (children.Child('js-a-0', 0, 0),)


@pytest.mark.parametrize(
    ('field', 'expected'),
    [
        pytest.param({}, {'Workload': [('set', 7)], 'js-set-0': 7}, id='the whole set'),
        pytest.param(
            {'schedulingPolicy': {'basic': {}}}, {'Workload': [('set', None)], 'js-set-0': None}, id='no gang at all'
        ),
        pytest.param(
            {'replicatedJobs': [{'targetReplicatedJobs': ['b', 'a']}]},
            {'Workload': [('b', 7)], 'js-b-0': 7},
            id='two replicated jobs in one group',
        ),
        pytest.param(
            {
                'replicatedJobs': [
                    {'targetReplicatedJobs': ['a'], 'job': {}},
                    {'targetReplicatedJobs': ['b'], 'schedulingPolicy': {'gang': {'minCount': 2}}},
                ]
            },
            {'Workload': [('a', 2), ('b', 2)], 'js-a-0-0': 2, 'js-a-1-0': 2, 'js-b-0': 2},
            id='a group for each Job, and a gang for which some pods are enough',
        ),
    ],
)
def test_the_field(field: Any, expected: Any) -> None:
    assert made(pass_(build.jobset(part('a', 2, 2), part('b', 1, 3), scheduling=field))) == expected


def test_the_bodies() -> None:
    claim = {'name': 'fabric', 'resourceClaimTemplateName': 'fabric'}
    metadata = asking('set', topology='example.com/rack', disruption='all', claims='fabric')
    jobset = build.jobset(
        part('a', 1, 2, priorityClassName='high', preemptionPolicy='Never', resourceClaims=[claim]), metadata=metadata
    )
    common: Any = {
        'schedulingPolicy': {'gang': {'minCount': 2}},
        'schedulingConstraints': {'topology': [{'key': 'example.com/rack'}]},
        'disruptionMode': {'all': {}},
        'resourceClaims': [claim],
        'priorityClassName': 'high',
        'preemptionPolicy': 'Never',
    }
    labels: dict[str, Any] = {keys.JOBSET_NAME: 'js', keys.JOBSET_UID: 'js-uid'}
    meta = {'namespace': 'default', 'ownerReferences': [build.OWNER]}

    workload_, group = pass_(jobset).groups.create

    assert workload_.body == {
        'apiVersion': 'scheduling.k8s.io/v1beta1',
        'kind': 'Workload',
        'metadata': {'name': NAME, 'labels': labels, **meta},
        'spec': {
            'controllerRef': {'apiGroup': keys.GROUP, 'kind': keys.KIND, 'name': 'js'},
            'podGroupTemplates': [{'name': 'set', **common}],
        },
    }
    assert group.body == {
        'apiVersion': 'scheduling.k8s.io/v1beta1',
        'kind': 'PodGroup',
        'metadata': {'name': 'js-set-0', 'labels': labels | {keys.RESTART_ATTEMPT: '0'}, **meta},
        'spec': {'workloadRef': {'workloadName': NAME, 'templateName': 'set'}, **common},
    }


def test_the_bodies_of_kubernetes_1_36() -> None:
    jobset = build.jobset(part('a'), metadata=asking('set', disruption='all'))

    workload_, group = pass_(jobset, groups=dataclasses.replace(READY, version=observed.Version.V1ALPHA2)).groups.create

    common: Any = {'schedulingPolicy': {'gang': {'minCount': 1}}, 'disruptionMode': 'PodGroup'}
    assert workload_.body['apiVersion'] == 'scheduling.k8s.io/v1alpha2'
    assert group.body['spec'] == {
        'podGroupTemplateRef': {'workload': {'workloadName': NAME, 'podGroupTemplateName': 'set'}},
        **common,
    }


def test_groups_of_several_priorities_have_a_workload_of_none() -> None:
    jobset = build.jobset(
        part('a', priorityClassName='high'), part('b', priorityClassName='low'), metadata=asking('replicatedJob')
    )

    workload_, *groups = pass_(jobset).groups.create

    templates: Any = workload_.body['spec']
    assert all('priorityClassName' not in each for each in templates['podGroupTemplates'])
    assert [each.body['spec']['priorityClassName'] for each in groups] == ['high', 'low']  # type: ignore[index]


# The life of a group.


TWO_STAGES = build.jobset(part('a', 1, 2), part('b', 1, 3, needs='a'), metadata=asking('stage'))
TEMPLATES = (('stage-0', 2), ('stage-1', 3))


def test_the_group_of_a_stage_is_made_with_its_first_job() -> None:
    first = job('a-0', 'js-stage-0-0', completions=2, ready=2, active=2)

    found = pass_(TWO_STAGES, first, groups=seen(pod_group('js-stage-0-0', 2), templates=TEMPLATES))

    assert made(found) == {'js-stage-1-0': 3}
    assert found.create == (children.Child('js-b-0', 1, 0),)


def test_the_gang_of_the_whole_set_grows_with_a_stage() -> None:
    jobset = build.jobset(part('a', 1, 2), part('b', 1, 3, needs='a'), metadata=asking('set'))
    first = job('a-0', 'js-set-0', completions=2, ready=2, active=2)

    found = pass_(jobset, first, groups=seen(pod_group('js-set-0', 2), templates=(('set', 5),)))

    assert found.groups.resize == (plan.Resize(plan.GroupRef('PodGroup', 'js-set-0', 'js-set-0-uid'), 5),)
    assert found.create == (children.Child('js-b-0', 1, 0),)


@pytest.mark.parametrize(
    ('tally', 'resized'),
    [
        pytest.param(pods(3, 3), [], id='all have their nodes: nobody looks at the size'),
        pytest.param(pods(3, 2), [3], id='one is replaced: the gang must not wait for pods that have ended'),
    ],
)
def test_pods_that_have_succeeded(tally: observed.PodTally, resized: list[int]) -> None:
    jobset = build.jobset(part('a', 1, 5), metadata=asking('set'))
    one = job('a-0', 'js-set-0', completions=5, active=3, succeeded=2)
    group = pod_group('js-set-0', 5)

    found = pass_(jobset, one, groups=seen(group, templates=(('set', 5),), pods={'js-set-0': tally}))

    assert [resize.min_count for resize in found.groups.resize] == resized


@pytest.mark.parametrize(
    ('wanted', 'of_job', 'resized'),
    [
        pytest.param(2, 4, {None: 2, 0: 2}, id='smaller: before the Job is'),
        pytest.param(6, 4, {0: 6}, id='larger: not before the Job is'),
        pytest.param(6, 6, {None: 6, 0: 6}, id='larger, like the Job'),
    ],
)
def test_a_gang_follows_changes_of_size(wanted: int, of_job: int, resized: Any) -> None:
    jobset = build.jobset(part('a', 1, wanted), metadata=asking('set'))
    one = job('a-0', 'js-set-0', completions=of_job, active=4, ready=4)
    groups = seen(pod_group('js-set-0', 4), templates=(('set', 4),), pods={'js-set-0': pods(4, 4)})

    found = pass_(jobset, one, groups=groups)

    assert {resize.template: resize.min_count for resize in found.groups.resize} == resized


def test_sizes_were_fixed_in_kubernetes_1_36() -> None:
    jobset = build.jobset(part('a', 1, 2), metadata=asking('set'))
    groups = seen(pod_group('js-set-0', 4), templates=(('set', 4),), version=observed.Version.V1ALPHA2)

    assert pass_(jobset, job('a-0', 'js-set-0', completions=2, active=2), groups=groups).groups == plan.NO_GROUPS


def test_a_restart_has_groups_of_its_own_and_leaves_the_old_ones() -> None:
    jobset = build.jobset(part('a', 1, 2), metadata=asking('set'), status=types.Status(restarts=1))
    old = job('a-0', 'js-set-0', completions=2, attempt=0)
    groups = seen(pod_group('js-set-0', 2), templates=(('set', 2),))

    while_old = pass_(jobset, old, groups=groups)
    after = pass_(jobset, groups=groups)

    assert (made(while_old), made(after)) == ({}, {'js-set-1': 2})
    assert while_old.groups.delete == (plan.GroupRef('PodGroup', 'js-set-0', 'js-set-0-uid'),)


def test_suspension_takes_the_groups_and_resumption_waits_for_that() -> None:
    status = types.Status(conditions=(build.condition('Suspended', holds=True, reason='x', message='y'),))
    asleep = build.jobset(part('a', 1, 2), metadata=asking('set'), status=status, suspend=True)
    awake = build.jobset(part('a', 1, 2), metadata=asking('set'), status=status)
    one = job('a-0', 'js-set-0', completions=2, suspend=True)
    there = seen(pod_group('js-set-0', 2), templates=(('set', 2),))
    going = seen(pod_group('js-set-0', 2, deleting=True))

    suspended, held, resumed = (
        pass_(asleep, one, groups=there),
        pass_(awake, one, groups=going),
        pass_(awake, one, groups=seen()),
    )

    assert suspended.groups.delete == (
        plan.GroupRef('PodGroup', 'js-set-0', 'js-set-0-uid'),
        plan.GroupRef('Workload', NAME, 'wl-uid'),
    )
    assert (held.resume, held.groups) == ((), plan.NO_GROUPS)
    assert held.status is not None
    assert [(each.type, each.reason) for each in held.status.conditions] == [
        ('Suspended', 'x'),
        ('Waiting', 'GroupTerminating'),
    ]
    assert made(resumed) == {'Workload': [('set', 2)], 'js-set-0': 2}
    assert [each.job for each in resumed.resume] == [build.ref('a-0')]


def test_a_set_that_was_made_suspended_has_jobs_that_name_groups_and_no_groups() -> None:
    found = pass_(build.jobset(part('a', 1, 2), metadata=asking('set'), suspend=True))

    assert (found.groups, found.create) == (plan.NO_GROUPS, (children.Child('js-a-0', 0, 0),))
    assert [gang.template for gang in found.grouped] == ['set']


def test_a_suspended_job_in_the_wrong_group_is_made_anew() -> None:
    status = types.Status(conditions=(build.condition('Suspended', holds=True, reason='x', message='y'),))
    jobset = build.jobset(part('a', 1, 2), metadata=asking('set'), status=status)

    found = pass_(jobset, job('a-0', 'js-a-0', completions=2, suspend=True))

    assert (found.delete, found.resume, made(found)) == ((build.ref('a-0'),), (), {})


def test_the_end_takes_the_groups() -> None:
    ended = build.condition('Completed', holds=True, reason='AllJobsCompleted', message='m')
    jobset = build.jobset(part('a'), metadata=asking('set'), status=types.Status(conditions=(ended,)))

    found = pass_(jobset, groups=seen(pod_group('js-set-0'), templates=(('set', 1),)))

    assert [ref.kind for ref in found.groups.delete] == ['PodGroup', 'Workload']


def test_a_group_that_somebody_deleted_is_made_again() -> None:
    jobset = build.jobset(part('a', 1, 2), metadata=asking('set'))

    found = pass_(jobset, job('a-0', 'js-set-0', completions=2, active=2))

    assert made(found) == {'Workload': [('set', 2)], 'js-set-0': 2}


def test_jobs_of_before_are_not_counted_nor_touched() -> None:
    jobset = build.jobset(part('a', 1, 2), metadata=asking('set'))

    assert pass_(jobset, job('a-0', completions=2, active=2)).groups == plan.NO_GROUPS


# What the cluster can do.


def test_nothing_is_made_before_it_is_known_what_there_is() -> None:
    found = pass_(build.jobset(part('a'), metadata=asking('set')), groups=observed.NOTHING)

    assert (found.create, found.groups, found.events) == ((), plan.NO_GROUPS, ())


def test_what_keeps_us_from_looking_is_told() -> None:
    trouble = observed.Seen(trouble='podgroups.scheduling.k8s.io: Forbidden')

    found = pass_(build.jobset(part('a'), metadata=asking('set')), groups=trouble)

    assert found.create == ()
    assert [(each.reason, each.note) for each in found.events] == [
        ('GroupsUnknown', 'Workloads and PodGroups cannot be seen: podgroups.scheduling.k8s.io: Forbidden')
    ]


def test_without_the_api_a_set_runs_and_says_so_once() -> None:
    jobset = build.jobset(part('a'), metadata=asking('set'))
    absent = observed.Seen(state=observed.State.ABSENT, trouble='v1beta1 was served before, and is not any more')

    found = pass_(jobset, groups=absent)

    text = (
        'the cluster serves no version of Workload and PodGroup (scheduling.k8s.io) that is known here; pods get '
        'their nodes each by itself: v1beta1 was served before, and is not any more'
    )
    assert (found.create, found.groups, found.grouped) == (
        (children.Child('js-a-0', 0, 0),),
        plan.NO_GROUPS,
        (),
    )
    assert found.events == (plan.Event(plan.EventType.WARNING, 'APINotServed', text),)
    assert found.status is not None
    again = pass_(msgspec.structs.replace(jobset, status=found.status), groups=absent)
    assert (again.events, again.status) == ((), None)


def test_what_the_server_dropped_is_told() -> None:
    jobset = build.jobset(part('a', 1, 2), metadata=asking('set', topology='rack'))

    found = pass_(
        jobset,
        job('a-0', 'js-set-0', completions=2, active=2),
        groups=seen(pod_group('js-set-0', 2), templates=(('set', 2),), pods={'js-set-0': pods(2, 2)}),
    )

    text = 'the API server dropped the topology of PodGroup js-set-0: its gate TopologyAwareWorkloadScheduling is off'
    assert found.events == (plan.Event(plan.EventType.WARNING, 'TopologyDropped', text),)


def test_mixed_priorities_that_nobody_refused_make_no_gang() -> None:
    jobset = build.jobset(part('a', priorityClassName='high'), part('b'), metadata=asking('set'))

    found = pass_(jobset)

    assert (found.groups, len(found.create)) == (plan.NO_GROUPS, 2)
    assert [event.reason for event in found.events] == ['InvalidGang']


# How many pods Jobs have left.


@pytest.mark.parametrize(
    ('fields', 'left'),
    [
        pytest.param({'parallelism': 3, 'completions': 5}, 3, id='as many at a time'),
        pytest.param({'parallelism': 3, 'completions': 5, 'succeeded': 4}, 1, id='as many as are left'),
        pytest.param({'parallelism': 4, 'completions': 4, 'failedIndexes': '0,2-3'}, 1, id='without failed indexes'),
        pytest.param({'parallelism': None, 'completions': 5}, 1, id='one by default'),
        pytest.param({'parallelism': 4, 'completions': None, 'succeeded': 1}, 4, id='a queue of unknown length'),
        pytest.param({'parallelism': 0, 'completions': 5}, 0, id='none'),
    ],
)
def test_pods_left(fields: dict[str, Any], left: int) -> None:
    assert members.pods_left(build.job('a-0', **fields)) == left


def test_names() -> None:
    jobset = build.jobset(part('a' * 40, 3), metadata={**asking('job'), 'name': 'j' * 30})
    (gang,) = gangs.gangs(jobset, GATES)

    name = gangs.name(jobset, gang, job_index=2, attempt=1)

    assert (len(name), name[:54]) == (63, f'{"j" * 30}-{"a" * 23}')
    assert name != gangs.name(jobset, gang, job_index=1, attempt=1)
