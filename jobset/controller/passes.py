"""One pass over one JobSet, from the caches to the cluster: gather facts, decide, carry out."""

import datetime
import logging
from collections.abc import Callable

from jobset.api import features, types
from jobset.controller import executor, metrics, patterns, world
from jobset.core import failure, plan, reconcile
from jobset.kube import errors

logger = logging.getLogger(__name__)


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
    ) -> None:
        self._seen = seen
        self._writer = writer
        self._gates = gates
        self._measured = measured
        self._failures = failures
        self._clock = clock
        self._monotonic = monotonic
        self._matcher = patterns.Matcher()
        self._told: dict[world.Key, set[tuple[str, str, str]]] = {}

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
            return None
        now = self._clock()
        wanted = reconcile.reconcile(await self._facts(jobset), now)
        if wanted.is_empty:
            return wanted.again_after_seconds
        await self._writer.carry_out(jobset, wanted, now, careful=self._failures(key) > 0)
        self._count_end(jobset, wanted)
        return wanted.again_after_seconds

    async def _facts(self, jobset: types.JobSet) -> reconcile.Facts:
        """What is known of the JobSet, with the questions answered that deciding will ask.

        Finding an answer lets other things happen, so the rest is gathered after it; a failure that appears meanwhile
        changes the family and so brings a pass of its own.
        """
        kin = self._seen.family(jobset)
        questions = failure.questions(jobset, kin.current(jobset.status.restarts).failed.values())
        answers = self._matcher.known(questions)
        if answers is None:
            await self._matcher.answer(questions, tell=lambda reason, note: self._tell_once(jobset, reason, note))
            answers = self._matcher.known(questions) or {}
        return reconcile.Facts(
            jobset=jobset,
            family=self._seen.family(jobset),
            service=self._seen.service(jobset),
            claims=self._seen.claim_names(jobset),
            answers=answers,
            gates=self._gates,
        )

    def _tell_once(self, jobset: types.JobSet, reason: str, note: str) -> None:
        """Warn of a pattern, once for each JobSet: the pattern will be met again at each failure."""
        key = world.Key(jobset.metadata.namespace, jobset.metadata.name)
        told, story = self._told.setdefault(key, set()), (jobset.metadata.uid, reason, note)
        if story not in told:
            told.add(story)
            self._writer.tell(jobset, plan.Event(plan.EventType.WARNING, reason, note))

    def _count_end(self, jobset: types.JobSet, carried_out: plan.Plan) -> None:
        """Count the end of a JobSet, after it is stored: a write that failed must not count twice."""
        status = carried_out.status
        if status is not None and status.terminal_state and not jobset.status.terminal_state:
            self._measured.ended(jobset, status.terminal_state)


def is_worth_a_trace(error: BaseException) -> bool:
    """Whether an error of a pass points at us rather than at the cluster, so that its traceback helps."""
    return not isinstance(error, errors.ApiError | errors.NotLeading)
