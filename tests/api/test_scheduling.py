"""Gangs at admission: what is refused, where, and what is dropped."""

from typing import Any

import pytest

from jobset.admission import reviews
from jobset.api import defaulting, extras, features, validation
from tests.api import build
from tests.api.build import obj, replicated

ON = features.FeatureGates(workload_aware_scheduling=True)
GANG = 'metadata.annotations[jobset.x-k8s.io/gang]'
FIELD = 'spec.scheduling'
NEEDS = [{'name': 'a', 'status': 'Ready'}]
CLAIM = {'name': 'fabric', 'resourceClaimTemplateName': 'fabric'}


def annotated(*jobs: Any, shape: str | None = 'set', status: Any = None, suspend: bool = False, **more: str) -> Any:
    annotations = {f'{extras.PREFIX}gang-{key}': value for key, value in more.items()}
    if shape is not None:
        annotations[extras.GANG.key] = shape
    spec: dict[str, Any] = {'suspend': True} if suspend else {}
    made = obj(jobs or [replicated('a')], status=status, **spec)
    made['metadata']['annotations'] = annotations
    return made


def scheduled(field: Any, *jobs: Any, **spec: Any) -> Any:
    return obj(jobs or [replicated('a'), replicated('b')], scheduling=field, **spec)


def entry(*targets: str, **more: Any) -> Any:
    return {'targetReplicatedJobs': list(targets), **more}


def priority(name: str) -> Any:
    return replicated('b', pod={'priorityClassName': name})


@pytest.mark.parametrize(
    'sent',
    [
        pytest.param(annotated(), id='a set'),
        pytest.param(annotated(replicated('a'), replicated('b', dependsOn=NEEDS)), id='a set that starts in stages'),
        pytest.param(annotated(shape='stage', topology='a.b/rack', disruption='all'), id='with all that there is'),
        pytest.param(annotated(replicated('a', pod={'resourceClaims': [CLAIM]}), claims='fabric'), id='with a claim'),
        pytest.param(annotated(replicated('a'), priority('high'), shape='replicatedJob'), id='priorities in groups'),
        pytest.param(scheduled({}), id='the field'),
        pytest.param(scheduled({'schedulingPolicy': {'gang': {}}, 'disruptionMode': {'all': {}}}), id='a whole gang'),
        pytest.param(scheduled({'replicatedJobs': [entry('a', 'b')]}), id='two in one group'),
        pytest.param(
            scheduled({'replicatedJobs': [entry('a', job={'disruptionMode': {'all': {}}}), entry('b')]}),
            id='of each sort',
        ),
        pytest.param(
            scheduled(
                {'replicatedJobs': [entry('a', job={'resourceClaims': [CLAIM]})]},
                replicated('a', pod={'resourceClaims': [CLAIM]}),
            ),
            id='a shared claim',
        ),
    ],
)
def test_admitted(sent: Any) -> None:
    assert build.errors(sent, ON) == []


