"""What may be created. Texts are those that users of the Go controller know."""

from typing import Any

import pytest

from jobset.api import features, validation
from tests.api import build
from tests.api.build import DEFAULTS, EVERYTHING, claim, errors, internal, obj, policies, replicated, rule

Json = Any

INT32_MOST = 2**31 - 1
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
MUST_EXIST = 'does not appear in .spec.ReplicatedJobs'


def ready(*names: str) -> list[Json]:
    return [{'name': name, 'status': 'Ready'} for name in names]


@pytest.mark.parametrize(
    ('jobs', 'expected'),
    [
        pytest.param([replicated('a'), replicated('b', dependsOn=ready('a'))], [], id='on an earlier one'),
        pytest.param(
            [replicated('a', dependsOn=[])],
            internal("DependsOn can't be set for the first ReplicatedJob"),
            id='an empty list on the first one',
        ),
        pytest.param(
            [replicated('a', dependsOn=ready('b')), replicated('b')],
            internal(
                "DependsOn can't be set for the first ReplicatedJob",
                'replicatedJob: a cannot depend on replicatedJob: b',
            ),
            id='the first one on a later one',
        ),
        pytest.param(
            [replicated('a'), replicated('b', dependsOn=ready('x', 'a', 'y'))],
            internal(
                'replicatedJob: b cannot depend on replicatedJob: x',
                'replicatedJob: b cannot depend on replicatedJob: y',
            ),
            id='on unknown ones',
        ),
        pytest.param(
            [replicated('a'), replicated('b', dependsOn=ready('b'))],
            internal('replicatedJob: b cannot depend on replicatedJob: b: it would wait for itself and never start'),
            id='on itself',
        ),
    ],
)
def test_dependencies(jobs: list[Json], expected: list[str]) -> None:
    assert errors(obj(jobs)) == expected


@pytest.mark.parametrize(
    ('name', 'job', 'expected'),
    [
        pytest.param('js', replicated('a', replicas=INT32_MOST), [], id='as many Jobs as can be counted'),
        pytest.param(
            'js',
            replicated('a', replicas=INT32_MOST, job={'parallelism': 2}),
            internal(f"the product of replicas and parallelism must not exceed {INT32_MOST} for replicatedJob 'a'"),
            id='more pods than can be counted',
        ),
        pytest.param(
            'js', replicated('a', replicas=INT32_MOST, job={'parallelism': None}), [], id='parallelism of one'
        ),
        pytest.param(
            'js',
            replicated('a', groupName=''),
            [f'spec.replicatedJobs[0].groupName: Invalid value: "": {LABEL}'],
            id='an empty group',
        ),
        pytest.param(
            'js',
            replicated('a', groupName='g' * 64),
            [
                (
                    f'spec.replicatedJobs[0].groupName: Invalid value: "{"g" * 64}": '
                    '.spec.replicatedJob[].groupName is too long, must be less than 63 characters'
                )
            ],
            id='a long group',
        ),
        pytest.param('j' * 51, replicated('a'), [], id='the longest pod name that fits'),
        pytest.param(
            'j' * 52,
            replicated('a'),
            [
                (
                    f'spec.replicatedJobs[0].name: Invalid value: "{"j" * 52}-a-0": '
                    'JobSet name is too long, pod names generated for this JobSet will exceed 63 characters'
                )
            ],
            id='a pod name that is one too long, told by the name of its Job',
        ),
        pytest.param('j' * 59, replicated('a', job={'completionMode': 'NonIndexed'}), [], id='no indexed pods'),
        pytest.param('j' * 59, replicated('a', job={'completions': None}), [], id='unknown number of completions'),
        pytest.param(
            'j' * 60,
            replicated('a', job={'completionMode': 'NonIndexed'}),
            [
                (
                    f'spec.replicatedJobs[0].name: Invalid value: "{"j" * 60}-a-0": '
                    'JobSet name is too long, job names generated for this JobSet will exceed 63 characters'
                )
            ],
            id='a Job name that is one too long',
        ),
        pytest.param('j' * 58, replicated('a', replicas=0, job={'completions': None}), [], id='no Jobs at all'),
        pytest.param(
            '1js',
            replicated('a', job={'completions': None}),
            [f'spec.replicatedJobs[0].name: Invalid value: "1js-a-0": {LABEL}'],
            id='a name that begins with a digit',
        ),
    ],
)
def test_sizes_and_names(name: str, job: Json, expected: list[str]) -> None:
    assert errors(obj([job], name=name)) == expected


