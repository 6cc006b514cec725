"""What a JobSet has done when."""

import datetime
from typing import Any

from jobset.client import history
from jobset.client.history import End, Mark, Run, Span
from tests.client import facts

COMPLETE = facts.condition('Complete', 'CompletionsReached')


def of(obj: facts.Json, *, now: float = 100, **parts: Any) -> history.History:
    return history.of(facts.family(obj, **parts), facts.moment(now))


def test_two_stages_that_complete() -> None:
    obj = facts.jobset(
        facts.group('prep'),
        facts.group('train', depends_on={'prep': 'Complete'}),
        status={'conditions': [facts.condition('Completed', 'AllJobsCompleted', since=30)]},
    )
    jobs = [
        facts.job('prep', startTime=facts.at(0), completionTime=facts.at(10), conditions=[COMPLETE]),
        facts.job('train', created=10, startTime=facts.at(10), completionTime=facts.at(30), conditions=[COMPLETE]),
    ]
    pods = [
        facts.pod('prep', phase='Succeeded', containers=[facts.ended(start=1, end=10)]),
        facts.pod('train', phase='Succeeded', containers=[facts.ended(start=15, end=30)]),
    ]
    events = [facts.event('Pod', 'js-train-0-0-x0', 'FailedScheduling', '0/1 nodes fit', seen=11)]
    found = of(obj, jobs=jobs, pods=pods, events=events)
    assert (found.begin, found.end, found.outcome) == (facts.moment(0), facts.moment(30), 'Completed')
    assert found.groups == ['prep', 'train']
    m = facts.moment
    assert found.runs == [
        Run('js-prep-0', 'prep', 0, m(0), m(1), m(10), End.COMPLETE),
        Run('js-train-0', 'train', 0, m(10), m(15), m(30), End.COMPLETE, '', '0/1 nodes fit'),
    ]
    assert found.waits == [Span(m(0), m(10), 'waits for prep to be complete', 'train')]
    assert (found.restarts, found.suspensions) == ([], [])


def test_earlier_attempts_are_told_by_events() -> None:
    obj = facts.jobset(facts.group('prep'), facts.group('train', depends_on={'prep': 'Ready'}), status={'restarts': 1})
    note = 'applying RestartJobSet failure policy action'
    events = [
        facts.event('Job', 'js-prep-0', 'SuccessfulCreate', seen=1, uid='old-prep'),
        facts.event('Job', 'js-train-0', 'SuccessfulCreate', seen=5, uid='old-train'),
        facts.event('Job', 'js-train-0', 'BackoffLimitExceeded', seen=20, uid='old-train'),
        facts.event('JobSet', 'js', 'RestartJobSetFailurePolicyAction', note, seen=21, uid='uid-js'),
        facts.event('Job', 'js-else-0', 'SuccessfulCreate', seen=1, uid='no Job of this set'),
    ]
    jobs = [facts.job('prep', attempt=1, created=22, startTime=facts.at(22), active=1)]
    m = facts.moment
    found = of(obj, jobs=jobs, events=events)
    assert found.restarts == [Mark(m(21), note)]
    assert found.runs == [
        Run('js-prep-0', 'prep', 0, m(1), m(1), m(21), End.STOPPED),
        Run('js-prep-0', 'prep', 1, m(22), m(22), None, End.RUNNING),
        Run('js-train-0', 'train', 0, m(5), m(5), m(20), End.FAILED, 'BackoffLimitExceeded'),
    ]
    assert found.waits == [
        Span(m(0), m(5), 'waits for prep to be ready', 'train'),
        Span(m(21), None, 'waits for prep to be ready (0 of 1 Jobs ready)', 'train'),
    ]


def test_what_still_runs_at_the_end_was_stopped() -> None:
    obj = facts.jobset(
        facts.group('server'), status={'conditions': [facts.condition('Completed', 'AllJobsCompleted', since=30)]}
    )
    pods = [facts.pod('server', containers=[facts.running(since=2)])]
    found = of(obj, jobs=[facts.job('server', active=1)], pods=pods)
    m = facts.moment
    assert found.runs == [Run('js-server-0', 'server', 0, m(0), m(2), m(30), End.STOPPED)]


