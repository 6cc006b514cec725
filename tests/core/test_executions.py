"""How often a set was set going, counted once wherever a pass is cut off; and the limit of its running time."""

import dataclasses
from typing import Any

import msgspec
import pytest

from jobset.api import features, jobs, keys, types
from jobset.core import children, plan, reconcile, resumption
from jobset.core import jobs as building
from tests.core import build

GATES = features.FeatureGates(execution_attempts=True)
SUSPENDED = build.condition('Suspended', holds=True, reason='SuspendedJobs', message='jobset is suspended')
RESUMED = build.condition('Suspended', holds=False, reason='ResumeJobs', message='jobset is resumed', seconds=5)


def job(child: str, number: int | None = None, **more: Any) -> jobs.Job:
    """A Job of that execution."""
    made = build.job(child, **more)
    annotations = jobs.Annotations(execution_attempt=None if number is None else str(number))
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=annotations))


def pass_(jobset: types.JobSet, *members: jobs.Job, gates: features.FeatureGates = GATES, at: float = 5) -> plan.Plan:
    return reconcile.reconcile(dataclasses.replace(build.facts(jobset, *members), gates=gates), build.at(at))


def jobset(number: int | None, *conditions: types.Condition, restarts: int = 0, **spec: Any) -> types.JobSet:
    status = types.Status(conditions=conditions, restarts=restarts, execution_attempts=number)
    return build.jobset(build.part('a', 2), status=status, **spec)


def stored(found: plan.Plan) -> int | None:
    assert found.status is not None
    return found.status.execution_attempts


def test_the_number_is_stored_before_the_first_job_is_made() -> None:
    first = pass_(jobset(None))
    second = pass_(jobset(0))

    assert (stored(first), first.create) == (0, ())
    assert second.create == (children.Child('js-a-0', 0, 0), children.Child('js-a-1', 0, 1))


def test_a_set_that_was_running_before_has_had_its_restarts() -> None:
    found = pass_(jobset(None, restarts=3), job('a-0', attempt=3), job('a-1', attempt=3))

    assert stored(found) == 3


@pytest.mark.parametrize(
    ('numbers', 'number', 'resumed'),
    [
        pytest.param((0, 0), 1, 0, id='not counted yet'),
        pytest.param((None, None), 0, 2, id='the first start, which is counted'),
    ],
)
def test_a_resume_counts_before_anything_runs(numbers: tuple[Any, Any], number: int, resumed: int) -> None:
    held = [job(f'a-{index}', each, suspend=True) for index, each in enumerate(numbers)]

    found = pass_(jobset(0, SUSPENDED), *held)

    assert (stored(found), len(found.resume)) == (number, resumed)


def test_a_resume_that_was_cut_off_is_not_counted_again() -> None:
    found = pass_(jobset(1, SUSPENDED), job('a-0', 1), job('a-1', 0, suspend=True))

    assert (stored(found), [each.job.name for each in found.resume]) == (1, ['js-a-1'])


def test_a_resume_without_jobs_counts_once_too() -> None:
    found = pass_(jobset(4, SUSPENDED))

    assert (stored(found), found.create) == (5, ())
    assert found.status is not None
    assert found.status.conditions == (RESUMED,)
    after = pass_(jobset(5, RESUMED))
    assert (stored(after), len(after.create)) == (5, 2)


@pytest.mark.parametrize(('spec', 'number'), [({'failurePolicy': {'maxRestarts': 1}}, 3), ({}, 2)])
def test_a_restart_counts_and_a_failure_does_not(spec: Any, number: int) -> None:
    assert stored(pass_(jobset(2, **spec), job('a-0', 2, ended=build.failed()), job('a-1', 2))) == number


def test_nothing_is_counted_without_the_gate() -> None:
    found = pass_(
        jobset(2, SUSPENDED), job('a-0', 2, suspend=True), job('a-1', 2, suspend=True), gates=features.DEFAULTS
    )

    assert (stored(found), len(found.resume)) == (2, 2)


def test_jobs_say_which_one_they_belong_to() -> None:
    made: Any = building.Factory(jobset(3), tells_execution=True).build(children.Child('js-a-0', 0, 0))
    pod = made['spec']['template']['metadata']

    assert (made['metadata']['annotations'][keys.EXECUTION_ATTEMPT], pod['annotations'][keys.EXECUTION_ATTEMPT]) == (
        '3',
        '3',
    )
    assert keys.EXECUTION_ATTEMPT not in made['metadata']['labels']


def test_resumed_jobs_say_it_too() -> None:
    live = {'metadata': {'resourceVersion': '1'}, 'spec': {'template': {'spec': build.POD}}}
    replicated = jobset(3).spec.replicated_jobs[0]

    found: Any = resumption.change(live, replicated, execution=3).patch

    assert found['metadata']['annotations'] == {keys.EXECUTION_ATTEMPT: '3'}
    assert found['spec']['template']['metadata']['annotations'] == {keys.EXECUTION_ATTEMPT: '3'}


# Requests and limits.


def _container(name: str, **resources: Any) -> Any:
    return {'name': name, 'image': 'i', **({'resources': resources} if resources else {})}


def _resized(live: list[Any], wanted: list[Any]) -> Any:
    template = build.pods()
    template['template'] = {'spec': {'containers': wanted}}
    replicated = build.jobset(build.part('a', template={'spec': template})).spec.replicated_jobs[0]
    held = {'spec': {'template': {'spec': {'containers': live}}}}
    found: Any = resumption.with_resources(held, replicated, {'spec': {'suspend': False}})
    return found and found['spec']['template']['spec']['containers']


def test_requests_and_limits_are_those_of_the_template() -> None:
    claims = {'claims': [{'name': 'gpu'}]}
    live = [_container('a', requests={'cpu': '1'}, **claims), _container('b', limits={'cpu': '4'}), _container('mesh')]
    wanted = [_container('a', requests={'cpu': '2'}, **claims), _container('b')]

    assert _resized(live, wanted) == [
        _container('a', requests={'cpu': '2'}, **claims),
        {**_container('b'), 'resources': {}},
        _container('mesh'),
    ]
    assert _resized(wanted, wanted) is None


# The limit.


@pytest.mark.parametrize(
    ('conditions', 'spec', 'at', 'over', 'again'),
    [
        pytest.param((), {}, 59, False, 1, id='not yet'),
        pytest.param((), {}, 60, True, None, id='over'),
        pytest.param((RESUMED,), {}, 60, False, 5, id='a resume begins it anew'),
        pytest.param((SUSPENDED,), {'suspend': True}, 600, False, None, id='not while suspended'),
    ],
)
def test_the_active_deadline(conditions: Any, spec: Any, at: float, over: bool, again: float | None) -> None:
    status = types.Status(conditions=conditions)
    metadata = {'creationTimestamp': build.stamp(0)}
    made = build.jobset(
        build.part('a'),
        status=status,
        metadata=metadata,
        activeDeadlineSeconds=60,
        failurePolicy={'maxRestarts': 9},
        **spec,
    )
    gates = features.FeatureGates(active_deadline=True)

    found = pass_(made, build.job('a-0', active=1, suspend=bool(spec)), gates=gates, at=at)
    without = pass_(made, build.job('a-0', active=1, suspend=bool(spec)), gates=features.DEFAULTS, at=at)

    assert found.status is not None
    ended = [each for each in found.status.conditions if each.type == 'Failed']
    assert [(each.reason, each.message) for each in ended] == (
        [('DeadlineExceeded', 'jobset was active longer than specified deadline')] if over else []
    )
    assert (found.again_after_seconds, without.again_after_seconds) == (again, None)
