"""What a pod failure means, by the rules of ``spec.podFailurePolicy``: the first that matches decides."""

import enum
from dataclasses import dataclass
from typing import Final

from jobset.local.jobs.types import ContainerStatus, ExitCodes, FailurePolicy, FailureRule, Pod, Terminated


class Action(enum.StrEnum):
    """What a rule does."""

    FAIL_JOB = 'FailJob'
    FAIL_INDEX = 'FailIndex'
    IGNORE = 'Ignore'
    COUNT = 'Count'


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is made of a failed pod."""

    action: Action | None = None
    """None where no rule matches."""

    message: str = ''
    """Why it ends the Job; empty when it does not."""

    @property
    def counts(self) -> bool:
        """Whether it counts against a limit."""
        return self.action is not Action.IGNORE


COUNTED: Final = Verdict()


def judge(policy: FailurePolicy | None, pod: Pod) -> Verdict:
    """The verdict on a pod that has failed."""
    for place, rule in enumerate(policy.rules if policy is not None else ()):
        action = Action(rule.action)
        found = _match(rule, pod)
        if found:
            why = f'{found} matching {action} rule at index {place}' if action is Action.FAIL_JOB else ''
            return Verdict(action, why)
    return COUNTED


def _match(rule: FailureRule, pod: Pod) -> str:
    """What in the pod matches the rule, in words; empty for nothing."""
    name = f'{pod.metadata.namespace}/{pod.metadata.name}'
    if rule.on_exit_codes is not None:
        container = _exited(pod, rule.on_exit_codes)
        if container is not None:
            status, end = container
            return f'Container {status.name} for pod {name} failed with exit code {end.exit_code}'
        return ''
    for wanted in rule.on_pod_conditions or ():
        for condition in pod.status.conditions or ():
            if (condition.type, condition.status) == (wanted.type, wanted.status):
                return f'Pod {name} has condition {condition.type}'
    return ''


def _exited(pod: Pod, wanted: ExitCodes) -> tuple[ContainerStatus, Terminated] | None:
    for status in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())):
        end = status.terminated
        # A container that ended well is never at fault, whatever codes a rule excludes.
        if end is None or end.exit_code == 0 or wanted.container_name not in (None, status.name):
            continue
        if (end.exit_code in wanted.values) == (wanted.operator == 'In'):
            return status, end
    return None
