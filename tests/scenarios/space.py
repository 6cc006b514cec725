"""One namespace of the cluster, as a test sees it: what it applies there, and what it waits for."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import yaml

from jobset.api import keys
from tests.scenarios.api import SECONDS, Api, History, Object, Objects

SAMPLES: Final = pathlib.Path(__file__).parents[2] / 'samples'
MARK: Final = 'jobset-e2e'
"""Label of the namespaces that tests make."""

BUSYBOX: Final = 'busybox'

APPLY: Final = 'application/apply-patch+yaml'

PLURALS: Final = {
    'ConfigMap': 'configmaps',
    keys.KIND: 'jobsets',
    'PersistentVolumeClaim': 'persistentvolumeclaims',
    'Pod': 'pods',
    'ResourceQuota': 'resourcequotas',
    'Service': 'services',
    'ServiceAccount': 'serviceaccounts',
}
"""What samples and scenarios apply."""


class Place(Protocol):
    """Where the space is: a real cluster, or the embedded control plane."""

    @property
    def server(self) -> Api:
        """Its API server."""

    def execute(self, namespace: str, pod: str, *command: str) -> None:
        """Run a command in a running pod, and see that it succeeds."""

    def diagnosis(self, namespace: str) -> str:
        """What helps to find out why something did not happen."""


class Space:
    """A namespace of its own for one test."""

    def __init__(self, place: Place, name: str) -> None:
        self.server = place.server
        self.name = name
        self._place = place
        body = {'metadata': {'name': name, 'labels': {MARK: 'true'}}}
        self.server.request('POST', '/api/v1/namespaces', body)

    def execute(self, pod: str, *command: str) -> None:
        """Run a command in a running pod."""
        self._place.execute(self.name, pod, *command)

    def path(self, plural: str, name: str = '') -> str:
        """Where objects of a kind are in this namespace, or one of them."""
        prefix = {
            'jobsets': f'/apis/{keys.API_VERSION}',
            'jobs': '/apis/batch/v1',
            'events': '/apis/events.k8s.io/v1',
            'podgroups': '/apis/scheduling.k8s.io/v1beta1',
            'workloads': '/apis/scheduling.k8s.io/v1beta1',
        }.get(plural, '/api/v1')
        return f'{prefix}/namespaces/{self.name}/{plural}{name and "/" + name}'

    def apply(self, manifest: pathlib.Path | Object) -> None:
        """Apply a file, or one object, as ``kubectl apply --server-side`` does."""
        objects = _documents(manifest) if isinstance(manifest, pathlib.Path) else [manifest]
        for one in objects:
            path = self.path(PLURALS[one['kind']], one['metadata']['name'])
            self.server.request('PATCH', path, one, content_type=APPLY, query={'fieldManager': 'scenarios'})

    def delete(self, plural: str, name: str, propagation: str = 'Background') -> None:
        """Ask for the deletion of an object."""
        self.server.request('DELETE', self.path(plural, name), {'propagationPolicy': propagation})

    def delete_foreground(self, name: str) -> None:
        """Delete a JobSet with all that belongs to it, and wait until it is gone."""
        self.delete('jobsets', name, 'Foreground')
        self.until('jobsets', lambda seen: name not in seen, what=f'{name} to go')

    def patch(self, plural: str, name: str, *operations: Object) -> Object:
        """Change an object in one request."""
        content_type = 'application/json-patch+json'
        return self.server.request('PATCH', self.path(plural, name), list(operations), content_type=content_type)

    def all(self, plural: str) -> Objects:
        """All objects of a kind as they are now."""
        return self.server.snapshot(self.path(plural))[0]

    def jobset(self, name: str) -> Object:
        """A JobSet as it is now."""
        return self.server.request('GET', self.path('jobsets', name))

    def until(self, plural: str, holds: Callable[[Objects], bool], *, what: str) -> Objects:
        """Objects of a kind at the first moment at which ``holds`` is true of them."""
        try:
            return self.server.until(self.path(plural), holds, what=f'{self.name}: {what}')
        except AssertionError as error:
            raise AssertionError(f'{error}\n{self._place.diagnosis(self.name)}') from None

    def until_jobset(self, name: str, holds: Callable[[Object], bool], *, what: str) -> Object:
        """A JobSet at the first moment at which ``holds`` is true of it."""
        return self.until('jobsets', lambda seen: name in seen and holds(seen[name]), what=what)[name]

    def until_condition(self, name: str, kind: str, status: str = 'True') -> Object:
        """A JobSet once it has a condition."""
        return self.until_jobset(
            name, lambda one: _told(one).get(kind, ('', ''))[0] == status, what=f'{name} to be {kind}={status}'
        )

    @contextlib.contextmanager
    def history(self, plural: str) -> Iterator[History]:
        """All changes of a kind during the block."""
        with History(self.server, self.path(plural)) as story:
            yield story

    def log(self, pod: str) -> list[str]:
        """The lines that a pod has printed."""
        return self.server.text(self.path('pods', pod) + '/log').splitlines()

    def until_line(self, pod: str, start: str) -> None:
        """Follow the log of a pod until a line begins so. Raises :class:`AssertionError` when none does."""
        lines: list[str] = []
        for line in self.server.follow(f'{self.path("pods", pod)}/log', seconds=SECONDS):
            lines.append(line)
            if line.startswith(start):
                return
        raise AssertionError(f'{self.name}: no line "{start}..." of {pod}; its last ones are\n{"".join(lines[-10:])}')

    def logs(self, job: str) -> list[str]:
        """The lines of all pods of a Job, in the order of their indexes."""
        pods = self.server.snapshot(self.path('pods'), {'labelSelector': f'batch.kubernetes.io/job-name={job}'})[0]
        return [line for pod in sorted(pods) for line in self.log(pod)]


def sample(name: str) -> list[Object]:
    """The objects of a sample."""
    return _documents(SAMPLES / name)


def _documents(file: pathlib.Path) -> list[Object]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]


def jobset(name: str, *replicated: Object, **spec: object) -> Object:
    """A JobSet to apply."""
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': name},
        'spec': {'replicatedJobs': list(replicated), **spec},
    }


def replicated(
    name: str,
    command: str,
    *,
    replicas: int = 1,
    pods: int = 1,
    grace_seconds: int = 1,
    depends_on: Object | None = None,
    **pod: object,
) -> Object:
    """A replicated job whose pods run a shell command once; they know their ``$ATTEMPT``."""
    attempt = {'fieldRef': {'fieldPath': f"metadata.annotations['{keys.RESTART_ATTEMPT}']"}}
    container = {
        'name': 'main',
        'image': BUSYBOX,
        'command': ['sh', '-c', command],
        'env': [{'name': 'ATTEMPT', 'valueFrom': attempt}],
    }
    spec = {
        'restartPolicy': 'Never',
        'terminationGracePeriodSeconds': grace_seconds,
        'containers': [container],
        **pod,
    }
    job = {'backoffLimit': 0, 'completions': pods, 'parallelism': pods, 'template': {'spec': spec}}
    one: Object = {'name': name, 'replicas': replicas, 'template': {'spec': job}}
    return one if depends_on is None else one | {'dependsOn': [depends_on]}


def conditions(one: Object) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition, but for waits that are over: only a slow machine has them."""
    return {kind: told for kind, told in _told(one).items() if (kind, told[0]) != ('Waiting', 'False')}


def _told(one: Object) -> dict[str, tuple[str, str]]:
    return {each['type']: (each['status'], each['reason']) for each in one.get('status', {}).get('conditions', [])}


def message(one: Object, kind: str) -> str:
    """The message of a condition."""
    return next(str(each['message']) for each in one['status']['conditions'] if each['type'] == kind)


def counters(one: Object) -> dict[str, dict[str, int]]:
    """The counters of each replicated job that are not zero."""
    return {
        entry['name']: {key: value for key, value in entry.items() if key != 'name' and value}
        for entry in one.get('status', {}).get('replicatedJobsStatus', [])
    }


def attempt(child: Object) -> int:
    """The attempt that a Job or a pod belongs to."""
    return int(child['metadata']['labels'][keys.RESTART_ATTEMPT])


def state(job: Object) -> str:
    """Complete or Failed where the Job has ended, else Suspended or Active."""
    held = {each['type'] for each in job.get('status', {}).get('conditions', []) if each['status'] == 'True'}
    return next((kind for kind in ('Complete', 'Failed', 'Suspended') if kind in held), 'Active')
