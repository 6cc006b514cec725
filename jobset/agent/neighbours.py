"""The other containers of the pod, where the agent is a container beside them."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESTART_ALL = 'RestartAllContainers'

PAUSE = 'pause'
"""The process that holds the namespaces of a pod, in all usual container runtimes."""


def restart_with(pod: Any, exit_code: int) -> bool:
    """Whether the kubelet starts all containers of ``pod`` again when the agent's ends with ``exit_code``.

    A pod that the server has stored with such a rule runs on a node that declares the feature: no other may take it.
    """
    spec = pod['spec']
    containers = [*(spec.get('initContainers') or ()), *(spec.get('containers') or ())]
    agents = [one for one in containers if any(each['name'] == 'JOBSET_NAME' for each in one.get('env') or ())]
    return any(_action(one, exit_code) == RESTART_ALL for one in agents or containers)


def _action(container: Any, exit_code: int) -> str:
    """That of the first rule which fits."""
    for rule in container.get('restartPolicyRules') or ():
        codes = rule.get('exitCodes') or {}
        if (exit_code in (codes.get('values') or ())) == (codes.get('operator') == 'In'):
            return str(rule.get('action'))
    return ''


def kill(root: str = '/proc') -> None:
    """End the processes of the other containers of a pod that shares its process namespace, without grace.

    The kubelet would give each of them two seconds to listen to SIGTERM, one after the other, and everybody would wait
    for workers that do not. The pod's first process holds the namespace, and stays.
    """
    with open(f'{root}/1/comm', encoding='utf-8', errors='replace') as file:
        if file.read().strip() != PAUSE:
            # What is to be seen here is not the pod, but the whole machine.
            return
    spared = {1, *_ancestors(root, os.getpid())}
    for name in os.listdir(root):
        if name.isdigit() and int(name) not in spared:
            try:
                os.kill(int(name), signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # it has ended, or is not ours to end


def _ancestors(root: str, process: int) -> set[int]:
    found = set()
    while process > 0 and process not in found:
        found.add(process)
        with open(f'{root}/{process}/stat', encoding='utf-8', errors='replace') as file:
            # The name of the program stands in parentheses, and may hold anything.
            process = int(file.read().rpartition(')')[2].split()[1])
    return found
