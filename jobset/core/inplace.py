"""All pods of a set restart together, without being made anew: the controller's side.

Source: JobSet API, restart strategy ``InPlaceRestart``, behind the gate of that name. An agent in each pod announces
the attempt that the pod is in. Two numbers in the status answer all of them at once:

* ``previousInPlaceRestartAttempt``: a pod that is in this attempt, or an earlier one, is to restart its containers;
* ``currentInPlaceRestartAttempt``: a pod that is in this attempt may run. Pods that start announce the one after it.

So one pod that starts again announces a new attempt; the first number is raised, all others start again and announce
the new one, too; and when all ranks have, the second number lets them run. Nothing else is remembered, and nothing
depends on the order in which we see things: whoever takes over in the middle decides the same.
"""

import datetime
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from jobset.api import features, keys, templates, types
from jobset.core import causes, charges, conditions, done, family, pauses, plan, ranks, rounds, status

STALLED: Final = 'InPlaceRestartStalled'

REPORT_SECONDS: Final = 300
"""How long no pod may come, go or announce anything before the ranks that are waited for are named."""

_SHOWN: Final = 10
"""How many ranks a message names."""

_PATIENCE_PER_RANK: Final = 0.01
_PATIENCE_IN_ROUND: Final = 10.0
_PATIENCE_AT_REST: Final = 2.0
"""Seconds that counters of a large set may be old: while it restarts, its Jobs become unready and ready again one by
one, and each of these changes would be a write. Small sets are told of at once."""

REPORTED: Final = conditions.Notice(STALLED, False, 'RanksReported', 'all ranks have announced the same attempt')
NOT_WATCHED: Final = conditions.Notice(STALLED, False, 'NotWaiting', 'nothing is waited for at the moment')


class Answer(NamedTuple):
    """What a pass is to do beside storing the numbers."""

    again_after_seconds: float | None = None
    patience_seconds: float = 0
    """How old the counters in the status may be."""

    archive: plan.AttemptRecord | None = None


def is_wanted(jobset: types.JobSet) -> bool:
    """Whether the set restarts in place."""
    policy = jobset.spec.failure_policy
    return policy is not None and policy.restart_strategy == types.RestartStrategy.IN_PLACE_RESTART


def apply(
    draft: status.Draft,
    jobset: types.JobSet,
    seen: ranks.Ranks,
    cohort: family.Cohort,
    *,
    loss: causes.Loss = causes.NOBODY_KNOWS,
    gates: features.FeatureGates = features.DEFAULTS,
) -> Answer:
    """Write the answer to the announcements into the draft. ``loss`` is why an attempt begins."""
    policy = jobset.spec.failure_policy
    if policy is None:
        return Answer()
    record, expected = None, _expected(jobset)
    if (left := charges.seconds_for_cause(draft, jobset, seen, loss, expected=expected)) > 0:
        return Answer(left, _patience(jobset, draft.current, seen, cohort))
    if rounds.is_kept(jobset):
        record = charges.judge(draft, jobset, seen, loss=loss, expected=expected, gates=gates)
    elif _is_over_max(draft.current, policy, seen):
        charges.fail_at_max(draft)
    if conditions.terminal(draft.current) is not None:
        return Answer(archive=record)
    wrong = _wrong_sizes(jobset)
    if wrong is not None:
        draft.set(_stalled('WrongJobSettings', wrong))
        return Answer(archive=record)
    again = _answer(draft, jobset, seen, cohort)
    return Answer(again, _patience(jobset, draft.current, seen, cohort), record)


def _is_over_max(current: types.Status, policy: types.FailurePolicy, seen: ranks.Ranks) -> bool:
    """As upstream counts: by the number of the attempt, and by what happened to any container."""
    free = current.restarts - current.restarts_count_towards_max
    counted = 0 if seen.malformed else seen.top - free
    return max(seen.most_restarts, counted) > policy.max_restarts


def _answer(draft: status.Draft, jobset: types.JobSet, seen: ranks.Ranks, cohort: family.Cohort) -> float | None:
    """Publish what the ranks are to do; returns after how many seconds to look again."""
    agreed = _agreed(jobset, seen, cohort, draft.current)
    if agreed is not None and (left := _seconds_left(draft, jobset, agreed)) > 0:
        draft.set(REPORTED)
        return left
    if not seen.malformed:
        draft.current = _answered(draft.current, jobset, seen, agreed)
    if agreed is not None and rounds.is_kept(jobset):
        _note_opening(draft, jobset)
    if jobset.suspended or keys.DISABLE_IN_PLACE_RESTART in (jobset.metadata.annotations or {}):
        draft.set_silently(NOT_WATCHED)
        return None
    if agreed is not None:
        draft.set(REPORTED)
        return None
    return _watch(draft, jobset, seen, cohort)


