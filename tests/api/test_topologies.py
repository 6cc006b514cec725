"""What pod templates ask of their place."""

from typing import Any

import pytest

from jobset.api import extravalues, slices, topologies, types, validation
from jobset.api.slices import Layer
from jobset.api.topologies import Wish
from jobset.api.validation import topologies as judged
from tests.api import build

OURS = 'jobset.x-k8s.io/'
KUEUE = 'kueue.x-k8s.io/podset-'


def job(name: str = 'w', *, pods: int = 8, least: str = '', needs: str = '', **asked: str) -> Any:
    """A replicated job; ``asked`` are annotations of its pods, ours, or Kueue's where they begin with ``kueue_``."""
    made = build.replicated(name, job={'parallelism': pods, 'completions': pods})
    annotations = {}
    for key, value in asked.items():
        prefix = KUEUE if key.startswith('kueue_') else OURS
        annotations[prefix + key.removeprefix('kueue_').replace('_', '-')] = value
    made['template']['spec']['template']['metadata'] = {'annotations': annotations}
    if least:
        made['template']['metadata'] = {'annotations': {f'{OURS}min-pods': least}}
    if needs:
        made['dependsOn'] = [{'name': needs, 'status': 'Complete'}]
    return made


def jobset(*jobs: Any) -> types.JobSet:
    return build.typed(build.obj(jobs))


@pytest.mark.parametrize(
    ('asked', 'wanted'),
    [
        pytest.param({}, Wish(), id='nothing'),
        pytest.param({'required_topology': 'rack'}, Wish(required='rack'), id='required'),
        pytest.param({'kueue_required_topology': 'rack'}, Wish(required='rack'), id="Kueue's required"),
        pytest.param(
            {'required_topology': 'rack', 'kueue_required_topology': 'block'}, Wish(required='rack'), id='ours count'
        ),
        pytest.param({'preferred_topology': 'rack'}, Wish(preferred='rack'), id='preferred'),
        pytest.param({'kueue_preferred_topology': 'rack'}, Wish(preferred='rack'), id="Kueue's preferred"),
        pytest.param({'unconstrained_topology': 'true'}, Wish(unconstrained=True), id='unconstrained'),
        pytest.param({'unconstrained_topology': 'false'}, Wish(), id='not unconstrained'),
        pytest.param({'kueue_unconstrained_topology': 'true'}, Wish(unconstrained=True), id="Kueue's unconstrained"),
        pytest.param(
            {'slice_topology': 'rack=4,host=2'}, Wish(layers=(Layer('rack', 4), Layer('host', 2))), id='slices'
        ),
        pytest.param(
            {'kueue_slice_required_topology': 'rack', 'kueue_slice_size': '4'},
            Wish(layers=(Layer('rack', 4),)),
            id="Kueue's slice",
        ),
        pytest.param({'kueue_slice_size': '4'}, Wish(), id='half a slice'),
        pytest.param(
            {'kueue_slice_required_topology_constraints': '[{"topology": "rack", "size": 4}]'},
            Wish(layers=(Layer('rack', 4),)),
            id="Kueue's slices",
        ),
        pytest.param({'required_topology': 'a b'}, Wish(), id='unreadable'),
    ],
)
def test_wishes(asked: dict[str, Any], wanted: Wish) -> None:
    assert topologies.wish(jobset(job(**asked)).spec.replicated_jobs[0]) == wanted


@pytest.mark.parametrize(
    ('jobs', 'wanted'),
    [
        pytest.param([job('l', pods=1, leader_of='w'), job()], {1: 0}, id='by name'),
        pytest.param([job('l', pods=1, kueue_group_name='g'), job(kueue_group_name='g')], {1: 0}, id="Kueue's group"),
        pytest.param(
            [job(pods=1, kueue_group_name='g'), job('l', pods=1, kueue_group_name='g')],
            {0: 1},
            id="the second of Kueue's group, where both have one pod",
        ),
        pytest.param([job(kueue_group_name='g'), job('l', kueue_group_name='g')], {}, id='nobody can lead'),
        pytest.param([job('l', pods=1, leader_of='x'), job()], {}, id='of nobody'),
    ],
)
def test_leaders(jobs: list[Any], wanted: dict[int, int]) -> None:
    assert topologies.leaders(jobset(*jobs)) == wanted


@pytest.mark.parametrize(
    ('text', 'layers'),
    [
        pytest.param('rack=16', (Layer('rack', 16),)),
        pytest.param('a/b=16 , c=8,d=8', (Layer('a/b', 16), Layer('c', 8), Layer('d', 8))),
        pytest.param('[{"topology":"rack","size":16},{"topology":"c","size":4}]', (Layer('rack', 16), Layer('c', 4))),
    ],
)
def test_slices(text: str, layers: tuple[Layer, ...]) -> None:
    assert slices.parse(text) == layers


@pytest.mark.parametrize(
    ('text', 'told'),
    [
        pytest.param('', "'' is no level=size; write level=size, up to three with commas", id='nothing'),
        pytest.param('rack', "'rack' is no level=size", id='no size'),
        pytest.param('rack=x', "'rack=x' is no level=size", id='no number'),
        pytest.param('rack=0', "rack in 'rack=0' has a size of 0; write at least 1", id='of nothing'),
        pytest.param('a=8,b=4,c=2,d=1', 'has 4 layers', id='too many'),
        pytest.param('a=8,a=4', "'a=8,a=4' names a level twice", id='twice'),
        pytest.param('a=8,b=3', '8 pods of a cannot be cut into b of 3; each size is a multiple', id='uneven'),
        pytest.param('a b=8', "'a b' is no key of a label", id='no label'),
        pytest.param('[]', 'has 0 layers', id='empty list'),
        pytest.param('[{"topology":"a"}]', 'is no list of topology and size', id='half an entry'),
    ],
)
def test_slices_that_are_none(text: str, told: str) -> None:
    with pytest.raises(extravalues.ExtraError) as error:
        slices.parse(text)
    assert told in str(error.value)


