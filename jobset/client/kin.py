"""What belongs to a JobSet, by name: also what is gone already, of which only events are left."""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobset.api import keys, types
from jobset.client import observed
from jobset.core import network, volumes

_SCHEDULING = frozenset({'Workload', 'PodGroup'})


@dataclass(frozen=True)
class Kin:
    """The names that the objects of a JobSet have, of all its attempts."""

    name: str
    since: datetime.datetime | None
    """When the JobSet was created; events from before are about another one of that name."""

    _by_kind: Mapping[str, Callable[[str], object]]

    def knows(self, kind: str, name: str) -> bool:
        """Whether an object of that kind and name belongs to the JobSet."""
        test = self._by_kind.get(kind)
        return test is not None and bool(test(name))

    def is_regarded_by(self, event: observed.Event) -> bool:
        """Whether an event is about something of the JobSet."""
        if self.since is not None and event.last is not None and event.last < self.since:
            return False
        return self.knows(event.regarding.kind, event.regarding.name)


def of(jobset: types.JobSet) -> Kin:
    """The kin of a JobSet that is there."""
    groups = '|'.join(re.escape(job.name) for job in jobset.spec.replicated_jobs)
    claims = frozenset(claim_names(jobset))
    since = observed.moment(jobset.metadata.creation_timestamp)
    service = network.service_name(jobset)
    return _kin(jobset.metadata.name, since, f'({groups})', claims.__contains__, service.__eq__)


def named(name: str) -> Kin:
    """The kin of a JobSet of which only the name is known.

    Those of another JobSet whose name goes on where this one ends are taken for its own.
    """
    return _kin(name, None, '[a-z0-9-]+', lambda claim: claim.endswith(f'-{name}'), name.__eq__)


def claim_names(jobset: types.JobSet) -> list[str]:
    """The names of the volume claims that its Jobs share."""
    return [
        volumes.claim_name(claim.metadata.name or '', jobset)
        for policy in jobset.spec.volume_claim_policies
        for claim in policy.claims
    ]


def _kin(
    name: str,
    since: datetime.datetime | None,
    groups: str,
    is_claim: Callable[[str], object],
    is_service: Callable[[str], object],
) -> Kin:
    job = re.compile(rf'{re.escape(name)}-{groups}-[0-9]+')
    pod = re.compile(rf'{job.pattern}-[a-z0-9-]+')
    group = re.compile(rf'{re.escape(name)}(-.*)?')
    tests: dict[str, Callable[[str], object]] = {
        keys.KIND: name.__eq__,
        'Job': job.fullmatch,
        'Pod': pod.fullmatch,
        'PersistentVolumeClaim': is_claim,
        'Service': is_service,
        **dict.fromkeys(_SCHEDULING, group.fullmatch),
    }
    return Kin(name, since, tests)
