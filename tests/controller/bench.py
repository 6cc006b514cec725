"""An executor, or the whole of the passes, over a simulated API server that can be told to fail."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from jobset.api import features, types
from jobset.controller import executor, metrics, passes, world
from jobset.core import plan
from jobset.kube import client, errors, requests, transport
from tests.core import build
from tests.model import api, clock

Refusal = Callable[[requests.Request], errors.ApiError | None]
Guard = Callable[[], None]

KEY = world.Key('default', 'js')


class Line:
    """The connection to the server. ``refuse`` is asked first, and ``heard`` has all requests in their order."""

    def __init__(self, server: api.Server) -> None:
        self.server = server
        self.heard: list[requests.Request] = []
        self.refuse: Refusal = lambda request: None
        self.before: Callable[[requests.Request], None] = lambda request: None
        """What somebody else does just before a request arrives."""

    async def send(self, request: requests.Request) -> bytes:
        self.heard.append(request)
        self.before(request)
        error = self.refuse(request)
        if error is not None:
            raise error
        return self.server.handle(request, manager='jobset')

    def told(self) -> list[str]:
        """The requests as method, kind and name: ``POST jobs js-a-0``, ``PUT jobsets js status``."""
        return [summary(request) for request in self.heard]


def summary(request: requests.Request) -> str:
    """A request in a few words."""
    _, _, path = request.path.partition('/namespaces/default/')
    words = [request.method, *path.split('/')]
    if request.method == 'POST':
        words.append(msgspec.json.decode(request.body or b'')['metadata']['name'])
    return ' '.join(words)


class Bench:
    """One controller without its queue: caches that see the answers to writes, and nothing else unless told."""

    def __init__(self, *, guard: Guard | None = None, gates: features.FeatureGates | None = None) -> None:
        gates = gates or features.FeatureGates()
        self.time = clock.Clock()
        self.server = api.Server(self.time, is_modern=True)
        self.line = Line(self.server)
        self.events: list[plan.Event] = []
        self.when: list[int] = []
        """How many requests had been sent when each event was told."""

        self.keys: list[world.Key] = []
        self.failures = 0
        source = client.Client(cast(transport.Transport, self.line), settings=client.Retrying(attempts=1), guard=guard)
        self.seen = world.World(source, self.keys.append, watches_pods=gates.in_place_restart, now=self.time.now)
        self.measured = metrics.Metrics()
        self.executor = executor.Executor(source, self.seen, self._tell, gates)
        self.passes = passes.Passes(
            self.seen,
            self.executor,
            gates=gates,
            measured=self.measured,
            failures=lambda key: self.failures,
            clock=self.time.now,
            monotonic=lambda: self.time.seconds,
        )

    def _tell(self, jobset: types.JobSet, event: plan.Event) -> None:
        self.events.append(event)
        self.when.append(len(self.line.heard))

    def apply(self, *parts: build.Manifest, **spec: Any) -> types.JobSet:
        """Store the JobSet ``js``, and let the cache know."""
        manifest = {'metadata': {'name': 'js'}, 'spec': {'replicatedJobs': list(parts), **spec}}
        return self.look(msgspec.json.decode(self.server.create('jobsets', build.copy(manifest), manager='user')))

    def look(self, manifest: build.Manifest | None = None) -> types.JobSet:
        """Let the cache see the JobSet as it is stored now."""
        stored = manifest or self.stored()
        jobset = msgspec.json.decode(msgspec.json.encode(stored), type=types.JobSet)
        self.seen.jobsets.observe(jobset)
        return jobset

    def stored(self) -> build.Manifest:
        """The JobSet as the server has it."""
        found = self.server.get('jobsets', 'js')
        assert found is not None
        return found

    def add(self, plural: str, name: str, *, owner: str | None = None, **fields: Any) -> str:
        """Store an object of somebody's, of which the caches do not know; returns its uid."""
        metadata: build.Manifest = {'name': name}
        if owner is not None:
            metadata['ownerReferences'] = [build.OWNER | {'uid': owner}]
        raw = self.server.create(plural, {'metadata': metadata, 'spec': {}, **fields}, manager='somebody')
        uid: str = msgspec.json.decode(raw)['metadata']['uid']
        return uid

    def names(self, plural: str) -> list[str]:
        """What the server has of a kind."""
        return [obj['metadata']['name'] for obj in self.server.view(plural)]

    def condition(self, kind: str) -> build.Manifest | None:
        """A condition of the stored JobSet."""
        conditions = self.stored().get('status', {}).get('conditions', [])
        return next((found for found in conditions if found['type'] == kind), None)


def failing(text: str, error: Callable[[str], errors.ApiError], *, times: int = 10**6) -> Refusal:
    """Refuses requests whose summary begins with ``text``, so many times."""
    left = [times]

    def refuse(request: requests.Request) -> errors.ApiError | None:
        if not summary(request).startswith(text) or left[0] <= 0:
            return None
        left[0] -= 1
        return error(str(request))

    return refuse


def server_error(where: str) -> errors.ApiError:
    return errors.ServerError(500, 'InternalError', 'etcd is away', where=where)


def invalid(where: str) -> errors.ApiError:
    return errors.Invalid(422, 'Invalid', 'spec.completions: Required value', where=where)


def forbidden(where: str) -> errors.ApiError:
    return errors.Forbidden(403, 'Forbidden', 'exceeded quota: count/jobs.batch', where=where)


def conflict(where: str) -> errors.ApiError:
    return errors.Conflict(409, 'Conflict', 'the object has been modified', where=where)


def not_found(where: str) -> errors.ApiError:
    return errors.NotFound(404, 'NotFound', 'namespaces "default" not found', where=where)


def too_many(seconds: float) -> Callable[[str], errors.ApiError]:
    return lambda where: errors.TooManyRequests(429, 'TooManyRequests', 'later', where=where, retry_after=seconds)
