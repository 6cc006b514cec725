"""Bad ends: what is told of them, and which one ended the JobSet."""

from typing import Any

import pytest

from jobset.cli import ends
from tests.client import facts

FAILED = {'terminalState': 'Failed'}


def failed(message: str) -> dict[str, Any]:
    return FAILED | {'conditions': [facts.condition('Failed', 'FailedJobs', message)]}


def told(family: Any) -> list[str]:
    return [f'{each.rank}: {each} ({each.where})' for _, each in ends.of(family)]


def bad(code: int, **more: Any) -> list[dict[str, Any]]:
    return [facts.ended(code=code, **more)]


def leaving(pod: dict[str, Any]) -> dict[str, Any]:
    pod['metadata'] |= {'deletionTimestamp': facts.at(9), 'deletionGracePeriodSeconds': 1}
    return pod


def test_what_was_stopped_has_not_failed() -> None:
    pods = [leaving(facts.pod('train', 0, i, containers=bad(code))) for i, code in enumerate((143, 137, 3))]

    assert told(facts.family(facts.jobset(facts.group('train')), pods=pods)) == [
        'train-0-2: exit code 3 (pod js-train-0-2-x0, container main)'
    ]


def test_a_job_over_its_deadline_is_told_as_such() -> None:
    text = 'Job was active longer than specified deadline'
    late = facts.job('train', conditions=[facts.condition('Failed', 'DeadlineExceeded', text)])
    plain = facts.job('prep', conditions=[facts.condition('Failed', 'BackoffLimitExceeded', 'too often')])

    family = facts.family(facts.jobset(facts.group('prep'), facts.group('train')), jobs=[plain, late])

    assert told(family) == [f'train-0: DeadlineExceeded: {text} (job js-train-0)']


def test_a_pod_over_its_deadline_is_told_as_such() -> None:
    text = 'Pod was active on the node longer than the specified deadline'
    pod = facts.pod('train', phase='Failed', containers=bad(143), reason='DeadlineExceeded', message=text)

    assert told(facts.family(facts.jobset(facts.group('train')), pods=[pod])) == [
        'train-0-0: exit code 143 (pod js-train-0-0-x0, container main)',
        f'train-0-0: DeadlineExceeded: {text} (pod js-train-0-0-x0)',
    ]


def test_a_probe_that_failed_is_told_with_its_words() -> None:
    pod = facts.pod('train', containers=bad(137))
    name, uid = pod['metadata']['name'], pod['metadata']['uid']
    events = [
        facts.event('Pod', name, 'Unhealthy', 'Readiness probe failed: slow', uid=uid, seen=1),
        facts.event('Pod', name, 'Unhealthy', 'Liveness probe failed: no such file', uid=uid, seen=2),
        facts.event('Pod', name, 'Killing', 'Stopping container side', uid=uid, seen=3),
        facts.event('Pod', name, 'Killing', 'Container main failed liveness probe', uid=uid, seen=4),
    ]

    assert told(facts.family(facts.jobset(facts.group('train')), pods=[pod], events=events)) == [
        'train-0-0: exit code 137 (pod js-train-0-0-x0, container main)',
        'train-0-0: Container main failed liveness probe; Liveness probe failed: no such file (pod js-train-0-0-x0)',
    ]


def end(job: str, code: int, *, attempt: int = 0, pod: str = 'p', reason: str = '', gone: bool = False) -> ends.Failure:
    return ends.Failure(
        rank='r', job=f'js-{job}', attempt=attempt, pod=pod, exit_code=code, reason=reason, was_deleted=gone
    )


def job_end(reason: str) -> ends.Failure:
    return end('train-0', 0, attempt=1, pod='', reason=reason)


@pytest.mark.parametrize(
    ('limit', 'failures', 'code'),
    [
        pytest.param(0, [], None, id='nothing was seen'),
        pytest.param(0, [end('train-0', 7)], 7, id='the only one'),
        pytest.param(0, [end('prep-0', 3), end('train-0', 7)], 7, id='another Job failed before'),
        pytest.param(0, [end('train-0', 3), end('train-0', 7, attempt=1)], 7, id='an earlier attempt failed before'),
        pytest.param(0, [end('train-0', 9, gone=True), end('train-0', 7)], 7, id='another pod was stopped'),
        pytest.param(0, [end('train-0', 7), end('train-0', 8)], 7, id='the first is one too many'),
        pytest.param(1, [end('train-0', 6), end('train-0', 7), end('train-0', 8)], 7, id='the second is'),
        pytest.param(None, [end('train-0', 6), end('train-0', 7)], 7, id='six are allowed, two were seen'),
        pytest.param(
            6, [end('train-0', 143, attempt=1), job_end('DeadlineExceeded')], 0, id='no container, but a deadline'
        ),
        pytest.param(
            6,
            [end('train-0', 6, attempt=1), end('train-0', 7, attempt=1), job_end('PodFailurePolicy')],
            7,
            id='a rule for pods',
        ),
    ],
)
def test_which_failure_ended_the_jobset(limit: int | None, failures: list[ends.Failure], code: int | None) -> None:
    group = facts.group('train')
    if limit is not None:
        group['template']['spec']['backoffLimit'] = limit
    status = failed('jobset failed due to one or more job failures (first failed job: js-train-0)')
    family = facts.family(facts.jobset(group, status=status), jobs=[facts.job('train')])

    found = ends.deciding(family, failures)

    assert (found.exit_code if found else None) == code


def test_nothing_ended_a_jobset_that_has_not_failed() -> None:
    assert ends.deciding(facts.family(facts.jobset(facts.group('train'))), [end('train-0', 7)]) is None
