"""A JobSet as the scheduler sees it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.api import schedulingextras, types
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


ON_PODS = (*schedulingextras.ON_POD_TEMPLATE, *schedulingextras.OF_KUEUE, schedulingextras.KUEUE_GROUP)
VALUES = st.sampled_from(
    ['', 'true', '3', '0', '-1', 'rack', 'rack=2', 'rack=4,host=2', 'a', 'b', '10m', '{}', '[{}]', '[', '2026-01-01']
)


@st.composite
def replicated(draw: st.DrawFn, name: str, earlier: list[str]) -> Any:
    """Anything that the schema lets through, and a little more."""
    annotations = {extra.key: value for extra in ON_PODS if (value := draw(st.none() | VALUES)) is not None}
    made = job(
        name,
        draw(st.none() | st.integers(-1, 6)),
        completions=draw(st.none() | st.integers(-1, 6)),
        replicas=draw(st.integers(0, 4)),
        cpu=draw(st.sampled_from(['1', '', '-1', '1e999', '9E'])),
        least=draw(st.none() | st.integers(-1, 30)),
    )
    made['template']['spec']['template']['metadata']['annotations'] = annotations
    needs = draw(st.dictionaries(st.sampled_from([*earlier, 'z']), st.sampled_from(['Ready', 'Complete', '?'])))
    made['dependsOn'] = [{'name': on, 'status': how} for on, how in needs.items()]
    return made


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_is_stored_becomes_a_workload_or_problems(data: st.DataObject) -> None:
    names = ['a', 'b', 'c'][: data.draw(st.integers(0, 3))]
    jobs = [data.draw(replicated(name, names[:place])) for place, name in enumerate(names)]
    asks = {extra.key: data.draw(VALUES) for extra in data.draw(st.sets(st.sampled_from(schedulingextras.ON_JOBSET)))}
    succeeded = data.draw(st.dictionaries(st.sampled_from(['a', 'b', 'z']), st.integers(-1, 5)))
    made = jobset(*jobs, succeeded=succeeded)
    made.metadata.annotations.update(asks)
    found = of(made)
    if isinstance(found, tuple):
        assert found
        assert all(problem.path and problem.rule for problem in found)
        return
    for stage in found.stages:
        for each in stage:
            assert each.request.count > 0
            assert each.request.count % each.request.slice_size == 0
            assert each.least is None or 0 < each.least < each.request.count
    assert {each.request.name for each in found.pod_sets} <= set(names)
