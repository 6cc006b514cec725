"""Which pods of a JobSet start together, and what they ask for."""

from typing import Any

import pytest

from jobset.api import podrequests, types
from jobset.scheduler import amounts, gangs
from jobset.scheduler.topology import nodes
from jobset.scheduler.topology.requests import Layer, Mode, PodShape, Request
from tests.scheduler.jobsets import job, jobset

GIB = 2**30
IN_ORDER = {'startupPolicyOrder': 'InOrder'}
POD = PodShape(amounts={'pods': 1, 'cpu': 1000, 'memory': GIB})


def counts(made: types.JobSet) -> list[dict[str, int]]:
    """Pods by replicated job, stage by stage."""
    return [{each.request.name: each.request.count for each in stage} for stage in gangs.of(made)]


def request(made: types.JobSet, stage: int = 0, place: int = 0) -> Request:
    return gangs.of(made)[stage][place].request


def test_scenario_12_stages_are_gangs_and_only_the_larger_one_counts() -> None:
    made = jobset(job('a'), job('b', 3, complete='a'))
    assert counts(made) == [{'a': 1}, {'b': 3}]
    peak = amounts.peak(amounts.total(each.amounts for each in stage) for stage in gangs.of(made))
    assert peak == {'pods': 3, 'cpu': 3000, 'memory': 3 * GIB}


@pytest.mark.parametrize(
    ('made', 'wanted'),
    [
        pytest.param(jobset(), [], id='nothing'),
        pytest.param(jobset(job('a', 4, replicas=3)), [{'a': 12}], id='pods of all Jobs'),
        pytest.param(jobset(job('a', 4, completions=2)), [{'a': 2}], id='no more than completions'),
        pytest.param(jobset(job('a', 4, completions=9)), [{'a': 4}], id='no more than at a time'),
        pytest.param(jobset(job('a', None)), [{'a': 1}], id='one when nothing is said'),
        pytest.param(jobset(job('a', 0), job('b', replicas=0), job('c')), [{'c': 1}], id='none at all'),
        pytest.param(jobset(job('a'), job('b', ready='a')), [{'a': 1, 'b': 1}], id='ready'),
        pytest.param(
            jobset(job('a'), job('b'), startupPolicy={'startupPolicyOrder': 'InOrder'}),
            [{'a': 1, 'b': 1}],
            id='in order',
        ),
        pytest.param(
            jobset(job('a'), job('b', complete='a'), job('c')), [{'a': 1, 'c': 1}, {'b': 1, 'c': 1}], id='runs beside'
        ),
    ],
)
def test_gangs(made: types.JobSet, wanted: list[dict[str, int]]) -> None:
    assert gangs.problems(made) == ()
    assert counts(made) == wanted


@pytest.mark.parametrize(
    ('made', 'wanted'),
    [
        pytest.param(
            jobset(job('a'), job('b', complete='a'), succeeded={'a': 1}), [{'b': 1}], id='the first stage is over'
        ),
        pytest.param(jobset(job('a', 4, replicas=3), succeeded={'a': 2}), [{'a': 4}], id='two Jobs of three'),
        pytest.param(jobset(job('a', 4), succeeded={'a': 1}), [], id='all'),
        pytest.param(jobset(job('a', 4), succeeded={'a': 5}), [], id='more than there are'),
        pytest.param(
            jobset(job('a', 4, replicas=4, asks={'slice-topology': 'rack=8'}), succeeded={'a': 3}),
            [{'a': 8}],
            id='whole slices',
        ),
    ],
)
def test_what_has_succeeded_is_no_longer_asked_for(made: types.JobSet, wanted: list[dict[str, int]]) -> None:
    assert counts(made) == wanted


