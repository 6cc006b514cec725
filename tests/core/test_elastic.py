"""Which Jobs are scaled while they run."""

import dataclasses

import pytest

from jobset.api import features, jobs, types
from jobset.core import elastic, plan, reconcile
from tests.core import build

NOW = build.at(100)
ON = features.FeatureGates(elastic_jobset=True)


def _sized(parallelism: int | None, completions: int | None) -> types.JobSet:
    spec = build.pods() | {'parallelism': parallelism, 'completions': completions}
    return build.jobset(build.part('a', template={'spec': spec}), build.part('b'))


@pytest.mark.parametrize(
    ('wanted', 'live', 'size'),
    [
        pytest.param((3, 3), (2, 2), 3, id='scaled up'),
        pytest.param((1, 1), (2, 2), 1, id='scaled down'),
        pytest.param((2, 2), (2, 2), None, id='of the right size'),
        pytest.param((2, 2), (5, 5), 2, id='scaled by somebody else'),
        pytest.param((2, 2), (2, 5), 2, id='only one of the two is wrong'),
        pytest.param((1, 2), (2, 2), None, id='parallelism other than completions'),
        pytest.param((2, None), (1, None), None, id='no completions'),
        pytest.param((None, None), (1, 1), None, id='neither is what the server makes of it'),
        pytest.param((None, None), (5, 5), 1, id='neither, and scaled by somebody else'),
    ],
)
def test_sizes(wanted: tuple[int | None, int | None], live: tuple[int | None, int | None], size: int | None) -> None:
    jobset = _sized(*wanted)
    other = build.job('b-0', parallelism=1, completions=1)
    kin = build.relatives(build.job('a-0', parallelism=live[0], completions=live[1]), other)

    expected = () if size is None else (plan.Scaling(build.ref('a-0'), size),)
    assert elastic.to_scale(jobset, kin.current(0)) == expected


@pytest.mark.parametrize(
    'job',
    [
        pytest.param(build.job('a-0', completions=1, ended=build.completed()), id='complete'),
        pytest.param(build.job('a-0', completions=1, attempt=-1), id='of an earlier attempt'),
        pytest.param(build.job('z-0', completions=1), id='of no replicated job'),
    ],
)
def test_others_are_left_alone(job: jobs.Job) -> None:
    assert elastic.to_scale(_sized(3, 3), build.relatives(job).current(0)) == ()


def test_sizes_are_forgotten_with_their_jobs() -> None:
    """Else each pass would look at all Jobs for one that is gone."""
    kin = build.relatives(build.job('a-0', parallelism=2, completions=2), build.job('a-1', completions=1))
    kin.drop(build.job('a-0'))
    kin.put(build.job('a-1', completions=1, ended=build.completed()))

    assert kin.current(0).sizes == {}


@pytest.mark.parametrize(('gates', 'scales'), [(ON, True), (features.FeatureGates(), False)])
@pytest.mark.parametrize('suspended', [True, False])
def test_a_pass_scales_with_the_gate_on(gates: features.FeatureGates, scales: bool, suspended: bool) -> None:
    jobset = build.jobset(build.part('a', template={'spec': build.pods(parallelism=3)}), suspend=suspended)
    facts = build.facts(jobset, build.job('a-0', completions=1, suspend=suspended))

    made = reconcile.reconcile(dataclasses.replace(facts, gates=gates), NOW)

    assert made.scale == ((plan.Scaling(build.ref('a-0'), 3),) if scales else ())


def test_a_failure_comes_first() -> None:
    jobset = build.jobset(build.part('a', 2, template={'spec': build.pods(parallelism=3)}))
    facts = build.facts(jobset, build.job('a-0', completions=1), build.job('a-1', ended=build.failed()))

    assert reconcile.reconcile(dataclasses.replace(facts, gates=ON), NOW).scale == ()
