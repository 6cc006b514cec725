"""Whose a pod is: a Job manages the pods that name it as their controller, as long as they match its selector."""

from collections.abc import Mapping

from jobset.local.jobs.types import Job, Pod, Requirement, Selector
from jobset.local.jobs.view import Facts


def matches(selector: Selector | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a selector selects what has these labels; none selects nothing."""
    if selector is None:
        return False
    labels = labels or {}
    wanted = selector.match_labels
    if wanted and not wanted.items() <= labels.items():
        return False
    return all(_meets(each, labels) for each in selector.match_expressions or ())


def to_adopt(facts: Facts) -> tuple[Pod, ...]:
    """Pods that nobody manages, and that are to be managed by this Job."""
    if not facts.strangers or facts.job.is_deleted:
        return ()
    selector = facts.job.spec.selector
    return tuple(pod for pod in facts.strangers if not pod.is_deleted and matches(selector, pod.metadata.labels))


def to_disown(facts: Facts) -> tuple[Pod, ...]:
    """Pods of this Job that it has to let go."""
    selector = facts.job.spec.selector
    return tuple(pod for pod in facts.pods if not pod.is_deleted and not matches(selector, pod.metadata.labels))


def is_stray(pod: Pod, job: Job | None) -> bool:
    """Whether a pod waits in vain to be counted; ``job`` is the one that manages it, if there is one.

    Jobs of other controllers are not known here to have ended: their controllers look after their pods.
    """
    if not pod.is_tracked:
        return False
    return job is None or (job.is_ours and job.status.is_finished)


def _meets(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case 'In':
            return value is not None and value in (requirement.values or ())
        case 'NotIn':
            return value not in (requirement.values or ())
        case 'Exists':
            return value is not None
        case 'DoesNotExist':
            return value is None
        case _:
            return False
