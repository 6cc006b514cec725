"""What a Job's status may say, and how it may change: strictly, because others than the Job controller may write it.

Source: KEP-4368, "Job API managed-by mechanism". Most rules look only at what this very write changes, so that a status
that is wrong already can still be written.
"""

from typing import Final

from jobset.local import lazily
from jobset.local.kinds import faults, indexes, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

_TERMINAL: Final = ('Failed', 'Complete', 'FailureTarget')


class _Seen:
    """A status and what its conditions say."""

    def __init__(self, status: Object) -> None:
        self.status = status
        self.active: int = status.get('active', 0)
        self.succeeded: int = status.get('succeeded', 0)
        self.failed: int = status.get('failed', 0)
        self.start = status.get('startTime')
        self.completion = status.get('completionTime')
        self.completed_indexes: str = status.get('completedIndexes', '')
        self.failed_indexes: str | None = status.get('failedIndexes')
        self.uncounted = status.get('uncountedTerminatedPods')

    @lazily.lazy
    def conditions(self) -> dict[str, str]:
        """The status of each condition."""
        return {each.get('type', ''): each.get('status', '') for each in self.status.get('conditions') or ()}

    def has(self, name: str) -> bool:
        """Whether this condition is true."""
        return self.conditions.get(name) == 'True'

    @property
    def finished(self) -> bool:
        """Whether the Job has ended."""
        return self.has('Complete') or self.has('Failed')


def check(job: Object, old_job: Object) -> list[Cause]:
    """The mistakes of a new status."""
    new, old, spec = _Seen(job.get('status') or {}), _Seen(old_job.get('status') or {}), job['spec']
    causes = _counts(new)
    if new.conditions or old.conditions or new.completion or old.completion:
        causes += _end(new, old, spec)
    causes += _indexes(new, old, spec)
    ready, terminating = new.status.get('ready'), new.status.get('terminating')
    if (
        terminating is not None
        and terminating > 0
        and new.finished
        and (new.finished != old.finished or terminating != old.status.get('terminating'))
    ):
        text = 'terminating>0 is invalid for finished job'
        causes.append(faults.invalid('status.terminating', terminating, text))
    if ready is not None and ready > new.active and (ready != old.status.get('ready') or new.active != old.active):
        causes.append(faults.invalid('status.ready', ready, 'cannot set more ready pods than active'))
    if new.has('SuccessCriteriaMet'):
        for name in ('Failed', 'FailureTarget'):
            if new.has(name):
                causes.append(_contradiction(f'cannot set SuccessCriteriaMet=True and {name}=true conditions'))
    elif 'successPolicy' in spec and new.has('Complete'):
        causes.append(
            _contradiction('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True')
        )
    return causes + _change(new, old, spec)


def _contradiction(text: str) -> Cause:
    return faults.senseless('status.conditions', text)


def _counts(new: _Seen) -> list[Cause]:
    causes: list[Cause] = []
    for key in ('active', 'succeeded', 'failed', 'ready', 'terminating'):
        causes += faults.not_negative(f'status.{key}', new.status.get(key))
    seen: set[str] = set()
    for key in ('succeeded', 'failed'):
        for i, uid in enumerate((new.uncounted or {}).get(key) or ()):
            path = f'status.uncountedTerminatedPods.{key}[{i}]'
            if not uid:
                causes.append(faults.invalid(path, uid, 'must not be empty'))
            elif uid in seen:
                causes.append(faults.duplicate(path, uid))
            seen.add(uid)
    return causes


def _end(new: _Seen, old: _Seen, spec: Object) -> list[Cause]:
    """What must go together when a Job ends."""
    causes: list[Cause] = []
    complete_changed = new.has('Complete') != old.has('Complete')
    failed_changed = new.has('Failed') != old.has('Failed')
    finished_changed = new.finished != old.finished
    start_changed, completion_changed = new.start != old.start, new.completion != old.completion
    if (complete_changed or failed_changed) and new.has('Complete') and new.has('Failed'):
        causes.append(_contradiction('cannot set Complete=True and Failed=true conditions'))
    target_changed = new.has('FailureTarget') != old.has('FailureTarget')
    if (complete_changed or target_changed) and new.has('Complete') and new.has('FailureTarget'):
        causes.append(_contradiction('cannot set Complete=True and FailureTarget=true conditions'))
    if complete_changed or completion_changed:
        if new.completion and not new.has('Complete'):
            text = 'cannot set completionTime when there is no Complete=True condition'
            causes.append(faults.invalid('status.completionTime', new.completion, text))
        if not new.completion and new.has('Complete'):
            text = 'completionTime is required for Complete jobs'
            causes.append(faults.required('status.completionTime', text))
    if (start_changed or completion_changed) and new.start and new.completion and new.completion < new.start:
        text = 'must be equal to or after `startTime`'
        causes.append(faults.invalid('status.completionTime', new.completion, text))
    indexes_changed = new.failed_indexes != old.failed_indexes
    if (failed_changed or indexes_changed) and new.has('Failed') and not new.has('FailureTarget'):
        causes.append(_contradiction('cannot set Failed=True condition without the FailureTarget=true condition'))
    criteria_changed = new.has('SuccessCriteriaMet') != old.has('SuccessCriteriaMet')
    if (complete_changed or criteria_changed) and new.has('Complete') and not new.has('SuccessCriteriaMet'):
        text = 'cannot set Complete=True condition without the SuccessCriteriaMet=true condition'
        causes.append(_contradiction(text))
    if not new.finished:
        return causes
    if (finished_changed or new.active != old.active) and new.active > 0:
        causes.append(faults.invalid('status.active', new.active, 'active>0 is invalid for finished job'))
    empty = bool(spec.get('suspend')) and spec.get('completions') == 0
    if (finished_changed or start_changed) and not new.start and not empty:
        causes.append(faults.required('status.startTime', 'startTime is required for finished job'))
    uncounted = new.uncounted or {}
    if (finished_changed or new.uncounted != old.uncounted) and (uncounted.get('failed') or uncounted.get('succeeded')):
        struct = shown.Inner('batch.UncountedTerminatedPods', uncounted)
        text = 'must be empty for finished job'
        causes.append(faults.invalid('status.uncountedTerminatedPods', struct, text))
    return causes


