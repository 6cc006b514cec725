"""What makes pods equal for a scheduler: pods of one shape fit the same nodes.

Labels are not part of a shape, because each pod of a Job has its own. They matter where pods avoid or seek each other:
see :mod:`jobset.local.scheduling.neighbours`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from jobset.api import podrequests
from jobset.local.scheduling import amounts, model, selectors


class Port(NamedTuple):
    """A port of the node that a pod wants for itself."""

    address: str
    protocol: str
    number: int

    def clashes(self, other: 'Port') -> bool:
        """Whether both cannot be on one node."""
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return self.address == other.address or '0.0.0.0' in {self.address, other.address}  # noqa: S104


class Toleration(NamedTuple):
    """A taint that does not keep a pod away; an empty key or effect means any."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: model.Taint) -> bool:
        """Whether it is meant."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == 'Exists':
            return True
        return bool(self.key) and self.value == taint.value


class Preference(NamedTuple):
    """Nodes that a pod would rather have."""

    weight: int
    term: selectors.NodeTerm


@dataclass(frozen=True)
class Homes:
    """Which nodes are right for a pod whatever runs on them: many shapes have the same."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[selectors.NodeTerm, ...] | None = None
    preferences: tuple[Preference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    def __hash__(self) -> int:
        return hash((self.selector, self.terms, self.tolerations))


class Term(NamedTuple):
    """Other pods, and the label of nodes that makes two nodes the same place."""

    topology_key: str
    namespaces: frozenset[str] | None
    """None: all of them."""

    selector: selectors.Selector | None

    def matches(self, namespace: str, labels: Mapping[str, str | None]) -> bool:
        """Whether a pod is meant."""
        if self.selector is None or (self.namespaces is not None and namespace not in self.namespaces):
            return False
        return self.selector.matches(labels)


class Spread(NamedTuple):
    """How evenly pods must be spread."""

    term: Term
    max_skew: int
    min_domains: int
    honours_homes: bool
    label_keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Shape:
    """What pods of one kind ask for."""

    needs: podrequests.Amounts
    ports: tuple[Port, ...] = ()
    homes: Homes = field(default_factory=Homes)
    near: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    spreads: tuple[Spread, ...] = ()
    claims: tuple[str, ...] = ()
    namespace: str = ''
    """Where it matters; empty for shapes that do not look at other pods or claims."""

    may_preempt: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether a node that fits one pod of it, at a moment, fits every other one."""
        return not (self.near or self.apart or self.spreads or self.claims)


class Catalogue:
    """The shapes of all pods, each once."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._shapes: dict[object, Shape] = {}

    def of(self, pod: model.Pod) -> Shape:
        """The shape of a pod."""
        key = _key(pod)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= self._most:
                self._shapes.clear()
            shape = self._shapes[key] = _shape(pod)
        return shape


def _key(pod: model.Pod) -> object:
    """All that the shape follows from."""
    spec = pod.spec
    looks_around = bool(spec.affinity) or bool(spec.topology_spread_constraints) or bool(spec.volumes)
    claims: object = ()
    if spec.volumes:
        claims = _claims(pod)
    return (
        pod.metadata.namespace if looks_around else '',
        tuple([(bytes(one.resources), bytes(one.ports)) for one in spec.containers or ()]),
        tuple([(bytes(one.resources), one.restart_policy) for one in spec.init_containers or ()]),
        tuple(sorted(spec.node_selector.items())) if spec.node_selector else (),
        bytes(spec.affinity),
        bytes(spec.tolerations),
        bytes(spec.topology_spread_constraints),
        bytes(spec.overhead),
        bytes(spec.resources),
        claims,
        spec.preemption_policy,
    )


def _claims(pod: model.Pod) -> tuple[str, ...]:
    names = []
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            names.append(f'{pod.metadata.name}-{volume.name}')
    return tuple(names)


def _shape(pod: model.Pod) -> Shape:
    spec, namespace = pod.spec, pod.metadata.namespace
    affinity: dict[str, Any] = _decoded(spec.affinity) or {}
    of_nodes = affinity.get('nodeAffinity') or {}
    preferred = of_nodes.get('preferredDuringSchedulingIgnoredDuringExecution') or ()
    return Shape(
        needs=amounts.of_pod(spec),
        ports=tuple(_ports(spec)),
        homes=Homes(
            selector=tuple(sorted((spec.node_selector or {}).items())),
            terms=selectors.of_nodes(of_nodes.get('requiredDuringSchedulingIgnoredDuringExecution')),
            preferences=tuple(
                Preference(one.get('weight', 1), selectors.node_term(one.get('preference') or {})) for one in preferred
            ),
            tolerations=tuple(_toleration(one) for one in _decoded(spec.tolerations) or ()),
        ),
        near=_terms(affinity.get('podAffinity'), namespace),
        apart=_terms(affinity.get('podAntiAffinity'), namespace),
        spreads=tuple(
            _spread(one, namespace)
            for one in _decoded(spec.topology_spread_constraints) or ()
            if one.get('whenUnsatisfiable') == 'DoNotSchedule'
        ),
        claims=_claims(pod),
        namespace=namespace,
        may_preempt=spec.preemption_policy != 'Never',
    )


def _decoded(raw: msgspec.Raw) -> Any:
    text = bytes(raw)
    return msgspec.json.decode(text) if text else None


def _ports(spec: model.PodSpec) -> list[Port]:
    sidecars = [one for one in spec.init_containers or () if one.restart_policy == 'Always']
    return [
        Port(port.get('hostIP') or '0.0.0.0', port.get('protocol') or 'TCP', port['hostPort'])  # noqa: S104
        for one in (*(spec.containers or ()), *sidecars)
        for port in _decoded(one.ports) or ()
        if port.get('hostPort')
    ]


def _toleration(one: dict[str, Any]) -> Toleration:
    return Toleration(
        one.get('key') or '', one.get('operator') or 'Equal', one.get('value') or '', one.get('effect') or ''
    )


def _terms(affinity: dict[str, Any] | None, namespace: str) -> tuple[Term, ...]:
    required = (affinity or {}).get('requiredDuringSchedulingIgnoredDuringExecution') or ()
    return tuple(_term(one, namespace) for one in required)


def _term(one: dict[str, Any], namespace: str) -> Term:
    return Term(one.get('topologyKey') or '', _namespaces(one, namespace), selectors.of_pods(one.get('labelSelector')))


def _namespaces(one: dict[str, Any], own: str) -> frozenset[str] | None:
    names = frozenset(one.get('namespaces') or ())
    wanted = one.get('namespaceSelector')
    if wanted is None:
        return names or frozenset((own,))
    selector = selectors.of_pods(wanted)
    if selector is not None and selector.requirements:
        # Of the labels of namespaces only the one is known that every namespace has: its name.
        exact = [each for each in selector.requirements if each.key == 'kubernetes.io/metadata.name']
        return names.union(*(each.values for each in exact if each.operator == 'In'))
    return None


def _spread(one: dict[str, Any], namespace: str) -> Spread:
    return Spread(
        term=Term(one['topologyKey'], frozenset((namespace,)), selectors.of_pods(one.get('labelSelector'))),
        max_skew=one.get('maxSkew', 1),
        min_domains=one.get('minDomains') or 1,
        honours_homes=one.get('nodeAffinityPolicy') != 'Ignore',
        label_keys=tuple(one.get('matchLabelKeys') or ()),
    )
