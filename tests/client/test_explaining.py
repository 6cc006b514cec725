"""Fields of a JobSet, explained."""

import pytest

from jobset.client import explaining

NETWORK = ['enableDNSHostnames', 'publishNotReadyAddresses', 'subdomain']


def explain(path: str, *, recursive: bool = False) -> str:
    return explaining.text(explaining.find(path), recursive=recursive)


def test_an_object() -> None:
    assert explain('jobset.spec.successPolicy') == '\n'.join(
        [
            'GROUP:      jobset.x-k8s.io',
            'KIND:       JobSet',
            'VERSION:    v1alpha2',
            '',
            'FIELD: successPolicy <Object>',
            '',
            'DESCRIPTION:',
            '    When the set is complete; by default when all Jobs have succeeded.',
            '    Immutable.',
            '    Rule: Value is immutable.',
            '',
            'FIELDS:',
            '  operator\t<string> -required-',
            '  enum: All, Any',
            '    How many of the targets must succeed.',
            '',
            '  targetReplicatedJobs\t<[]string>',
            '    The replicated jobs that count; all, when empty.',
        ]
    )


def test_a_plain_field() -> None:
    assert explain('spec.failurePolicy.restartStrategy').split('\n')[4:] == [
        'FIELD: restartStrategy <string>',
        'ENUM:',
        '    Recreate',
        '    BlockingRecreate',
        '    InPlaceRestart',
        'DEFAULT: Recreate',
        '',
        'DESCRIPTION:',
        '    What may overlap in a restart: Recreate makes each Job anew as soon as its',
        '    old one is gone, BlockingRecreate waits until all old Jobs are gone,',
        '    InPlaceRestart keeps the pods.',
    ]


def test_recursively() -> None:
    actions = 'FailJobSet, RestartJobSet, RestartJobSetAndIgnoreMaxRestarts, RestartJob, RestartJobAndIgnoreMaxRestarts'
    lines = explain('spec.failurePolicy', recursive=True).split('\n')
    assert lines[lines.index('FIELDS:') + 1 :] == [
        '  maxRestarts\t<integer>',
        '  restartStrategy\t<string>',
        '  enum: Recreate, BlockingRecreate, InPlaceRestart',
        '  default: Recreate',
        '  rules\t<[]Object>',
        '    action\t<string> -required-',
        f'    enum: {actions}',
        '    name\t<string> -required-',
        '    onJobFailureMessagePatterns\t<[]string>',
        '    onJobFailureReasons\t<[]string>',
        '    targetReplicatedJobs\t<[]string>',
    ]


@pytest.mark.parametrize(
    ('path', 'kind'),
    [
        ('spec.replicatedJobs', '[]Object'),
        (
            'spec.replicatedJobs.template.spec.template.spec.containers.resources.requests',
            'map[string]integer or string',
        ),
        ('spec.replicatedJobs.template.spec.template.spec.nodeSelector', 'map[string]string'),
        ('spec.replicatedJobs[].template.spec.suspend', 'boolean'),
        ('jobsets.status.restarts', 'integer'),
    ],
)
def test_types(path: str, kind: str) -> None:
    assert f'FIELD: {path.rpartition(".")[2]} <{kind}>' in explain(path)


@pytest.mark.parametrize(
    ('path', 'expected'),
    [
        ('jobset.spec.failurePolicy.ruls', 'field "ruls" does not exist in spec.failurePolicy; did you mean rules?'),
        ('jobset.sepc', 'field "sepc" does not exist in jobset; did you mean spec?'),
        ('spec.replicatedjobs', 'field "replicatedjobs" does not exist in spec; did you mean replicatedJobs?'),
        (
            'spec.network.zzz',
            f'field "zzz" does not exist in spec.network; it has: {", ".join(NETWORK)}',
        ),
        ('spec.suspend.x', 'field "x" does not exist in spec.suspend, which has no fields'),
    ],
)
def test_unknown_fields(path: str, expected: str) -> None:
    with pytest.raises(explaining.UnknownField) as caught:
        explaining.find(path)
    assert str(caught.value) == expected


def test_fields_for_completion() -> None:
    assert explaining.fields('jobset.spec.coordinator') == ['jobIndex', 'podIndex', 'replicatedJob']
    assert explaining.fields('jobset.nothing') == []


def test_every_field_of_ours_has_a_text() -> None:
    text = explain('jobset.spec') + explain('jobset.status')
    assert '<no description>' not in text
