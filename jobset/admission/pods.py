"""New pods of JobSets: what they get so that they are placed exclusively, and which are not created yet.

Source: JobSet, exclusive placement, pod webhooks. All pods get their priority as a label, by which exclusive placement
tells levels apart. A leader gets affinity to its own Job and anti-affinity to all others of its level. A follower gets
a node selector for the domain of its leader, and is refused while that has no node.

Pods of other origin, and those that a node selector was prepared for, are left alone.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from jobset.api import keys
from jobset.api import pods as observed
from jobset.core import placement

Operation = Mapping[str, object]


class _Affinity(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """What is there already, to be added to."""

    required: list[msgspec.Raw] | None = msgspec.field(
        default=None, name='requiredDuringSchedulingIgnoredDuringExecution'
    )


class _Affinities(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    pod_affinity: _Affinity | None = None
    pod_anti_affinity: _Affinity | None = None


class _Spec(observed.PodSpec, frozen=True, kw_only=True, rename='camel', gc=False):
    priority: int | None = None
    affinity: _Affinities | None = None


class NewPod(observed.Pod, frozen=True, kw_only=True, rename='camel', gc=False):
    """A pod as it is sent."""

    spec: _Spec = _Spec()

    def __post_init__(self) -> None:
        """It is answered and let go: what is equal in others need not be looked for."""

    @property
    def is_ours(self) -> bool:
        """Whether it is for us to complete and to judge."""
        return self.annotations.jobset is not None and self.annotations.strategy is None

    @property
    def level(self) -> str | None:
        """Its priority as a label value; None for one that has no such form, as it cannot begin with a minus."""
        priority = self.spec.priority
        return None if priority is None or priority < 0 else str(priority)


_decoder: Final = msgspec.json.Decoder(NewPod)


def read(sent: bytes | msgspec.Raw) -> NewPod | None:
    """The pod, if it is for us; None also for what is no pod, which the API server refuses itself."""
    try:
        pod = _decoder.decode(sent)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return pod if pod.is_ours else None


class NotYetError(Exception):
    """The pod cannot be created now. The text says why, for whoever reads the events of the Job."""

    code = 403
    reason = 'Forbidden'


class NodeNotFoundError(NotYetError):
    """The leader is bound to a node that is not there."""

    code = 404
    reason = 'NotFound'


class UnknownError(NotYetError):
    """What is needed could not be asked in time."""

    code = 503
    reason = 'ServiceUnavailable'


class Leaders(Protocol):
    """Who knows where leaders are."""

    def known(self, follower: observed.Pod, name: placement.LeaderName) -> observed.Pod | placement.NoLeader:
        """The leader as far as one knows without asking."""

    def known_domain(self, node: str, topology: str) -> str | None:
        """The topology domain of a node, if it is known without asking."""

    async def find(self, follower: observed.Pod, name: placement.LeaderName) -> observed.Pod | placement.NoLeader:
        """The leader, bound or not; waits a moment for one that is about to be bound. Raises UnknownError."""

    async def look(self, follower: observed.Pod, name: placement.LeaderName) -> observed.Pod | placement.NoLeader:
        """The leader as it is now. Raises UnknownError."""

    async def domain(self, node: str, topology: str) -> str:
        """The topology domain of a node. Raises :class:`NotYetError`."""


def complete_at_once(pod: NewPod, namespace: str, leaders: Leaders) -> Sequence[Operation] | None:
    """As :func:`complete`, or None where somebody has to be asked: that is so for few, and this takes less time."""
    topology = pod.topology
    if topology is None:
        return _label(pod)
    if pod.is_leader:
        return [*_label(pod), *_affinities(pod, topology)]
    node = _known_node(pod, namespace, leaders)
    domain = leaders.known_domain(node, topology) if node else None
    return None if domain is None else [*_label(pod), *_selector(pod, topology, domain)]


def passes_at_once(pod: NewPod, namespace: str, leaders: Leaders) -> bool:
    """Whether :func:`judge` would let the pod through, as far as one knows without asking."""
    topology = pod.topology
    if topology is None or pod.is_leader:
        return True
    return topology in (pod.spec.node_selector or {}) and _known_node(pod, namespace, leaders) != ''


def _known_node(pod: NewPod, namespace: str, leaders: Leaders) -> str:
    try:
        known = leaders.known(pod, placement.wanted_by(pod, namespace))
    except placement.MissingLabelError:
        return ''
    return known.spec.node_name if isinstance(known, observed.Pod) else ''


async def complete(pod: NewPod, namespace: str, leaders: Leaders) -> Sequence[Operation]:
    """The operations (RFC 6902) that complete a new pod. Raises :class:`NotYetError` where its node is no use."""
    done = complete_at_once(pod, namespace, leaders)
    topology = pod.topology
    if done is not None or topology is None:
        return done or ()
    leader = await _leader(pod, namespace, leaders)
    # Without one, the pod is left as it is, and judged: see below.
    if leader is None or not leader.spec.node_name:
        return _label(pod)
    domain = await leaders.domain(leader.spec.node_name, topology)
    return [*_label(pod), *_selector(pod, topology, domain)]


async def judge(pod: NewPod, namespace: str, leaders: Leaders) -> None:
    """Raises :class:`NotYetError` for a follower that has nothing to follow yet."""
    topology = pod.topology
    if topology is None or passes_at_once(pod, namespace, leaders):
        return
    selector = pod.spec.node_selector
    if selector is not None and topology not in selector:
        raise NotYetError(
            f'follower pod node selector for topology domain not found. missing selector: {topology}'
            f'{await _because(pod, namespace, leaders)}'
        )
    if selector is None:
        raise NotYetError(f'follower pod node selector not set{await _because(pod, namespace, leaders)}')
    trouble = await _trouble(pod, namespace, leaders)
    if trouble is not None:
        raise NotYetError(trouble)


async def _because(pod: NewPod, namespace: str, leaders: Leaders) -> str:
    # That a selector is missing is only a consequence, and nobody can act on it.
    trouble = await _trouble(pod, namespace, leaders)
    return '' if trouble is None else f': {trouble}'


async def _trouble(pod: NewPod, namespace: str, leaders: Leaders) -> str | None:
    """What keeps the pod from following its leader; None where it could."""
    try:
        leader = await leaders.look(pod, placement.wanted_by(pod, namespace))
    except placement.MissingLabelError as error:
        return str(error)
    if isinstance(leader, placement.NoLeader):
        return leader.text
    if leader.spec.node_name:
        return None
    reason = placement.unplaceable(leader)
    text = f'leader pod not yet scheduled, not creating follower pod. {placement.TRANSIENT}'
    return text if reason is None else f'{text}. {leader.metadata.name}: {reason}'


async def _leader(pod: NewPod, namespace: str, leaders: Leaders) -> observed.Pod | None:
    try:
        found = await leaders.find(pod, placement.wanted_by(pod, namespace))
    except (placement.MissingLabelError, UnknownError):
        return None
    return found if isinstance(found, observed.Pod) else None


def _label(pod: NewPod) -> list[Operation]:
    level = pod.level
    if level is None or pod.labels.priority == level:
        return []
    if pod.metadata.labels is None:
        return [_add('/metadata/labels', {keys.PRIORITY: level})]
    return [_add(_PRIORITY_POINTER, level)]


def _selector(pod: NewPod, topology: str, domain: str) -> list[Operation]:
    held = pod.spec.node_selector
    if held is None:
        return [_add('/spec/nodeSelector', {topology: domain})]
    return [] if held.get(topology) == domain else [_add(f'/spec/nodeSelector/{_escaped(topology)}', domain)]


def _affinities(pod: NewPod, topology: str) -> list[Operation]:
    """Together with its own Job, and apart from every other one of its level, in any namespace."""
    own = [pod.labels.job_key or '']
    level = pod.level
    same_level = (
        {'key': keys.PRIORITY, 'operator': 'DoesNotExist'}
        if level is None
        else {'key': keys.PRIORITY, 'operator': 'In', 'values': [level]}
    )
    together = _term(topology, [{'key': keys.JOB_KEY, 'operator': 'In', 'values': own}])
    apart = _term(
        topology,
        [
            {'key': keys.JOB_KEY, 'operator': 'Exists'},
            {'key': keys.JOB_KEY, 'operator': 'NotIn', 'values': own},
            same_level,
        ],
    )
    held = pod.spec.affinity
    if held is None:
        return [_add('/spec/affinity', {'podAffinity': _only(together), 'podAntiAffinity': _only(apart)})]
    return [
        _appended('/spec/affinity/podAffinity', held.pod_affinity, together),
        _appended('/spec/affinity/podAntiAffinity', held.pod_anti_affinity, apart),
    ]


_REQUIRED: Final = 'requiredDuringSchedulingIgnoredDuringExecution'


def _term(topology: str, expressions: list[Mapping[str, object]]) -> Mapping[str, object]:
    return {'labelSelector': {'matchExpressions': expressions}, 'topologyKey': topology, 'namespaceSelector': {}}


def _only(term: Mapping[str, object]) -> Mapping[str, object]:
    return {_REQUIRED: [term]}


def _appended(path: str, held: _Affinity | None, term: Mapping[str, object]) -> Operation:
    if held is None:
        return _add(path, _only(term))
    if held.required is None:
        return _add(f'{path}/{_REQUIRED}', [term])
    return _add(f'{path}/{_REQUIRED}/-', term)


def _add(path: str, value: object) -> Operation:
    return {'op': 'add', 'path': path, 'value': value}


def _escaped(key: str) -> str:
    return key.replace('~', '~0').replace('/', '~1')


_PRIORITY_POINTER: Final = f'/metadata/labels/{_escaped(keys.PRIORITY)}'
