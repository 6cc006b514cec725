"""Carries out plans: the one place that writes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from jobset.kube import client, errors, events, requests
from jobset.local.jobs import keys, templates
from jobset.local.jobs.plan import Event, NewPod, Plan, Removal, Undone
from jobset.local.jobs.sync import sync
from jobset.local.jobs.types import Job, Pod, Status, written
from jobset.local.jobs.view import Facts
from jobset.local.jobs.world import World
from jobset.local.objects import Object

T = TypeVar('T')
R = TypeVar('R')

Tell = Callable[[Job, Event, str], None]
"""Sends an Event about a Job; the text tells it from others of its reason."""

ABREAST: Final = 64
"""Requests of one plan that are under way at once."""


class Executor:
    """Writes in the name of the controller, and lets the caches see the answers."""

    def __init__(self, api: client.Client, world: World, tell: Tell) -> None:
        self._api = api
        self._world = world
        self._tell = tell
        self._unsure: dict[str, set[str]] = {}

    async def carry_out(self, facts: Facts, plan: Plan, *, stored: Callable[[Plan], None]) -> None:
        """Does all of a plan. ``stored`` is called once what it counts is noted in the status.

        Raises what the server refused, after everything was done that could be in spite of it.
        """
        job = facts.job
        for pod in plan.adopt:
            await self._patch_pod(pod, _adoption(job, pod), requests.Patch.STRATEGIC)
        for pod in plan.disown:
            await self._patch_pod(pod, _disowning(job, pod), requests.Patch.STRATEGIC)
        kept, refusals = await self._delete(job, plan.delete)
        missing, refused = await self._create(job, plan.create)
        if missing or kept:
            plan = sync(facts, Undone(created=missing, deleted=kept))
        job = await self._write(job, plan.noted)
        stored(plan)
        await self._all(self.release, plan.release)
        job = await self._write(job, plan.status)
        for event in plan.events:
            self._tell(job, event, '')
        for error in (*refusals, *refused):
            raise error

    async def make_sure(self, job: Job) -> None:
        """Looks whether pods were made of which the server could not tell. Raises while it still cannot."""
        for name in tuple(self._unsure.get(job.metadata.uid, ())):
            await self._look(job, name)

    def forget(self, uid: str) -> None:
        """Forgets a Job."""
        self._unsure.pop(uid, None)

    async def _create(self, job: Job, wanted: Sequence[NewPod]) -> tuple[int, list[errors.ApiError]]:
        """Makes pods, twice as many at a time as before as long as the server takes them; how many are missing."""
        if not wanted:
            return 0, []
        maker = templates.Maker(job)
        done, batch = 0, 1
        while done < len(wanted):
            now = wanted[done : done + batch]
            results = await self._all(lambda new: self._create_one(job, maker, new), now)
            done += len(now)
            refusals = [error for error in results if error is not None]
            if refusals:
                # The others would be refused as well, most likely: for a quota, or because the namespace goes. In that
                # case trying again is of no use, either.
                missing = len(wanted) - done + len(refusals)
                return missing, [error for error in refusals if not _is_leaving(error)]
            batch *= 2
        return 0, []

    async def _create_one(self, job: Job, maker: templates.Maker, new: NewPod) -> errors.ApiError | None:
        body = maker.make(new.index, failures=new.failures, ignored=new.ignored)
        name = body['metadata']['name']
        try:
            pod = await self._api.request(requests.create(requests.PODS, job.metadata.namespace, body), Pod)
        except errors.ApiError as error:
            if _may_have_happened(error):
                self._unsure.setdefault(job.metadata.uid, set()).add(name)
            if not _is_leaving(error) and not isinstance(error, errors.Unreachable):
                note = f'Error creating: {error.message}'
                self._tell(job, Event(events.EventType.WARNING, 'FailedCreate', note), '')
            return error
        self._world.pods.observe(pod)
        self._tell(job, Event(events.EventType.NORMAL, 'SuccessfulCreate', f'Created pod: {name}'), name)
        return None

    async def _look(self, job: Job, name: str) -> None:
        try:
            pod = await self._api.request(requests.read(requests.PODS, job.metadata.namespace, name), Pod)
        except errors.NotFound:
            pass
        else:
            self._world.pods.observe(pod)
            self._tell(job, Event(events.EventType.NORMAL, 'SuccessfulCreate', f'Created pod: {name}'), name)
        unsure = self._unsure[job.metadata.uid]
        unsure.discard(name)
        if not unsure:
            del self._unsure[job.metadata.uid]

    async def _delete(self, job: Job, wanted: Sequence[Removal]) -> tuple[tuple[str, ...], list[errors.ApiError]]:
        """Deletes pods; which of them are still there, and why."""
        results = await self._all(lambda removal: self._delete_one(job, removal), wanted)
        kept = tuple(removal.pod.uid for removal, error in zip(wanted, results, strict=True) if error is not None)
        return kept, [error for error in results if error is not None]

    async def _delete_one(self, job: Job, removal: Removal) -> errors.ApiError | None:
        pod = removal.pod
        metadata = pod.metadata
        request = requests.delete(requests.PODS, metadata.namespace, metadata.name, uid=pod.uid)
        try:
            if not removal.is_counted:
                await self.release(pod)
            left = await self._end(request)
        except errors.ApiError as error:
            note = f'Error deleting: {error.message}'
            self._tell(job, Event(events.EventType.WARNING, 'FailedDelete', note), metadata.name)
            return error
        if left is None:
            # Gone already, and perhaps another one has got its name.
            self._world.forget(pod)
            return None
        if left.uid == pod.uid and _stays(left):
            self._world.pods.observe(left)
        else:
            self._world.forget(pod)
        note = f'Deleted pod: {metadata.name}'
        self._tell(job, Event(events.EventType.NORMAL, 'SuccessfulDelete', note), metadata.name)
        return None

    async def _end(self, request: requests.Request) -> Pod | None:
        """What the server says of a pod that it deletes; None when there is no such pod."""
        try:
            return await self._api.request(request, Pod)
        except (errors.NotFound, errors.Conflict):
            return None

    async def release(self, pod: Pod) -> None:
        """Lets a pod go that is counted, or that nobody will count: removes its finalizer."""
        await self._patch_pod(pod, _releasing(pod), requests.Patch.STRATEGIC)

    async def _patch_pod(self, pod: Pod, patch: Object, kind: requests.Patch) -> None:
        metadata = pod.metadata
        try:
            request = requests.patch(requests.PODS, metadata.namespace, metadata.name, patch, kind)
            changed = await self._api.request(request, Pod)
        except errors.NotFound:
            self._world.forget(pod)
            return
        if changed.is_deleted and not _stays(changed):
            self._world.forget(pod)
        else:
            self._world.pods.observe(changed)

    async def _write(self, job: Job, status: Status | None) -> Job:
        """Stores a status, if nobody has changed the Job since it was read."""
        if status is None:
            return job
        metadata = job.metadata
        patch = {
            'metadata': {'resourceVersion': metadata.resource_version, 'uid': metadata.uid},
            'status': _change(written(job.status), written(status)),
        }
        request = requests.patch(
            requests.JOBS, metadata.namespace, metadata.name, patch, requests.Patch.MERGE, subresource='status'
        )
        stored = await self._api.request(request, Job)
        self._world.jobs.observe(stored)
        return stored

    @staticmethod
    async def _all(do: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
        """Does something for each, several at once; raises the first error after all have been tried."""
        if len(items) == 1:
            return [await do(items[0])]
        results: list[R] = []
        for start in range(0, len(items), ABREAST):
            for result in await asyncio.gather(*map(do, items[start : start + ABREAST]), return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
                results.append(result)
        return results


def _adoption(job: Job, pod: Pod) -> Object:
    owners = [templates.owner(job)]
    return {'metadata': {'uid': pod.uid, 'ownerReferences': owners, 'finalizers': [keys.FINALIZER]}}


def _disowning(job: Job, pod: Pod) -> Object:
    owner = {'$patch': 'delete', 'uid': job.metadata.uid}
    patch = _releasing(pod)
    patch['metadata']['ownerReferences'] = [owner]
    return patch


def _releasing(pod: Pod) -> Object:
    return {'metadata': {'uid': pod.uid, '$deleteFromPrimitiveList/finalizers': [keys.FINALIZER]}}


def _stays(pod: Pod) -> bool:
    """Whether a pod that was deleted is still there, because something has to happen first."""
    metadata = pod.metadata
    return pod.is_deleted and bool(metadata.finalizers or metadata.deletion_grace_period_seconds)


def _may_have_happened(error: errors.ApiError) -> bool:
    """Whether the server may have done what it was asked for, although it did not say so."""
    return isinstance(error, errors.ServerError | errors.Malformed) or (
        isinstance(error, errors.Unreachable) and error.sent
    )


def _is_leaving(error: errors.ApiError) -> bool:
    """Whether the namespace is being deleted, so that there is nobody to tell."""
    return any(cause.reason == 'NamespaceTerminating' for cause in error.causes)


def _change(old: dict[str, Any], new: dict[str, Any]) -> Object:
    """The merge patch that makes one of the other; nested objects are sent as a whole."""
    gone = dict.fromkeys(old.keys() - new.keys())
    changed = {key: value for key, value in new.items() if old.get(key) != value or key not in old}
    return _whole(old, changed) | gone


def _whole(old: dict[str, Any], changed: dict[str, Any]) -> Object:
    uncounted = changed.get('uncountedTerminatedPods')
    if uncounted is not None:
        before: Iterable[str] = old.get('uncountedTerminatedPods') or ()
        changed['uncountedTerminatedPods'] = dict.fromkeys(before) | uncounted
    return changed
