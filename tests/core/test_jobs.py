"""How a child Job is built."""

import msgspec
import pytest

from jobset.api import keys, types
from jobset.core import children, jobs
from tests.core import build

L, P = 'jobset.sigs.k8s.io', 'alpha.jobset.sigs.k8s.io'


def _built(jobset: types.JobSet, position: int = 0, job_index: int = 0) -> build.Manifest:
    child = tuple(children.wanted(jobset, position))[job_index]
    found: build.Manifest = msgspec.json.decode(msgspec.json.encode(jobs.Factory(jobset).build(child)))
    return found


def _at(manifest: build.Manifest, *path: str) -> build.Manifest:
    for key in path:
        manifest = manifest[key]
    return manifest


POD = ('spec', 'template')


@pytest.mark.parametrize(
    ('namespace', 'name', 'key'),
    [
        pytest.param('default', 'js-rj-0', 'fe2d1d31463b1f8d34562cdccf8df683f29fbbd8', id='a short name'),
        pytest.param(
            'default', 'test-jobset-replicated-job-0', '027791c2c0a79daacbc05ab1512c28988581229f', id='a long name'
        ),
        pytest.param('ns1', 'pytorch-workers-3', '5c5f2948a48fcd117a5c09957943e47590387c22', id='another namespace'),
    ],
)
def test_job_key(namespace: str, name: str, key: str) -> None:
    assert jobs.job_key(namespace, name) == key


def test_a_job_in_full() -> None:
    template = {
        'metadata': {
            'name': 'ignored',
            'namespace': 'ignored',
            'finalizers': ['ignored/too'],
            'labels': {'team': 'x'},
            'annotations': {'note': 'n'},
        },
        'spec': {
            'parallelism': 2,
            'unknownField': {'survives': [1, 2.5, None]},
            'suspend': True,
            'template': {
                'metadata': {'labels': {'app': 'train'}, 'annotations': {'pod-note': 'p'}},
                'spec': {'containers': [{'name': 'main', 'image': 'i'}], 'subdomain': 'of-the-user'},
            },
        },
    }
    jobset = build.jobset(
        build.part('a', 2, template=template),
        metadata={'labels': {'not': 'handed-down'}, 'annotations': {'nor': 'this'}},
        status=types.Status(restarts=3),
    )
    marks = {
        f'{L}/jobset-name': 'js',
        f'{L}/jobset-uid': 'js-uid',
        f'{L}/replicatedjob-name': 'a',
        f'{L}/replicatedjob-replicas': '2',
        f'{L}/global-replicas': '2',
        f'{L}/job-index': '1',
        f'{L}/job-global-index': '1',
        f'{L}/job-key': jobs.job_key('default', 'js-a-1'),
        f'{L}/restart-attempt': '3',
        f'{L}/group-name': 'default',
        f'{L}/group-replicas': '2',
        f'{L}/job-group-index': '1',
    }

    assert _built(jobset, job_index=1) == {
        'apiVersion': 'batch/v1',
        'kind': 'Job',
        'metadata': {
            'name': 'js-a-1',
            'namespace': 'default',
            'labels': {'team': 'x'} | marks,
            'annotations': {'note': 'n'} | marks,
            'ownerReferences': [build.OWNER],
        },
        'spec': {
            'parallelism': 2,
            'unknownField': {'survives': [1, 2.5, None]},
            'suspend': False,
            'template': {
                'metadata': {'labels': {'app': 'train'} | marks, 'annotations': {'pod-note': 'p'} | marks},
                # Without host names the user's subdomain is left alone.
                'spec': {'containers': [{'name': 'main', 'image': 'i'}], 'subdomain': 'of-the-user'},
            },
        },
    }


GROUPS = build.jobset(
    build.part('a', 2, groupName='g1'),
    build.part('b', 1),
    build.part('c', 2, groupName='g1'),
)


@pytest.mark.parametrize(
    ('position', 'job_index', 'numbers'),
    [
        pytest.param(0, 0, ('5', '2', '0', 'g1', '4', '0'), id='the first of the first'),
        pytest.param(0, 1, ('5', '2', '1', 'g1', '4', '1'), id='the second of the first'),
        pytest.param(1, 0, ('5', '1', '2', 'default', '1', '0'), id='alone in its group'),
        pytest.param(2, 1, ('5', '2', '4', 'g1', '4', '3'), id='the last of all'),
    ],
)
def test_indexes(position: int, job_index: int, numbers: tuple[str, ...]) -> None:
    names = (
        'global-replicas',
        'replicatedjob-replicas',
        'job-global-index',
        'group-name',
        'group-replicas',
        'job-group-index',
    )

    labels = _at(_built(GROUPS, position, job_index), 'metadata', 'labels')

    assert tuple(labels[f'{L}/{name}'] for name in names) == numbers