def test_job_whose_pods_do_not_run_yet_has_not_started() -> None:
    pods = [facts.pod('train', phase='Pending', containers=[facts.waiting('ContainerCreating')])]
    found = of(facts.jobset(facts.group('train')), jobs=[facts.job('train', startTime=facts.at(1))], pods=pods)
    assert [(run.started, run.end) for run in found.runs] == [(None, End.RUNNING)]


def test_suspensions() -> None:
    m = facts.moment
    held = [facts.condition('Suspended', 'SuspendedJobs', since=4)]
    assert of(facts.jobset(facts.group('a'), suspend=True, status={'conditions': held})).suspensions == [
        Span(m(4), None, 'suspended')
    ]
    resumed = [facts.condition('Suspended', 'ResumeJobs', status='False', since=9)]
    found = of(
        facts.jobset(facts.group('a'), facts.group('b', depends_on={'a': 'Ready'}), status={'conditions': resumed})
    )
    assert found.suspensions == [Span(m(0), m(9), 'suspended')]
    assert [span.start for span in found.waits] == [m(9)]


def test_in_order() -> None:
    obj = facts.jobset(facts.group('a'), facts.group('b'), startupPolicy={'startupPolicyOrder': 'InOrder'})
    jobs = [facts.job('a'), facts.job('b', created=8)]
    m = facts.moment
    assert of(obj, jobs=jobs).waits == [Span(m(0), m(8), 'waits its turn after a', 'b')]


def test_a_short_wait_is_none() -> None:
    obj = facts.jobset(facts.group('a'), facts.group('b', depends_on={'a': 'Ready'}))
    assert of(obj, jobs=[facts.job('a'), facts.job('b', created=1)]).waits == []


def test_nothing_has_begun() -> None:
    found = of(facts.jobset(facts.group('a')))
    assert (found.runs, found.waits, found.end) == ([], [], None)


def test_events_say_when_within_a_second() -> None:
    status = {'restarts': 1, 'conditions': [facts.condition('Completed', 'AllJobsCompleted', since=2)]}
    obj = facts.jobset(facts.group('a'), facts.group('b', depends_on={'a': 'Complete'}), status=status)
    jobs = [
        facts.job('a', attempt=1, startTime=facts.at(0), completionTime=facts.at(1), conditions=[COMPLETE]),
        facts.job('b', attempt=1, created=1, startTime=facts.at(1), completionTime=facts.at(2), conditions=[COMPLETE]),
    ]
    pod = facts.pod('b', attempt=1, phase='Succeeded', containers=[facts.ended(start=1, end=2)])
    (b,) = (job['metadata']['uid'] for job in jobs[1:])
    a = jobs[0]['metadata']['uid']
    events = [
        facts.event('JobSet', 'js', 'RestartJobSetFailurePolicyAction', 'again', uid='uid-js'),
        facts.event('Job', 'js-a-0', 'SuccessfulCreate', uid=a),
        facts.event('Job', 'js-a-0', 'Completed', uid=a),
        facts.event('Job', 'js-b-0', 'SuccessfulCreate', uid=b),
        facts.event('Pod', pod['metadata']['name'], 'Started', uid=pod['metadata']['uid']),
        # Told in the next second: as late in its own as can be.
        facts.event('Job', 'js-b-0', 'Completed', uid=b),
        # Of something later.
        facts.event('JobSet', 'js', 'AllJobsCompleted', uid='uid-js'),
    ]
    times = ('00.25', '00.30', '01.50', '01.60', '01.75', '03.01', '09.00')
    for event, second in zip(events, times, strict=True):
        event['eventTime'] = f'2026-01-01T12:00:{second}0000Z'

    found = of(obj, jobs=jobs, pods=[pod], events=events)

    m = facts.moment
    exact = {second: m(0) + datetime.timedelta(seconds=float(second)) for second in times}
    assert (found.begin, found.end) == (exact['00.25'], m(2))
    assert found.restarts == [Mark(exact['00.25'], 'again')]
    last = m(3) - datetime.timedelta(microseconds=1)
    assert [(run.created, run.started, run.ended) for run in found.runs] == [
        (exact['00.30'], m(0), exact['01.50']),
        (exact['01.60'], exact['01.75'], last),
    ]
