"""One run of files on an embedded cluster: applied, followed to their ends, summed up."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from jobset.api import keys
from jobset.cli import failures, following, views
from jobset.client import kinds, manifests, objects, together
from jobset.kube import errors, requests

if TYPE_CHECKING:
    from jobset.local import cluster

TIMED_OUT: Final = 124
"""Exit code of a run that took too long, as ``timeout`` has it."""

NAMESPACE: Final = 'default'


class Run:
    """The objects of some files on a cluster."""

    def __init__(self, running: 'cluster.Cluster', view: views.View, *, namespace: str | None = None) -> None:
        self._cluster = running
        self._view = view
        self._namespace = namespace
        self._namespaces = {NAMESPACE}

    async def play(self, documents: Sequence[manifests.Document], *, timeout: float | None) -> list[following.Ending]:  # noqa: ASYNC109 - a run that took too long has an ending, too
        """Apply all objects in their order, and follow the JobSets among them to their ends."""
        names = [await self._apply(document) for document in documents]
        is_alone = sum(map(_is_jobset, documents)) == 1
        followers = [
            following.Follower(self._cluster.jobsets, self._view, namespace=where, name=name, is_alone=is_alone)
            for document, (where, name) in zip(documents, names, strict=True)
            if _is_jobset(document)
        ]
        try:
            async with asyncio.timeout(timeout):
                await together.all_of((each.run() for each in followers), at_once=len(followers))
        except TimeoutError:
            for each in followers:
                each.give_up()
        return [each.ending for each in followers]

    async def _apply(self, document: manifests.Document) -> tuple[str, str]:
        """Namespace and name of the object as it is stored."""
        source = self._cluster.api
        resource = await kinds.of_object(source, document.api_version, document.kind)
        where = self._namespace_of(document) if resource.namespaced else None
        if where is not None:
            await self._ensure(where)
        try:
            if document.obj['metadata'].get('name'):
                _, stored = await objects.apply(source, resource, where, document.obj)
            else:
                stored = await objects.create(source, resource, where, document.obj)
        except errors.ApiError as error:
            raise failures.Failure(_refused(document, error)) from error
        return where or '', stored['metadata']['name']

    def _namespace_of(self, document: manifests.Document) -> str:
        return str(document.obj['metadata'].get('namespace') or self._namespace or NAMESPACE)

    async def _ensure(self, namespace: str) -> None:
        """A file for a real cluster names namespaces that are there; here nobody else makes them."""
        if namespace in self._namespaces:
            return
        with contextlib.suppress(errors.AlreadyExists):
            body = {'metadata': {'name': namespace}}
            await self._cluster.api.send(requests.create(requests.NAMESPACES, None, body))
        self._namespaces.add(namespace)


def exit_code(endings: Sequence[following.Ending]) -> int:
    """That of the first JobSet that did not complete; 0 when all did."""
    for ending in endings:
        if not ending.state:
            return TIMED_OUT
        if ending.exit_code:
            return ending.exit_code
    return 0


def _is_jobset(document: manifests.Document) -> bool:
    return document.kind == keys.KIND and document.api_version == keys.API_VERSION


def _refused(document: manifests.Document, error: errors.ApiError) -> str:
    if error.causes:
        return '\n'.join(str(document.problem(cause.field.lstrip('.'), cause.message)) for cause in error.causes)
    return f'{document.file}:{document.line}: {error.message}'
