"""What is left of attempts that failed: pods that are in the way, pods that are kept, and the archive."""

import dataclasses
from collections.abc import Iterable
from typing import Any, Final

from jobset.api import keys, pods, types
from jobset.core import archive, network, plan, singles
from jobset.kube import client, errors, requests

_KEPT_AT_MOST: Final = 20
"""Failed pods of one Job that are kept: those that failed first tell most."""

_LEAVES: Final = (
    pods.JOB_UID,
    'controller-uid',
    'batch.kubernetes.io/job-name',
    'job-name',
    keys.JOBSET_NAME,
    keys.JOBSET_UID,
    keys.JOB_KEY,
)
"""Labels by which Jobs, the Service, exclusive placement and we ourselves find the pods of an attempt."""


class NotArchivedError(Exception):
    """The archive does not take the entry, and repeating would not help. The text says why."""


@dataclasses.dataclass(frozen=True)
class Remains:
    """Writes through ``api`` about one JobSet."""

    api: client.Client
    jobset: types.JobSet

    @property
    def _namespace(self) -> str:
        return self.jobset.metadata.namespace

    async def act(self, act: plan.PodAct) -> None:
        """Do something about a pod that is in the way. One that is gone, or another one by now, is no failure."""
        try:
            match act.deed:
                case plan.PodDeed.RELEASE:
                    await self._release(act)
                case plan.PodDeed.FORCE:
                    await self._delete(act.pod.name, act.pod.uid, grace_seconds=0)
                case plan.PodDeed.DELETE:
                    await self._delete(act.pod.name, act.pod.uid)
        except errors.NotFound:
            return

    async def keep(self, job: plan.JobRef) -> None:
        """Take the failed pods of a Job out of it, so that they stay when it goes and are found by nobody."""
        failed = [pod for pod in await self._list(f'{pods.JOB_UID}={job.uid}') if _is_to_be_kept(pod)]
        for pod in failed[:_KEPT_AT_MOST]:
            metadata = pod['metadata']
            change = {
                'metadata': {
                    'uid': metadata['uid'],
                    'labels': {**dict.fromkeys(_LEAVES), keys.KEPT_OF: self.jobset.metadata.name},
                    'ownerReferences': [network.owner_reference(self.jobset)],
                    'finalizers': [name for name in metadata.get('finalizers') or () if name != pods.JOB_TRACKING],
                },
            }
            await self._patch(metadata['name'], change)

    async def prune(self, attempts: int) -> None:
        """Delete the kept pods of all but so many attempts before the running one, of the set and of each Job."""
        oldest = self.jobset.status.restarts - attempts
        for pod in await self._list(f'{keys.KEPT_OF}={self.jobset.metadata.name}'):
            metadata = pod['metadata']
            labels: dict[str, str] = metadata.get('labels') or {}
            attempt = labels.get(keys.RESTART_ATTEMPT, '')
            owners = [owner['uid'] for owner in metadata.get('ownerReferences') or ()]
            is_old = attempt.isdecimal() and int(attempt) < oldest
            if self.jobset.metadata.uid in owners and (is_old or self._is_old_of_its_job(labels, attempts)):
                await self._delete(metadata['name'], metadata['uid'])

    def _is_old_of_its_job(self, labels: dict[str, str], attempts: int) -> bool:
        """Whether its Job alone has been made anew so often since."""
        own, index = labels.get(keys.JOB_RESTART_ATTEMPT, ''), labels.get(keys.JOB_INDEX, '')
        if not (own.isdecimal() and index.isdecimal()):
            return False
        running = singles.attempt(self.jobset, labels.get(keys.REPLICATED_JOB_NAME, ''), int(index))
        return int(own) < running - attempts

    async def archive(self, entry: plan.AttemptRecord) -> None:
        """Add an entry to the archive.

        Raises:
            NotArchivedError: the ConfigMap belongs to somebody else, or we may not write it.
        """
        name = archive.name(self.jobset)
        try:
            found = await self._config_map(name)
            body = archive.config_map(self.jobset, archive.added((found or {}).get('data') or {}, entry))
            if found is None:
                await self.api.send(requests.create(requests.CONFIG_MAPS, self._namespace, body))
                return
            owners = [owner['uid'] for owner in found['metadata'].get('ownerReferences') or ()]
            if self.jobset.metadata.uid not in owners:
                raise NotArchivedError(f'ConfigMap {name} is not of this JobSet; delete or rename it')
            changed = {**found, 'data': body['data']}
            await self.api.send(requests.replace(requests.CONFIG_MAPS, self._namespace, name, changed))
        except (errors.Forbidden, errors.Invalid) as error:
            raise NotArchivedError(f'ConfigMap {name}: {error.message or error}') from error

    async def _config_map(self, name: str) -> dict[str, Any] | None:
        request = requests.read(requests.CONFIG_MAPS, self._namespace, name)
        try:
            return await self.api.request(request, into=dict[str, Any])
        except errors.NotFound:
            return None

    async def _release(self, act: plan.PodAct) -> None:
        request = requests.read(requests.PODS, self._namespace, act.pod.name)
        pod = await self.api.request(request, into=dict[str, Any])
        metadata = pod['metadata']
        if metadata['uid'] != act.pod.uid:
            return
        left = [name for name in metadata.get('finalizers') or () if name not in act.finalizers]
        # The version makes sure that no finalizer is lost that was added since.
        version = metadata['resourceVersion']
        await self._patch(act.pod.name, {'metadata': {'resourceVersion': version, 'finalizers': left}})

    async def _delete(self, name: str, uid: str, *, grace_seconds: int | None = None) -> None:
        request = requests.delete(requests.PODS, self._namespace, name, uid=uid, grace_seconds=grace_seconds)
        try:
            await self.api.send(request)
        except (errors.NotFound, errors.Conflict):
            return  # gone; another pod may have the name

    async def _patch(self, name: str, change: dict[str, Any]) -> None:
        request = requests.patch(
            requests.PODS, self._namespace, name, change, requests.Patch.MERGE, field_manager=keys.FIELD_MANAGER
        )
        try:
            await self.api.send(request)
        except errors.NotFound:
            return

    async def _list(self, selector: str) -> Iterable[dict[str, Any]]:
        request = requests.list_(requests.PODS, self._namespace, label_selector=selector)
        answer = await self.api.request(request, into=dict[str, Any])
        items: list[dict[str, Any]] = answer.get('items') or []
        return sorted(items, key=_ended_at)


def _is_to_be_kept(pod: dict[str, Any]) -> bool:
    """Only what has ended stays, as it uses nothing; what is being deleted goes in any case."""
    return pod.get('status', {}).get('phase') == 'Failed' and 'deletionTimestamp' not in pod['metadata']


def _ended_at(pod: dict[str, Any]) -> tuple[str, str]:
    statuses = pod.get('status', {}).get('containerStatuses') or ()
    times = [(one.get('state') or {}).get('terminated', {}).get('finishedAt') or '' for one in statuses]
    return (min(times, default=''), pod['metadata']['name'])
