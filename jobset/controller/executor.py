"""Carries out plans: the only place that writes to the cluster because of a JobSet.

It knows in which order to write, how many requests may be under way at once, and what each refusal means. A pass that
does not succeed as a whole leaves the status unwritten, so that the next one decides again from the facts.
"""

import asyncio
import dataclasses
import datetime
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Protocol, TypeVar

import msgspec

from jobset.api import features, jobs, keys, meta, types
from jobset.controller import grouping, remains, world
from jobset.core import children, conflicts, network, plan, resumption, volumes
from jobset.core.jobs import Factory
from jobset.kube import client, errors, requests

logger = logging.getLogger(__name__)

T = TypeVar('T')

CONCURRENT_WRITES: Final = 50
"""Requests under way at once for one JobSet, as many as the Go controller allows itself."""

FEW: Final = 10
"""Jobs of which all refusals are worth a request each; also as many as the condition ``NameConflict`` names."""


class PassFailedError(errors.RetryLater):
    """Part of a plan could not be carried out; the whole is to be decided again after a pause.

    ``retry_after`` is the longest wait that the server asked for, if it did.
    """

    def __init__(self, failures: Iterable[errors.ApiError]) -> None:
        failures = tuple(failures)
        waits = [failure.retry_after for failure in failures if failure.retry_after is not None]
        text = '; '.join(dict.fromkeys(str(failure) for failure in failures))
        super().__init__(0, 'PassFailed', text, retry_after=max(waits, default=None))
        self.is_outage = all(isinstance(failure, errors.RetryLater) and failure.is_outage for failure in failures)


class CreationFailedError(PassFailedError):
    """The server did not take a Job: its name is taken, its template is refused, a quota is used up, and so on."""


class Teller(Protocol):
    """Sends an Event about a JobSet; never blocks."""

    def __call__(self, jobset: types.JobSet, event: plan.Event) -> None: ...


class _Seen(msgspec.Struct, frozen=True):
    """As much of any object as tells whose it is."""

    metadata: meta.ObjectMeta


