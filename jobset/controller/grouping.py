"""Writes about Workloads and PodGroups: part of :mod:`jobset.controller.executor`."""

from dataclasses import dataclass
from typing import Any

from jobset.api import types
from jobset.controller import groups
from jobset.core import plan
from jobset.core.groups import observed
from jobset.kube import client, errors, requests


@dataclass(frozen=True)
class Writer:
    """One request at a time; what may run at once is the executor's business."""

    api: client.Client
    seen: groups.Groups

    async def delete(self, jobset: types.JobSet, group: plan.GroupRef) -> None:
        """Ask for the deletion of a group."""
        request = requests.delete(self._resource(group.kind), jobset.metadata.namespace, group.name, uid=group.uid)
        try:
            await self.api.send(request)
        except (errors.NotFound, errors.Conflict):
            return  # gone, or another one by now

    async def create(self, jobset: types.JobSet, wanted: plan.GroupObject) -> bool:
        """Make a group; returns whether its name is free, or ours already."""
        resource = self._resource(wanted.kind)
        try:
            made = await self.api.request(
                requests.create(resource, jobset.metadata.namespace, wanted.body), into=_model(wanted.kind)
            )
        except errors.AlreadyExists:
            read = requests.read(resource, jobset.metadata.namespace, wanted.name)
            made = await self.api.request(read, into=_model(wanted.kind))
            controller = made.metadata.controller
            if controller is None or controller.uid != jobset.metadata.uid:
                return False
        except errors.NotFound:
            self.seen.look_again()
            raise
        self.seen.observe(made)
        return True

    async def resize(self, jobset: types.JobSet, wanted: plan.Resize) -> None:
        """Change the size of a gang."""
        group = wanted.group
        at = '' if wanted.template is None else f'/podGroupTemplates/{wanted.template}'
        change: list[Any] = [
            {'op': 'test', 'path': '/metadata/uid', 'value': group.uid},
            {'op': 'replace', 'path': f'/spec{at}/schedulingPolicy/gang/minCount', 'value': wanted.min_count},
        ]
        resource = self._resource(group.kind)
        request = requests.patch(resource, jobset.metadata.namespace, group.name, change, requests.Patch.JSON)
        try:
            self.seen.observe(await self.api.request(request, into=_model(group.kind)))
        except errors.NotFound:
            return  # the next pass sees that it is gone

    def _resource(self, kind: str) -> requests.Resource:
        served = self.seen.served
        if served is None:
            raise errors.NotFound(404, 'NotFound', f'{kind}: {observed.GROUP} is not served any more')
        return served.resource(kind)


def _model(kind: str) -> type[observed.Workload] | type[observed.PodGroup]:
    return observed.Workload if kind == 'Workload' else observed.PodGroup
