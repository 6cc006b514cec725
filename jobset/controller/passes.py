"""One pass over one JobSet, from the caches to the cluster: gather facts, decide, carry out."""

import datetime
import logging
import math
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from jobset.api import features, gangs, jobs, types
from jobset.controller import executor, failing, looking, metrics, patterns, world
from jobset.core import (
    attempts,
    causes,
    charges,
    conditions,
    failure,
    fencing,
    inplace,
    losses,
    plan,
    reconcile,
    singles,
    waiting,
)
from jobset.core.groups import observed
from jobset.kube import backoff, errors

logger = logging.getLogger(__name__)

HOLD_BASE_SECONDS: Final = 0.1
HOLD_FACTOR: Final = 3.0
HOLD_CAP_SECONDS: Final = 60.0
"""How long refused creations wait, longer with each refusal: six are tried in the first ten seconds."""

TICK_SECONDS: Final = 0.001
"""Less than this is not worth waiting for: clocks and sums of floats are no better."""


class Hold(NamedTuple):
    """Creations of a JobSet that wait: until when on the monotonic clock, after how many refusals in a row."""

    until: float
    refusals: int


class Passes:
    """Handles the keys of the work queue. It never runs twice at a time for one key."""

    def __init__(
        self,
        seen: world.World,
        writer: executor.Executor,
        *,
        gates: features.FeatureGates,
        measured: metrics.Metrics,
        failures: Callable[[world.Key], int],
        clock: Callable[[], datetime.datetime],
        monotonic: Callable[[], float],
        gathers: bool = False,
    ) -> None:
        """``gathers`` says that changes of Jobs are gathered before a pass."""
        self._seen = seen
        self._writer = writer
        self._gates = gates
        self._measured = measured
        self._failures = failures
        self._clock = clock
        self._monotonic = monotonic
        self._gathers = gathers
        self._matcher = patterns.Matcher()
        self._looker = looking.Looker(writer.api)
        self._told: dict[world.Key, set[tuple[str, str, str]]] = {}
        self._held: dict[world.Key, Hold] = {}
        self._wrote: dict[world.Key, float] = {}
        self._explained: dict[world.Key, float] = {}

    async def handle(self, key: world.Key) -> float | None:
        """Make one pass; returns after how many seconds to make the next although nothing changes.

        Raises what keeps the pass from succeeding, so that the queue repeats it with a growing pause.
        """
        started = self._monotonic()
        result = 'error'
        try:
            again = await self._pass(key)
            result = 'success' if again is None else 'requeue_after'
        except plan.PassStoppedError as stopped:
            # Only a change can help here, and every change brings a pass.
            logger.error('%s/%s: %s', *key, stopped)
            return None
        finally:
            self._measured.passed(result, self._monotonic() - started)
        return again

    async def _pass(self, key: world.Key) -> float | None:
        jobset = self._seen.jobsets.get(*key)
        if jobset is None:
            self._measured.forget(*key)
            self._told.pop(key, None)
            self._held.pop(key, None)
            self._wrote.pop(key, None)
            self._explained.pop(key, None)
            return None
        now = self._clock()
        wanted = self._without_held(key, jobset, reconcile.reconcile(await self._facts(jobset, now), now))
        if wanted.patience_seconds:
            wanted = self._without_young_counters(key, jobset, wanted)
        if self._gathers:
            wanted = _without_early_counters(jobset, wanted)
        if wanted.is_empty:
            return wanted.again_after_seconds
        careful = self._failures(key) > 0 or key in self._held
        try:
            await self._writer.carry_out(jobset, wanted, now, careful=careful)
        except failing.CreationFailedError as error:
            if not error.is_outage:
                self._hold(key)
            raise
        if wanted.create or wanted.groups.create:
            self._held.pop(key, None)
        self._count_end(jobset, wanted)
        self._note_explanation(key, jobset, wanted)
        return wanted.again_after_seconds

    def holds(self, key: world.Key) -> bool:
        """Whether creations of that JobSet wait, because the server has refused some."""
        return key in self._held

    def _without_held(self, key: world.Key, jobset: types.JobSet, wanted: plan.Plan) -> plan.Plan:
        """The plan without creations that must wait, because the server has just refused them.

        Changes of other Jobs bring passes at any rate, and must not bring the same refusal each time. As in the pass
        that was refused, what comes after creations is not done either; only a conflict of names does not stop that.
        """
        hold = self._held.get(key)
        left = hold.until - self._monotonic() if hold is not None else 0
        if left < TICK_SECONDS or not (wanted.create or wanted.groups.create):
            return wanted
        again = _earlier(left, wanted.again_after_seconds)
        if wanted.groups.create:
            # Nor may a Job run, or a suspended one, whose group is not there.
            return plan.Plan(pods=wanted.pods, keep=wanted.keep, delete=wanted.delete, again_after_seconds=again)
        if conditions.is_true(jobset.status, conditions.NAME_CONFLICT):
            return msgspec.structs.replace(wanted, create=(), again_after_seconds=again)
        before = plan.Plan(
            pods=wanted.pods, keep=wanted.keep, delete=wanted.delete, service=wanted.service, claims=wanted.claims
        )
        return msgspec.structs.replace(before, again_after_seconds=again)

    def _without_young_counters(self, key: world.Key, jobset: types.JobSet, wanted: plan.Plan) -> plan.Plan:
        """The plan without a status that tells of other counters only, so soon after the one before."""
        if wanted.status is None:
            return wanted
        now = self._monotonic()
        left = self._wrote.get(key, -math.inf) + wanted.patience_seconds - now
        without = msgspec.structs.replace(wanted, status=None)
        if left >= TICK_SECONDS and without.is_empty and types.counts_only(jobset.status, wanted.status):
            return msgspec.structs.replace(without, again_after_seconds=_earlier(left, wanted.again_after_seconds))
        self._wrote[key] = now
        return wanted

    def _hold(self, key: world.Key) -> None:
        refusals = self._held[key].refusals if key in self._held else 0
        pause = backoff.delay(refusals, base=HOLD_BASE_SECONDS, factor=HOLD_FACTOR, cap=HOLD_CAP_SECONDS)
        self._held[key] = Hold(until=self._monotonic() + pause, refusals=refusals + 1)

    async def _facts(self, jobset: types.JobSet, now: datetime.datetime) -> reconcile.Facts:
        """What is known of the JobSet, with the questions answered that deciding will ask."""
        if attempts.wants_deaths(jobset):
            self._seen.witness.begin()
        scene = await self._scene(jobset, now)
        answers, deaths = await self._answers(jobset, now)
        key = world.Key(jobset.metadata.namespace, jobset.metadata.name)
        return reconcile.Facts(
            unplaced=self._seen.places.unplaced(jobset),
            may_retell=self._monotonic() - self._explained.get(key, -math.inf) >= waiting.RETELL_SECONDS,
            groups=self._groups(jobset),
            jobset=jobset,
            family=self._seen.family(jobset),
            service=self._seen.service(jobset),
            claims=self._seen.claim_names(jobset),
            answers=answers,
            pods=self._seen.pods_of(jobset),
            deaths=deaths,
            loss=await self._loss(jobset),
            scene=scene,
            gates=self._gates,
        )

    def _groups(self, jobset: types.JobSet) -> observed.Seen:
        """The groups of a JobSet that asks for gangs; of others, nobody looks for any."""
        if not gangs.gangs(jobset, self._gates):
            return observed.NOTHING
        return self._seen.groups.of(jobset)

    async def _answers(
        self, jobset: types.JobSet, now: datetime.datetime
    ) -> tuple[dict[failure.Question, bool], dict[str, causes.Death]]:
        """Answers about all Jobs that have failed by now.

        More may fail while an answer is sought, and ask more: a question without an answer would count as no match.
        """
        answers: dict[failure.Question, bool] = {}
        deaths: dict[str, causes.Death] = {}
        while True:
            kin = self._seen.family(jobset)
            kin.expect(singles.wanted(jobset, self._gates))
            cohort = kin.current(jobset.status.restarts)
            asked = failure.questions(jobset, losses.failed(jobset, cohort).values()) - answers.keys()
            unseen = [job for job in looking.wanted(jobset, cohort, now) if job.metadata.name not in deaths]
            if not asked and not unseen:
                return answers, deaths
            if asked:
                found = self._matcher.answer(asked, tell=lambda reason, note: self._tell_once(jobset, reason, note))
                answers.update(await found)
            for job in unseen:
                deaths[job.metadata.name] = await self._death(jobset, job)

    async def _death(self, jobset: types.JobSet, job: jobs.Job) -> causes.Death:
        seen = tuple(self._seen.witness.deaths(job.metadata.uid))
        try:
            return await self._looker.death(job, seen)
        except errors.Forbidden as error:
            self._tell_once(jobset, 'PodsNotReadable', str(error))
            return causes.of_job(job, seen)

    async def _loss(self, jobset: types.JobSet) -> causes.Loss:
        crew = self._seen.pods_of(jobset)
        if not self._gates.in_place_restart or not (inplace.is_wanted(jobset) and charges.wants_loss(jobset, crew)):
            return causes.NOBODY_KNOWS
        try:
            return await self._looker.loss(jobset.metadata.namespace, crew, self._seen.witness.deaths)
        except errors.Forbidden as error:
            self._tell_once(jobset, 'PodsNotReadable', str(error))
            return causes.NOBODY_KNOWS

    async def _scene(self, jobset: types.JobSet, now: datetime.datetime) -> fencing.Scene | None:
        kin = self._seen.family(jobset)
        kin.expect(singles.wanted(jobset, self._gates))
        try:
            return await self._looker.scene(jobset, kin, now, self._seen.pods_of(jobset).going.values())
        except errors.Forbidden as error:
            self._tell_once(jobset, 'PodsNotReadable', str(error))
            return None

    def _tell_once(self, jobset: types.JobSet, reason: str, note: str) -> None:
        """Warn of a pattern, once for each JobSet: the pattern will be met again at each failure."""
        key = world.Key(jobset.metadata.namespace, jobset.metadata.name)
        told, story = self._told.setdefault(key, set()), (jobset.metadata.uid, reason, note)
        if story not in told:
            told.add(story)
            self._writer.tell(jobset, plan.Event(plan.EventType.WARNING, reason, note))

    def _note_explanation(self, key: world.Key, jobset: types.JobSet, carried_out: plan.Plan) -> None:
        """Remember when the text about what is waited for changed, so that it does not change with every node."""
        if carried_out.status is not None:
            told = conditions.find(carried_out.status, waiting.WAITING)
            if told is not None and told != conditions.find(jobset.status, waiting.WAITING):
                self._explained[key] = self._monotonic()

    def _count_end(self, jobset: types.JobSet, carried_out: plan.Plan) -> None:
        """Count the end of a JobSet, after it is stored: a write that failed must not count twice."""
        status = carried_out.status
        if status is not None and status.terminal_state and not jobset.status.terminal_state:
            self._measured.ended(jobset, status.terminal_state)


def _without_early_counters(jobset: types.JobSet, wanted: plan.Plan) -> plan.Plan:
    """The plan without a status that tells of other counters only, while Jobs are made that it does not count yet.

    They bring another pass as soon as they are there, which counts them as well.
    """
    if wanted.create and wanted.status is not None and types.counts_only(jobset.status, wanted.status):
        return msgspec.structs.replace(wanted, status=None)
    return wanted


def _earlier(seconds: float, other: float | None) -> float:
    return seconds if other is None else min(seconds, other)


def is_worth_a_trace(error: BaseException) -> bool:
    """Whether an error of a pass points at us rather than at the cluster, so that its traceback helps."""
    return not isinstance(error, errors.ApiError | errors.NotLeading)