@pytest.mark.parametrize(
    ('sent', 'errors'),
    [
        pytest.param(
            annotated(shape='sets'),
            [f"{GANG}: Invalid value: 'sets' is none of: set, replicatedJob, job, stage"],
            id='value',
        ),
        pytest.param(
            annotated(topology='-rack'),
            [
                (
                    'metadata.annotations[jobset.x-k8s.io/gang-topology]: Invalid value: '
                    "'-rack' is no key of a label; write it as the nodes bear it"
                )
            ],
            id='no label',
        ),
        pytest.param(
            annotated(shape=None, topology='rack'),
            [
                (
                    'metadata.annotations[jobset.x-k8s.io/gang-topology]: Forbidden: says something '
                    'about gangs, and there '
                    'are none; set jobset.x-k8s.io/gang, too'
                )
            ],
            id='nothing to say it about',
        ),
        pytest.param(
            annotated(claims='fabric'),
            [
                (
                    'metadata.annotations[jobset.x-k8s.io/gang-claims]: Invalid value: "fabric": no pod '
                    'template has this '
                    'name in its resourceClaims; add it there'
                )
            ],
            id='no such claim',
        ),
        pytest.param(
            annotated(replicated('a'), priority('high')),
            [
                (
                    'spec.replicatedJobs[1].template.spec.template.spec.priorityClassName: Invalid value: "high": '
                    'a has ""; pods that are scheduled together have one'
                )
            ],
            id='two priorities',
        ),
        pytest.param(
            annotated(replicated('a'), replicated('b', pod={'schedulerName': 'mine'})),
            [
                (
                    'spec.replicatedJobs[1].template.spec.template.spec.schedulerName: Invalid value: "mine": '
                    'a has "default-scheduler"; pods that are scheduled together have one'
                )
            ],
            id='two schedulers',
        ),
        pytest.param(
            annotated(*(replicated(f'r{i}') for i in range(9)), shape='job'),
            [f'{GANG}: Forbidden: there would be 9 sorts of groups, and a Workload takes 8; join some'],
            id='too many sorts',
        ),
        pytest.param(
            annotated() | {'spec': scheduled({})['spec']},
            [f'{GANG}: Forbidden: spec.scheduling says what is scheduled together already; take one of the two away'],
            id='asked for twice',
        ),
        pytest.param(
            scheduled({}, replicated('a'), replicated('b', dependsOn=NEEDS)),
            [
                (
                    'spec.scheduling: Forbidden: one group of the whole set would wait for pods that do '
                    'not exist before '
                    'others are ready or complete; list groups in replicatedJobs, or use the annotation '
                    'jobset.x-k8s.io/gang: stage'
                )
            ],
            id='one group of a set in stages',
        ),
        pytest.param(
            scheduled({'schedulingPolicy': {'basic': {}, 'gang': {}}}),
            [
                (
                    f'{FIELD}.schedulingPolicy: Invalid value: {{"basic":{{}},"gang":{{}}}}: exactly one '
                    f'of basic and gang must be set'
                )
            ],
            id='two policies',
        ),
        pytest.param(
            scheduled({'schedulingPolicy': {'basic': {}}, 'disruptionMode': {'all': {}}}),
            [
                (
                    f'{FIELD}.disruptionMode: Invalid value: {{"all":{{}}}}: all pods or none is for '
                    f'gangs, and the policy is '
                    'basic; set single, or the policy gang'
                )
            ],
            id='all of nothing',
        ),
        pytest.param(
            scheduled({'schedulingPolicy': {'gang': {'minGroupCount': 2}}}),
            [
                (
                    f'{FIELD}.schedulingPolicy.gang.minGroupCount: Forbidden: a set that is one group has '
                    f'no groups to count; '
                    'leave it out, or list groups in replicatedJobs'
                )
            ],
            id='groups in one group',
        ),
        pytest.param(
            scheduled({'replicatedJobs': [entry('a', 'x'), entry('a')], 'schedulingPolicy': {'gang': {}}}),
            [
                (
                    f'{FIELD}.schedulingPolicy: Forbidden: is for a set that is one group, and '
                    f'spec.scheduling.replicatedJobs '
                    'makes more'
                ),
                (
                    f'{FIELD}.replicatedJobs[0].targetReplicatedJobs[1]: Invalid value: "x": is no '
                    f'replicated job; there are: a, b'
                ),
                (
                    f'{FIELD}.replicatedJobs[1].targetReplicatedJobs[0]: Invalid value: "a": is named '
                    f'twice; its pods can be '
                    'in one group only'
                ),
                (
                    f'{FIELD}.replicatedJobs: Invalid value: [["a","x"],["a"]]: each replicated job must '
                    f'be named exactly '
                    'once; missing: b'
                ),
            ],
            id='names',
        ),
        pytest.param(
            scheduled(
                {'replicatedJobs': [entry('a', 'b', job={'resourceClaims': [CLAIM]}, disruptionMode={'single': {}})]}
            ),
            [
                (
                    f'{FIELD}.replicatedJobs[0].disruptionMode: Forbidden: job says it for each Job; '
                    f'nothing else can be set '
                    'beside it'
                ),
                (
                    f'{FIELD}.replicatedJobs[0].targetReplicatedJobs: Invalid value: ["a","b"]: a group '
                    f'for each Job is for '
                    'exactly one replicated job'
                ),
                (
                    f'{FIELD}.replicatedJobs[0].job.resourceClaims[0]: Invalid value: '
                    '{"name":"fabric","resourceClaimTemplateName":"fabric"}: the pod template of a has '
                    'no equal entry in its '
                    'resourceClaims, so no pod would share it'
                ),
            ],
            id='each Job',
        ),
        pytest.param(
            scheduled({'replicatedJobs': [entry('a', 'b', schedulingPolicy={'gang': {'minCount': 3}})]}),
            [
                (
                    f'{FIELD}.replicatedJobs[0].schedulingPolicy.gang.minCount: Invalid value: 3: is more '
                    f'than the 2 pods that '
                    'there can be; it would wait for ever'
                )
            ],
            id='more than there can be',
        ),
        pytest.param(
            scheduled({}, replicated('a', job={'scheduling': {}})),
            [
                (
                    'spec.replicatedJobs[0].template.spec.scheduling: Forbidden: spec.scheduling says it '
                    'for the Jobs; take '
                    'one of the two away'
                )
            ],
            id='the Job says it, too',
        ),
        pytest.param(
            scheduled({'replicatedJobs': [entry('a', job={}), entry('a-1')]}, replicated('a'), replicated('a-1')),
            [f'{FIELD}: Invalid value: "a-1": its group would be called like one of a Job of a; rename it'],
            id='two groups of one name',
        ),
    ],
)
def test_refused(sent: Any, errors: list[str]) -> None:
    assert build.errors(sent, ON) == errors


