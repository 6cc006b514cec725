"""Binds claims to volumes, makes volumes for claims, and takes them away again."""

import logging
from collections.abc import Mapping
from typing import Any, Final, NoReturn, Protocol

from jobset.api import meta
from jobset.kube import errors, index, requests, series, workqueue
from jobset.local.controllers import models, shared
from jobset.local.controllers.volumes import binding, folders

logger = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace and name of a claim; a volume has no namespace."""

NO_CLASS: Final = 'no persistent volumes available for this claim and no storage class is set'


class Recorder(Protocol):
    """Who tells people: :class:`jobset.kube.events.Recorder`."""

    def record(
        self,
        regarding: series.ObjectRef,
        *,
        type: series.EventType,  # noqa: A002 - as there
        reason: str,
        note: str,
        action: str = ...,
    ) -> None:
        """Notes that something has happened."""


class Volumes:
    """The controller. Subscribed when it is made; the informers have to run beside it."""

    def __init__(
        self,
        informers: shared.Informers,
        place: folders.Folders,
        *,
        recorder: Recorder | None = None,
    ) -> None:
        self._source = informers.source
        self._folders = place
        self._recorder = recorder
        self._claims = informers.claims()
        self._volumes = informers.volumes()
        self._pods = informers.pods()
        self._classes = informers.storage_classes()
        self._users: index.Index[Key, models.Pod] = index.Index(_claims_of)
        self._queue: workqueue.WorkQueue[Key] = workqueue.WorkQueue()
        self._pods.subscribe(self._users.on_change)
        self._pods.subscribe(self._seen_pod)
        self._claims.subscribe(self._seen_claim)
        self._volumes.subscribe(self._seen_volume)
        self._classes.subscribe(self._seen_class)

    async def run(self) -> NoReturn:
        """Works until cancelled."""
        for one in (self._pods, self._claims, self._volumes, self._classes):
            await one.synced()
        # One at a time: two claims must not be given the same volume.
        await self._queue.run(self._pass, workers=1)
        raise AssertionError('nobody stops the queue')

    def _seen_pod(self, old: models.Pod | None, new: models.Pod | None) -> None:
        if new is None and old is not None:
            for key in _claims_of(old):
                self._queue.add(key)

    def _seen_claim(self, old: models.Claim | None, new: models.Claim | None) -> None:
        one = new or old
        if one is not None:
            self._queue.add((one.metadata.namespace, one.metadata.name))

    def _seen_volume(self, old: models.Volume | None, new: models.Volume | None) -> None:
        one = new or old
        if one is None:
            return
        self._queue.add(('', one.metadata.name))
        if one.spec.claim_ref is not None:
            self._queue.add((one.spec.claim_ref.namespace, one.spec.claim_ref.name))
        elif old is None:
            self._again()

    def _seen_class(self, *_: object) -> None:
        self._again()

    def _again(self) -> None:
        """Lets all claims that wait have another look."""
        for claim in self._claims.values():
            if claim.status.phase != 'Bound':
                self._queue.add((claim.metadata.namespace, claim.metadata.name))

    async def _pass(self, key: Key) -> float | None:
        namespace, name = key
        try:
            if namespace:
                await self._pass_claim(key)
            else:
                await self._pass_volume(name)
        except errors.NotFound:
            return None
        except errors.Conflict:
            return 0.05
        return None

    async def _pass_claim(self, key: Key) -> None:
        claim = self._claims.get(*key)
        if claim is None:
            self._look_at_volumes_of(key)
            return
        if claim.metadata.is_deleting:
            if binding.CLAIM_PROTECTION in claim.metadata.finalizers and not self._is_used(claim):
                await self._write_finalizers(requests.CLAIMS, claim.metadata, remove=binding.CLAIM_PROTECTION)
            return
        if binding.CLAIM_PROTECTION not in claim.metadata.finalizers:
            await self._write_finalizers(requests.CLAIMS, claim.metadata, add=binding.CLAIM_PROTECTION)
            return
        if claim.status.phase != 'Bound':
            await self._bind(claim)

    def _is_used(self, claim: models.Claim) -> bool:
        key = (claim.metadata.namespace, claim.metadata.name)
        return binding.is_used(claim, self._users.get(key).values())

    def _look_at_volumes_of(self, key: Key) -> None:
        for volume in self._volumes.values():
            reference = volume.spec.claim_ref
            if reference is not None and (reference.namespace, reference.name) == key:
                self._queue.add(('', volume.metadata.name))

    async def _bind(self, claim: models.Claim) -> None:
        volume = binding.choose(claim, self._volumes.values())
        if volume is None:
            volume = await self._make(claim)
        if volume is None:
            return
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            body: dict[str, Any] = {
                'metadata': {'resourceVersion': volume.metadata.resource_version},
                'spec': {'claimRef': binding.reference_to(claim)},
            }
            if volume.spec.claim_ref is None:
                body['metadata']['annotations'] = {binding.BOUND_BY_US: 'yes'}
            volume = await self._patch_volume(volume, body)
        if volume.status.phase != 'Bound':
            volume = await self._patch_volume(volume, {'status': {'phase': 'Bound'}}, 'status')
        await self._bind_claim(claim, volume)

    async def _bind_claim(self, claim: models.Claim, volume: models.Volume) -> None:
        if claim.spec.volume_name != volume.metadata.name:
            annotations = {binding.BIND_COMPLETED: 'yes', binding.BOUND_BY_US: 'yes'}
            claim = await self._patch_claim(
                claim, {'metadata': {'annotations': annotations}, 'spec': {'volumeName': volume.metadata.name}}
            )
        elif binding.BIND_COMPLETED not in claim.metadata.annotations:
            claim = await self._patch_claim(claim, {'metadata': {'annotations': {binding.BIND_COMPLETED: 'yes'}}})
        await self._patch_claim(claim, {'status': binding.bound_status(volume)}, 'status')

    async def _make(self, claim: models.Claim) -> models.Volume | None:
        """A new volume, where the class of the claim says how to make one."""
        classes = {one.metadata.name: one for one in self._classes.values()}
        of = binding.made_by(claim, classes)
        if of is None:
            self._say_why_not(claim, classes)
            return None
        path = self._folders.path(binding.folder_name(claim))
        try:
            await self._folders.make(path)
        except OSError as error:
            text = f'failed to provision volume with StorageClass "{of.metadata.name}": {error}'
            self._record(claim, series.EventType.WARNING, 'ProvisioningFailed', text)
            raise
        request = requests.create(shared.VOLUMES, None, binding.made_for(claim, of, path))
        try:
            volume = await self._source.request(request, models.Volume)
        except errors.AlreadyExists:
            read = requests.read(shared.VOLUMES, None, binding.volume_name(claim))
            volume = await self._source.request(read, models.Volume)
        self._volumes.observe(volume)
        text = f'Successfully provisioned volume {volume.metadata.name}'
        self._record(claim, series.EventType.NORMAL, 'ProvisioningSucceeded', text)
        return volume

    def _say_why_not(self, claim: models.Claim, classes: Mapping[str, models.StorageClass]) -> None:
        wanted = claim.spec.storage_class_name
        if not wanted:
            self._record(claim, series.EventType.NORMAL, 'FailedBinding', NO_CLASS)
        elif wanted not in classes:
            text = f'storageclass.storage.k8s.io "{wanted}" not found'
            self._record(claim, series.EventType.WARNING, 'ProvisioningFailed', text)

    def _record(self, claim: models.Claim, type_: series.EventType, reason: str, note: str) -> None:
        if self._recorder is not None:
            regarding = series.ObjectRef.of(claim.metadata, api_version='v1', kind='PersistentVolumeClaim')
            self._recorder.record(regarding, type=type_, reason=reason, note=note, action='Binding')

    async def _pass_volume(self, name: str) -> None:
        volume = self._volumes.get('', name)
        if volume is not None and not await self._protect(volume):
            await self._reclaim(volume)

    async def _protect(self, volume: models.Volume) -> bool:
        """Adds or removes the finalizer; whether that was needed."""
        metadata = volume.metadata
        is_protected = binding.VOLUME_PROTECTION in metadata.finalizers
        if metadata.is_deleting:
            if is_protected and volume.status.phase != 'Bound':
                await self._write_finalizers(shared.VOLUMES, metadata, remove=binding.VOLUME_PROTECTION)
                return True
        elif not is_protected:
            await self._write_finalizers(shared.VOLUMES, metadata, add=binding.VOLUME_PROTECTION)
            return True
        return False

    async def _reclaim(self, volume: models.Volume) -> None:
        """Takes the volume back when its claim is gone. One that has failed is for a person to look at."""
        reference, phase = volume.spec.claim_ref, volume.status.phase
        if reference is None or not reference.uid:
            if phase != 'Available' and not volume.metadata.is_deleting:
                await self._patch_volume(volume, {'status': {'phase': 'Available'}}, 'status')
        elif phase != 'Failed' and not await self._has_claim(reference):
            if phase != 'Released':
                await self._patch_volume(volume, {'status': {'phase': 'Released'}}, 'status')
            elif volume.spec.persistent_volume_reclaim_policy == 'Delete' and binding.is_ours(volume):
                await self._take_away(volume)

    async def _has_claim(self, reference: models.ObjectReference) -> bool:
        known = self._claims.get(reference.namespace, reference.name)
        if known is not None and known.metadata.uid == reference.uid:
            return True
        try:
            # Nothing is thrown away on the word of a cache.
            request = requests.read(requests.CLAIMS, reference.namespace, reference.name)
            found = await self._source.request(request, models.Claim)
        except errors.NotFound:
            return False
        return found.metadata.uid == reference.uid

    async def _take_away(self, volume: models.Volume) -> None:
        path = volume.spec.host_path.path if volume.spec.host_path is not None else ''
        if path:
            try:
                await self._folders.remove(path)
            except PermissionError as error:
                logger.warning('volume %s is kept: %s', volume.metadata.name, error)
                await self._patch_volume(volume, {'status': {'phase': 'Failed', 'message': str(error)}}, 'status')
                return
        if not volume.metadata.is_deleting:
            await self._source.send(
                requests.delete(shared.VOLUMES, None, volume.metadata.name, uid=volume.metadata.uid)
            )

    async def _write_finalizers(
        self,
        resource: requests.Resource,
        metadata: meta.Common,
        *,
        add: str = '',
        remove: str = '',
    ) -> None:
        names = [one for one in metadata.finalizers if one != remove] + [add] * bool(add)
        body = {'metadata': {'resourceVersion': metadata.resource_version, 'finalizers': names}}
        await self._source.send(requests.patch(resource, metadata.namespace, metadata.name, body, requests.Patch.MERGE))

    async def _patch_volume(self, volume: models.Volume, body: dict[str, Any], part: str = '') -> models.Volume:
        request = requests.patch(
            shared.VOLUMES, None, volume.metadata.name, body, requests.Patch.MERGE, subresource=part
        )
        written = await self._source.request(request, models.Volume)
        self._volumes.observe(written)
        return written

    async def _patch_claim(self, claim: models.Claim, body: dict[str, Any], part: str = '') -> models.Claim:
        metadata = claim.metadata
        request = requests.patch(
            requests.CLAIMS, metadata.namespace, metadata.name, body, requests.Patch.MERGE, subresource=part
        )
        written = await self._source.request(request, models.Claim)
        self._claims.observe(written)
        return written


def _claims_of(pod: models.Pod) -> list[Key]:
    return [(pod.metadata.namespace, name) for name in dict.fromkeys(pod.claims)]
