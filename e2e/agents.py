"""Pods with an agent on a real cluster: what they need there, and JobSets of them that restart in place."""

import copy
import pathlib
import subprocess
import sys
from collections.abc import Sequence

from e2e import deployment
from e2e.kubectl import Kubectl
from tests.scenarios.api import Object, Objects
from tests.scenarios.space import BUSYBOX, Space, attempt, jobset, sample

JOBS = 2
"""A set has so many Jobs, which share its pods."""


def packed(folder: pathlib.Path) -> pathlib.Path:
    """The agent as it is shipped."""
    file = folder / 'jobset-agent.pyz'
    subprocess.run(
        [sys.executable, str(deployment.ROOT / 'tools' / 'agent'), str(file)], check=True, stdout=subprocess.DEVNULL
    )
    return file


def install(here: Space, kubectl: Kubectl, file: pathlib.Path) -> None:
    """Bring to a namespace what pods with an agent need there, as docs/agent.md says."""
    manifests = kubectl('kustomize', str(deployment.ROOT / 'config' / 'agent-barrier'))
    mine = manifests.replace('namespace: default', f'namespace: {here.name}')
    kubectl('apply', '--server-side', '--force-conflicts', '-f', '-', stdin=mine)
    kubectl('-n', here.name, 'create', 'configmap', 'jobset-agent', f'--from-file={file}')


def in_place(mode: str, name: str, *, pods: int, program: Sequence[str], image: str = '') -> Object:
    """The sample of that mode with so many pods, whose workers run a program and have the grace that is the default."""
    [one] = copy.deepcopy(sample(f'in-place/{mode}.yaml'))
    one['metadata']['name'] = name
    job = one['spec']['replicatedJobs'][0]['template']['spec']
    job['completions'] = job['parallelism'] = pods // JOBS
    del job['template']['spec']['terminationGracePeriodSeconds']
    [worker] = job['template']['spec']['containers']
    worker['image'] = image or worker['image']
    begun = worker['command'].index('--') + 1 if '--' in worker['command'] else 0
    worker['command'], worker['args'] = [*worker['command'][:begun], *program], []
    return one


def recreated(name: str, *, pods: int, program: Sequence[str], image: str = BUSYBOX) -> Object:
    """The same workers without agents, whose pods are made anew."""
    container = {'name': 'worker', 'image': image, 'command': [*program]}
    pod = {'restartPolicy': 'Never', 'containers': [container]}
    job = {'backoffLimit': 0, 'completions': pods // JOBS, 'parallelism': pods // JOBS, 'template': {'spec': pod}}
    worker = {'name': 'worker', 'replicas': JOBS, 'template': {'spec': job}}
    return jobset(name, worker, failurePolicy={'maxRestarts': 3, 'restartStrategy': 'Recreate'})


def in_attempt(here: Space, name: str, number: int, *, pods: int) -> Objects:
    """The pods once all run in an attempt in place: a container may run whose agent still waits for the others."""
    here.until_jobset(
        name,
        lambda one: one.get('status', {}).get('currentInPlaceRestartAttempt') == number,
        what=f'attempt {number}',
    )
    return all_run(here, name, pods=pods, restarts=number)


def all_run(here: Space, name: str, *, pods: int, restarts: int = 0, made: int = 0) -> Objects:
    """The pods of the JobSet once all of their workers run, after so many restarts in place and of the whole set."""

    def of(seen: Objects) -> Objects:
        return {
            each: pod
            for each, pod in seen.items()
            if each.startswith(f'{name}-worker-')
            and attempt(pod) == made
            and 'deletionTimestamp' not in pod['metadata']
            and _runs(pod, restarts=restarts)
        }

    seen = here.until('pods', lambda seen: len(of(seen)) == pods, what=f'{pods} workers of {name} to run')
    return of(seen)


def _runs(pod: Object, *, restarts: int) -> bool:
    """Whether the worker of a pod runs for the time after so many restarts."""
    held = [each for each in pod['status'].get('containerStatuses', []) if each['name'] == 'worker']
    return [('running' in each['state'], each['restartCount']) for each in held] == [(True, restarts)]


def victim(pods: Objects) -> str:
    """The pod whose worker is to fail: neither the first nor the last one."""
    return next(name for name in sorted(pods) if '-worker-1-3-' in name)
