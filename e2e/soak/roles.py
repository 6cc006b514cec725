"""What the Job controller writes: statuses as a real one would, so that the API server takes them."""

import datetime

from e2e.soak.server import Object


def now() -> str:
    """This second."""
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')


def condition(job: Object, kind: str) -> bool:
    """Whether a condition of the Job holds."""
    conditions = job.get('status', {}).get('conditions', [])
    return any(each['type'] == kind and each['status'] == 'True' for each in conditions)


def ended(job: Object) -> bool:
    """Whether the Job has completed or failed."""
    return condition(job, 'Complete') or condition(job, 'Failed')


def runs(job: Object) -> bool:
    """Whether all its pods run."""
    status = job.get('status', {})
    return not job['spec'].get('suspend') and status.get('ready', 0) == job['spec'].get('parallelism', 1)


def rests(job: Object) -> bool:
    """Whether the Job controller has noticed that it is suspended."""
    return bool(job['spec'].get('suspend')) and condition(job, 'Suspended')


def suspended(job: Object) -> Object:
    """No pods, and no start time any more."""
    return _status(job, {'Suspended': ('True', 'JobSuspended', 'Job suspended')}, startTime=None)


def running(job: Object) -> Object:
    """All pods are ready."""
    pods = job['spec'].get('parallelism', 1)
    resumed = {'Suspended': ('False', 'JobResumed', 'Job resumed')} if condition(job, 'Suspended') else {}
    return _status(job, resumed, startTime=_started(job), active=pods, ready=pods)


def complete(job: Object) -> Object:
    """All pods have succeeded."""
    why = ('True', 'CompletionsReached', 'Reached expected number of succeeded pods')
    done = job['spec'].get('completions', 1)
    conditions = {'SuccessCriteriaMet': why, 'Complete': why}
    return _status(job, conditions, startTime=_started(job), succeeded=done, completionTime=now())


def failed(job: Object, reason: str, message: str) -> Object:
    """A pod has failed for good."""
    why = ('True', reason, message)
    return _status(job, {'FailureTarget': why, 'Failed': why}, startTime=_started(job), failed=1)


def _started(job: Object) -> str:
    return str(job.get('status', {}).get('startTime') or now())


def _status(job: Object, changes: dict[str, tuple[str, str, str]], **fields: object) -> Object:
    conditions = {each['type']: each for each in job.get('status', {}).get('conditions', [])}
    for kind, (holds, reason, message) in changes.items():
        conditions[kind] = {
            'type': kind,
            'status': holds,
            'reason': reason,
            'message': message,
            'lastTransitionTime': now(),
            'lastProbeTime': now(),
        }
    counts = {'active': 0, 'ready': 0, 'succeeded': 0, 'failed': 0, 'terminating': 0}
    return counts | fields | {'conditions': list(conditions.values())}