def _seconds_left(draft: status.Draft, jobset: types.JobSet, agreed: int) -> float:
    """For how long the barrier must stay shut; a barrier that is open stays open."""
    if agreed == draft.current.current_in_place_restart_attempt:
        return 0
    return pauses.seconds_left_in_place(msgspec.structs.replace(jobset, status=draft.current), agreed, draft.now)


def _note_opening(draft: status.Draft, jobset: types.JobSet) -> None:
    """Note since when how many ranks run. A set that was scaled down goes on as it ran."""
    account, expected = rounds.of(draft.current), _expected(jobset)
    opens = draft.current.current_in_place_restart_attempt != draft.stored.current_in_place_restart_attempt
    if opens:
        account = account._replace(runs_since=conditions.timestamp(draft.now))
    if opens or account.ranks != expected:
        rounds.store(draft, account._replace(ranks=expected))


def _patience(jobset: types.JobSet, current: types.Status, seen: ranks.Ranks, cohort: family.Cohort) -> float:
    finished = _finished(jobset, cohort)
    is_at_rest = seen.agreed(_unfinished(jobset, finished), finished) == current.current_in_place_restart_attempt
    return min(_PATIENCE_PER_RANK * _expected(jobset), _PATIENCE_AT_REST if is_at_rest else _PATIENCE_IN_ROUND)


def _agreed(jobset: types.JobSet, seen: ranks.Ranks, cohort: family.Cohort, current: types.Status) -> int | None:
    """The attempt that all ranks have announced.

    Whether they are the expected ones, and not a stray one in place of one that is missing, is looked at only before
    the barrier opens: it costs as much as the set is large.
    """
    finished = _finished(jobset, cohort)
    agreed = seen.agreed(_unfinished(jobset, finished), finished)
    if agreed is None or agreed == current.current_in_place_restart_attempt:
        return agreed
    waited_for = (rank for job, rank in _expected_ranks(jobset) if job not in finished)
    return agreed if all(rank in seen.reporting for rank in waited_for) else None


def _answered(current: types.Status, jobset: types.JobSet, seen: ranks.Ranks, agreed: int | None) -> types.Status:
    if jobset.suspended and not seen.reports:
        return _taken_back(current)
    if agreed is not None:
        return msgspec.structs.replace(current, current_in_place_restart_attempt=agreed)
    over, previous = seen.top - 1, current.previous_in_place_restart_attempt
    if over < 0 or (previous is not None and over <= previous):
        return current
    return msgspec.structs.replace(current, previous_in_place_restart_attempt=over)


def _taken_back(current: types.Status) -> types.Status:
    """The status after which pods start again in the attempt in which suspension ended them.

    It was no failure, and must not cost a restart. Where a round was under way its attempt was not begun yet: then the
    pods are going to announce the same one anyway.
    """
    attempt, previous = current.current_in_place_restart_attempt, current.previous_in_place_restart_attempt
    if attempt is None or (previous is not None and previous >= attempt):
        return current
    earlier = attempt - 1 if attempt > 0 else None
    return msgspec.structs.replace(
        current,
        current_in_place_restart_attempt=earlier,
        previous_in_place_restart_attempt=earlier,
    )


def _watch(draft: status.Draft, jobset: types.JobSet, seen: ranks.Ranks, cohort: family.Cohort) -> float | None:
    """Name the ranks that are waited for once nothing has moved for too long."""
    left = REPORT_SECONDS - (draft.now - _moved_at(jobset, seen)).total_seconds()
    if left > 0:
        return left
    target = max(seen.top, draft.current.current_in_place_restart_attempt or 0)
    waited_for = list(_waited_for(jobset, seen, cohort, target))
    if waited_for:
        shown = ', '.join(waited_for[:_SHOWN])
        rest = f' and {len(waited_for) - _SHOWN} more' if len(waited_for) > _SHOWN else ''
        text = f'not all of {_expected(jobset)} ranks have announced attempt {target}, and nothing has changed for '
        draft.set(_stalled('RanksNotReported', f'{text}{REPORT_SECONDS} s; waiting for {shown}{rest}'))
    return None


