"""Which rules of a failure policy may be created."""

from typing import Any

import pytest

from jobset.api import features, validation
from jobset.api.validation import failures
from tests.api import build
from tests.api.build import DEFAULTS, EVERYTHING, errors, internal, obj, replicated, rule

Json = Any


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


def test_all_patterns_together_are_bounded() -> None:
    most = failures.PATTERNS_MOST
    rules = [
        rule('a', onJobFailureMessagePatterns=['x' * (most - 1), 'y']),
        rule('b', onJobFailureMessagePatterns=['z']),
    ]

    found = errors(obj([replicated('a')], failurePolicy={'rules': rules}))

    path = 'spec.failurePolicy.rules[1].onJobFailureMessagePatterns[0]'
    reason = f'too long: all patterns of a JobSet may have {most} characters together'
    assert found == [f'{path}: Invalid value: "z": must be a regular expression in RE2 syntax: {reason}']