@pytest.mark.parametrize(
    ('fields', 'mode', 'level', 'slices'),
    [
        pytest.param({}, Mode.UNCONSTRAINED, None, (), id='nothing'),
        pytest.param({'asks': {'required-topology': 'rack'}}, Mode.REQUIRED, 'rack', (), id='required'),
        pytest.param({'kueue': {'podset-required-topology': 'rack'}}, Mode.REQUIRED, 'rack', (), id="Kueue's required"),
        pytest.param({'asks': {'preferred-topology': 'rack'}}, Mode.PREFERRED, 'rack', (), id='preferred'),
        pytest.param({'asks': {'unconstrained-topology': 'true'}}, Mode.UNCONSTRAINED, None, (), id='unconstrained'),
        pytest.param(
            {'asks': {'slice-topology': 'rack=4,host=2'}},
            Mode.SLICE_ONLY,
            None,
            (Layer('rack', 4), Layer('host', 2)),
            id='slices only',
        ),
        pytest.param(
            {'asks': {'preferred-topology': 'block', 'slice-topology': 'rack=4'}},
            Mode.PREFERRED,
            'block',
            (Layer('rack', 4),),
            id='slices beside another mode',
        ),
        pytest.param(
            {'kueue': {'podset-slice-required-topology': 'rack', 'podset-slice-size': '4'}},
            Mode.SLICE_ONLY,
            None,
            (Layer('rack', 4),),
            id="Kueue's slice",
        ),
    ],
)
def test_topology(fields: dict[str, Any], mode: Mode, level: str | None, slices: tuple[Layer, ...]) -> None:
    wanted = Request(name='a', count=8, pod=POD, mode=mode, level=level, slices=slices)
    assert request(jobset(job('a', 8, **fields))) == wanted


@pytest.mark.parametrize(
    ('fields', 'least', 'step'),
    [
        pytest.param({}, None, 4, id='all'),
        pytest.param({'least': 4}, 4, 4, id='one Job'),
        pytest.param({'least': 5}, 8, 4, id='whole Jobs'),
        pytest.param({'least': 16}, None, 4, id='as many as there are'),
        pytest.param({'least': 5, 'asks': {'slice-topology': 'rack=8'}}, 8, 8, id='whole slices'),
    ],
)
def test_fewer_pods(fields: dict[str, Any], least: int | None, step: int) -> None:
    (pod_set,) = gangs.of(jobset(job('a', 4, replicas=4, **fields)))[0]
    assert (pod_set.least, pod_set.step) == (least, step)


@pytest.mark.parametrize(
    'jobs',
    [
        pytest.param([job('l', cpu='2', asks={'leader-of': 'w'}), job('w', 4)], id='ours'),
        pytest.param(
            [job('w', 4, kueue={'podset-group-name': 'g'}), job('l', cpu='2', kueue={'podset-group-name': 'g'})],
            id="Kueue's",
        ),
    ],
)
def test_a_leader_belongs_to_its_workers(jobs: list[Any]) -> None:
    made = jobset(*jobs)
    (stage,) = gangs.of(made)
    leader = PodShape(amounts={'pods': 1, 'cpu': 2000, 'memory': GIB})
    assert gangs.problems(made) == ()
    assert [each.request for each in stage] == [Request(name='w', count=4, pod=POD, leader=leader)]
    assert stage[0].amounts == {'pods': 5, 'cpu': 6000, 'memory': 5 * GIB}


@pytest.mark.parametrize(
    ('done', 'wanted', 'has_leader'),
    [
        pytest.param('l', [{'w': 4}], False, id='the leader is done'),
        pytest.param('w', [{'l': 1}], False, id='the workers are done'),
    ],
)
def test_what_is_left_of_leader_and_workers(done: str, wanted: list[dict[str, int]], has_leader: bool) -> None:
    made = jobset(job('l', asks={'leader-of': 'w'}), job('w', 4), succeeded={done: 1})
    assert counts(made) == wanted
    assert (request(made).leader is not None) is has_leader