def _waited_for(jobset: types.JobSet, seen: ranks.Ranks, cohort: family.Cohort, target: int) -> Iterator[str]:
    """The ranks that keep the barrier shut, each with what is known of it."""
    by_rank: dict[str, ranks.Report] = {}
    for report in seen.reports.values():
        known = by_rank.get(report.rank)
        if known is None or known.has_failed:
            by_rank[report.rank] = report
    finished = _finished(jobset, cohort)
    for job, rank in _expected_ranks(jobset):
        found = by_rank.pop(rank, None)
        if found is not None:
            yield from _trouble(rank, found, target, seen.reporting[rank])
        elif job not in cohort.members and job not in finished:
            yield f'{rank} (no Job)'
        elif job in cohort.active or job in cohort.failed:
            yield f'{rank} (no pod)'
    for rank, stray in by_rank.items():
        if rank in seen.reports:
            yield from _trouble(rank, stray, target, seen.reporting[rank])
        elif not stray.has_failed:
            yield f'{rank} to go (not a rank of the set any more)'


def _trouble(rank: str, report: ranks.Report, target: int, pods: int) -> Iterator[str]:
    """What is wrong with the announcement of a rank; nothing if it is right."""
    if report.is_malformed:
        yield f'{rank} ({(report.said or "")[:20]!r} is no attempt)'
    elif report.attempt is None or report.has_failed:
        yield f'{rank} ({report.phase or "Pending"}, nothing announced)'
    elif pods > 1:
        yield f'{rank} ({pods} pods)'
    elif report.attempt != target and not report.is_done:
        yield f'{rank} ({report.phase or "Pending"}, still in attempt {report.attempt})'


def _moved_at(jobset: types.JobSet, seen: ranks.Ranks) -> datetime.datetime:
    """When something last happened that the ranks had to answer."""
    resumed = conditions.find(jobset.status, conditions.SUSPENDED)
    stamps = [jobset.metadata.creation_timestamp, resumed.last_transition_time if resumed else None]
    moments = [conditions.parsed(stamp) for stamp in stamps if stamp]
    if seen.changed_at is not None:
        moments.append(seen.changed_at)
    return max(moments, default=datetime.datetime.min.replace(tzinfo=datetime.UTC))


def _wrong_sizes(jobset: types.JobSet) -> str | None:
    """What keeps us from knowing how many ranks there are. Admission refuses it, but may be off."""
    for position, part in enumerate(jobset.spec.replicated_jobs):
        spec = part.job.spec
        if spec.parallelism is None or spec.parallelism != spec.completions:
            return (
                f'spec.replicatedJobs[{position}].template.spec: parallelism {spec.parallelism} and completions '
                f'{spec.completions} must be set and equal; delete the JobSet and make it again'
            )
    return None


def _expected(jobset: types.JobSet) -> int:
    return sum(part.count * (part.job.spec.parallelism or 0) for part in jobset.spec.replicated_jobs)


def _finished(jobset: types.JobSet, cohort: family.Cohort) -> frozenset[str]:
    """The Jobs that have succeeded, gone or not: their ranks take part in nothing any more."""
    noted = done.known(jobset) if done.is_wanted(jobset) else {}
    gone = {f'{jobset.metadata.name}-{name}-{index}' for name, indexes in noted.items() for index in indexes}
    if not cohort.succeeded:
        return frozenset(gone)
    here = (name for name in cohort.members if name not in cohort.active and name not in cohort.failed)
    return frozenset(gone.union(here))


def _unfinished(jobset: types.JobSet, finished: frozenset[str]) -> int:
    """How many ranks there are to be of Jobs that have not succeeded."""
    expected = _expected(jobset)
    if not finished:
        return expected
    prefix = jobset.metadata.name
    return expected - sum(
        part.job.spec.parallelism or 0
        for part in jobset.spec.replicated_jobs
        for index in range(part.count)
        if f'{prefix}-{part.name}-{index}' in finished
    )


def _expected_ranks(jobset: types.JobSet) -> Iterator[tuple[str, str]]:
    """The name of each rank, and of its Job before it. Pods without an index have no place of their own."""
    for part in jobset.spec.replicated_jobs:
        if part.job.spec.completion_mode != templates.CompletionMode.INDEXED:
            continue
        for index in range(part.count):
            job = f'{jobset.metadata.name}-{part.name}-{index}'
            for pod in range(part.job.spec.parallelism or 0):
                yield job, f'{job}-{pod}'


def _stalled(reason: str, message: str) -> conditions.Notice:
    return conditions.Notice(STALLED, True, reason, message, plan.EventType.WARNING)
