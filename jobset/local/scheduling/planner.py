"""Decides which pod goes where: facts in, decisions out; no clock, no network.

Whatever is known of the cluster is put in, one change at a time, and :meth:`Planner.plan` says what should be done.
What it decides counts as done from then on, until :meth:`Planner.forget` says that it could not be. What has failed is
tried again only when something has changed that may help, and of what has not changed nothing is computed again.

There is no preemption: pods of low priority are not removed for others.
"""

import heapq
from collections.abc import Iterable, Sequence
from typing import Final

from jobset.api import meta
from jobset.local.scheduling import fitting, gangs, known, model, plans, selectors, verdicts, waiting

ERROR: Final = 'SchedulerError'

_BLOCKED: Final = 'Scheduling is blocked due to non-empty scheduling gates'


class Planner(known.Known):
    """Decides from all that is known."""

    def plan(self, now: float) -> plans.Plan:
        """What should be done, at ``now`` seconds on any clock that only goes forward."""
        plan = plans.Plan()
        for pod in self._to_gate:
            if self._gated.get(pod.metadata.uid) is not None:
                plan.holds.append(plans.Hold(pod, known.GATED, _BLOCKED))
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

    def _try_head(self, unit: waiting.Unit, plan: plans.Plan, now: float) -> bool:
        """Place the pod of a unit whose turn it is; whether it is worth trying the next one."""
        entry = unit.head()
        if entry is None:
            return False
        wish = self._wish(entry)
        if isinstance(wish, str):
            self._hold(unit, plan, now, known.UNSCHEDULABLE, wish)
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
            self._hold(unit, plan, now, known.UNSCHEDULABLE, message)
        return False

    def _try_among_others(
        self, unit: waiting.Unit, first: waiting.Entry, wish: fitting.Wish, plan: plans.Plan, now: float
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
                    plan.holds.append(plans.Hold(entry.pod, known.UNSCHEDULABLE, message))
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

    def _hold(self, unit: waiting.Unit, plan: plans.Plan, now: float, reason: str, message: str) -> None:
        plan.holds.extend(plans.Hold(entry.pod, reason, message) for entry in unit.to_tell(now, message))

    def _bind(self, entry: waiting.Entry, node: str, plan: plans.Plan) -> None:
        self._unwait(entry.uid)
        self._settle(entry.pod, node, entry.shape)
        plan.binds.append(plans.Bind(entry.pod, node))

    # Groups.

    def _try_gang(self, unit: waiting.Unit, plan: plans.Plan, now: float) -> None:
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
                self._judge(
                    group, plan, plans.Judgement(group, is_scheduled=False, reason=ERROR, message=odd), unit, now
                )
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
            plan.judgements.append(plans.Judgement(group, is_scheduled=True, reason='Scheduled', message=''))
        elif not was_settled:
            failed = plans.Judgement(group, is_scheduled=False, reason=known.UNSCHEDULABLE, message=outcome.message)
            self._judge(group, plan, failed, unit, now)
        if unit.entries:
            unit.back_off(now)
        if told:
            self._tell_gang(unit, outcome.told, plan, now)

    def _tell_gang(
        self, unit: waiting.Unit, told: Sequence[tuple[waiting.Entry, str]], plan: plans.Plan, now: float
    ) -> None:
        unit.untold = []
        for entry, message in told:
            if entry.told != message:
                entry.told = message
                plan.holds.append(plans.Hold(entry.pod, known.UNSCHEDULABLE, message))
        if now >= unit.tell_after:
            unit.tell_after = now + unit.tell_pause
            unit.tell_pause = min(waiting.TELL_PAUSE_MOST, unit.tell_pause * 2)

    def _judge(
        self, group: model.PodGroup, plan: plans.Plan, judgement: plans.Judgement, unit: waiting.Unit, now: float
    ) -> None:
        ref = group.metadata.ref
        last = self._judged.get(ref)
        if last is not None and last.group.metadata.uid == group.metadata.uid:
            if (last.reason, last.message) == (judgement.reason, judgement.message) or now < unit.tell_after:
                return
        elif (told := known.said_of(group)) is not None and (told.reason, told.message) == (
            judgement.reason,
            judgement.message,
        ):
            return
        self._judged[ref] = judgement
        plan.judgements.append(judgement)


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