@dataclasses.dataclass(frozen=True)
class Executor:
    """``api`` must refuse to write unless this replica leads; ``seen`` takes in the answers to our writes."""

    api: client.Client
    seen: world.World
    tell: Teller
    gates: features.FeatureGates = dataclasses.field(default_factory=features.FeatureGates)

    async def carry_out(
        self, jobset: types.JobSet, wanted: plan.Plan, now: datetime.datetime, *, careful: bool
    ) -> None:
        """Do everything that the plan says.

        ``careful`` begins each kind of write with a single one and goes on only while all succeed: for a JobSet that
        was in trouble in its last pass.

        Raises:
            PassFailedError: something was refused or lost; all that could be done before it is done.
            errors.NotLeading: this replica must not write any more.
        """
        left = remains.Remains(self.api, jobset)
        await _each(wanted.pods, left.act, careful=careful)
        if wanted.keep is not None:
            await _each(wanted.keep.jobs, left.keep, careful=careful)
            await _each((wanted.keep.attempts,), left.prune, careful=careful)
        await _each(wanted.delete, lambda job: self._delete_job(jobset, job), careful=careful)
        await self._group(jobset, wanted, now, careful=careful)
        if wanted.service is not None:
            await self._create_service(jobset, wanted.service)
        await self._create_claims(jobset, wanted.claims, careful=careful)
        await _each(wanted.scale, lambda job: self._scale(jobset, job), careful=careful)
        taken = await self._create_jobs(jobset, wanted, careful=careful)
        await _each(wanted.suspend, lambda job: self._suspend(jobset, job), careful=careful)
        await _each(wanted.resume, lambda job: self._resume(jobset, job), careful=careful)
        await self._ungroup(jobset, wanted.groups.delete, careful=careful)
        status = wanted.status
        if taken:
            noted = conflicts.noted(status or jobset.status, [_named(name) for name in taken], now)
            status = noted if noted != jobset.status else None
        if wanted.archive is not None:
            await self._archive(jobset, left, wanted.archive)
        if status is not None:
            await self._write_status(jobset, status)
        for event in wanted.events:
            self.tell(jobset, event)
        if wanted.delete_jobset:
            await self._delete_jobset(jobset)
        if taken:
            raise CreationFailedError(_taken(name) for name in taken)

    async def _delete_job(self, jobset: types.JobSet, job: plan.JobRef) -> None:
        request = requests.delete(
            requests.JOBS,
            jobset.metadata.namespace,
            job.name,
            propagation=requests.Propagation.FOREGROUND,
            uid=job.uid,
        )
        try:
            answer = await self.api.request(request, into=jobs.Job)
        except errors.NotFound:
            # Gone already. A conflict is no proof of that: the Job may be there, and then nothing would bring a pass.
            return
        if answer.metadata.uid:  # else the answer is a Status: the Job is gone at once
            self.seen.jobs.observe(answer)

    async def _group(self, jobset: types.JobSet, wanted: plan.Plan, now: datetime.datetime, *, careful: bool) -> None:
        """Bring the groups in order before the first of their pods can be there; one that fails stops the pass."""
        groups = wanted.groups
        if not (groups.create or groups.resize):
            return
        writer = grouping.Writer(self.api, self.seen.groups)
        taken: list[plan.GroupObject] = []

        async def create(group: plan.GroupObject) -> None:
            if not await writer.create(jobset, group):
                taken.append(group)

        await _each(groups.resize, lambda resize: writer.resize(jobset, resize), careful=careful)
        # The Workload comes first, since groups name it.
        failures = await _ramp(groups.create[:1], create, careful=careful, give_up=True)
        if not (failures or taken):
            failures = await _ramp(groups.create[1:], create, careful=careful, give_up=True)
        if failures:
            self._tell_failure(jobset, 'PodGroupCreationFailed', '\n'.join(_message(one) for one in failures))
            raise CreationFailedError(failures)
        if taken:
            names = sorted(f'{group.kind} "{group.name}"' for group in taken)
            noted = conflicts.noted(jobset.status, names, now)
            if noted != jobset.status:
                await self._write_status(jobset, noted)
                self._tell_failure(
                    jobset, 'PodGroupCreationFailed', f'in the way, and not of this JobSet: {", ".join(names)}'
                )
            text = f'{names[0]} exists and belongs to somebody else'
            raise CreationFailedError([errors.AlreadyExists(409, 'AlreadyExists', text)])

    async def _ungroup(self, jobset: types.JobSet, left: tuple[plan.GroupRef, ...], *, careful: bool) -> None:
        """Let groups go, once no Job makes pods of them any more."""
        writer = grouping.Writer(self.api, self.seen.groups)
        await _each(left, lambda group: writer.delete(jobset, group), careful=careful)

    async def _create_service(self, jobset: types.JobSet, service: plan.Object) -> None:
        request = requests.create(requests.SERVICES, jobset.metadata.namespace, service.body)
        try:
            self.seen.services.observe(await self.api.request(request, into=network.Service))
        except errors.AlreadyExists:
            return  # not seen yet; the next pass will judge it
        except errors.ApiError as error:
            self._tell_failure(jobset, 'HeadlessServiceCreationFailed', _message(error))
            raise PassFailedError([error]) from error

    async def _create_claims(self, jobset: types.JobSet, claims: Iterable[plan.Object], *, careful: bool) -> None:
        failures: list[errors.ApiError] = []
        for claim in claims:
            request = requests.create(requests.CLAIMS, jobset.metadata.namespace, claim.body)
            try:
                self.seen.claims.observe(await self.api.request(request, into=volumes.Claim))
            except errors.AlreadyExists:
                continue  # used as it is
            except errors.ApiError as error:
                self._tell_failure(jobset, 'PVCCreationFailed', _message(error))
                failures.append(error)
                if careful:
                    break
        if failures:
            raise PassFailedError(failures)

    async def _create_jobs(
        self,
        jobset: types.JobSet,
        planned: plan.Plan,
        *,
        careful: bool,
    ) -> list[str]:
        """Make the Jobs; returns the names that belong to somebody else.

        Raises PassFailedError when the server refused one for another reason.
        """
        wanted = planned.create
        if not wanted:
            return []
        factory = Factory(
            jobset,
            tells_own_attempt=self.gates.restart_job,
            tells_execution=self.gates.execution_attempts,
            grouped=planned.grouped,
        )
        taken: list[str] = []
        refused: dict[str, errors.ApiError] = {}

        async def create(child: children.Child) -> None:
            body = msgspec.json.encode(factory.build(child))
            request = requests.create(requests.JOBS, jobset.metadata.namespace, body)
            try:
                self.seen.jobs.observe(await self.api.request(request, into=jobs.Job))
            except errors.AlreadyExists as error:
                # A condition that is behind does no harm: a Job of ours comes with the watch.
                if not is_noted(child) and await self._is_ours(jobset, child.name):
                    return
                taken.append(child.name)
                refused[child.name] = error
                if len(taken) >= FEW:
                    raise
            except errors.ApiError as error:
                refused[child.name] = error
                raise

        def is_noted(child: children.Child) -> bool:
            return conflicts.is_noted(jobset.status, _named(child.name))

        # Of the names that were taken when we last looked, one stands for all while it still is.
        noted = tuple(child for child in wanted if is_noted(child)) if careful else ()
        failures = await _ramp(noted[:1], create, careful=careful, give_up=True)
        if taken:
            taken.extend(child.name for child in noted[1:])
        tried = noted if taken else noted[:1]
        free = tuple(child for child in wanted if child not in tried)
        for group in _scouts(free):
            failures = failures or await _ramp(group, create, careful=careful, give_up=True)
        if refused:
            notes = (
                f'job "{child.name}" creation failed with error: {_message(refused[child.name])}'
                for child in wanted
                if child.name in refused
            )
            self._tell_failure(jobset, 'JobCreationFailed', '\n'.join(notes))
        other = [failure for failure in failures if not isinstance(failure, errors.AlreadyExists)]
        if other:
            raise CreationFailedError(other)
        return sorted(taken)

    async def _is_ours(self, jobset: types.JobSet, name: str) -> bool:
        """Whether a Job that is in the way is one of ours that we had not seen; it is taken in then.

        Raises what keeps us from looking, NotFound among it: gone by now, it is no conflict, and the next pass makes
        ours.
        """
        request = requests.read(requests.JOBS, jobset.metadata.namespace, name)
        job = await self.api.request(request, into=jobs.Job)
        self.seen.jobs.observe(job)
        return job.owner_uid == jobset.metadata.uid

    async def _scale(self, jobset: types.JobSet, wanted: plan.Scaling) -> None:
        size = {'parallelism': wanted.size, 'completions': wanted.size}
        await self._patch_job(jobset, wanted.job, {'metadata': {'uid': wanted.job.uid}, 'spec': size})

    async def _suspend(self, jobset: types.JobSet, job: plan.JobRef) -> None:
        await self._patch_job(jobset, job, {'metadata': {'uid': job.uid}, 'spec': {'suspend': True}})

    async def _resume(self, jobset: types.JobSet, wanted: plan.Resumption) -> None:
        """Start a suspended Job with the current template.

        Kubernetes before 1.36 lets the template change only while no start time is set, and the start time can only be
        cleared through the status; so that comes first.
        """
        namespace, job = jobset.metadata.namespace, wanted.job
        read = requests.read(requests.JOBS, namespace, job.name)
        if wanted.clear_start_time:
            cleared = {'metadata': {'uid': job.uid}, 'status': {'startTime': None}}
            read = requests.patch(
                requests.JOBS,
                namespace,
                job.name,
                cleared,
                requests.Patch.MERGE,
                subresource='status',
                field_manager=keys.FIELD_MANAGER,
            )
        try:
            live = await self.api.request(read, into=dict[str, Any])
        except errors.NotFound:
            return
        if live['metadata']['uid'] != job.uid:
            return
        change = resumption.change(
            live,
            wanted.replicated_job,
            execution=jobset.status.execution_attempts if self.gates.execution_attempts else None,
        )
        patch = change.patch
        if self.gates.mutable_resources:
            patch = await self._with_resources(jobset, live, wanted, patch)
        await self._patch_job(jobset, job, patch, field_manager=change.field_manager)

    async def _with_resources(
        self, jobset: types.JobSet, live: dict[str, Any], wanted: plan.Resumption, patch: dict[str, object]
    ) -> dict[str, object]:
        """The change with the current requests and limits, where the server takes that."""
        more = resumption.with_resources(live, wanted.replicated_job, patch)
        if more is None:
            return patch
        if resumption.has_pods(live):
            # The server takes it only once the last pod is gone; its going brings the next pass.
            text = f'Job {wanted.job.name}: requests and limits cannot change before its pods are gone'
            raise errors.RetryLater(409, 'Conflict', text)
        name, trial = wanted.job.name, requests.Patch.MERGE
        request = requests.patch(requests.JOBS, jobset.metadata.namespace, name, more, trial, dry_run=True)
        try:
            await self.api.send(request)
        except errors.Invalid as error:
            self._tell_failure(jobset, 'FailedResourcePropagation', f'job "{name}": {_message(error)}')
            return patch
        return more

    async def _patch_job(
        self,
        jobset: types.JobSet,
        job: plan.JobRef,
        change: dict[str, object],
        *,
        field_manager: str = keys.FIELD_MANAGER,
    ) -> None:
        request = requests.patch(
            requests.JOBS,
            jobset.metadata.namespace,
            job.name,
            change,
            requests.Patch.MERGE,
            field_manager=field_manager,
        )
        try:
            self.seen.jobs.observe(await self.api.request(request, into=jobs.Job))
        except errors.NotFound:
            return  # the next pass sees that it is gone

    async def _archive(self, jobset: types.JobSet, left: remains.Remains, entry: plan.AttemptRecord) -> None:
        try:
            await left.archive(entry)
        except remains.NotArchivedError as error:
            # The set must not wait for its archive.
            self._tell_failure(jobset, 'AttemptNotArchived', str(error))
        except errors.ApiError as error:
            raise PassFailedError([error]) from error

    async def _write_status(self, jobset: types.JobSet, status: types.Status) -> None:
        """Replace the status, unless the JobSet has changed since it was read.

        The server takes only the status of what is sent to this subresource, so the spec need not be sent.
        """
        metadata = jobset.metadata
        body = {
            'apiVersion': keys.API_VERSION,
            'kind': keys.KIND,
            'metadata': {
                'name': metadata.name,
                'namespace': metadata.namespace,
                'uid': metadata.uid,
                'resourceVersion': metadata.resource_version,
            },
            'status': types.encode_status(status),
        }
        request = requests.replace(world.JOBSETS, metadata.namespace, metadata.name, body, subresource='status')
        try:
            stored = await self.api.request(request, into=types.JobSet)
        except errors.ApiError as error:
            raise PassFailedError([error]) from error
        if types.counts_only(jobset.status, status):
            self.seen.take_counted(stored)
        else:
            self.seen.jobsets.observe(stored)

    async def _delete_jobset(self, jobset: types.JobSet) -> None:
        request = requests.delete(
            world.JOBSETS,
            jobset.metadata.namespace,
            jobset.metadata.name,
            propagation=requests.Propagation.FOREGROUND,
            uid=jobset.metadata.uid,
        )
        try:
            await self.api.send(request)
        except errors.NotFound:
            return
        except errors.ApiError as error:
            raise PassFailedError([error]) from error

    def _tell_failure(self, jobset: types.JobSet, reason: str, note: str) -> None:
        self.tell(jobset, plan.Event(plan.EventType.WARNING, reason, note))


