"""Decides which pod goes where: facts in, decisions out; no clock, no network.

Whatever is known of the cluster is put in, one change at a time, and :meth:`Planner.plan` says what should be done.
What it decides counts as done from then on, until :meth:`Planner.forget` says that it could not be. What has failed is
tried again only when something has changed that may help, and of what has not changed nothing is computed again.

There is no preemption: pods of low priority are not removed for others.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from jobset.api import meta
from jobset.local.scheduling import fitting, gangs, model, room, selectors, shapes, verdicts, waiting

SCHEDULER: Final = 'default-scheduler'
UNSCHEDULABLE: Final = 'Unschedulable'
GATED: Final = 'SchedulingGated'
ERROR: Final = 'SchedulerError'
GROUP_SCHEDULED: Final = 'PodGroupInitiallyScheduled'

_BLOCKED: Final = 'Scheduling is blocked due to non-empty scheduling gates'


@dataclass(frozen=True, slots=True)
class Bind:
    """A pod gets its node."""

    pod: model.Pod
    node: str


@dataclass(frozen=True, slots=True)
class Hold:
    """A pod gets none, and why."""

    pod: model.Pod
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a group has got its nodes, for its status."""

    group: model.PodGroup
    is_scheduled: bool
    reason: str
    message: str


@dataclass
class Plan:
    """What should be done now, in this order."""

    binds: list[Bind] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    again_at: float | None = None
    """When to plan again although nothing changes, on the clock of ``now``."""


