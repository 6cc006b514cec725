"""Makes the Jobs of a plan: part of :mod:`jobset.controller.executor`.

Of names that are taken, and of templates that are refused, a few requests tell as much as all would.
"""

import dataclasses
from typing import Final

import msgspec

from jobset.api import features, jobs, types
from jobset.controller import failing, fanout, world
from jobset.core import children, conflicts, plan
from jobset.core.jobs import Factory
from jobset.kube import client, errors, requests

FEW: Final = 10
"""Jobs of which all refusals are worth a request each; also as many as the condition ``NameConflict`` names."""


@dataclasses.dataclass(frozen=True)
class Maker:
    """``seen`` takes in what is made."""

    api: client.Client
    seen: world.World
    tell: failing.Teller
    gates: features.FeatureGates

    async def create(
        self,
        jobset: types.JobSet,
        planned: plan.Plan,
        *,
        careful: bool,
    ) -> list[str]:
        """Make the Jobs; returns the names that belong to somebody else.

        Raises failing.PassFailedError when the server refused one for another reason.
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

        async def make(child: children.Child) -> None:
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
            return conflicts.is_noted(jobset.status, named(child.name))

        # Of the names that were taken when we last looked, one stands for all while it still is.
        noted = tuple(child for child in wanted if is_noted(child)) if careful else ()
        failures = await fanout.ramp(noted[:1], make, careful=careful, give_up=True)
        if taken:
            taken.extend(child.name for child in noted[1:])
        tried = noted if taken else noted[:1]
        free = tuple(child for child in wanted if child not in tried)
        for group in _scouts(free):
            failures = failures or await fanout.ramp(group, make, careful=careful, give_up=True)
        if refused:
            notes = (
                f'job "{child.name}" creation failed with error: {failing.message(refused[child.name])}'
                for child in wanted
                if child.name in refused
            )
            failing.warn(self.tell, jobset, 'JobCreationFailed', '\n'.join(notes))
        other = [failure for failure in failures if not isinstance(failure, errors.AlreadyExists)]
        if other:
            raise failing.CreationFailedError(other)
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


def named(job: str) -> str:
    """A Job as a condition names it."""
    return f'Job "{job}"'


def taken(name: str) -> errors.AlreadyExists:
    return errors.AlreadyExists(409, 'AlreadyExists', f'Job {name} exists and belongs to somebody else')