def _scouts(wanted: tuple[children.Child, ...]) -> tuple[tuple[children.Child, ...], tuple[children.Child, ...]]:
    """The Jobs to try first, and the rest, which is made when these succeed.

    The Jobs of a replicated job are equal: of many, what the server refuses is refused once and not fifty times. A few
    are all tried, so that the event names every one of them, as the Go controller's does.
    """
    if len(wanted) <= FEW:
        return wanted, ()
    firsts = {child.position: child for child in reversed(wanted)}
    scouts = tuple(firsts[position] for position in sorted(firsts))
    return scouts, tuple(child for child in wanted if child != firsts[child.position])


async def _each(items: tuple[T, ...], act: Callable[[T], Awaitable[None]], *, careful: bool) -> None:
    """Act on all items; what failed is raised together, as PassFailedError."""
    failures = await _ramp(items, act, careful=careful, give_up=False)
    if failures:
        raise PassFailedError(failures)


async def _ramp(
    items: tuple[T, ...],
    act: Callable[[T], Awaitable[None]],
    *,
    careful: bool,
    give_up: bool,
) -> list[errors.ApiError]:
    """Act on the items, all at once or ``careful``: one, then two, four and so on while all succeed."""
    start, size = 0, 1 if careful else max(1, len(items))
    failures: list[errors.ApiError] = []
    while start < len(items) and not failures:
        failures = await _fan_out(items[start : start + size], act, give_up=give_up or careful)
        start, size = start + size, size * 2
    return failures


