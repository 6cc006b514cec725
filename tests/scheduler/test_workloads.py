"""A JobSet as the scheduler sees it."""

from typing import Any

import pytest

from jobset.api import types
from jobset.scheduler import gangs, model, workloads
from jobset.scheduler.priorities import Priority, Source
from tests.api import build
from tests.scheduler.jobsets import job, jobset

URGENT = Priority(value=100, source=Source.FEDERATED, name='urgent', may_preempt=False, is_protected=True)
ADMITTED = 1000.0


def of(made: types.JobSet, **fields: Any) -> Any:
    return workloads.of(made, queue='q', priority=URGENT, submitted=7.0, **fields)


def test_a_jobset() -> None:
    made = jobset(
        job('a', 2, pod={'terminationGracePeriodSeconds': 60}),
        job('b', complete='a', pod={'terminationGracePeriodSeconds': 0}),
        asks={'expected-duration': '1h', 'min-runtime': '10m'},
    )
    assert of(made, evictions=2, duration=60.0) == model.Workload(
        key='team/train',
        queue='q',
        submitted=7.0,
        stages=gangs.of(made),
        priority=100,
        may_preempt=False,
        is_protected=True,
        duration=3600,
        least_runtime=600,
        grace=60,
        evictions=2,
    )


@pytest.mark.parametrize(
    ('made', 'duration', 'wanted'),
    [
        pytest.param(jobset(job('a')), None, None, id='nobody knows'),
        pytest.param(jobset(job('a')), 60.0, 60.0, id='as others like it'),
        pytest.param(jobset(job('a'), asks={'expected-duration': '90s'}), 60.0, 90.0, id='as its user says'),
    ],
)
def test_duration(made: types.JobSet, duration: float | None, wanted: float | None) -> None:
    assert of(made, duration=duration).duration == wanted


def test_grace_that_nobody_gives() -> None:
    assert of(jobset(job('a'))).grace == 30


@pytest.mark.parametrize(
    ('asks', 'now', 'wanted'),
    [
        pytest.param({}, 1500.0, None, id='never told'),
        pytest.param({'last-checkpoint': '1970-01-01T00:20:00Z'}, 1500.0, 1200.0, id='as it says'),
        pytest.param({'last-checkpoint': '1970-01-01T01:20:00+01:00'}, 1500.0, 1200.0, id='in its own time zone'),
        pytest.param({'checkpoint-interval': '200s'}, 1199.0, None, id='before the first'),
        pytest.param({'checkpoint-interval': '200s'}, 1500.0, 1400.0, id='by the interval'),
        pytest.param(
            {'checkpoint-interval': '200s', 'last-checkpoint': '1970-01-01T00:20:00Z'}, 1500.0, 1200.0, id='both'
        ),
        pytest.param({'last-checkpoint': '1970-01-01T00:20:00'}, 1500.0, None, id='no time zone'),
    ],
)
def test_saved(asks: dict[str, str], now: float, wanted: float | None) -> None:
    assert workloads.saved(jobset(job('a'), asks=asks), admitted=ADMITTED, now=now) == wanted


def test_all_problems_at_once() -> None:
    asks = {'required-topology': 'rack', 'preferred-topology': 'rack'}
    found = of(jobset(job('a', 2, least=3), job('b', asks=asks), asks={'priority': 'high'}))
    assert [problem.path for problem in found] == [
        'metadata.annotations[jobset.x-k8s.io/priority]',
        'spec.replicatedJobs[0].template.metadata.annotations[jobset.x-k8s.io/min-pods]',
        'spec.replicatedJobs[1].template.spec.template.metadata.annotations[jobset.x-k8s.io/required-topology]',
    ]


@pytest.mark.parametrize(
    ('template', 'told'),
    [
        pytest.param({'spec': 3}, 'Expected `object`, got `int` - at `$.spec`', id='spec'),
        pytest.param(
            {'spec': {'template': {'spec': {'nodeSelector': []}}}},
            'Expected `object | null`, got `array` - at `$.spec.template.spec.nodeSelector`',
            id='of pods',
        ),
        pytest.param(
            {'spec': {'parallelism': 'x'}}, 'Expected `int | null`, got `str` - at `$.spec.parallelism`', id='of Jobs'
        ),
        pytest.param(None, 'Expected `object`, got `null`', id='nothing'),
    ],
)
def test_what_is_no_template_is_told(template: Any, told: str) -> None:
    sick = build.typed(build.obj([job('a'), {'name': 'b', 'replicas': 1, 'template': template}]))
    (problem,) = of(sick)
    assert problem.path == 'spec.replicatedJobs[1].template'
    assert problem.rule == f'{told}; write it as Kubernetes has the template of a Job'
