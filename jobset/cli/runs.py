"""One run of files on an embedded cluster: applied, followed to their ends, summed up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from jobset.api import keys
from jobset.cli import failures, progress, views
from jobset.cli.progress import Line, Tone
from jobset.client import kinds, lines, manifests, objects, together
from jobset.client.families import Family
from jobset.core import conditions
from jobset.kube import errors, requests

if TYPE_CHECKING:
    from jobset.local import cluster

TIMED_OUT: Final = 124
"""Exit code of a run that took too long, as ``timeout`` has it."""

LOGS_SECONDS: Final = 5
"""How long the rest of the logs may take to come after the end."""

NAMESPACE: Final = 'default'


@dataclass
class Ending:
    """How one JobSet ended."""

    name: str
    state: str = ''
    """``Completed`` or ``Failed``; empty when it did not come to an end."""

    text: str = ''
    restarts: int = 0
    failures: list[progress.Failure] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """That of the run: of the container that failed first, where the JobSet has failed."""
        if self.state == conditions.COMPLETED:
            return 0
        return next((each.exit_code for each in self.failures if 0 < each.exit_code < 256), failures.FAILED)


class Run:
    """The objects of some files on a cluster."""

    def __init__(self, running: 'cluster.Cluster', view: views.View, *, namespace: str | None = None) -> None:
        self._cluster = running
        self._view = view
        self._namespace = namespace
        self._namespaces = {NAMESPACE}

    async def play(self, documents: Sequence[manifests.Document], *, timeout: float | None) -> list[Ending]:  # noqa: ASYNC109 - a run that took too long has an ending, too
        """Apply all objects in their order, and follow the JobSets among them to their ends."""
        names = [await self._apply(document) for document in documents]
        endings = [
            (where, Ending(name))
            for document, (where, name) in zip(documents, names, strict=True)
            if _is_jobset(document)
        ]
        try:
            async with asyncio.timeout(timeout):
                following = (self._follow(where, ending) for where, ending in endings)
                await together.all_of(following, at_once=len(endings))
        except TimeoutError:
            for _, ending in endings:
                ending.text = ending.text or f'not at its end after {timeout:g} s'
        return [ending for _, ending in endings]

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

    async def _follow(self, namespace: str, ending: Ending) -> None:
        self._view.tell(Line(ending.name, 'created', Tone.NOTE))
        logs = asyncio.create_task(self._logs(namespace, ending.name))
        try:
            await self._look(namespace, ending)
            await asyncio.wait({logs}, timeout=LOGS_SECONDS)
        finally:
            logs.cancel()
            await asyncio.wait({logs})

    async def _look(self, namespace: str, ending: Ending) -> None:
        seen = progress.Progress()
        ending.failures = seen.failures
        states = self._cluster.jobsets.follow(ending.name, namespace=namespace)
        async with contextlib.aclosing(states), self._looking_again(seen) as look:
            async for family in states:
                look(family)
                self._view.stages(ending.name, progress.stages(family))
                ending.restarts = family.jobset.status.restarts
                final = conditions.terminal(family.jobset.status)
                if final is not None:
                    ending.state, ending.text = final.type, final.message
                    return
        ending.text = ending.text or 'was deleted'

    @contextlib.asynccontextmanager
    async def _looking_again(self, seen: progress.Progress) -> AsyncIterator[Callable[[Family], None]]:
        """Tells what is new at each call, and what has lasted long by now also between calls."""
        last: Family | None = None
        loop = asyncio.get_running_loop()

        def look(family: Family) -> None:
            nonlocal last
            last = family
            for line in seen.look(family, at=loop.time()):
                self._view.tell(line)

        async def again() -> None:
            while True:
                await asyncio.sleep(progress.PATIENCE / 2)
                if last is not None:
                    look(last)

        ticking = asyncio.create_task(again())
        try:
            yield look
        finally:
            ticking.cancel()
            await asyncio.wait({ticking})

    async def _logs(self, namespace: str, name: str) -> None:
        told = self._cluster.jobsets.log_lines(name, follow=True, namespace=namespace)
        async with contextlib.aclosing(told):
            async for line in told:
                if isinstance(line, lines.Note):
                    self._view.tell(Line(line.rank, line.text, Tone.NOTE))
                else:
                    self._view.log(line.rank, line.text)


def exit_code(endings: Sequence[Ending]) -> int:
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
