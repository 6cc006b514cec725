"""What a JobSet counts against quota: of each cell, the most that pod sets of one stage use together."""

from collections.abc import Mapping, Sequence

from jobset.scheduler.amounts import Amounts
from jobset.scheduler.model import Cell, PodSet, Stage, Usage
from jobset.scheduler.topology.requests import Request
from jobset.scheduler.topology.tree import PODS


class Peaks:
    """The usage of one JobSet, while its pod sets are given flavours one by one."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.requests: list[Request] = []
        """Of each pod set, in the order of its first stage."""
        self.usage: Usage = {}
        """Of the pod sets that have their flavours."""
        self._in_stage: list[Usage] = [{} for _ in stages]
        self._asked: dict[str, list[tuple[Usage, Amounts]]] = {}
        for stage, used in zip(stages, self._in_stage, strict=True):
            for pod_set in stage:
                name = pod_set.request.name
                if name not in self._asked:
                    self._asked[name] = []
                    self.requests.append(pod_set.request)
                self._asked[name].append((used, _amounts(pod_set)))

    def asked(self, pod_set: str, resources: Sequence[str]) -> tuple[str, ...]:
        """Those of ``resources`` of which the pod set asks for anything."""
        return tuple(each for each in resources if any(wanted.get(each, 0) > 0 for _, wanted in self._asked[pod_set]))

    def beside(self, pod_set: str, cell: Cell) -> int:
        """What would be used of ``cell`` if the pod set got it, too."""
        return max(
            self.usage.get(cell, 0),
            *(used.get(cell, 0) + wanted.get(cell.resource, 0) for used, wanted in self._asked[pod_set]),
        )

    def give(self, pod_set: str, flavours: Mapping[str, str]) -> None:
        """Count the pod set, once, with its flavour of each resource."""
        for resource, flavour in flavours.items():
            cell = Cell(flavour, resource)
            self.usage[cell] = self.beside(pod_set, cell)
            for used, wanted in self._asked[pod_set]:
                used[cell] = used.get(cell, 0) + wanted.get(resource, 0)


def usage(stages: Sequence[Stage], flavours: Mapping[str, Mapping[str, str]]) -> Usage:
    """What is used when pod sets have ``flavours``, by pod set and resource."""
    peaks = Peaks(stages)
    for request in peaks.requests:
        peaks.give(request.name, flavours.get(request.name, {}))
    return peaks.usage


def _amounts(pod_set: PodSet) -> Amounts:
    """What all its pods and its leader ask for; the pods themselves can be counted, too."""
    return pod_set.amounts | {PODS: pod_set.request.count + (pod_set.request.leader is not None)}
