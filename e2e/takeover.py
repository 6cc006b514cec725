"""What the Go controller has left at rest, our controller takes over without touching it.

The states are those that the golden corpus has recorded at the end of its cases, made anew on an API server where
nobody else is at work: no Job controller, no kubelet. Uids are those of the new objects, times those of now.
"""

import datetime
import json
import pathlib
import re
import tempfile
from typing import Final

from e2e import api, controller
from e2e.kubectl import Kubectl
from jobset.api import keys
from jobset.local import patches
from tests.scenarios.api import Api, Object

MADE_BY_SERVER: Final = ('controller-uid', 'batch.kubernetes.io/controller-uid')

VERSIONS: Final = {
    'JobSet': (keys.API_VERSION, keys.PLURAL),
    'Job': ('batch/v1', 'jobs'),
    'Service': ('v1', 'services'),
    'PersistentVolumeClaim': ('v1', 'persistentvolumeclaims'),
}
"""In the order in which they are made: whose uid is asked for must be there."""

NOW: Final = datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
"""In place of each time in a recording."""

SECONDS: Final = 60
"""For one more JobSet to get its Job."""


def compare(kubectl: Kubectl, cases: pathlib.Path) -> int:
    """Have our controller take over all that is at rest; prints what it changed, and returns of how many cases."""
    left = [one for file in sorted(cases.glob('*.json')) if (one := Left(file)).is_at_rest]
    if not left:
        raise FileNotFoundError(f'{cases}: nothing is recorded there that is at rest')
    with api.connected(kubectl) as server, tempfile.TemporaryDirectory() as folder:
        for one in left:
            one.make(server)
        before = {one.name: one.seen(server) for one in left}
        with controller.running(kubectl.kubeconfig, pathlib.Path(folder), arguments=('--disable-webhooks',)):
            # Twice: what was there before is looked at before the first one, and done with before the second.
            for name in ('one-more', 'another-one'):
                _one_more(server, name)
            after = {one.name: one.seen(server) for one in left}
        touched = [one.name for one in left if before[one.name] != after[one.name]]
        for name in touched:
            print(f'FAILED {name}: it was\n  {json.dumps(before[name])}\nand is\n  {json.dumps(after[name])}')
        for one in left:
            server.request('DELETE', f'/api/v1/namespaces/{one.namespace}')
    print(f'{len(left) - len(touched)} taken over, {len(touched)} touched', flush=True)
    return len(touched)


class Left:
    """What a case has left behind, and where it is made anew."""

    def __init__(self, file: pathlib.Path) -> None:
        self.name = file.stem
        self.namespace = f'takeover-{file.stem}'
        state: Object = {}
        for step in json.loads(file.read_text())['steps']:
            state = patches.merge(state, step['change'])
        self.objects = {key: value for key, value in state.items() if key != 'Events'}

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is under way that only those can end who are not here."""
        kinds = {key.split('/')[0] for key in self.objects}
        return 'JobSet' in kinds and kinds <= VERSIONS.keys() and 'deletionTimestamp' not in json.dumps(self.objects)

    def make(self, server: Api) -> None:
        """Create everything, owners first."""
        server.request('POST', '/api/v1/namespaces', {'metadata': {'name': self.namespace}})
        uids: dict[str, str] = {}
        for kind, (version, _) in VERSIONS.items():
            for key in sorted(key for key in self.objects if key.startswith(f'{kind}/')):
                name = key.partition('/')[2]
                wanted = {'apiVersion': version, 'kind': kind} | _sendable(_filled(self.objects[key], uids), name)
                made = server.request('POST', _path(self.namespace, kind), wanted)
                uids[self.objects[key]['metadata']['uid']] = made['metadata']['uid']
                if 'status' in wanted:
                    status = {'status': wanted['status']}
                    server.request('PUT', f'{_path(self.namespace, kind)}/{name}/status', made | status)

    def seen(self, server: Api) -> Object:
        """All Jobs with their versions, and how often the JobSets were restarted.

        The rest of a status may change: some sets that the Go controller leaves without an end have one with us.
        """
        jobs = server.request('GET', _path(self.namespace, 'Job'))['items']
        jobsets = server.request('GET', _path(self.namespace, 'JobSet'))['items']
        return {
            'jobs': {job['metadata']['name']: job['metadata']['resourceVersion'] for job in jobs},
            'restarts': {one['metadata']['name']: one.get('status', {}).get('restarts', 0) for one in jobsets},
        }


def _path(namespace: str, kind: str) -> str:
    version, plural = VERSIONS[kind]
    root = '/apis' if '/' in version else '/api'
    return f'{root}/{version}/namespaces/{namespace}/{plural}'


def _filled(recorded: Object, uids: dict[str, str]) -> Object:
    """The object with uids and times in place of what stands for them."""
    text = re.sub(r'"\$(time|step)[^"]*"', f'"{NOW}"', json.dumps(recorded))
    filled: Object = json.loads(re.sub(r'\$uid:[^"]*', lambda found: uids.get(found[0], 'of-nobody'), text))
    return filled


def _sendable(obj: Object, name: str) -> Object:
    """The object without what the server makes of it, which would refuse to take it from us."""
    metadata = obj.setdefault('metadata', {})
    metadata['name'] = name
    metadata.pop('uid', None)
    metadata.pop('generation', None)
    spec = obj.get('spec') or {}
    if 'completionMode' in spec:
        spec.pop('selector', None)
        for labels in (metadata.get('labels'), spec['template']['metadata'].get('labels')):
            for key in MADE_BY_SERVER:
                (labels or {}).pop(key, None)
    if 'clusterIP' in spec:
        spec['clusterIPs'] = [spec['clusterIP']]
    return obj


def _one_more(server: Api, name: str) -> None:
    template = {'spec': {'template': {'spec': {'containers': [{'name': 'c', 'image': 'i'}], 'restartPolicy': 'Never'}}}}
    wanted = {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': name},
        'spec': {'replicatedJobs': [{'name': 'main', 'template': template}]},
    }
    server.request('POST', _path('default', 'JobSet'), wanted)
    server.until(
        _path('default', 'Job'), lambda jobs: f'{name}-main-0' in jobs, seconds=SECONDS, what=f'the Job of {name}'
    )
