"""Whether a container that has ended is started again.

Source: Kubernetes, container restart rules (KEP-5307, KEP-5532). The first rule that fits the exit code decides; then
the policy of the container; then that of the pod.
"""

import enum

from jobset.local.node import specs
from jobset.local.node.model import Spec


class Verdict(enum.Enum):
    """What follows from an end."""

    STAY = enum.auto()
    RESTART = enum.auto()
    RESTART_ALL = enum.auto()


def judge(container: Spec, spec: Spec, exit_code: int) -> Verdict:
    """What follows when ``container`` of the pod ``spec`` ends with ``exit_code``."""
    rule = next((rule for rule in container.get('restartPolicyRules') or () if _fits(rule, exit_code)), None)
    if rule is not None:
        return Verdict.RESTART_ALL if rule.get('action') == 'RestartAllContainers' else Verdict.RESTART
    match container.get('restartPolicy') or _of_pod(container, spec):
        case 'Never':
            return Verdict.STAY
        case 'OnFailure':
            return Verdict.RESTART if exit_code else Verdict.STAY
        case _:
            return Verdict.RESTART


def could_restart_all(spec: Spec) -> bool:
    """Whether any container may have all of them restarted."""
    return any(
        rule.get('action') == 'RestartAllContainers'
        for container in specs.containers(spec)
        for rule in container.get('restartPolicyRules') or ()
    )


def _of_pod(container: Spec, spec: Spec) -> str:
    policy = str(spec.get('restartPolicy') or 'Always')
    # An init container that has succeeded is done, whatever is wanted of the others.
    is_init = any(container is init for init in specs.inits(spec))
    return 'OnFailure' if is_init and policy == 'Always' else policy


def _fits(rule: Spec, exit_code: int) -> bool:
    codes = rule.get('exitCodes') or {}
    is_in = exit_code in (codes.get('values') or ())
    return is_in if codes.get('operator') == 'In' else not is_in
