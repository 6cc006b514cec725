"""Carries out plans: the only place that writes to the cluster because of a JobSet.

It knows in which order to write, how many requests may be under way at once, and what each refusal means. A pass that
does not succeed as a whole leaves the status unwritten, so that the next one decides again from the facts.
"""

import datetime
from collections.abc import Iterable

from jobset.api import features, keys, types
from jobset.controller import failing, fanout, grouping, jobchanges, jobmaking, remains, world
from jobset.core import conflicts, network, plan, volumes
from jobset.kube import client, errors, requests


class Executor:
    """``api`` must refuse to write unless this replica leads; ``seen`` takes in the answers to our writes."""

    def __init__(
        self,
        api: client.Client,
        seen: world.World,
        tell: failing.Teller,
        gates: features.FeatureGates = features.DEFAULTS,
    ) -> None:
        self.api = api
        self.seen = seen
        self.tell = tell
        self._maker = jobmaking.Maker(api, seen, tell, gates)
        self._changer = jobchanges.Changer(api, seen, tell, gates)

    async def carry_out(
        self, jobset: types.JobSet, wanted: plan.Plan, now: datetime.datetime, *, careful: bool
    ) -> None:
        """Do everything that the plan says.

        ``careful`` begins each kind of write with a single one and goes on only while all succeed: for a JobSet that
        was in trouble in its last pass.

        Raises:
            failing.PassFailedError: something was refused or lost; all that could be done before it is done.
            errors.NotLeading: this replica must not write any more.
        """
        left, change = remains.Remains(self.api, jobset), self._changer
        await fanout.each(wanted.pods, left.act, careful=careful)
        if wanted.keep is not None:
            await fanout.each(wanted.keep.jobs, left.keep, careful=careful)
            await fanout.each((wanted.keep.attempts,), left.prune, careful=careful)
        await fanout.each(wanted.delete, lambda job: change.delete(jobset, job), careful=careful)
        await self._group(jobset, wanted, now, careful=careful)
        if wanted.service is not None:
            await self._create_service(jobset, wanted.service)
        await self._create_claims(jobset, wanted.claims, careful=careful)
        await fanout.each(wanted.scale, lambda job: change.scale(jobset, job), careful=careful)
        taken = await self._maker.create(jobset, wanted, careful=careful)
        await fanout.each(wanted.suspend, lambda job: change.suspend(jobset, job), careful=careful)
        await fanout.each(wanted.resume, lambda job: change.resume(jobset, job), careful=careful)
        await self._ungroup(jobset, wanted.groups.delete, careful=careful)
        status = wanted.status
        if taken:
            noted = conflicts.noted(status or jobset.status, [jobmaking.named(name) for name in taken], now)
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
            raise failing.CreationFailedError(jobmaking.taken(name) for name in taken)

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

        await fanout.each(groups.resize, lambda resize: writer.resize(jobset, resize), careful=careful)
        # The Workload comes first, since groups name it.
        failures = await fanout.ramp(groups.create[:1], create, careful=careful, give_up=True)
        if not (failures or taken):
            failures = await fanout.ramp(groups.create[1:], create, careful=careful, give_up=True)
        if failures:
            failing.warn(
                self.tell, jobset, 'PodGroupCreationFailed', '\n'.join(failing.message(one) for one in failures)
            )
            raise failing.CreationFailedError(failures)
        if taken:
            names = sorted(f'{group.kind} "{group.name}"' for group in taken)
            noted = conflicts.noted(jobset.status, names, now)
            if noted != jobset.status:
                await self._write_status(jobset, noted)
                failing.warn(
                    self.tell,
                    jobset,
                    'PodGroupCreationFailed',
                    f'in the way, and not of this JobSet: {", ".join(names)}',
                )
            text = f'{names[0]} exists and belongs to somebody else'
            raise failing.CreationFailedError([errors.AlreadyExists(409, 'AlreadyExists', text)])

    async def _ungroup(self, jobset: types.JobSet, left: tuple[plan.GroupRef, ...], *, careful: bool) -> None:
        """Let groups go, once no Job makes pods of them any more."""
        writer = grouping.Writer(self.api, self.seen.groups)
        await fanout.each(left, lambda group: writer.delete(jobset, group), careful=careful)

    async def _create_service(self, jobset: types.JobSet, service: plan.Object) -> None:
        request = requests.create(requests.SERVICES, jobset.metadata.namespace, service.body)
        try:
            self.seen.services.observe(await self.api.request(request, into=network.Service))
        except errors.AlreadyExists:
            return  # not seen yet; the next pass will judge it
        except errors.ApiError as error:
            failing.warn(self.tell, jobset, 'HeadlessServiceCreationFailed', failing.message(error))
            raise failing.PassFailedError([error]) from error

    async def _create_claims(self, jobset: types.JobSet, claims: Iterable[plan.Object], *, careful: bool) -> None:
        failures: list[errors.ApiError] = []
        for claim in claims:
            request = requests.create(requests.CLAIMS, jobset.metadata.namespace, claim.body)
            try:
                self.seen.claims.observe(await self.api.request(request, into=volumes.Claim))
            except errors.AlreadyExists:
                continue  # used as it is
            except errors.ApiError as error:
                failing.warn(self.tell, jobset, 'PVCCreationFailed', failing.message(error))
                failures.append(error)
                if careful:
                    break
        if failures:
            raise failing.PassFailedError(failures)

    async def _archive(self, jobset: types.JobSet, left: remains.Remains, entry: plan.AttemptRecord) -> None:
        try:
            await left.archive(entry)
        except remains.NotArchivedError as error:
            # The set must not wait for its archive.
            failing.warn(self.tell, jobset, 'AttemptNotArchived', str(error))
        except errors.ApiError as error:
            raise failing.PassFailedError([error]) from error

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
            raise failing.PassFailedError([error]) from error
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
            raise failing.PassFailedError([error]) from error