SUBDOMAIN = 'spec.network.subdomain: Invalid value: '


@pytest.mark.parametrize(
    ('spec', 'expected'),
    [
        pytest.param({'network': {'subdomain': 'sub'}}, [], id='a good subdomain'),
        pytest.param({'network': {'subdomain': ''}}, [], id='no subdomain'),
        pytest.param({'network': {'subdomain': 'a.b'}}, [f'{SUBDOMAIN}"a.b": {LABEL}'], id='a dot'),
        pytest.param(
            {'network': {'subdomain': 's' * 64}},
            [f'{SUBDOMAIN}"{"s" * 64}": .spec.network.subdomain is too long, must be less than 63 characters'],
            id='one too long',
        ),
        pytest.param({'managedBy': 'example.com/x'}, [], id='somebody else'),
        pytest.param(
            {'managedBy': 'example.com/' + 'x' * 52},
            ['spec.managedBy: Too long: may not be more than 63 bytes'],
            id='somebody with a long name',
        ),
        pytest.param({'managedBy': ''}, ['spec.managedBy: Required value'], id='nobody'),
        pytest.param(
            {'successPolicy': {'operator': 'All', 'targetReplicatedJobs': ['a', 'x', 'y']}},
            internal(*(f"invalid replicatedJob name '{name}' {MUST_EXIST}" for name in 'xy')),
            id='unknown targets of success',
        ),
    ],
)
def test_network_manager_and_success(spec: Json, expected: list[str]) -> None:
    assert errors(obj([replicated('a')], **spec)) == expected


IN_PLACE = {'restartStrategy': 'InPlaceRestart'}
IN_PLACE_JOB = {'parallelism': 2, 'completions': 2, 'backoffLimit': INT32_MOST, 'podReplacementPolicy': 'Failed'}
IN_PLACE_PATH = 'spec.replicatedJobs[0].template.spec'
ENABLED = 'when in-place restart is enabled'


@pytest.mark.parametrize(
    ('gates', 'job', 'expected'),
    [
        pytest.param(
            DEFAULTS,
            {},
            internal('InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled'),
            id='switched off',
        ),
        pytest.param(EVERYTHING, IN_PLACE_JOB, [], id='all it needs'),
        pytest.param(
            EVERYTHING,
            {'completions': 2},
            [
                (
                    f'{IN_PLACE_PATH}.backoffLimit: Invalid value: null: '
                    f'replicatedJob a: must be set to {INT32_MOST} (MaxInt32) {ENABLED}'
                ),
                (
                    f'{IN_PLACE_PATH}.podReplacementPolicy: Invalid value: null: '
                    f'replicatedJob a: must be set to Failed {ENABLED}'
                ),
                (
                    f'{IN_PLACE_PATH}.completions: Invalid value: 2: '
                    f'replicatedJob a: completions and parallelism must be set and equal to each other {ENABLED}'
                ),
            ],
            id='nothing it needs',
        ),
        pytest.param(
            EVERYTHING,
            IN_PLACE_JOB | {'podReplacementPolicy': 'TerminatingOrFailed', 'parallelism': None, 'completions': None},
            [
                (
                    f'{IN_PLACE_PATH}.podReplacementPolicy: Invalid value: "TerminatingOrFailed": '
                    f'replicatedJob a: must be set to Failed {ENABLED}'
                ),
                (
                    f'{IN_PLACE_PATH}.completions: Invalid value: null: '
                    f'replicatedJob a: completions and parallelism must be set and equal to each other {ENABLED}'
                ),
            ],
            id='other values and sizes unknown',
        ),
    ],
)
def test_in_place_restart(gates: features.FeatureGates, job: Json, expected: list[str]) -> None:
    assert errors(obj([replicated('a', job=job)], failurePolicy=IN_PLACE), gates) == expected


