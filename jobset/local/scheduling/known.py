"""What a scheduler knows of a cluster: who has a node, who waits for one, and who of these is worth another try.

Changes are put in one by one. Whoever waits is woken only by what may help, see :attr:`Known.needs_plan`.
"""

from typing import Final

from jobset.api import meta
from jobset.local.scheduling import fitting, model, plans, room, shapes, waiting

SCHEDULER: Final = 'default-scheduler'
UNSCHEDULABLE: Final = 'Unschedulable'
GATED: Final = 'SchedulingGated'
GROUP_SCHEDULED: Final = 'PodGroupInitiallyScheduled'


class Known:
    """All that a scheduler knows."""

    def __init__(self, name: str = SCHEDULER) -> None:
        self.room = room.Room()
        self._name = name
        self._space = fitting.Fitting(self.room)
        self._catalogue = shapes.Catalogue()
        self._units: dict[waiting.Key, waiting.Unit] = {}
        self._unit_of: dict[str, waiting.Unit] = {}
        self._active: set[waiting.Key] = set()
        self._all_active = False
        self._seekers: set[waiting.Key] = set()
        self._claimants: set[waiting.Key] = set()
        self._gated: dict[str, str] = {}
        self._to_gate: list[model.Pod] = []
        self._groups: dict[meta.Ref, model.PodGroup] = {}
        self._settled: dict[meta.Ref, str] = {}
        self._judged: dict[meta.Ref, plans.Judgement] = {}
        self._group_of: dict[str, meta.Ref] = {}
        self._members: dict[meta.Ref, dict[str, str]] = {}
        self._claims: dict[meta.Ref, model.Claim] = {}
        self._volumes: dict[str, model.PersistentVolume] = {}

    @property
    def unplaced(self) -> int:
        """How many pods have no node yet, and may have one."""
        return len(self._unit_of)

    @property
    def needs_plan(self) -> bool:
        """Whether anything has happened that a plan may follow from."""
        return bool(self._to_gate or ((self._active or self._all_active) and self._unit_of))

    def put_node(self, node: model.Node) -> None:
        """A node is new, or has changed."""
        if self.room.put_node(node):
            self._all_active = True

    def drop_node(self, name: str) -> None:
        """A node is gone."""
        self.room.drop_node(name)

    def put_pod(self, pod: model.Pod) -> None:
        """A pod is new, or has changed."""
        uid, spec = pod.metadata.uid, pod.spec
        resident = self.room.residents.get(uid)
        if resident is not None and not pod.has_ended:
            if pod.metadata.deletion_timestamp:
                # It still takes up room, but no group can count on it.
                self._leave_group(uid)
            # Without a node in it, this is older than what was decided about it.
            if spec.node_name in ('', resident.node) and pod.metadata.labels == resident.labels:
                return
            if not spec.node_name:
                return
        if pod.has_ended:
            self.drop_pod(uid)
        elif spec.node_name:
            self._remove(uid)
            self._unwait(uid)
            self._settle(pod, spec.node_name, self._catalogue.of(pod))
        elif spec.scheduler_name != self._name or pod.metadata.deletion_timestamp:
            self._unwait(uid)
        elif spec.scheduling_gates:
            self._gate(pod)
        else:
            self._gated.pop(uid, None)
            self._wait(pod)

    def drop_pod(self, uid: str) -> None:
        """A pod is gone, or has ended."""
        self._gated.pop(uid, None)
        self._unwait(uid)
        if self._remove(uid):
            self._all_active = True

    def forget(self, uid: str, pod: model.Pod | None) -> None:
        """A pod did not get the node that was decided on; ``pod`` as it is now, None when it is gone."""
        if self._remove(uid):
            self._all_active = True
        if pod is not None:
            self.put_pod(pod)

    def put_group(self, group: model.PodGroup) -> None:
        """A group is new, or has changed."""
        ref = group.metadata.ref
        old = self._groups.get(ref)
        self._groups[ref] = group
        told = said_of(group)
        if told is not None and told.status == 'True':
            self._settled[ref] = group.metadata.uid
        if old is None or old.spec != group.spec or old.metadata.uid != group.metadata.uid:
            self._activate(ref)

    def drop_group(self, ref: meta.Ref) -> None:
        """A group is gone."""
        self._groups.pop(ref, None)
        self._settled.pop(ref, None)
        self._judged.pop(ref, None)

    def put_claim(self, claim: model.Claim) -> None:
        """A claim is new, or has changed."""
        self._claims[claim.metadata.ref] = claim
        self._active |= self._claimants

    def drop_claim(self, ref: meta.Ref) -> None:
        """A claim is gone."""
        self._claims.pop(ref, None)

    def put_volume(self, volume: model.PersistentVolume) -> None:
        """A volume is new, or has changed."""
        self._volumes[volume.metadata.name] = volume
        self._active |= self._claimants

    def drop_volume(self, name: str) -> None:
        """A volume is gone."""
        self._volumes.pop(name, None)

    # Who waits, and who has a node.

    def _wait(self, pod: model.Pod) -> None:
        uid, shape = pod.metadata.uid, self._catalogue.of(pod)
        unit = self._unit_of.get(uid)
        key = self._key(pod, shape)
        if unit is not None:
            if unit.key == key:
                unit.entries[uid].pod = pod
                return
            self._unwait(uid)
        entry = waiting.Entry(pod, shape, waiting.turn(pod))
        if pod.scheduled is not None and pod.scheduled.reason == UNSCHEDULABLE:
            entry.told = pod.scheduled.message
        unit = self._units.get(key)
        if unit is None:
            unit = self._units[key] = waiting.Unit(key)
        unit.add(entry)
        self._unit_of[uid] = unit
        if shape.near or shape.spreads:
            self._seekers.add(key)
        if shape.claims:
            self._claimants.add(key)
        self._active.add(key)

    def _key(self, pod: model.Pod, shape: shapes.Shape) -> waiting.Key:
        group = pod.spec.scheduling_group
        if group is not None and group.pod_group_name:
            return meta.Ref(pod.metadata.namespace, group.pod_group_name)
        single = '' if shape.is_plain else pod.metadata.uid
        return waiting.CrowdKey(id(shape), pod.spec.priority or 0, single)

    def _unwait(self, uid: str) -> None:
        unit = self._unit_of.pop(uid, None)
        if unit is None:
            return
        unit.remove(uid)
        if not unit.entries:
            del self._units[unit.key]
            for keys in (self._active, self._seekers, self._claimants):
                keys.discard(unit.key)

    def _gate(self, pod: model.Pod) -> None:
        self._unwait(pod.metadata.uid)
        told = pod.scheduled
        if pod.metadata.uid not in self._gated and (told is None or told.reason != GATED):
            self._to_gate.append(pod)
        self._gated[pod.metadata.uid] = pod.metadata.name

    def _settle(self, pod: model.Pod, node: str, shape: shapes.Shape) -> None:
        metadata = pod.metadata
        resident = room.Resident(metadata.uid, metadata.namespace, metadata.labels, shape, node)
        self.room.assign(resident)
        self._space.neighbours.add(resident)
        group = pod.spec.scheduling_group
        if group is not None and group.pod_group_name and not metadata.deletion_timestamp:
            ref = self._group_of[metadata.uid] = meta.Ref(metadata.namespace, group.pod_group_name)
            self._members.setdefault(ref, {})[metadata.uid] = node
        self._active |= self._seekers

    def _remove(self, uid: str) -> bool:
        resident = self.room.remove(uid)
        if resident is None:
            return False
        self._space.neighbours.remove(resident)
        self._leave_group(uid)
        return True

    def _leave_group(self, uid: str) -> None:
        ref = self._group_of.pop(uid, None)
        if ref is not None:
            members = self._members[ref]
            del members[uid]
            if not members:
                del self._members[ref]

    def _activate(self, key: waiting.Key) -> None:
        unit = self._units.get(key)
        if unit is not None:
            unit.not_before = 0
            self._active.add(key)


def said_of(group: model.PodGroup) -> model.Condition | None:
    """What is told of whether a group has got its nodes."""
    return next((one for one in group.status.conditions or () if one.type == GROUP_SCHEDULED), None)
