"""How the ends of pods get into the status, each exactly once, whatever fails in between.

A pod has a finalizer until it is counted, so it cannot vanish before. Counting takes two writes of the status: the
first notes the uid of the pod (``uncountedTerminatedPods``), then the finalizer is removed, and the second turns the
note into a number. Succeeded indexes need no note: that the index is in the list is enough to know it by.
"""

import msgspec

from jobset.local.jobs import conditions, failurepolicy, keys, replacement
from jobset.local.jobs.types import Condition, Pod, Status, Uncounted
from jobset.local.jobs.view import View


class Count(msgspec.Struct, kw_only=True):
    """What one pass counts."""

    release: list[Pod] = msgspec.field(default_factory=list)
    """Pods that need their finalizer no longer, once what follows is written."""

    succeeded: list[str] = msgspec.field(default_factory=list)
    failed: list[str] = msgspec.field(default_factory=list)
    indexes: list[int] = msgspec.field(default_factory=list)
    """Indexes that have succeeded."""

    is_partial: bool = False
    """Whether there is more to count than one pass may."""


def count(view: View, interim: Condition | None, *, without: frozenset[str]) -> Count:
    """Counts pods that have ended, except those ``without`` a finalizer by now."""
    found = Count()
    noted = len(view.uncounted)
    previous = set[int]()
    for pod in view.pods:
        if not pod.is_tracked or pod.uid in without or not _is_settled(view, pod, interim):
            continue
        found.release.append(pod)
        _note(view, pod, interim, found, previous)
        if noted + len(found.succeeded) + len(found.failed) + len(found.indexes) >= keys.BATCH_PODS:
            found.is_partial = True
            break
    return found


def noted(status: Status, view: View, found: Count) -> Status:
    """The status with what is counted noted in it."""
    if found.succeeded or found.failed:
        known = status.uncounted
        uncounted = Uncounted(
            succeeded=(*known.succeeded, *found.succeeded),
            failed=(*known.failed, *found.failed),
        )
        status = msgspec.structs.replace(status, uncounted_terminated_pods=uncounted)
    if view.job.is_indexed:
        done = view.previous.plus(found.indexes)
        status = msgspec.structs.replace(status, succeeded=len(done), completed_indexes=str(done))
    if view.job.has_limit_per_index:
        status = msgspec.structs.replace(status, failed_indexes=str(view.failed_indexes))
    return status


def summed(status: Status, view: View, *, released: frozenset[str]) -> Status:
    """The status with notes turned into numbers: of all pods but those that still have their finalizer."""
    known = status.uncounted
    if not known.succeeded and not known.failed:
        if status.uncounted_terminated_pods is not None:
            return status
        return msgspec.structs.replace(status, uncounted_terminated_pods=known)
    held = {pod.uid for pod in view.pods if pod.is_tracked} - released
    succeeded = tuple(uid for uid in known.succeeded if uid in held)
    failed = tuple(uid for uid in known.failed if uid in held)
    return msgspec.structs.replace(
        status,
        succeeded=status.succeeded + len(known.succeeded) - len(succeeded),
        failed=status.failed + len(known.failed) - len(failed),
        uncounted_terminated_pods=Uncounted(succeeded=succeeded, failed=failed),
    )


def _is_settled(view: View, pod: Pod, interim: Condition | None) -> bool:
    """Whether nothing about the pod can change any more that the Job would want to know."""
    if view.job.is_deleted or interim is not None or pod.has_succeeded:
        return True
    if not replacement.has_failed(pod, view.job):
        return False
    index = pod.index
    return index is None or view.kept.get(index) is not pod


def _note(view: View, pod: Pod, interim: Condition | None, found: Count, added: set[int]) -> None:
    known = view.job.status.uncounted
    if pod.has_succeeded and pod.uid not in known.failed:
        index = pod.index
        if view.job.is_indexed:
            if view.is_wanted(index) and index is not None and index not in view.previous and index not in added:
                added.add(index)
                found.indexes.append(index)
        elif pod.uid not in known.succeeded:
            found.succeeded.append(pod.uid)
        return
    # Pods that a failing Job takes with it have failed, too; those that it does not need any more have not.
    is_taken = interim is not None and interim.type == conditions.FAILURE_TARGET
    if not replacement.has_failed(pod, view.job) and not is_taken:
        return
    if pod.uid in known.failed or (view.job.is_indexed and not view.is_wanted(pod.index)):
        return
    if failurepolicy.judge(view.job.spec.pod_failure_policy, pod).counts:
        found.failed.append(pod.uid)