POD = 'template.spec.template.metadata.annotations'


def at(place: int, key: str) -> str:
    return f'spec.replicatedJobs[{place}].{POD}[{OURS}{key}]'


LEADER = job('l', pods=1, leader_of='w')
PROBLEMS = [
    pytest.param([job(required_topology='rack', slice_topology='host=4')], None, None, id='fine'),
    pytest.param([LEADER, job(required_topology='rack')], None, None, id='a leader'),
    pytest.param(
        [job(required_topology='rack', preferred_topology='rack')],
        at(0, 'required-topology'),
        f'excludes {OURS}preferred-topology; keep one of them',
        id='two modes',
    ),
    pytest.param(
        [job(slice_topology='host=3')],
        at(0, 'slice-topology'),
        'the 8 pods of "w" cannot be cut into slices of 3; choose a size that divides their number',
        id='slices that do not divide',
    ),
    pytest.param(
        [job(least='9')],
        f'spec.replicatedJobs[0].template.metadata.annotations[{OURS}min-pods]',
        '9 pods of "w" are needed, and there are 8; choose no more',
        id='more than all',
    ),
    pytest.param(
        [job('l', pods=1, leader_of='x')],
        at(0, 'leader-of'),
        '"x" is no replicated job of this set; they are: l',
        id='a leader of nobody',
    ),
    pytest.param(
        [job('l', pods=1, leader_of='l')], at(0, 'leader-of'), '"l" cannot lead itself; name another', id='of itself'
    ),
    pytest.param(
        [job('l', pods=2, leader_of='w'), job()],
        at(0, 'leader-of'),
        'a leader is one pod, and "l" has 2',
        id='two pods',
    ),
    pytest.param(
        [LEADER, job('m', pods=1, leader_of='w'), job()],
        at(1, 'leader-of'),
        '"w" is led by "l" already; one leader is possible',
        id='two leaders',
    ),
    pytest.param(
        [job('k', pods=1, leader_of='l'), LEADER, job()],
        at(0, 'leader-of'),
        '"l" leads others itself; name the replicated job that it leads',
        id='a leader of a leader',
    ),
    pytest.param(
        [LEADER, job(needs='l')],
        at(0, 'leader-of'),
        '"w" is not there at the same time, by dependsOn; remove it',
        id='a leader that has ended',
    ),
    pytest.param(
        [job('l', pods=1, leader_of='w', required_topology='rack'), job()],
        at(0, 'leader-of'),
        'the leader goes where "w" goes; remove its own topology annotations',
        id='a leader that goes elsewhere',
    ),
]


@pytest.mark.parametrize(('jobs', 'path', 'text'), PROBLEMS)
def test_problems_of_ours(jobs: list[Any], path: str | None, text: str | None) -> None:
    sent = jobset(*jobs)
    wanted = [] if path is None else [(path, text)]
    assert [(error.path, error.detail) for error in judged.problems(sent)] == wanted
    found = validation.create(sent, gates=build.DEFAULTS, existing_claims={})
    assert [(error.path, error.detail) for error in found] == wanted
    assert validation.update(sent, sent, gates=build.DEFAULTS) == []


@pytest.mark.parametrize(
    ('jobs', 'wanted'),
    [
        pytest.param(
            [job(kueue_slice_size='4')], ['says nothing without kueue.x-k8s.io/podset-slice-required-topology; add it']
        ),
        pytest.param([job(kueue_slice_required_topology='rack', kueue_slice_size='3')], ['the 8 pods of "w" cannot']),
        pytest.param([job(kueue_required_topology='a b')], ["'a b' is no key of a label"]),
        pytest.param([job(kueue_group_name='g')], ['"g" has replicated jobs of 8 pods; use two, one of them with 1']),
    ],
)
def test_problems_of_kueue_are_for_the_scheduler(jobs: list[Any], wanted: list[str]) -> None:
    sent = jobset(*jobs)
    found = [error.detail for error in judged.problems(sent)]
    assert len(found) == len(wanted)
    assert all(text in detail for text, detail in zip(wanted, found, strict=True))
    assert validation.create(sent, gates=build.DEFAULTS, existing_claims={}) == []


def test_what_cannot_be_read_is_refused_in_each_place() -> None:
    sent = build.obj([job(least='x', required_topology='a b', required='rack')])
    sent['metadata']['annotations'] = {f'{OURS}priority': 'high', f'{OURS}last-checkpoint': 'today'}
    paths = [error.path for error in validation.create(build.typed(sent), gates=build.DEFAULTS, existing_claims={})]
    assert paths == [
        f'metadata.annotations[{OURS}priority]',
        f'metadata.annotations[{OURS}last-checkpoint]',
        f'spec.replicatedJobs[0].template.metadata.annotations[{OURS}min-pods]',
        f'spec.replicatedJobs[0].{POD}[{OURS}required-topology]',
        f'spec.replicatedJobs[0].{POD}[{OURS}required]',
    ]
    assert [error.path for error in judged.problems(build.typed(sent))] == paths[:-1]
