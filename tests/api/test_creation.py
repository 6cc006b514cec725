"""What may be created. Texts are those that users of the Go controller know."""

from typing import Any

import pytest

from jobset.api import features, validation
from tests.api import build
from tests.api.build import DEFAULTS, EVERYTHING, claim, obj, replicated

Json = Any

INT32_MOST = 2**31 - 1
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
MUST_EXIST = 'does not appear in .spec.ReplicatedJobs'


def errors(sent: Json, gates: features.FeatureGates = DEFAULTS, **existing: validation.Found) -> list[str]:
    claims = {name.replace('_', '-'): found for name, found in existing.items()}
    return [str(error) for error in validation.create(build.typed(sent), gates=gates, existing_claims=claims)]


def internal(*texts: str) -> list[str]:
    return [f'<nil>: Internal error: {text}' for text in texts]


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


def rule(name: str = 'r', action: str = 'FailJobSet', **filters: Json) -> Json:
    return {'name': name, 'action': action, **filters}


SHAPE = (
    'a failure policy rule name must start with an alphabetic character, optionally followed by a string of '
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
)
LENGTH = 'the rule name must be at least 1 characters long and at most 128 characters long'
OFF = (
    'RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature '
    'gate is disabled'
)
TOO_MANY = (
    'JobSet cannot have a failure policy rule with RestartJob or RestartJobAndIgnoreMaxRestarts action and a '
    'replicated job with replicas > 1024'
)


@pytest.mark.parametrize(
    ('gates', 'rules', 'replicas', 'expected'),
    [
        pytest.param(DEFAULTS, [rule('a'), rule('b_'), rule('c:d,e')], 1, [], id='good names'),
        pytest.param(
            DEFAULTS,
            [rule('')],
            1,
            [
                f'invalid failure policy rule name of length 0, {LENGTH}',
                f"invalid failure policy rule name '', {SHAPE}",
            ],
            id='an empty name',
        ),
        pytest.param(
            DEFAULTS,
            [rule('r' * 129)],
            1,
            [f'invalid failure policy rule name of length 129, {LENGTH}'],
            id='a long name',
        ),
        pytest.param(
            DEFAULTS,
            [rule('a-b')],
            1,
            [f"invalid failure policy rule name 'a-b', {SHAPE}"],
            id='a dash in the name',
        ),
        pytest.param(
            DEFAULTS,
            [rule(targetReplicatedJobs=['a', 'x'], onJobFailureReasons=['PodFailurePolicy', 'Nope'])],
            1,
            [
                "invalid replicatedJob name 'x' in failure policy does not appear in .spec.ReplicatedJobs",
                "invalid job failure reason 'Nope' in failure policy is not a recognized job failure reason",
            ],
            id='an unknown target and an unknown reason',
        ),
        pytest.param(
            DEFAULTS,
            [rule('b'), rule('a'), rule('b'), rule('a'), rule('b'), rule('c')],
            1,
            [
                "rule names are not unique, rules with indices [0 2 4] all have the same name 'b'",
                "rule names are not unique, rules with indices [1 3] all have the same name 'a'",
            ],
            id='names given twice and thrice',
        ),
        pytest.param(
            DEFAULTS,
            [rule('1', 'RestartJob', targetReplicatedJobs=['x'])],
            1,
            [OFF],
            id='single restarts switched off, and nothing else looked at',
        ),
        pytest.param(EVERYTHING, [rule(action='RestartJob')], 1024, [], id='as many Jobs as can be restarted singly'),
        pytest.param(
            EVERYTHING,
            [rule('a', 'RestartJob'), rule('b', 'RestartJobAndIgnoreMaxRestarts')],
            1025,
            [TOO_MANY],
            id='one too many, told once',
        ),
        pytest.param(EVERYTHING, [rule()], 1025, [], id='many Jobs and another action'),
    ],
)
def test_failure_rules(gates: features.FeatureGates, rules: list[Json], replicas: int, expected: list[str]) -> None:
    jobs = [replicated('a', replicas=replicas)]

    assert errors(obj(jobs, failurePolicy={'rules': rules}), gates) == internal(*expected)


@pytest.mark.parametrize(
    ('pattern', 'reason'),
    [
        pytest.param('(', 'error parsing regexp: missing closing ): `(` at position 0', id='an open group'),
        pytest.param(
            'a(?=b)',
            'error parsing regexp: invalid or unsupported Perl syntax: `(?=` at position 1',
            id='a look-ahead, which RE2 does not have',
        ),
        pytest.param(
            'a**', 'error parsing regexp: invalid nested repetition operator: `**` at position 1', id='two stars'
        ),
    ],
)
def test_row_19_bad_patterns_are_refused(pattern: str, reason: str) -> None:
    rules = [
        rule('a', onJobFailureMessagePatterns=['exit code 1[0-9]+', pattern]),
        rule('b', onJobFailureMessagePatterns=['.*']),
    ]
    (error,) = validation.create(
        build.typed(obj([replicated('a')], failurePolicy={'rules': rules})), gates=DEFAULTS, existing_claims={}
    )

    assert error.path == 'spec.failurePolicy.rules[0].onJobFailureMessagePatterns[1]'
    assert error.message == f'Invalid value: "{pattern}": must be a regular expression in RE2 syntax: {reason}'