def test_marks_win_over_what_the_template_says() -> None:
    stray = {keys.JOB_INDEX: '99', keys.RESTART_ATTEMPT: '99'}
    metadata = {'labels': stray, 'annotations': stray}
    template = {'metadata': metadata, 'spec': build.pods(metadata=metadata)}

    built = _built(build.jobset(build.part('a', template=template)))

    for part in (built, _at(built, *POD)):
        for kind in ('labels', 'annotations'):
            assert _at(part, 'metadata', kind)[keys.JOB_INDEX] == '0'
            assert _at(part, 'metadata', kind)[keys.RESTART_ATTEMPT] == '0'


@pytest.mark.parametrize(
    ('suspend', 'in_template', 'expected'),
    [
        pytest.param(True, False, True, id='a suspended set makes suspended Jobs'),
        pytest.param(False, True, False, id='a running set makes running Jobs, whatever the template says'),
        pytest.param(None, True, False, id='null means running'),
    ],
)
def test_suspend_is_always_written(suspend: bool | None, in_template: bool, expected: bool) -> None:
    template = {'spec': build.pods() | {'suspend': in_template}}

    built = _built(build.jobset(build.part('a', template=template), suspend=suspend))

    assert _at(built, 'spec')['suspend'] is expected


@pytest.mark.parametrize(
    ('settings', 'subdomain'),
    [
        pytest.param({'enableDNSHostnames': True}, 'js', id='the name of the set wins over a subdomain of the user'),
        pytest.param({'enableDNSHostnames': True, 'subdomain': 'mesh'}, 'mesh', id='the wanted subdomain wins, too'),
        pytest.param(
            {'enableDNSHostnames': False, 'subdomain': 'mesh'}, 'own', id='without host names it is left alone'
        ),
    ],
)
def test_subdomain(settings: build.Manifest, subdomain: str) -> None:
    template = {'spec': build.pods(subdomain='own')}

    built = _built(build.jobset(build.part('a', template=template), network=settings))

    assert _at(built, *POD, 'spec')['subdomain'] == subdomain


def test_the_coordinator_is_told_everywhere() -> None:
    jobset = build.jobset(
        build.part('a'), build.part('b', 2), coordinator={'replicatedJob': 'b', 'jobIndex': 1, 'podIndex': 2}
    )

    built = _built(jobset)

    for part in (built, _at(built, *POD)):
        for kind in ('labels', 'annotations'):
            assert _at(part, 'metadata', kind)[f'{L}/coordinator'] == 'js-b-1-2.js'


TOPOLOGY, FLAG = f'{P}/exclusive-topology', f'{P}/node-selector'


@pytest.mark.parametrize(
    ('of_the_set', 'of_the_job', 'copied'),
    [
        pytest.param({}, {}, {}, id='none'),
        pytest.param({TOPOLOGY: 'rack'}, {}, {TOPOLOGY: 'rack'}, id='of the set'),
        pytest.param({}, {TOPOLOGY: 'rack'}, {TOPOLOGY: 'rack'}, id='of the replicated job'),
        pytest.param({TOPOLOGY: 'rack'}, {TOPOLOGY: 'zone'}, {TOPOLOGY: 'zone'}, id='the replicated job wins'),
        pytest.param(
            {TOPOLOGY: 'rack', FLAG: 'true'}, {}, {TOPOLOGY: 'rack', FLAG: 'true'}, id='with the strategy of the set'
        ),
        pytest.param({FLAG: 'true'}, {}, {}, id='the strategy alone is not copied'),
        pytest.param(
            {FLAG: 'true'}, {TOPOLOGY: 'zone'}, {TOPOLOGY: 'zone'}, id='the strategy needs the topology of its level'
        ),
        pytest.param(
            {TOPOLOGY: 'rack', FLAG: 'set'},
            {TOPOLOGY: 'zone', FLAG: 'job'},
            {TOPOLOGY: 'zone', FLAG: 'job'},
            id='the replicated job wins with both',
        ),
        pytest.param(
            {TOPOLOGY: 'rack', FLAG: 'set'},
            {TOPOLOGY: 'zone'},
            {TOPOLOGY: 'zone', FLAG: 'set'},
            id='the strategy of the set stays where the replicated job names none',
        ),
    ],
)
def test_placement_annotations(
    of_the_set: dict[str, str],
    of_the_job: dict[str, str],
    copied: dict[str, str],
) -> None:
    template = {'metadata': {'annotations': of_the_job}, 'spec': build.pods()}
    built = _built(build.jobset(build.part('a', template=template), metadata={'annotations': of_the_set}))

    for part in (built, _at(built, *POD)):
        assert {
            key: value for key, value in _at(part, 'metadata', 'annotations').items() if key in (TOPOLOGY, FLAG)
        } == copied
        assert not {TOPOLOGY, FLAG} & _at(part, 'metadata', 'labels').keys()
    assert ('nodeSelector' in _at(built, *POD, 'spec')) is (FLAG in copied)


