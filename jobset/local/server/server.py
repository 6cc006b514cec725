"""The server without HTTP: which verb a request means, and who answers it."""

import logging
from collections.abc import Sequence
from typing import Final

from jobset.local import patches, resources
from jobset.local.patches import fields
from jobset.local.problems import Problem
from jobset.local.server import (
    access,
    creating,
    definitions,
    deleting,
    documents,
    feeds,
    logs,
    namespaces,
    patching,
    planes,
    protobuf,
    queries,
    reading,
    refusals,
    registry,
    subresources,
    updating,
    watching,
)
from jobset.local.server.answers import Answer, Call, Stream, warnings
from jobset.local.server.registry import Target
from jobset.local.store import journal, storage
from jobset.local.store.records import Event

logger = logging.getLogger(__name__)

_WEBHOOKS: Final = (
    'mutatingwebhookconfigurations.admissionregistration.k8s.io',
    'validatingwebhookconfigurations.admissionregistration.k8s.io',
)


_BINDINGS: Final = '/bindings'


class Server:
    """Answers the REST interface of Kubernetes for the objects of one store.

    Lives in one event loop. ``kinds`` are the built-in ones; those of definitions come and go with them.
    """

    def __init__(
        self,
        store: storage.Store,
        kinds: Sequence[resources.Kind],
        *,
        now: planes.Now,
        admission: planes.Admission | None = None,
        log_source: logs.LogSource | None = None,
        openapi: documents.Documents | None = None,
        ownership: planes.Ownership = fields,
        patching_by: planes.Patching = patches,
        watch_settings: feeds.Watching | None = None,
    ) -> None:
        self.store = store
        self.registry = registry.Registry(kinds)
        self.address = '127.0.0.1'
        """What discovery says about where the server is; the listener writes it here."""

        plane = self._plane = planes.Plane(
            store=store,
            registry=self.registry,
            admission=admission,
            now=now,
            fields=ownership,
            patches=patching_by,
            log_source=log_source,
        )
        custom = definitions.Definitions(plane)
        self._gate = namespaces.Gate(plane)
        self._reader = reading.Reader(plane)
        self._watcher = watching.Watcher(plane, watch_settings or feeds.Watching())
        self._creator = creating.Creator(plane, self._gate, custom)
        self._updater = updating.Updater(plane, custom)
        self._patcher = patching.Patcher(plane, self._creator, self._updater)
        self._deleter = deleting.Deleter(plane)
        self._subresources = subresources.Subresources(plane, self._updater, self._deleter)
        self._about = documents.About(self.registry, openapi or documents.Served(self.registry), lambda: self.address)
        self._definitions = custom
        self._started = False
        if admission is not None:
            for key in _WEBHOOKS:
                store.subscribe(key, self._configure)
            self._configure(None)

    async def answer(self, call: Call) -> Answer | Stream:
        """The answer to a request. Never raises, but for cancellation and faults of this server."""
        answer = await self._complete(call)
        if call.said:
            answer.headers = (*answer.headers, *warnings(call.said))
        return answer

    async def _complete(self, call: Call) -> Answer | Stream:
        try:
            return await self._answer(call)
        except Problem as problem:
            return Answer.refusal(problem)
        except journal.Unwritable as error:
            logger.error('%s %s: nothing was stored: %s', call.method, call.path, error)
            return Answer.refusal(_unwritable(error))
        except RecursionError:
            return Answer.refusal(Problem.bad_request('the object is nested too deeply'))

    def close(self) -> None:
        """Ends all watches."""
        self._watcher.close()

    async def _answer(self, call: Call) -> Answer | Stream:
        if not self._started:
            # Only now, because it may have to write, and time to pass.
            self._started = True
            self._definitions.clean_with(self._deleter.remove_now)
        params = queries.Params(call.query)
        target = self.registry.target(call.path)
        if protobuf.is_it(call.content_type) and not (target and self.registry.is_custom(target.kind)):
            call = protobuf.as_json(call)
        if call.method == 'POST' and call.path.endswith(_BINDINGS):
            bound = self._bindings(call.path)
            if bound is not None:
                return await self._subresources.bind(bound, call, params)
        if target is None and access.is_asked(call.path):
            return access.answer(call, self._plane.now)
        if target is None:
            return self._about.answer(call, params)
        if target.subresource:
            return await self._subresource(target, call, params)
        if target.name and not target.is_watch:
            return await self._item(target, call, params)
        return await self._collection(target, call, params)

    async def _collection(self, target: Target, call: Call, params: queries.Params) -> Answer | Stream:
        verbs = target.kind.verbs
        match call.method:
            case 'GET' if target.is_watch or params.flag('watch'):
                _demand(verbs, 'watch')
                return self._watcher.watch(target, call, params)
            case 'GET':
                _demand(verbs, 'list')
                return self._reader.list(target, call, params)
            case 'POST':
                _demand(verbs, 'create')
                return await self._creator.create(target, call, params)
            case 'DELETE':
                _demand(verbs, 'deletecollection')
                if namespaces.is_namespace(target.kind) or (target.kind.namespaced and not target.namespace):
                    raise refusals.method_not_allowed()
                return await self._deleter.delete_collection(target, call, params)
            case _:
                raise refusals.method_not_allowed()

    async def _item(self, target: Target, call: Call, params: queries.Params) -> Answer:
        verbs = target.kind.verbs
        match call.method:
            case 'GET':
                _demand(verbs, 'get')
                return self._reader.get(target, call, params)
            case 'PUT':
                _demand(verbs, 'update')
                return await self._updater.replace(target, call, params)
            case 'PATCH':
                _demand(verbs, 'patch')
                return await self._patcher.patch(target, call, params)
            case 'DELETE':
                _demand(verbs, 'delete')
                return await self._deleter.delete(target, call, params)
            case _:
                raise refusals.method_not_allowed()

    async def _subresource(self, target: Target, call: Call, params: queries.Params) -> Answer | Stream:
        kind, name = target.kind, target.subresource
        is_connection = kind.key == 'pods' and name in ('exec', 'attach', 'portforward')
        is_finalize = namespaces.is_namespace(kind) and name == 'finalize'
        if name not in kind.subresources and not is_connection and not is_finalize:
            raise refusals.unknown_path()
        match name, call.method:
            case 'status', 'GET':
                return self._reader.get(target, call, params)
            case ('status', 'PUT') | ('finalize', 'PUT'):
                return await self._updater.replace(target, call, params)
            case 'status', 'PATCH':
                return await self._patcher.patch(target, call, params)
            case 'log', 'GET':
                return self._subresources.log(target, params)
            case _, 'GET' if is_connection:
                raise self._subresources.no_connection(target)
            case _, 'POST':
                return await self._subresources.post(target, call, params)
            case _:
                raise refusals.method_not_allowed()

    def _bindings(self, path: str) -> Target | None:
        """The collection of Bindings, which are not kept: each is what becomes of its pod."""
        parts = path.strip('/').split('/')
        pods = self.registry.find('', 'v1', 'pods')
        if (
            len(parts) == 5
            and parts[:3] == ['api', 'v1', 'namespaces']
            and parts[4] == _BINDINGS[1:]
            and pods is not None
        ):
            return Target(pods, parts[3])
        return None

    def _configure(self, event: Event | None) -> None:
        admission = self._plane.admission
        if admission is not None:
            mutating, validating = ([one.decode() for one in self.store.walk(key)] for key in _WEBHOOKS)
            admission.configure(mutating=mutating, validating=validating)


def _demand(verbs: Sequence[str], verb: str) -> None:
    if verb not in verbs:
        raise refusals.method_not_allowed()


def _unwritable(error: journal.Unwritable) -> Problem:
    if error.full:
        text = f'nothing was stored: {error}. Make some space there, then try again'
        return Problem(507, 'InsufficientStorage', text, retry_after=5)
    return Problem(500, 'InternalError', f'nothing was stored: {error}')