def test_patterns_that_are_too_large_to_match_are_refused() -> None:
    rules = [rule(onJobFailureMessagePatterns=[r'\pL' * 5000])]

    (error,) = errors(obj([replicated('a')], failurePolicy={'rules': rules}))

    assert error.startswith('spec.failurePolicy.rules[0].onJobFailureMessagePatterns[0]: Invalid value: ')
    assert 'must be a regular expression in RE2 syntax: the pattern is too large to be matched' in error


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


MOUNTS = [{'name': name, 'mountPath': f'/{name}'} for name in ('d', 'e', 'D', 'c' * 61)]
USER = replicated('a', pod={'containers': [{'name': 'c', 'image': 'i', 'volumeMounts': MOUNTS}]})
INIT_USER = replicated('a', pod={'initContainers': [{'name': 'c', 'image': 'i', 'volumeMounts': MOUNTS}]})
TEMPLATE = 'spec.volumeClaimPolicies[0].template[0]'
CLAIM = claim('d')['spec']


def policies(*templates: Json, when_deleted: str = 'Retain') -> Json:
    return {'volumeClaimPolicies': [{'retentionPolicy': {'whenDeleted': when_deleted}, 'templates': list(templates)}]}


@pytest.mark.parametrize(
    ('job', 'spec', 'expected'),
    [
        pytest.param(USER, policies(claim('d'), claim('e')), [], id='two claims that containers mount'),
        pytest.param(INIT_USER, policies(claim('d')), [], id='a claim that an init container mounts'),
        pytest.param(
            USER,
            {'volumeClaimPolicies': [{'templates': [claim('d')]}, {'templates': [claim('d')]}]},
            [
                (
                    'spec.volumeClaimPolicies[1].template[0].name: Invalid value: "d": '
                    'names must be unique for VolumeClaimPolicies template'
                )
            ],
            id='one name in two policies',
        ),
        pytest.param(
            USER,
            policies(claim('c' * 61)),
            [f'{TEMPLATE}.name: Invalid value: "{"c" * 61}": VolumeClaimPolicies template name is too long'],
            id='a name that is one too long',
        ),
        pytest.param(
            replicated(
                'a', pod={**USER['template']['spec']['template']['spec'], 'volumes': [{'name': 'x'}, {'name': 'd'}]}
            ),
            policies(claim('d')),
            [
                (
                    'spec.replicatedJobs[0].template.spec.template.spec.volumes[1].name: Invalid value: "d": '
                    'volume name conflicts with VolumeClaimPolicy template name: d'
                )
            ],
            id='a volume of the same name',
        ),
    ],
)
def test_volume_claims(job: Json, spec: Json, expected: list[str]) -> None:
    assert errors(obj([job], **spec)) == expected


def test_a_claim_that_nobody_mounts_is_refused_with_all_replicated_jobs() -> None:
    (error,) = errors(obj([replicated('a')], **policies(claim('d'))))

    assert error.startswith('spec.replicatedJobs: Invalid value: [{"name":"a",')
    assert error.endswith("]: replicatedJob containers don't have a matching volumeMount: d from VolumeClaimPolicies")


@pytest.mark.parametrize(
    ('when_deleted', 'found', 'expected'),
    [
        pytest.param('Retain', validation.ExistingClaim(CLAIM), [], id='an equal one'),
        pytest.param(
            'Retain',
            validation.ExistingClaim({**CLAIM, 'resources': {'requests': {'storage': '1024Mi'}}}),
            [],
            id='an equal one in other units',
        ),
        pytest.param(
            'Retain',
            validation.ExistingClaim({**CLAIM, 'volumeMode': 'Filesystem'}),
            [
                (
                    f'{TEMPLATE}.spec: Invalid value: {{"accessModes":["ReadWriteOnce"],"resources":{{"requests":'
                    '{"storage":"1Gi"}}}: spec does not match existing PVC d-js in namespace default'
                )
            ],
            id='another one',
        ),
        pytest.param(
            'Delete',
            validation.ExistingClaim(CLAIM),
            [
                (
                    'spec.volumeClaimPolicies[0].retentionPolicy.whenDeleted: Invalid value: "Delete": '
                    'retentionPolicy must be retain when PVC exists'
                )
            ],
            id='one that would be deleted',
        ),
        pytest.param(
            'Delete',
            validation.UnknownClaim('timed out'),
            internal('failed to check for existing PVC d-js: timed out'),
            id='nobody knows',
        ),
    ],
)
def test_existing_claims(when_deleted: str, found: validation.Found, expected: list[str]) -> None:
    assert errors(obj([USER], **policies(claim('d'), when_deleted=when_deleted)), d_js=found) == expected


def test_claims_to_look_up() -> None:
    js = build.typed(obj([USER], **policies(claim('e'), claim('d'), claim('e'), claim('D'))))

    assert validation.claims_to_look_up(js) == ['e-js', 'd-js']


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
