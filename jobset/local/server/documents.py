"""What the server says about itself: discovery, OpenAPI, version, health."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from jobset.local.describing import discovery, openapi, versions
from jobset.local.objects import Object
from jobset.local.schemas import documents
from jobset.local.server import answers, queries, refusals
from jobset.local.server.answers import TEXT, Answer, Call
from jobset.local.server.registry import Registry

_HEALTH: Final = frozenset({'healthz', 'livez', 'readyz'})

Documents = Callable[[], Mapping[str, bytes]]
"""OpenAPI v3 documents as JSON by path (``apis/batch/v1``), of the kinds that are served at the moment."""


class Served:
    """The documents of all kinds that are served at the moment."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._revision = -1
        self._documents: Mapping[str, bytes] = {}

    def __call__(self) -> Mapping[str, bytes]:
        if self._revision != self._registry.revision:
            self._revision = self._registry.revision
            self._documents = documents.served(self._registry.kinds)
        return self._documents


class About:
    """Answers everything outside the objects. Answers are kept until the kinds change."""

    def __init__(self, registry: Registry, documents: Documents, address: Callable[[], str]) -> None:
        self._registry = registry
        self._documents = documents
        self._address = address
        self._kept: dict[object, tuple[Object, str]] = {}
        self._revision = -1
        self._hashes: dict[str, str] = {}

    def answer(self, call: Call, params: queries.Params) -> Answer:
        """The answer to a path that leads to no objects."""
        path = call.path.rstrip('/')
        parts = path.strip('/').split('/')
        if parts[0] in ('api', 'apis'):
            found = self._discovery(parts, call)
        elif parts[0] == 'openapi':
            found = self._openapi(parts, params)
        else:
            found = self._plain(parts)
        if found is None:
            known = parts[0] == 'api' or (len(parts) > 1 and self._registry.has_group(parts[1]))
            if not known:
                return refusals.page_not_found()
            raise refusals.unknown_path()
        if call.method not in ('GET', 'HEAD'):
            raise refusals.method_not_allowed()
        return found

    def _plain(self, parts: list[str]) -> Answer | None:
        match parts:
            case ['']:
                return Answer.of(discovery.paths(self._registry.kinds))
            case ['version']:
                return Answer(200, msgspec.json.format(answers.encode(versions.version()), indent=2))
            case [first, *_] if first in _HEALTH:
                return Answer(200, b'ok', TEXT)
            case _:
                return None

    def _discovery(self, parts: list[str], call: Call) -> Answer | None:  # noqa: PLR0911 - a table
        kinds = self._registry.kinds
        match parts:
            case ['api' | 'apis'] if discovery.accepts_aggregated(call.accept):
                is_core = parts == ['api']
                return self._keep(
                    (*parts, 'all'), lambda: discovery.aggregated(kinds, is_core=is_core), discovery.AGGREGATED
                )
            case ['api']:
                return Answer.of(discovery.core(kinds, self._address()))
            case ['apis']:
                return self._keep('apis', lambda: discovery.groups(kinds))
            case ['apis', group]:
                return self._keep(group, lambda: discovery.group(kinds, group))
            case ['api', version]:
                return self._keep(('', version), lambda: discovery.resource_list(kinds, '', version))
            case ['apis', group, version]:
                return self._keep((group, version), lambda: discovery.resource_list(kinds, group, version))
            case _:
                return None

    def _keep(self, key: object, make: Callable[[], Object | None], content_type: str = answers.JSON) -> Answer | None:
        if self._revision != self._registry.revision:
            self._kept.clear()
            self._hashes.clear()
            self._revision = self._registry.revision
        kept = self._kept.get(key)
        if kept is None:
            found = make()
            if found is None:
                return None
            kept = self._kept[key] = (found, discovery.etag(found))
        headers = (('ETag', kept[1]), ('Vary', 'Accept')) if content_type != answers.JSON else ()
        return Answer(200, answers.encode(kept[0]), content_type, headers)

    def _openapi(self, parts: list[str], params: queries.Params) -> Answer | None:
        if parts == ['openapi', 'v2']:
            return Answer(200, openapi.DOCUMENT_2, openapi.VERSION_2)
        if parts[1:2] != ['v3']:
            return None
        if self._revision != self._registry.revision:
            self._kept.clear()
            self._hashes.clear()
            self._revision = self._registry.revision
        documents = self._documents()
        if len(parts) == 2:
            for path, document in documents.items():
                if path not in self._hashes:
                    self._hashes[path] = openapi.digest(document)
            return Answer.of(openapi.index(self._hashes))
        path = '/'.join(parts[2:])
        if path not in documents:
            return None
        document = documents[path]
        digest = self._hashes.setdefault(path, openapi.digest(document))
        headers = [('ETag', f'"{digest}"')]
        if params.text('hash') == digest:
            headers.append(('Cache-Control', openapi.IMMUTABLE))
        elif params.text('hash'):
            return Answer(301, b'', TEXT, [('Location', openapi.address(path, digest))])
        return Answer(200, document, answers.JSON, headers)
