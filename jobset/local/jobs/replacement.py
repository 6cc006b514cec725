"""When a pod counts as failed, and so may be replaced: ``spec.podReplacementPolicy``.

``TerminatingOrFailed``, the default, takes a pod for failed as soon as somebody has deleted it. With ``Failed`` its end
is awaited, because its work may still be under way, or succeed. So it is, too, where rules look at how pods have ended
(``spec.podFailurePolicy``).
"""

from jobset.local.jobs.types import Job, Pod


def waits_for_ends(job: Job) -> bool:
    """Whether only pods that have ended are replaced."""
    if job.spec.pod_replacement_policy is None:
        return job.spec.pod_failure_policy is not None
    return job.spec.pod_replacement_policy == 'Failed'


def has_failed(pod: Pod, job: Job) -> bool:
    """Whether a pod counts as failed."""
    if pod.status.phase == 'Failed':
        return True
    return pod.is_deleted and not pod.has_succeeded and not waits_for_ends(job)
