"""Why a gang waits, for people who do not look at PodGroups: which stage, how many fit, what is missing.

What the scheduler said of the group and of its pods is told as :mod:`jobset.core.waiting` does.
"""

import datetime
import re
from collections.abc import Mapping
from typing import Final

from jobset.api import gangs, types
from jobset.core import conditions, plan, waiting
from jobset.core.groups import decisions, observed

PATIENCE_SECONDS: Final = 10
"""How long a group may be without pods, or without an answer of the scheduler, until that is worth telling."""

_SCHEDULED: Final = ('PodGroupInitiallyScheduled', 'PodGroupScheduled')
_ON_PAPER: Final = re.compile(
    r'minCount \([0-9]+\) cannot be satisfied: ([0-9]+) scheduled, ([0-9]+) remaining', re.ASCII
)
_REASONS: Final = frozenset(
    {
        'GroupTerminating',
        'GroupsUnknown',
        'NoAnswer',
        'Preempted',
        'SchedulerError',
        'Unschedulable',
        'WaitingForPods',
    }
)


def explain(
    jobset: types.JobSet,
    needs: Mapping[str, decisions.Need],
    seen: observed.Seen,
    now: datetime.datetime,
) -> waiting.Waits:
    """Why gangs wait."""
    told: list[waiting.Wait] = []
    quiet: list[waiting.Quiet] = []
    for name, need in needs.items():
        group = seen.pod_groups.get(name)
        if group is None:
            continue
        verdict = _judge(jobset, need.gang, group, seen.pods.get(name) or observed.PodTally(), now)
        if isinstance(verdict, float):
            quiet.append(waiting.Quiet(_REASONS, verdict))
        elif verdict is not None:
            told.append(verdict)
    return waiting.Waits(told, quiet)


def held(notice: decisions.Held) -> waiting.Waits:
    """Why no Job may be made yet; what is too short a matter to tell leaves standing what was told before."""
    if notice.text:
        return waiting.Waits((waiting.Wait(notice.reason, notice.text),))
    return waiting.Waits(quiet=(waiting.Quiet(_REASONS),))


def _judge(
    jobset: types.JobSet,
    gang: gangs.Gang,
    group: observed.PodGroup,
    pods: observed.PodTally,
    now: datetime.datetime,
) -> waiting.Wait | float | None:
    """Why a group waits; a number of seconds where it is too early to say; None where it does not."""
    if pods.exist and not pods.waiting:
        return None
    verdict = group.condition(*_SCHEDULED)
    least = group.min_count or 1
    counts = f'{_name(jobset, gang, group)}: {pods.exist} of {least} pods exist, {pods.bound} have a node'
    why = _telling(pods)
    if verdict is None:
        return _silence(group, pods, counts, now)
    if verdict.status == 'True':
        # Without a word of the scheduler, pods have ended, or it is about to place those that replace others.
        return _again(pods, counts, _with_fit(why, why)) if why else None
    said = verdict.message if verdict.reason == 'SchedulerError' or not why else _with_fit(verdict.message, why)
    return _waiting(verdict.reason or 'Unschedulable', f'{counts}; {said}')


def _telling(pods: observed.PodTally) -> str:
    """The most common of what was said of pods, and rather what speaks of nodes than what speaks of the group."""
    return min(pods.said, key=lambda text: (_ON_PAPER.search(text) is not None, -pods.said[text], text), default='')


def _silence(
    group: observed.PodGroup, pods: observed.PodTally, counts: str, now: datetime.datetime
) -> waiting.Wait | float:
    """The scheduler has said nothing of the group yet."""
    made = group.metadata.creation_timestamp
    left = 0.0 if made is None else PATIENCE_SECONDS - (now - conditions.parsed(made)).total_seconds()
    if left > 0:
        return left
    if pods.exist < (group.min_count or 1):
        return _waiting('WaitingForPods', f'{counts}; a gang is not tried before all of them exist')
    text = 'the scheduler has said nothing yet: does it run, with its gate GenericWorkload on?'
    return _waiting('NoAnswer', f'{counts}; {text}')


def _again(pods: observed.PodTally, counts: str, why: str) -> waiting.Wait:
    """The gang had its nodes once, and has lost some or all."""
    if not pods.disrupted or pods.bound:
        return _waiting('Unschedulable', f'{counts}; {why}')
    return _waiting('Preempted', f'{counts}; it lost them ({pods.disrupted}), and waits anew: {why}')


def _waiting(reason: str, message: str) -> waiting.Wait:
    return waiting.Wait(reason, message, plan.EventType.WARNING)


def _with_fit(of_group: str, of_pods: str) -> str:
    """How many pods found a node on paper, and what was missing for the next one."""
    match = _ON_PAPER.search(of_group)
    if match is None:
        return of_group
    fit, untried = match.groups()
    least = 'at least ' if int(untried) else ''
    why = '' if _ON_PAPER.search(of_pods) else f'; {of_pods}'
    return f'there is room for {least}{fit} of them{why}'


def _name(jobset: types.JobSet, gang: gangs.Gang, group: observed.PodGroup) -> str:
    jobs = jobset.spec.replicated_jobs
    members = ', '.join(jobs[place].name for place in gang.members)
    match gang.shape:
        case gangs.Shape.SET:
            text = 'the gang of the whole set'
        case gangs.Shape.STAGE:
            text = f'{gang.template} ({members})'
        case gangs.Shape.JOB:
            # Names of groups end in the attempt.
            text = f'Job {group.metadata.name.rpartition("-")[0]}'
        case gangs.Shape.REPLICATED_JOB:
            text = f'replicated job {members}'
    return f'{text} (PodGroup {group.metadata.name})'
