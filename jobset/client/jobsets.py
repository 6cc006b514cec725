"""JobSets of a cluster, as methods: create, look, wait, read logs, delete."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec

from jobset.api import keys, types
from jobset.client import connections, failures, families, kin, lines, observed, summaries
from jobset.client.families import JOBSETS, Family
from jobset.core import conditions
from jobset.kube import client, errors, informer, listing, requests

MANAGER: Final = 'jobset-client'
"""Under which name applies stand in ``metadata.managedFields``."""

Manifest = types.JobSet | Mapping[str, Any]
"""A JobSet to send: typed, or as :func:`jobset.client.build` makes it."""

Goal = str | Callable[[types.JobSet], object]
"""What is waited for: the type of a condition that shall be true, or a test of the JobSet."""


@dataclass(frozen=True)
class Change:
    """A JobSet that came, changed, or went."""

    old: types.JobSet | None
    """Its state before; None for one that is new, or was there at the start."""

    new: types.JobSet | None
    """Its state now; None for one that is gone."""


class Jobsets:
    """The JobSets of a cluster. Methods take the namespace of the connection where none is named.

    They raise the errors of :mod:`jobset.client.failures`.
    """

    def __init__(self, source: client.Client, *, namespace: str = 'default') -> None:
        self.source = source
        self.namespace = namespace

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls,
        kubeconfig: str | None = None,
        *,
        context: str | None = None,
        cluster: str | None = None,
        namespace: str | None = None,
    ) -> AsyncIterator[Self]:
        """Opens a connection for the length of the block; see :func:`jobset.client.connections.connect`."""
        async with connections.connect(kubeconfig, context=context, cluster=cluster) as connection:
            yield cls(connection.source, namespace=namespace or connection.namespace)

    async def create(self, jobset: Manifest, *, namespace: str | None = None) -> types.JobSet:
        """Create it; gives it back as the server has stored it, with its defaults."""
        body = manifest(jobset)
        where = self._namespace_of(body, namespace)
        return await self.source.request(requests.create(JOBSETS, where, body), types.JobSet)

    async def apply(
        self,
        jobset: Manifest,
        *,
        namespace: str | None = None,
        manager: str = MANAGER,
        force: bool = False,
    ) -> types.JobSet:
        """Create it, or change what it says differently, by server-side apply.

        ``force`` takes fields over from other managers, which is otherwise a :class:`~jobset.client.failures.Conflict`.
        """
        body = manifest(jobset)
        where = self._namespace_of(body, namespace)
        request = requests.patch(
            JOBSETS,
            where,
            body['metadata']['name'],
            body,
            requests.Patch.APPLY,
            field_manager=manager,
            force=force,
        )
        return await self.source.request(request, types.JobSet)

    async def get(self, name: str, *, namespace: str | None = None) -> types.JobSet:
        """The JobSet of that name."""
        return await self.source.request(requests.read(JOBSETS, namespace or self.namespace, name), types.JobSet)

    async def list(
        self,
        *,
        namespace: str | None = None,
        all_namespaces: bool = False,
        label_selector: str | None = None,
    ) -> list[types.JobSet]:
        """All JobSets of a namespace, or of all of them, by name."""
        where = None if all_namespaces else namespace or self.namespace
        reader = listing.Reader(self.source, types.JobSet, page_size=500)
        found = await reader.read(JOBSETS, where, label_selector=label_selector)
        return [found.objects[key] for key in sorted(found.objects)]

    async def watch(
        self,
        *,
        namespace: str | None = None,
        all_namespaces: bool = False,
        label_selector: str | None = None,
    ) -> AsyncGenerator[Change, None]:
        """All JobSets that are there, and then each change, without end. Cut connections are taken up again."""
        changes: asyncio.Queue[Change] = asyncio.Queue()
        follower = informer.Informer(
            self.source,
            JOBSETS,
            types.JobSet,
            namespace=None if all_namespaces else namespace or self.namespace,
            label_selector=label_selector,
        )
        follower.subscribe(lambda old, new: changes.put_nowait(Change(old, new)))
        # Asked once before: an informer waits for ever for what it may not see.
        await self.list(namespace=namespace, all_namespaces=all_namespaces, label_selector=label_selector)
        running = asyncio.create_task(follower.run())
        try:
            while True:
                yield await changes.get()
        finally:
            running.cancel()

    async def wait(
        self,
        name: str,
        *,
        until: Goal = conditions.COMPLETED,
        timeout: float | None = None,  # noqa: ASYNC109 - the text of the error says what was missing
        namespace: str | None = None,
    ) -> types.JobSet:
        """Waits until a condition is true, or a test holds; at most ``timeout`` seconds.

        Raises:
            JobSetFailed: it has failed, or completed, and so will never get there.
            Gone: it was deleted.
            TookTooLong: the time is over.
        """
        where = namespace or self.namespace
        last: Family | None = None
        try:
            async with asyncio.timeout(timeout), families.following(self.source, where, name) as states:
                async for last in states:
                    if _holds(until, last.jobset):
                        return last.jobset
                    _give_up(last, until)
        except TimeoutError:
            summary = summaries.of(last) if last else None
            raise failures.TookTooLong(_late(name, until, timeout, summary), summary) from None
        raise failures.Gone(f'jobset {name}: was deleted', summaries.of(last) if last else None)

    async def logs(
        self,
        name: str,
        *,
        follow: bool = False,
        wanted: lines.Wanted | None = None,
        namespace: str | None = None,
    ) -> AsyncGenerator[tuple[str, str], None]:
        """Rank and text of each line of all logs; with ``follow`` as they come, until the JobSet has ended."""
        found = self.log_lines(name, follow=follow, wanted=wanted, namespace=namespace)
        async with contextlib.aclosing(found):
            async for line in found:
                if isinstance(line, lines.Line):
                    yield line.rank, line.text

    async def log_lines(
        self,
        name: str,
        *,
        follow: bool = False,
        wanted: lines.Wanted | None = None,
        namespace: str | None = None,
    ) -> AsyncGenerator[lines.Line | lines.Note, None]:
        """Like :meth:`logs`, with times and attempts, and with what is to be said about the logs themselves."""
        where = namespace or self.namespace
        wanted = wanted or lines.Wanted()
        if follow:
            found = lines.follow(self.source, where, name, wanted)
        else:
            found = lines.read(self.source, await self.family(name, namespace=where, with_events=False), wanted)
        async with contextlib.aclosing(found):
            async for line in found:
                yield line

    async def events(self, name: str, *, namespace: str | None = None) -> Sequence[observed.Event]:
        """The events about it and all that belongs to it, in the order of time; also after its end."""
        where = namespace or self.namespace
        try:
            of = kin.of(await self.get(name, namespace=where))
        except errors.NotFound:
            of = kin.named(name)
        return await families.events(self.source, where, of)

    async def family(self, name: str, *, namespace: str | None = None, with_events: bool = True) -> Family:
        """It, and all that belongs to it."""
        return await families.read(self.source, namespace or self.namespace, name, with_events=with_events)

    async def summary(self, name: str, *, namespace: str | None = None) -> summaries.Summary:
        """How it is doing, what it waits for, what failed last."""
        return summaries.of(await self.family(name, namespace=namespace))

    async def follow(
        self,
        name: str,
        *,
        namespace: str | None = None,
        on_pod: Callable[[observed.Pod], object] | None = None,
        on_job: Callable[[observed.Job], object] | None = None,
    ) -> AsyncGenerator[Family, None]:
        """It and all that belongs to it, each time that something has changed; ends when it is deleted.

        Changes that come close together are shown as one; ``on_pod`` and ``on_job`` are called with each of them.
        """
        where = namespace or self.namespace
        async with families.following(self.source, where, name, on_pod=on_pod, on_job=on_job) as states:
            async for state in states:
                yield state

    async def delete(
        self,
        name: str,
        *,
        namespace: str | None = None,
        propagation: requests.Propagation | None = None,
    ) -> None:
        """Begin to delete it. Foreground propagation keeps it there until its Jobs and pods are gone."""
        await self.source.send(requests.delete(JOBSETS, namespace or self.namespace, name, propagation=propagation))

    async def suspend(self, name: str, *, namespace: str | None = None) -> types.JobSet:
        """Stop all of its pods until it is resumed."""
        return await self._set_suspend(name, namespace, to=True)

    async def resume(self, name: str, *, namespace: str | None = None) -> types.JobSet:
        """Let it go on."""
        return await self._set_suspend(name, namespace, to=False)

    async def _set_suspend(self, name: str, namespace: str | None, *, to: bool) -> types.JobSet:
        patch = {'spec': {'suspend': to}}
        request = requests.patch(
            JOBSETS, namespace or self.namespace, name, patch, requests.Patch.MERGE, field_manager=MANAGER
        )
        return await self.source.request(request, types.JobSet)

    def _namespace_of(self, body: Mapping[str, Any], namespace: str | None) -> str:
        return namespace or body.get('metadata', {}).get('namespace') or self.namespace


def manifest(jobset: Manifest) -> dict[str, Any]:
    """The JSON object to send for a JobSet."""
    if not isinstance(jobset, types.JobSet):
        return {'apiVersion': keys.API_VERSION, 'kind': keys.KIND} | dict(jobset)
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(jobset))
    body.pop('status', None)
    return {'apiVersion': keys.API_VERSION, 'kind': keys.KIND} | body


def _holds(goal: Goal, jobset: types.JobSet) -> bool:
    if callable(goal):
        return bool(goal(jobset))
    return conditions.is_true(jobset.status, goal)


def _give_up(family: Family, goal: Goal) -> None:
    """Raises when a JobSet has ended otherwise."""
    ending = conditions.terminal(family.jobset.status)
    if ending is None:
        return
    name = family.name
    if ending.type == conditions.FAILED:
        raise failures.JobSetFailed(f'jobset {name}: failed: {ending.reason}: {ending.message}', summaries.of(family))
    raise failures.JobSetFailed(f'jobset {name}: has completed without {_words(goal)}', summaries.of(family))


def _late(name: str, goal: Goal, seconds: float | None, summary: summaries.Summary | None) -> str:
    bound = '' if seconds is None else f' within {seconds:g} s'
    text = f'jobset {name}: no {_words(goal)}{bound}'
    if summary is None:
        return text
    return '; '.join([f'{text}; it is {summary.phase}', *(str(wait) for wait in summary.waits)])


def _words(goal: Goal) -> str:
    return 'what was waited for' if callable(goal) else goal