NO_INDEX = 'job for coordinator pod must be indexed completion mode, and completions number must be set'


@pytest.mark.parametrize(
    ('coordinator', 'expected'),
    [
        pytest.param({'replicatedJob': 'a', 'jobIndex': 1, 'podIndex': 2}, [], id='the last pod'),
        pytest.param({'replicatedJob': 'x'}, ['coordinator replicatedJob x does not exist'], id='no such group'),
        pytest.param(
            {'replicatedJob': 'a', 'jobIndex': 2, 'podIndex': 3},
            ['coordinator job index 2 is invalid for replicatedJob a'],
            id='no such Job, and only that is told',
        ),
        pytest.param(
            {'replicatedJob': 'a', 'jobIndex': -1},
            ['coordinator job index -1 is invalid for replicatedJob a'],
            id='a negative Job',
        ),
        pytest.param(
            {'replicatedJob': 'a', 'podIndex': 3},
            ['coordinator pod index 3 is invalid for replicatedJob a job index 0'],
            id='no such pod',
        ),
        pytest.param({'replicatedJob': 'n'}, [NO_INDEX], id='pods without indexes'),
        pytest.param({'replicatedJob': 'u'}, [NO_INDEX], id='pods without number'),
    ],
)
def test_coordinator(coordinator: Json, expected: list[str]) -> None:
    jobs = [
        replicated('a', replicas=2, job={'completions': 3}),
        replicated('n', job={'completionMode': 'NonIndexed'}),
        replicated('u', job={'completions': None}),
    ]

    assert errors(obj(jobs, coordinator=coordinator)) == internal(*expected)


def test_row_89_long_coordinator_endpoints_are_refused() -> None:
    js = obj(
        [replicated('a')],
        name='j' * 40,
        network={'subdomain': 's' * 40},
        coordinator={'replicatedJob': 'x'},
    )

    assert errors(js) == internal(
        'coordinator replicatedJob x does not exist',
        f'spec will lead to invalid label value "{"j" * 40}-x-0-0.{"s" * 40}" for coordinator label '
        '"jobset.sigs.k8s.io/coordinator" (long JobSet / ReplicatedJob / SubDomain name?): '
        'must be no more than 63 bytes',
    )


def test_every_mistake_is_told_at_once_in_the_order_of_the_rules() -> None:
    js = obj(
        [replicated('a', dependsOn=[], groupName='G', replicas=INT32_MOST, job={'parallelism': 2})],
        network={'subdomain': 'a.b'},
        managedBy='x',
        successPolicy={'operator': 'All', 'targetReplicatedJobs': ['x']},
        failurePolicy={'restartStrategy': 'InPlaceRestart', 'rules': [rule('-')]},
        coordinator={'replicatedJob': 'y'},
        **policies(claim('z')),
    )

    paths = [error.path for error in validation.create(build.typed(js), gates=DEFAULTS, existing_claims={})]

    assert paths == [
        '<nil>',  # the strategy is switched off
        '<nil>',  # the first replicated job depends on something
        'spec.network.subdomain',
        'spec.managedBy',
        '<nil>',  # too many pods
        'spec.replicatedJobs[0].groupName',
        '<nil>',  # an unknown target of success
        '<nil>',  # the name of a rule
        '<nil>',  # an unknown coordinator
        'spec.replicatedJobs',
    ]