async def _fan_out(
    items: tuple[T, ...],
    act: Callable[[T], Awaitable[None]],
    *,
    give_up: bool,
) -> list[errors.ApiError]:
    """Act on the items, :data:`CONCURRENT_WRITES` at a time; returns what failed.

    ``give_up`` begins nothing new after the first failure. Losing the leadership ends it in any case.
    """
    queue = iter(items)
    failures: list[errors.ApiError] = []

    async def work() -> None:
        for item in queue:
            try:
                await act(item)
            except errors.ApiError as error:
                failures.append(error)
            if failures and give_up:
                return

    if len(items) == 1:  # the usual case, and gathering is not free
        await work()
        return failures
    # Not a task group: before Python 3.11.5 it forgets that its own task was cancelled when children fail at that very
    # moment, which is what happens when the leadership is lost. Whoever still has a write to make is refused it then.
    ends = await asyncio.gather(*(work() for _ in range(min(len(items), CONCURRENT_WRITES))), return_exceptions=True)
    for end in ends:
        if end is not None:
            raise end
    return failures


def _message(error: errors.ApiError) -> str:
    """The server's own words: what a user can act on."""
    return error.message or str(error)


def _named(job: str) -> str:
    """A Job as a condition names it."""
    return f'Job "{job}"'


def _taken(name: str) -> errors.AlreadyExists:
    return errors.AlreadyExists(409, 'AlreadyExists', f'Job {name} exists and belongs to somebody else')
