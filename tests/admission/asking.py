"""Reviews as an API server sends them, and their answers: what the tests of admission have in common."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobset.admission import pods, reviews
from jobset.api import features, validation
from jobset.api.pods import Pod
from jobset.core import placement

GATES = features.FeatureGates()

JOBSET_KIND = {'group': 'jobset.x-k8s.io', 'version': 'v1alpha2', 'kind': 'JobSet'}
POD_KIND = {'group': '', 'version': 'v1', 'kind': 'Pod'}


def review(
    obj: Any = None,
    old: Any = None,
    *,
    operation: str = 'CREATE',
    kind: Mapping[str, str] = JOBSET_KIND,
    **more: Any,
) -> bytes:
    request = {
        'uid': '705ab4f5-6393-11e8-b7cc-42010a800002',
        'kind': kind,
        'resource': {'group': kind['group'], 'version': kind['version'], 'resource': f'{kind["kind"].lower()}s'},
        'requestKind': kind,
        'name': 'train',
        'namespace': 'team-a',
        'operation': operation,
        'userInfo': {'username': 'somebody', 'groups': ['system:authenticated']},
        'object': obj,
        'oldObject': old,
        'dryRun': True,
        'options': {'kind': 'CreateOptions', 'apiVersion': 'meta.k8s.io/v1'},
        **more,
    }
    return json.dumps({'kind': 'AdmissionReview', 'apiVersion': 'admission.k8s.io/v1', 'request': request}).encode()


async def nothing_exists(_: str, __: Sequence[str]) -> Mapping[str, validation.Found]:
    return {}


class Standing:
    """Leaders that are where they are, and labels of nodes by name."""

    def __init__(self, *standing: Pod, nodes: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._pods = standing
        self._nodes = nodes or {}

    async def find(self, follower: Pod, name: placement.LeaderName) -> Pod | placement.NoLeader:
        return await self.look(follower, name)

    async def look(self, follower: Pod, name: placement.LeaderName) -> Pod | placement.NoLeader:
        candidates = [pod for pod in self._pods if placement.name_of(pod) == name]
        return placement.leader_of(follower, name, candidates)

    def known(self, follower: Pod, name: placement.LeaderName) -> Pod | placement.NoLeader:
        return placement.NoLeader('nobody has told us')

    def known_domain(self, node: str, topology: str) -> str | None:
        return None

    async def domain(self, node: str, topology: str) -> str:
        if node not in self._nodes:
            raise pods.NodeNotFoundError(f'Node "{node}" not found')
        if topology not in self._nodes[node]:
            raise pods.NotYetError(f'node does not have topology label: {topology}')
        return self._nodes[node][topology]


NOBODY: Final = Standing()


async def answer(
    path: str,
    body: bytes,
    *,
    look_up: reviews.LookUp = nothing_exists,
    leaders: pods.Leaders = NOBODY,
) -> Any:
    expected, handler = reviews.routes(gates=GATES, look_up=look_up, leaders=leaders)[path]
    request = reviews.decode(body, expected)
    return json.loads(reviews.encode(request.uid, await reviews.answered(handler, request)))


def responded(**response: Any) -> dict[str, Any]:
    return {
        'apiVersion': 'admission.k8s.io/v1',
        'kind': 'AdmissionReview',
        'response': {'uid': '705ab4f5-6393-11e8-b7cc-42010a800002', **response},
    }


def patched(*operations: Mapping[str, Any]) -> dict[str, Any]:
    encoded = base64.b64encode(json.dumps(operations, separators=(',', ':')).encode()).decode()
    return responded(allowed=True, patchType='JSONPatch', patch=encoded)


ALLOWED = responded(allowed=True)


def jobset(*, replicas: Any = 1, name: str = 'train', **spec: Any) -> dict[str, Any]:
    """A JobSet with every default."""
    pod = {'restartPolicy': 'OnFailure', 'containers': [{'name': 'main', 'image': 'busybox'}]}
    return {
        'apiVersion': 'jobset.x-k8s.io/v1alpha2',
        'kind': 'JobSet',
        'metadata': {'name': name, 'namespace': 'team-a'},
        'spec': {
            'replicatedJobs': [
                {
                    'name': 'workers',
                    'groupName': 'default',
                    'replicas': replicas,
                    'template': {'spec': {'completionMode': 'Indexed', 'template': {'spec': pod}}},
                }
            ],
            'network': {'enableDNSHostnames': True, 'publishNotReadyAddresses': True},
            'successPolicy': {'operator': 'All'},
            'startupPolicy': {'startupPolicyOrder': 'AnyOrder'},
            **spec,
        },
    }


def pod(
    *,
    annotations: Any = None,
    labels: Any = None,
    priority: Any = 7,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {'generateName': 'train-workers-0-0-'}
    if labels is not None:
        metadata['labels'] = labels
    if annotations is not None:
        metadata['annotations'] = annotations
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': {'priority': priority, 'containers': []}}


OURS = {'jobset.sigs.k8s.io/jobset-name': 'train'}