def _indexes(new: _Seen, old: _Seen, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    completions = spec.get('completions')
    completed_changed = new.completed_indexes != old.completed_indexes
    failed_changed = new.failed_indexes != old.failed_indexes
    if completed_changed and completions is not None:
        causes += _format('completedIndexes', new.completed_indexes, completions)
    if failed_changed and None not in (completions, spec.get('backoffLimitPerIndex'), new.failed_indexes):
        causes += _format('failedIndexes', new.failed_indexes or '', completions or 0)
    if completed_changed and new.completed_indexes and spec.get('completionMode') != 'Indexed':
        text = 'cannot set non-empty completedIndexes when non-indexed completion mode'
        causes.append(faults.invalid('status.completedIndexes', new.completed_indexes, text))
    if failed_changed and new.failed_indexes is not None and 'backoffLimitPerIndex' not in spec:
        text = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null'
        causes.append(faults.invalid('status.failedIndexes', new.failed_indexes, text))
    if (completed_changed or failed_changed) and completions is not None and new.failed_indexes is not None:
        shared = _shared(new.completed_indexes, new.failed_indexes, completions)
        if shared is not None:
            text = f'failedIndexes and completedIndexes overlap at index: {shared}'
            causes.append(faults.invalid('status.failedIndexes', new.failed_indexes, text))
    return causes


def _format(key: str, text: str, completions: int) -> list[Cause]:
    try:
        indexes.count(text, completions)
    except indexes.IndexesError as error:
        return [faults.invalid(f'status.{key}', text, f'error parsing {key}: {error}')]
    return []


def _shared(first: str, second: str, completions: int) -> int | None:
    """The first index that stands in both lists; parts that make no sense are passed over."""
    if not first or not second:
        return None
    one, two = _readable(first, completions), _readable(second, completions)
    i = j = 0
    while i < len(one) and j < len(two):
        if one[i][0] <= two[j][1] and two[j][0] <= one[i][1]:
            return max(one[i][0], two[j][0])
        if one[i][0] <= two[j][0]:
            i += 1
        else:
            j += 1
    return None


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(','):
        try:
            found.append(indexes.interval(part, completions))
        except indexes.IndexesError:
            continue
    return found


def _change(new: _Seen, old: _Seen, spec: Object) -> list[Cause]:
    causes = [
        _contradiction(f'cannot disable the terminal {name}=True condition')
        for name in _TERMINAL
        if old.has(name) and not new.has(name)
    ]
    if new.failed < old.failed:
        causes.append(faults.invalid('status.failed', new.failed, 'cannot decrease the failed counter'))
    elastic = spec.get('completionMode') == 'Indexed' and spec.get('completions') == spec.get('parallelism')
    if new.succeeded < old.succeeded and not elastic:
        causes.append(faults.invalid('status.succeeded', new.succeeded, 'cannot decrease the succeeded counter'))
    if new.completion and old.completion and new.completion != old.completion:
        causes.append(faults.invalid('status.completionTime', new.completion, faults.IMMUTABLE))
    resuming = old.has('Suspended') and new.conditions.get('Suspended') == 'False'
    if old.start and new.start != old.start and not resuming and not spec.get('suspend'):
        text = 'field is immutable for unsuspended job once set'
        causes.append(faults.invalid('status.startTime', new.start, text))
    if old.has('SuccessCriteriaMet') and not new.has('SuccessCriteriaMet'):
        causes.append(_contradiction('cannot disable the SuccessCriteriaMet=True condition'))
    if old.has('Complete') and not old.has('SuccessCriteriaMet') and new.has('SuccessCriteriaMet'):
        text = 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions'
        causes.append(_contradiction(text))
    return causes