def test_a_strategy_alone_on_the_job_template_is_kept_but_binds_nothing() -> None:
    template = {'metadata': {'annotations': {FLAG: 'true'}}, 'spec': build.pods()}

    built = _built(build.jobset(build.part('a', template=template)))

    assert _at(built, 'metadata', 'annotations')[FLAG] == 'true'
    assert FLAG not in _at(built, *POD, 'metadata', 'annotations')
    assert 'nodeSelector' not in _at(built, *POD, 'spec')


def test_the_node_selector_strategy_binds_to_prepared_nodes() -> None:
    pod = build.pods(nodeSelector={'gpu': 'yes'}, tolerations=[{'key': 'gpu', 'operator': 'Exists'}])
    jobset = build.jobset(
        build.part('a', 2, template={'spec': pod}), metadata={'annotations': {TOPOLOGY: 'rack', FLAG: ''}}
    )

    spec = _at(_built(jobset, job_index=1), *POD, 'spec')

    assert spec['nodeSelector'] == {'gpu': 'yes', f'{P}/namespaced-job': 'default_js-a-1'}
    assert spec['tolerations'] == [
        {'key': 'gpu', 'operator': 'Exists'},
        {'key': f'{P}/no-schedule', 'operator': 'Exists', 'effect': 'NoSchedule'},
    ]


def test_claims_become_volumes_of_the_jobs_that_mount_them() -> None:
    mounts = [{'name': 'main', 'image': 'i', 'volumeMounts': [{'name': 'data', 'mountPath': '/data'}]}]
    own = {'name': 'scratch', 'emptyDir': {}}
    jobset = build.jobset(
        build.part('a', template={'spec': {'template': {'spec': {'containers': mounts, 'volumes': [own]}}}}),
        build.part('b'),
        volumeClaimPolicies=[{'templates': [{'metadata': {'name': 'data'}, 'spec': {}}]}],
    )

    mounting, other = _built(jobset, 0), _built(jobset, 1)

    assert _at(mounting, *POD, 'spec')['volumes'] == [
        own,
        {'name': 'data', 'persistentVolumeClaim': {'claimName': 'data-js'}},
    ]
    assert 'volumes' not in _at(other, *POD, 'spec')


@pytest.mark.parametrize(
    'template',
    [
        pytest.param({}, id='an empty template'),
        pytest.param({'spec': {'template': {}}}, id='an empty pod template'),
        pytest.param({'metadata': {'labels': None, 'annotations': None}, 'spec': {}}, id='null maps'),
    ],
)
def test_a_template_that_says_nothing_is_built_all_the_same(template: build.Manifest) -> None:
    # Only the API server can tell what is wrong with it; nothing is made up here.
    built = _built(build.jobset(build.part('a', template=template)))

    assert _at(built, 'spec')['suspend'] is False
    assert _at(built, *POD, 'spec') == {}
    assert _at(built, *POD, 'metadata', 'labels')[keys.JOBSET_NAME] == 'js'


def test_jobs_do_not_share_what_differs() -> None:
    factory = jobs.Factory(build.jobset(build.part('a', 2)))
    first, second = children.wanted(build.jobset(build.part('a', 2)), 0)

    made = factory.build(first)
    factory.build(second)

    assert _at(made, 'metadata', 'labels')[keys.JOB_INDEX] == '0'