class Planner:
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
        self._judged: dict[meta.Ref, Judgement] = {}
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
        told = _told(group)
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

    def plan(self, now: float) -> Plan:
        """What should be done, at ``now`` seconds on any clock that only goes forward."""
        plan = Plan()
        for pod in self._to_gate:
            if self._gated.get(pod.metadata.uid) is not None:
                plan.holds.append(Hold(pod, GATED, _BLOCKED))
        self._to_gate = []
        keys: Iterable[waiting.Key] = self._units if self._all_active else self._active
        self._all_active = False
        turns: list[tuple[waiting.Turn, int, waiting.Unit]] = []
        later: set[waiting.Key] = set()
        for key in keys:
            unit = self._units.get(key)
            entry = unit.head() if unit is not None else None
            if unit is None or entry is None:
                continue
            if unit.not_before > now:
                later.add(key)
                plan.again_at = min(unit.not_before, plan.again_at or unit.not_before)
            else:
                turns.append((entry.turn, id(unit), unit))
        self._active = later
        heapq.heapify(turns)
        while turns:
            _, _, unit = heapq.heappop(turns)
            if unit.is_gang:
                self._try_gang(unit, plan, now)
                continue
            if not self._try_head(unit, plan, now):
                continue
            entry = unit.head()
            if entry is not None:
                heapq.heappush(turns, (entry.turn, id(unit), unit))
        self.room.trim()
        return plan

    # One pod.

    def _try_head(self, unit: waiting.Unit, plan: Plan, now: float) -> bool:
        """Place the pod of a unit whose turn it is; whether it is worth trying the next one."""
        entry = unit.head()
        if entry is None:
            return False
        wish = self._wish(entry)
        if isinstance(wish, str):
            self._hold(unit, plan, now, UNSCHEDULABLE, wish)
            return False
        if not self._space.is_plain(wish):
            return self._try_among_others(unit, entry, wish, plan, now)
        diagnosis = unit.diagnosis
        if diagnosis is None or diagnosis.renew():
            place = self._space.find(wish)
            if place is not None:
                self._bind(entry, place.name, plan)
                return True
            if diagnosis is None:
                diagnosis = unit.diagnosis = verdicts.Diagnosis(self.room, entry.shape)
            diagnosis.renew()
        if unit.untold or now >= unit.tell_after:
            message = diagnosis.verdict().message(may_preempt=entry.shape.may_preempt)
            self._hold(unit, plan, now, UNSCHEDULABLE, message)
        return False

    def _try_among_others(
        self, unit: waiting.Unit, first: waiting.Entry, wish: fitting.Wish, plan: Plan, now: float
    ) -> bool:
        """Place the pods of a unit where it matters which pods are where: one cannot speak for all."""
        hopeless: set[object] = set()
        for entry in unit.in_turn():
            wish = entry.wish(wish.volumes)
            like = self._space.neighbours.signature(wish.namespace, wish.labels)
            if like in hopeless:
                continue
            place = self._space.find(wish)
            if place is not None:
                self._bind(entry, place.name, plan)
                continue
            hopeless.add(like)
            if unit.untold or now >= unit.tell_after:
                message = self._space.explain(wish).message(may_preempt=entry.shape.may_preempt)
                if entry.told != message:
                    entry.told = message
                    plan.holds.append(Hold(entry.pod, UNSCHEDULABLE, message))
        unit.untold = []
        if unit.entries:
            unit.back_off(now)
            if now >= unit.tell_after:
                unit.tell_after = now + unit.tell_pause
                unit.tell_pause = min(waiting.TELL_PAUSE_MOST, unit.tell_pause * 2)
        return False

    def _wish(self, entry: waiting.Entry) -> fitting.Wish | str:
        """What a pod needs, or why it cannot have it whatever the nodes."""
        found = []
        for name in entry.shape.claims:
            claim = self._claims.get(meta.Ref(entry.pod.metadata.namespace, name))
            why = ''
            if claim is None:
                why = f'persistentvolumeclaim "{name}" not found'
            elif not claim.is_bound:
                why = verdicts.UNBOUND_CLAIMS
            if why or claim is None:
                return verdicts.refused_by_claims(len(self.room), why)
            volume = self._volumes.get(claim.spec.volume_name)
            affinity = volume.spec.node_affinity if volume is not None else None
            terms = selectors.of_nodes(affinity.required if affinity is not None else None)
            if terms is not None:
                found.append(terms)
        return entry.wish(tuple(found))

    def _hold(self, unit: waiting.Unit, plan: Plan, now: float, reason: str, message: str) -> None:
        plan.holds.extend(Hold(entry.pod, reason, message) for entry in unit.to_tell(now, message))

    def _bind(self, entry: waiting.Entry, node: str, plan: Plan) -> None:
        self._unwait(entry.uid)
        self._settle(entry.pod, node, entry.shape)
        plan.binds.append(Bind(entry.pod, node))

    # Groups.

    def _try_gang(self, unit: waiting.Unit, plan: Plan, now: float) -> None:
        ref = unit.key
        assert isinstance(ref, meta.Ref)  # noqa: S101 - for the type checker
        group = self._groups.get(ref)
        members = self._members.get(ref, {})
        if group is None:
            return
        was_settled = self._settled.get(ref) == group.metadata.uid
        # What was whole once is filled up one by one. When all of it is gone, it is whole again or nothing.
        fills_up = was_settled and bool(members)
        if not fills_up and len(unit.entries) + len(members) < group.min_count:
            # Nothing is said: whoever makes the rest is expected to do so in a moment.
            return
        entries = unit.in_turn()
        odd = _odd_priority(group, entries)
        if odd:
            if not was_settled:
                self._judge(group, plan, Judgement(group, is_scheduled=False, reason=ERROR, message=odd), unit, now)
            self._hold(unit, plan, now, ERROR, odd)
            unit.back_off(now)
            return
        question = gangs.Question(
            group=group,
            entries=entries,
            members=list(members.values()),
            wish=self._wish,
            is_settled=fills_up,
        )
        outcome = gangs.try_(question, self._space, lambda placed: self._bind(placed.entry, placed.node, plan))
        told = unit.untold or now >= unit.tell_after
        if outcome.placed:
            unit.failures = 0
        if not was_settled and outcome.placed:
            self._settled[ref] = group.metadata.uid
            plan.judgements.append(Judgement(group, is_scheduled=True, reason='Scheduled', message=''))
        elif not was_settled:
            failed = Judgement(group, is_scheduled=False, reason=UNSCHEDULABLE, message=outcome.message)
            self._judge(group, plan, failed, unit, now)
        if unit.entries:
            unit.back_off(now)
        if told:
            self._tell_gang(unit, outcome.told, plan, now)

    def _tell_gang(self, unit: waiting.Unit, told: Sequence[tuple[waiting.Entry, str]], plan: Plan, now: float) -> None:
        unit.untold = []
        for entry, message in told:
            if entry.told != message:
                entry.told = message
                plan.holds.append(Hold(entry.pod, UNSCHEDULABLE, message))
        if now >= unit.tell_after:
            unit.tell_after = now + unit.tell_pause
            unit.tell_pause = min(waiting.TELL_PAUSE_MOST, unit.tell_pause * 2)

    def _judge(self, group: model.PodGroup, plan: Plan, judgement: Judgement, unit: waiting.Unit, now: float) -> None:
        ref = group.metadata.ref
        last = self._judged.get(ref)
        if last is not None and last.group.metadata.uid == group.metadata.uid:
            if (last.reason, last.message) == (judgement.reason, judgement.message) or now < unit.tell_after:
                return
        elif (told := _told(group)) is not None and (told.reason, told.message) == (
            judgement.reason,
            judgement.message,
        ):
            return
        self._judged[ref] = judgement
        plan.judgements.append(judgement)

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


def _told(group: model.PodGroup) -> model.Condition | None:
    return next((one for one in group.status.conditions or () if one.type == GROUP_SCHEDULED), None)


def _odd_priority(group: model.PodGroup, entries: Sequence[waiting.Entry]) -> str:
    """What is wrong when pods of a group are not as important as the group; empty when they are."""
    wanted = group.spec.priority
    if wanted is None:
        return ''
    for entry in entries:
        priority = entry.pod.spec.priority or 0
        if priority != wanted:
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                f'got {priority} and {wanted}'
            )
    return ''
