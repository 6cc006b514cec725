"""Why a Job failed: what the remains of its pods tell, and its own condition where they are gone.

Source: Kubernetes API, pod conditions (``DisruptionTarget``), container states, and reasons of kubelets and of the Job
controller.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from jobset.api import jobs, pods
from jobset.api.extravalues import Cause

_NODE_REASONS: Final = frozenset({'DeletionByTaintManager', 'DeletionByPodGC', 'NodeLost'})
_DISRUPTED_BY_KUBELET: Final = frozenset({'Evicted', 'Preempting', 'Terminated', 'NodeShutdown', 'Shutdown'})
_REFUSED_BY_KUBELET: Final = re.compile(
    'NodeAffinity|NodePorts|OutOf.*|UnexpectedAdmissionError|Unexpected.*|PodOSNot.*'
)
_NEVER_RAN: Final = frozenset({'ContainerCannotRun', 'StartError', 'CreateContainerError', 'RunContainerError'})
_WAITS_IN_VAIN: Final = frozenset(
    {
        'CreateContainerConfigError',
        'CreateContainerError',
        'ErrImageNeverPull',
        'ErrImagePull',
        'ImageInspectError',
        'ImagePullBackOff',
        'InvalidImageName',
        'RegistryUnavailable',
        'RunContainerError',
        'SignatureValidationFailed',
    }
)
_EXIT_IN_MESSAGE: Final = re.compile(r'\bfailed with exit code ([0-9]{1,3})\b')
_DISRUPTED_IN_MESSAGE: Final = re.compile(r'\bhas condition DisruptionTarget\b')
_LINES: Final = 20
_LINE_BYTES: Final = 2_000


class Death(NamedTuple):
    """Why something failed. Empty where nobody knows."""

    cause: Cause
    text: str = ''
    """For people: the reason, and what was said with it."""

    pod: str = ''
    node: str = ''
    container: str = ''
    exit_code: int | None = None
    lines: str = ''
    """The last lines that the container left as its termination message."""

    time: str = ''
    made_at: str = ''
    """When the pod was made."""


class Loss(NamedTuple):
    """A rank that was lost or failed, and began a restart in place because of it."""

    replicated_job: str
    rank: str
    death: Death


NOBODY_KNOWS: Final = Loss('', '', Death(Cause.UNKNOWN))
"""Nothing is left that would tell whose fault it was."""


def of_job(job: jobs.Job, deaths: Iterable[Death] = ()) -> Death:
    """Why the Job failed: by the pod of it that failed first, else by what its condition says."""
    # A pod that was disrupted has often not ended yet, and has no time; its peers fail because of it, and of those that
    # are ended with the Job nobody may ever tell how they ended.
    return min(deaths, key=lambda death: (death.time, death.cause is Cause.UNKNOWN, death.pod), default=None) or (
        _by_condition(job)
    )


def is_passing(pod: pods.Pod) -> bool:
    """Whether what is wrong with the pod may still turn out well."""
    return _disrupted(pod) is None and _waiting(pod) is not None


def of_pod(pod: pods.Pod) -> Death | None:
    """Why the pod failed, or is about to; None while it has not."""
    if pod.status.phase == 'Succeeded':
        return None
    early = _disrupted(pod) or _waiting(pod)
    if early is not None or pod.status.phase != 'Failed':
        return early
    return _by_kubelet(pod) or _by_container(pod) or _death(pod, Cause.UNKNOWN, pod.status.reason, pod.status.message)


def of_containers(pod: pods.Pod) -> Death | None:
    """Why the containers of the pod had to start again; None while they are the first ones."""
    return _ended(pod, [(one.name, one.last_state.terminated) for one in pod.containers])


def _disrupted(pod: pods.Pod) -> Death | None:
    condition = pod.disruption
    if condition is None:
        return None
    cause = Cause.NODE if condition.reason in _NODE_REASONS else Cause.DISRUPTION
    return _death(pod, cause, condition.reason, condition.message)


def _waiting(pod: pods.Pod) -> Death | None:
    for container in pod.containers:
        waiting = container.state.waiting
        if waiting is not None and waiting.reason in _WAITS_IN_VAIN:
            return _death(pod, Cause.START, waiting.reason, waiting.message)._replace(container=container.name)
    return None


def _by_kubelet(pod: pods.Pod) -> Death | None:
    reason = pod.status.reason
    if reason in _DISRUPTED_BY_KUBELET:
        cause = Cause.DISRUPTION
    elif reason in _NODE_REASONS:
        cause = Cause.NODE
    elif _REFUSED_BY_KUBELET.fullmatch(reason):
        cause = Cause.START
    else:
        return None
    return _death(pod, cause, reason, pod.status.message)


def _death(pod: pods.Pod, cause: Cause, reason: str, message: str) -> Death:
    metadata = pod.metadata
    return Death(
        cause,
        _said(reason, message),
        pod=metadata.name,
        node=pod.spec.node_name,
        made_at=metadata.creation_timestamp,
    )


def _by_container(pod: pods.Pod) -> Death | None:
    return _ended(pod, [(one.name, one.state.terminated) for one in pod.containers])


def _ended(pod: pods.Pod, endings: list[tuple[str, pods.Terminated | None]]) -> Death | None:
    """By the container that failed first."""
    failed = [(end.finished_at or '', name, end) for name, end in endings if end is not None and end.exit_code != 0]
    if not failed:
        return None
    time, name, end = min(failed, key=lambda each: each[:2])
    return Death(
        Cause.START if end.reason in _NEVER_RAN else Cause.APPLICATION,
        f'{end.reason or "Error"}: exit code {end.exit_code}',
        pod=pod.metadata.name,
        node=pod.spec.node_name,
        container=name,
        exit_code=end.exit_code,
        lines='\n'.join(end.message[-_LINE_BYTES:].splitlines()[-_LINES:]),
        time=time,
        made_at=pod.metadata.creation_timestamp,
    )


def _by_condition(job: jobs.Job) -> Death:
    condition = job.failing
    if condition is None:
        return Death(Cause.UNKNOWN)
    text = _said(condition.reason, condition.message)
    if condition.reason == jobs.FailureReason.DEADLINE_EXCEEDED:
        return Death(Cause.DEADLINE, text)
    if condition.reason == jobs.FailureReason.POD_FAILURE_POLICY:
        if _DISRUPTED_IN_MESSAGE.search(condition.message):
            return Death(Cause.DISRUPTION, text)
        code = _EXIT_IN_MESSAGE.search(condition.message)
        if code is not None:
            return Death(Cause.APPLICATION, text, exit_code=int(code[1]))
    return Death(Cause.UNKNOWN, text)


def _said(reason: str, message: str) -> str:
    return ': '.join(part for part in (reason, message) if part)
