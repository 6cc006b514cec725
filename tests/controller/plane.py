"""An API server over HTTP that a whole controller can run against: discovery, status, reviews of callers."""

import contextlib
import pathlib
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import yaml

from jobset.controller import metrics, serving, world
from jobset.controller.manager import NEEDED
from jobset.kube import auth, requests, transport
from tests.kube import fakes

POD_SPEC: Final[dict[str, Any]] = {'containers': [{'name': 'main', 'image': 'busybox'}]}


_ROOTS: Final[dict[str, dict[str, Any]]] = {'/api': {'versions': []}, '/apis': {'groups': []}}


class Plane(fakes.Server):
    """``kinds`` are served; what is not there answers 404, in discovery and elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.streams_lists = False
        self.kinds = {*NEEDED, requests.PODS, requests.LEASES, requests.EVENTS}
        self.tokens: dict[str, str] = {}
        """Who has which bearer token."""

        self.readers: set[str] = set()
        """Who may read metrics."""

        self.refuse: Callable[[fakes.Seen], fakes.Answer | None] = lambda seen: None

    def _serve(self, seen: fakes.Seen) -> fakes.Answer:  # noqa: PLR0911 - one for each thing that can be asked
        refused = self.refuse(seen)
        if refused is not None:
            return refused
        if seen.path in _ROOTS:
            return fakes.Answer(body=_ROOTS[seen.path])
        found = [kind for kind in self.kinds if kind.collection().rpartition('/')[0] == seen.path]
        if found:
            return fakes.Answer(body={'resources': [{'name': kind.plural} for kind in found]})
        body: dict[str, Any] = requests_body(seen)
        if seen.path == serving.TOKEN_REVIEWS.collection():
            user = self.tokens.get(body['spec']['token'])
            status = {'authenticated': user is not None, 'user': {'username': user, 'groups': ['all']}}
            return fakes.Answer(201, body | {'status': status})
        if seen.path == serving.ACCESS_REVIEWS.collection():
            return fakes.Answer(201, body | {'status': {'allowed': body['spec']['user'] in self.readers}})
        if not any(_is_of(kind, seen.path) for kind in self.kinds):
            return fakes.refusal(404, 'NotFound', '404 page not found')
        if seen.method == 'PUT' and seen.path.endswith('/status'):
            return self._replace_status(seen, body)
        return super()._serve(seen)

    # All watches and lists of a controller are cluster-wide, so that is how places in the history are named.

    def _record(self, kind: str, path: str, obj: fakes.Json) -> None:
        super()._record(kind, _cluster_wide(path), obj)

    def _list(self, seen: fakes.Seen) -> fakes.Answer:
        return fakes.Answer(body={'metadata': {'resourceVersion': str(self.version)}, 'items': self._all(seen)})

    def _all(self, seen: fakes.Seen) -> list[fakes.Json]:
        root = seen.path + '/'
        return [self.objects[path] for path in sorted(self.objects) if _cluster_wide(path).startswith(root)]

    def _replace_status(self, seen: fakes.Seen, body: dict[str, Any]) -> fakes.Answer:
        path = seen.path.removesuffix('/status')
        held = self.objects[path]
        if body['metadata']['resourceVersion'] != held['metadata']['resourceVersion']:
            return fakes.refusal(409, 'Conflict', 'the object has been modified')
        return fakes.Answer(body=self._store(path, held | {'status': body['status']}, 'MODIFIED'))

    def apply(self, name: str = 'js', replicas: int = 1, **spec: Any) -> None:
        """Store a JobSet of one replicated job ``a``."""
        template = {'spec': {'template': {'spec': POD_SPEC}}}
        parts = [{'name': 'a', 'replicas': replicas, 'template': template}]
        self.put(world.JOBSETS, 'default', name, spec={'replicatedJobs': parts, **spec})

    def names(self, resource: requests.Resource) -> list[str]:
        """What there is of a kind in the namespace ``default``."""
        root = resource.collection('default') + '/'
        return sorted(path.removeprefix(root) for path in self.objects if path.startswith(root))

    def writes(self) -> list[str]:
        """The requests that changed something, but for leases."""
        wrote = [one for one in self.seen if one.method in requests.WRITES]
        return [str(one) for one in wrote if requests.LEASES.plural not in one.path]


def _cluster_wide(path: str) -> str:
    return re.sub('/namespaces/[^/]+', '', path)


def _is_of(kind: requests.Resource, path: str) -> bool:
    root = kind.collection().rpartition('/')[0]
    return path.startswith(root + '/') and kind.plural in path.removeprefix(root).split('/')


def requests_body(seen: fakes.Seen) -> dict[str, Any]:
    """What a request carries."""
    decoded: dict[str, Any] = yaml.safe_load(seen.body) if seen.body else {}
    return decoded


@contextlib.asynccontextmanager
async def carrier(server: fakes.Server) -> AsyncIterator[transport.Transport]:
    """A connection to the server, over HTTP."""
    async with fakes.served(server) as url, transport.Transport(auth.Plain(url), user_agent='test') as line:
        yield line


def kubeconfig(folder: pathlib.Path, url: str, *, token: str | None = None) -> str:
    """A file that leads to the server; returns its path."""
    user = {'token': token} if token else {}
    path = folder / 'kubeconfig'
    config = {
        'apiVersion': 'v1',
        'kind': 'Config',
        'clusters': [{'name': 'c', 'cluster': {'server': url}}],
        'users': [{'name': 'u', 'user': user}],
        'contexts': [{'name': 'x', 'context': {'cluster': 'c', 'user': 'u', 'namespace': 'default'}}],
        'current-context': 'x',
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)


def sample(measured: metrics.Metrics, metric: str, /, **labels: str) -> float | None:
    """The value of a metric."""
    value: float | None = measured.registry.get_sample_value(metric, labels)
    return value
