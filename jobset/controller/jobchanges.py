"""Writes about Jobs that are there: part of :mod:`jobset.controller.executor`."""

import dataclasses
from typing import Any

from jobset.api import features, jobs, keys, types
from jobset.controller import failing, world
from jobset.core import plan, resumption
from jobset.kube import client, errors, requests


@dataclasses.dataclass(frozen=True)
class Changer:
    """One request at a time; what may run at once is the executor's business."""

    api: client.Client
    seen: world.World
    tell: failing.Teller
    gates: features.FeatureGates

    async def delete(self, jobset: types.JobSet, job: plan.JobRef) -> None:
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

    async def scale(self, jobset: types.JobSet, wanted: plan.Scaling) -> None:
        size = {'parallelism': wanted.size, 'completions': wanted.size}
        await self._patch_job(jobset, wanted.job, {'metadata': {'uid': wanted.job.uid}, 'spec': size})

    async def suspend(self, jobset: types.JobSet, job: plan.JobRef) -> None:
        await self._patch_job(jobset, job, {'metadata': {'uid': job.uid}, 'spec': {'suspend': True}})

    async def resume(self, jobset: types.JobSet, wanted: plan.Resumption) -> None:
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
            failing.warn(self.tell, jobset, 'FailedResourcePropagation', f'job "{name}": {failing.message(error)}')
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