def test_shape_of_pods() -> None:
    term = {'matchExpressions': [{'key': 'gpu', 'operator': 'In', 'values': ['a', 'b']}]}
    field = {'matchFields': [{'key': 'metadata.name', 'operator': 'NotIn', 'values': ['n1']}]}
    pod = {
        'nodeSelector': {'pool': 'x'},
        'tolerations': [{'key': 'gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}, {'key': 't', 'value': 'v'}],
        'affinity': {
            'nodeAffinity': {
                'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [term, {}, field]},
                'preferredDuringSchedulingIgnoredDuringExecution': [
                    {'weight': 10, 'preference': term},
                    {'weight': 5, 'preference': {}},
                ],
            }
        },
    }
    gpu = (nodes.Requirement(key='gpu', values=('a', 'b')),)
    assert request(jobset(job('a', pod=pod))).pod == PodShape(
        amounts=POD.amounts,
        node_selector={'pool': 'x'},
        tolerations=(
            nodes.Toleration(key='gpu', operator='Exists', effect='NoSchedule'),
            nodes.Toleration(key='t', value='v'),
        ),
        node_affinity=(gpu, (nodes.Requirement(key='metadata.name', operator='NotIn', values=('n1',)),)),
        node_preferences=((10, gpu),),
    )


def test_required_terms_that_say_nothing_mean_no_node() -> None:
    affinity: Any = {'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [{}]}}}
    (term,) = request(jobset(job('a', pod={'affinity': affinity}))).pod.node_affinity
    assert not all(requirement.accepts('n1') for requirement in term)


CLAIMS = [{'name': 'own', 'resourceClaimTemplateName': 'two'}, {'name': 'all', 'resourceClaimName': 'one'}]
KNOWN = podrequests.Known(templates={'two': {'deviceclass/gpu': 2}}, claims={'one': {'deviceclass/nic': 1}})


@pytest.mark.parametrize(
    ('pods', 'wanted'),
    [
        pytest.param(1, {'deviceclass/gpu': 2, 'deviceclass/nic': 1}, id='both belong to the one pod'),
        pytest.param(2, {'deviceclass/gpu': 2}, id='the one of all belongs to none'),
    ],
)
def test_E_23_devices(pods: int, wanted: dict[str, int]) -> None:
    (stage,) = gangs.of(jobset(job('a', pods, pod={'resourceClaims': CLAIMS})), known=KNOWN)
    assert stage[0].request.pod.amounts == POD.amounts | wanted


def test_E_23_claims_that_a_gang_shares() -> None:
    made = jobset(job('a', 2, pod={'resourceClaims': CLAIMS}), asks={'gang': 'set', 'gang-claims': 'own'})
    assert gangs.of(made, known=KNOWN)[0][0].request.pod.amounts == POD.amounts


def test_B_27_what_is_missing_is_told() -> None:
    pod = {'containers': [{'name': 'c'}], 'resourceClaims': [*CLAIMS, {'name': 'x', 'resourceClaimTemplateName': 'x'}]}
    assert list(gangs.notes(jobset(job('a', 2, pod=pod), job('b')), known=KNOWN)) == [
        'spec.replicatedJobs[0] "a": container "c" does not request both cpu and memory; what it does request counts',
        'spec.replicatedJobs[0] "a": nobody knows how many devices the claim "x" takes; none are counted',
        'spec.replicatedJobs[0] "a": the claim "all" is shared by several pods; its devices are not counted',
    ]


@pytest.mark.parametrize(
    ('made', 'path', 'rule'),
    [
        pytest.param(
            jobset(job('a', cpu='x')),
            'spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources.requests[cpu]',
            "'x' is no quantity; write a number with one of the suffixes n u m  k M G T P E Ki Mi Gi Ti Pi Ei",
            id='no quantity',
        ),
        pytest.param(
            jobset(job('a', 4, cpu='2E')),
            'spec.replicatedJobs[0].template.spec.template.spec',
            '4 pods ask for 8000000000000000000000 of cpu; less than 2^62 is possible',
            id='more than can be counted',
        ),
        pytest.param(
            jobset(job('a', kueue={'podset-required-topology': ''})),
            'spec.replicatedJobs[0].template.spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]',
            "'' is no key of a label; write it as the nodes bear it",
            id="Kueue's annotation",
        ),
        pytest.param(
            jobset(job('a'), asks={'min-runtime': 'long'}),
            'metadata.annotations[jobset.x-k8s.io/min-runtime]',
            "'long' is no duration; write numbers with units, as in 15s or 1m30s",
            id='of the set',
        ),
    ],
)
def test_problems(made: types.JobSet, path: str, rule: str) -> None:
    (problem,) = gangs.problems(made)
    assert (problem.path, problem.rule) == (path, rule)
