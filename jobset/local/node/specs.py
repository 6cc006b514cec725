"""Readings of a pod's spec that several questions need."""

from collections.abc import Iterator

from jobset.local.node.model import Spec

DEFAULT_GRACE: int = 30


def inits(spec: Spec) -> list[Spec]:
    """Containers that run before the others, sidecars among them."""
    return spec.get('initContainers') or []


def mains(spec: Spec) -> list[Spec]:
    """Containers that decide when the pod is done."""
    return spec.get('containers') or []


def containers(spec: Spec) -> Iterator[Spec]:
    """All of them, in the order in which they start."""
    yield from inits(spec)
    yield from mains(spec)


def place(spec: Spec, name: str) -> str:
    """Where a container stands, as Events name it."""
    field = 'initContainers' if any(one.get('name') == name for one in inits(spec)) else 'containers'
    return f'spec.{field}{{{name}}}'


def sidecars(spec: Spec) -> list[Spec]:
    """Init containers that go on running."""
    return [container for container in inits(spec) if is_sidecar(container)]


def is_sidecar(init: Spec) -> bool:
    """Whether an init container goes on running beside the others."""
    return init.get('restartPolicy') == 'Always'


def grace_seconds(spec: Spec) -> int:
    """How long containers have to end when nobody says otherwise."""
    grace = spec.get('terminationGracePeriodSeconds')
    return DEFAULT_GRACE if grace is None else int(grace)


def hostname(name: str, spec: Spec) -> str:
    """The host name of a pod."""
    override = spec.get('hostnameOverride')
    # The kernel takes no longer ones.
    return str(override or spec.get('hostname') or name)[:63].rstrip('-.')