def changes(old: Any, new: Any, gates: features.FeatureGates = ON) -> list[str]:
    return [str(error) for error in validation.update(build.typed(old), build.typed(new), gates=gates)]


AT_REST = {
    'conditions': [{'type': 'Suspended', 'status': 'True', 'reason': 'x', 'message': '', 'lastTransitionTime': ''}]
}
FROZEN = 'may only change while the JobSet is suspended; set spec.suspend, and wait for the condition Suspended'


def test_gangs_do_not_change_while_pods_run() -> None:
    assert changes(annotated(), annotated(shape='job')) == [f'{GANG}: Forbidden: {FROZEN}']
    assert changes(annotated(suspend=True), annotated(shape='job')) == [f'{GANG}: Forbidden: {FROZEN}']
    assert changes(scheduled({}), scheduled({'disruptionMode': {'all': {}}})) == [f'{FIELD}: Forbidden: {FROZEN}']


def test_gangs_change_while_nothing_runs_and_are_judged_again() -> None:
    old = annotated(replicated('a'), priority('high'), shape='job', suspend=True, status=AT_REST)

    assert changes(old, annotated(replicated('a'), priority('high'), shape='replicatedJob', suspend=True)) == []
    assert [text.partition(':')[0] for text in changes(old, annotated(replicated('a'), priority('high')))] == [
        'spec.replicatedJobs[1].template.spec.template.spec.priorityClassName'
    ]


def test_the_field_is_dropped_while_its_gate_is_off() -> None:
    off = features.FeatureGates()
    remove = {'op': 'remove', 'path': '/spec/scheduling'}

    assert remove in reviews.completion('CREATE', scheduled({}), None, off)
    assert remove not in reviews.completion('CREATE', scheduled({}), None, ON)
    assert defaulting.drop(scheduled({}), scheduled({}), off) == []  # it is there already
    assert defaulting.drop(scheduled({}), obj(), off) == [remove]
    assert changes(scheduled({}), scheduled({'disruptionMode': {'all': {}}}), off) == []
