"""How a JobSet is doing: its phase, its counts, what failed last."""

from typing import Any

import pytest

from jobset.client import summaries
from jobset.client.summaries import Failure, Group, Phase
from tests.client import facts

COUNTED = {'replicatedJobsStatus': [facts.counts('train')]}
RUNNING = facts.pod('train', containers=[facts.running()])


@pytest.mark.parametrize(
    ('obj', 'parts', 'phase'),
    [
        pytest.param({}, {}, Phase.PENDING, id='not taken up'),
        pytest.param({'status': COUNTED}, {'jobs': [facts.job('train')]}, Phase.STARTING, id='no pod runs'),
        pytest.param({'status': COUNTED}, {'pods': [RUNNING]}, Phase.RUNNING, id='a pod runs'),
        pytest.param(
            {'status': {**COUNTED, 'restarts': 1}}, {'pods': [RUNNING]}, Phase.STARTING, id='of an earlier attempt'
        ),
        pytest.param(
            {'status': {'replicatedJobsStatus': [facts.counts('train', succeeded=1)]}},
            {},
            Phase.RUNNING,
            id='between two stages',
        ),
        pytest.param({'suspend': True}, {'pods': [RUNNING]}, Phase.SUSPENDED, id='suspended'),
        pytest.param(
            {'status': {'conditions': [facts.condition('RestartingJobSet', 'x')]}},
            {'pods': [RUNNING]},
            Phase.RESTARTING,
            id='restarting',
        ),
        pytest.param(
            {'status': {'conditions': [facts.condition('Completed', 'x')]}, 'suspend': True},
            {},
            Phase.COMPLETED,
            id='complete',
        ),
        pytest.param({'status': {'conditions': [facts.condition('Failed', 'x')]}}, {}, Phase.FAILED, id='failed'),
        pytest.param(
            {'status': {'conditions': [facts.condition('Failed', 'x', status='False')]}},
            {},
            Phase.PENDING,
            id='not failed',
        ),
    ],
)
def test_phase(obj: dict[str, Any], parts: dict[str, Any], phase: Phase) -> None:
    assert summaries.of(facts.family(facts.jobset(facts.group('train'), **obj), **parts)).phase is phase


def test_restarts_of_single_jobs_count_like_those_of_the_whole() -> None:
    entry = facts.counts('train', ready=2) | {'jobRestarts': [2, 3], 'jobRestartsCountTowardsMax': [0, 2]}
    obj = facts.jobset(
        facts.group('train', replicas=2),
        failurePolicy={'maxRestarts': 9},
        status={'restarts': 1, 'restartsCountTowardsMax': 1, 'replicatedJobsStatus': [entry]},
    )

    assert summaries.of(facts.family(obj)).counted == 3


def test_counts_and_times() -> None:
    obj = facts.jobset(
        facts.group('prep'),
        facts.group('train', replicas=2),
        failurePolicy={'maxRestarts': 3},
        status={
            'restarts': 2,
            'restartsCountTowardsMax': 1,
            'replicatedJobsStatus': [facts.counts('train', ready=1, active=2)],
        },
    )
    jobs = [
        facts.job('train', 0, attempt=2, startTime=facts.at(40)),
        facts.job('train', 1, attempt=2, startTime=facts.at(30)),
        facts.job('prep', 0, attempt=1, startTime=facts.at(10)),
    ]
    pods = [
        facts.pod('train', 0, attempt=2),
        facts.pod('train', 1, attempt=2, phase='Pending'),
        facts.pod('train', 2, attempt=2, phase='Succeeded'),
        facts.pod('train', 1, attempt=1),
    ]
    summary = summaries.of(facts.family(obj, jobs=jobs, pods=pods))
    assert summary.groups == [Group('prep', 1), Group('train', 2, ready=1, active=2, pods=2, running=1)]
    assert (summary.restarts, summary.counted, summary.max_restarts) == (2, 1, 3)
    assert (summary.created, summary.started, summary.ended) == (facts.moment(0), facts.moment(30), None)


def test_last_failure_of_several() -> None:
    pods = [
        facts.pod('train', 0, 0, phase='Failed', containers=[facts.ended(code=1, end=10)]),
        facts.pod('train', 0, 1, phase='Failed', containers=[facts.ended(code=137, end=20, reason='OOMKilled')]),
        facts.pod('train', 0, 2, phase='Succeeded', containers=[facts.ended(end=30)]),
    ]
    assert summaries.failure(facts.family(facts.jobset(facts.group('train')), pods=pods)) == Failure(
        job='js-train-0',
        pod='js-train-0-1-x0',
        rank='train-0-1',
        node='node-a',
        container='main',
        exit_code=137,
        reason='OOMKilled',
        at=facts.moment(20),
    )


def test_failure_of_a_container_that_was_restarted() -> None:
    container = facts.running() | {'lastState': facts.ended(code=2, end=5)['state']}
    family = facts.family(facts.jobset(facts.group('train')), pods=[facts.pod('train', containers=[container])])
    failure = summaries.failure(family)
    assert failure is not None
    assert (failure.exit_code, failure.at) == (2, facts.moment(5))


def test_evicted_pod_has_failed_without_an_exit_code() -> None:
    pod = facts.pod('train', phase='Failed', reason='Evicted', message='The node was low on memory.')
    failure = summaries.failure(facts.family(facts.jobset(facts.group('train')), pods=[pod]))
    assert failure is not None
    assert (failure.exit_code, failure.reason, failure.message) == (None, 'Evicted', 'The node was low on memory.')


def test_failed_job_without_pods() -> None:
    job = facts.job('train', conditions=[facts.condition('Failed', 'DeadlineExceeded', 'too late', since=9)])
    assert summaries.failure(facts.family(facts.jobset(facts.group('train')), jobs=[job])) == Failure(
        job='js-train-0', reason='DeadlineExceeded', message='too late', at=facts.moment(9)
    )


def test_failure_of_which_only_the_condition_tells() -> None:
    status = {'conditions': [facts.condition('Failed', 'FailedJobs', 'first failed job: js-train-0', since=7)]}
    assert summaries.failure(facts.family(facts.jobset(facts.group('train'), status=status))) == Failure(
        reason='FailedJobs', message='first failed job: js-train-0', at=facts.moment(7)
    )
