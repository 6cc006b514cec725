"""How much a pod asks for, of the pods as the scheduler keeps them: with parts that are still text."""

import msgspec

from jobset.api import podrequests
from jobset.local.scheduling import model


def of_pod(spec: model.PodSpec) -> podrequests.Amounts:
    """What a pod asks for as a whole, itself included; see :func:`podrequests.of`. Read once for each shape of pods."""
    return podrequests.of(
        podrequests.PodSpec(
            containers=_containers(spec.containers),
            init_containers=_containers(spec.init_containers),
            resources=_resources(spec.resources),
            overhead=msgspec.json.decode(spec.overhead, type=podrequests.Quantities) if bytes(spec.overhead) else None,
        )
    )


def _containers(given: tuple[model.Container, ...] | None) -> tuple[podrequests.Container, ...]:
    return tuple(
        podrequests.Container(restart_policy=one.restart_policy, resources=_resources(one.resources))
        for one in given or ()
    )


def _resources(raw: msgspec.Raw) -> podrequests.Resources | None:
    return msgspec.json.decode(raw, type=podrequests.Resources) if bytes(raw) else None
