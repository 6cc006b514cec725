"""Stands in for the kubelets of all simulated nodes: pods run by their script, on the clock of the event loop.

It writes what kubelets write and no more: that a pod runs, and how it has ended; the deletion of a pod that was asked
to end, when it has. Between the two nothing happens, so that a pod costs two timers and two writes.
"""

import asyncio
import functools
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobset.kube import backoff, client, errors, informer, requests
from jobset.local import clock, objects
from jobset.local.scheduling import outbox
from jobset.local.simulated import outcomes, statuses

logger = logging.getLogger(__name__)

CRASH_BASE: Final = 10.0
CRASH_CAP: Final = 300.0
"""Seconds before a container is started again, doubled each time."""

GRACE: Final = 30
WRITE_PAUSE: Final = 1.0
"""Seconds before a write is tried again that could not be made."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How pods run of which nothing is said."""

    default: outcomes.Outcome = field(default_factory=outcomes.Outcome)
    seed: object = 0
    workers: int = 16
    """Writes under way at most."""


@dataclass(eq=False)
class _Run:
    """A pod on its node."""

    pod: statuses.Pod
    outcome: outcomes.Outcome
    address: str
    restarts: int = 0
    began: str | None = None
    """When its containers were started last."""

    is_stopping: bool = False
    timer: asyncio.TimerHandle | None = None
    is_writing: bool = False
    next: Callable[[], None] | None = None
    """What has come due while a write was under way."""

    def cancel(self) -> None:
        """Let nothing more happen by itself."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.next = None


@dataclass(frozen=True, slots=True)
class _Write:
    run: _Run
    request: requests.Request
    then: Callable[[], None] | None


class Kubelet:
    """Runs the pods of the nodes for which ``serves`` is true, until cancelled."""

    def __init__(
        self,
        api: client.Client,
        *,
        serves: Callable[[str], bool],
        now: clock.Now = clock.wall,
        rules: Sequence[outcomes.Rule] = (),
        settings: Settings | None = None,
        watching: informer.Watching | None = None,
    ) -> None:
        self._api = api
        self._now = now
        self._rules = tuple(rules)
        self._settings = settings or Settings()
        self._runs: dict[str, _Run] = {}
        self._dead: set[str] = set()
        self._numbers = itertools.count(1)
        self._outbox = outbox.Outbox()
        self.pods = informer.Informer(
            api,
            requests.PODS,
            statuses.Pod,
            keep=lambda pod: bool(pod.spec.node_name) and not pod.has_ended and serves(pod.spec.node_name),
            settings=watching,
        )
        self.pods.subscribe(self._changed)

    async def run(self) -> None:
        """Runs pods until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.run(), name='simulated kubelets: pods')
            group.create_task(self._outbox.run(self._settings.workers), name='simulated kubelets: writes')

    @property
    def running(self) -> int:
        """Pods that it has in hand."""
        return len(self._runs)

    # Nodes that fail.

    def fail(self, node: str) -> None:
        """From now on nothing happens on that node, and nobody hears of it: as when the power is cut."""
        self._dead.add(node)
        for run in self._runs.values():
            if run.pod.spec.node_name == node:
                run.cancel()

    def lose(self, node: str, *, reason: str, message: str) -> None:
        """Give up the pods of a node that has failed: they are marked as disrupted, and deleted without grace."""
        for run in list(self._runs.values()):
            if run.pod.spec.node_name == node:
                run.is_stopping = True
                self._post(run, statuses.lost(reason, message, self._stamp()), lambda run=run: self._delete(run))  # type: ignore[misc]

    def recover(self, node: str) -> None:
        """The node works again; what it ran when it failed has ended."""
        self._dead.discard(node)
        for run in list(self._runs.values()):
            if run.pod.spec.node_name == node and run.timer is None and not run.is_writing:
                self._stop(run, code=137)

    # What happens to a pod.

    def _changed(self, old: statuses.Pod | None, new: statuses.Pod | None) -> None:
        if new is None:
            if old is not None and (gone := self._runs.pop(old.metadata.uid, None)) is not None:
                gone.cancel()
            return
        run = self._runs.get(new.metadata.uid)
        if run is None:
            run = self._begin(new)
        else:
            run.pod = new
        if new.metadata.deletion_timestamp and not run.is_stopping and new.spec.node_name not in self._dead:
            self._asked_to_stop(run)

    def _begin(self, pod: statuses.Pod) -> _Run:
        number = next(self._numbers)
        address = f'10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}'
        run = _Run(pod, self._outcome(pod, 0), address)
        self._runs[pod.metadata.uid] = run
        if pod.spec.node_name in self._dead:
            return run
        if pod.status.phase == 'Running' and pod.status.start_time:
            # It was started before we were.
            run.began = pod.status.start_time
            passed = (self._now() - objects.moment(run.began)).total_seconds()
            if run.outcome.duration is not None:
                self._after(run, max(0.0, run.outcome.duration - passed), self._end)
        else:
            self._after(run, run.outcome.start_delay, self._start)
        return run

    def _outcome(self, pod: statuses.Pod, restarts: int) -> outcomes.Outcome:
        metadata = pod.metadata
        facts = outcomes.Facts(
            metadata.namespace,
            metadata.name,
            pod.spec.node_name,
            metadata.labels,
            metadata.annotations,
            restarts,
            self._settings.seed,
        )
        try:
            return outcomes.decide(facts, self._rules, self._settings.default)
        except outcomes.ScriptError as error:
            logger.warning('simulated pod %s/%s: %s', *metadata.ref, error)
            return outcomes.Outcome(duration=0, exit_code=128, reason='ScriptError', message=str(error))

    def _start(self, run: _Run) -> None:
        now = run.began = self._stamp()
        outcome = run.outcome
        body = statuses.running(
            run.pod,
            address=run.address,
            host='10.0.0.1',
            started=statuses.stamp_of(run.pod, now),
            restarts=run.restarts,
            is_ready=outcome.ready_after <= 0,
            now=now,
        )
        self._post(run, body)
        lasts = outcome.duration
        if outcome.ready_after > 0 and (lasts is None or outcome.ready_after < lasts):
            self._after(run, outcome.ready_after, self._ready)
        elif lasts is not None:
            self._after(run, lasts, self._end)

    def _ready(self, run: _Run) -> None:
        self._post(run, statuses.ready(self._stamp()))
        if run.outcome.duration is not None:
            self._after(run, run.outcome.duration - run.outcome.ready_after, self._end)

    def _end(self, run: _Run) -> None:
        policy, code = run.pod.spec.restart_policy, run.outcome.exit_code
        now = self._stamp()
        if policy == 'Always' or (policy == 'OnFailure' and code != 0):
            body = statuses.waiting(run.pod, run.outcome, began=run.began, restarts=run.restarts, now=now)
            self._post(run, body)
            pause = backoff.delay(run.restarts, base=CRASH_BASE, factor=2, cap=CRASH_CAP)
            run.restarts += 1
            run.outcome = self._outcome(run.pod, run.restarts)
            self._after(run, pause, self._start)
            return
        self._post(run, statuses.ended(run.pod, run.outcome, code, began=run.began, restarts=run.restarts, now=now))

    def _asked_to_stop(self, run: _Run) -> None:
        run.is_stopping = True
        run.cancel()
        grace = run.pod.metadata.deletion_grace_period_seconds
        if grace is None:
            grace = run.pod.spec.termination_grace_period_seconds
        grace = GRACE if grace is None else grace
        late = run.outcome.stop_after > grace
        code = 137 if late else run.outcome.stop_code
        self._after(run, min(run.outcome.stop_after, grace), lambda run: self._stop(run, code=code))

    def _stop(self, run: _Run, *, code: int) -> None:
        now = self._stamp()
        body = statuses.ended(run.pod, run.outcome, code, began=run.began, restarts=run.restarts, now=now)
        self._post(run, body, (lambda: self._delete(run)) if run.is_stopping else None)

    def _delete(self, run: _Run) -> None:
        metadata = run.pod.metadata
        request = requests.delete(requests.PODS, metadata.namespace, metadata.name, uid=metadata.uid, grace_seconds=0)
        self._enqueue(_Write(run, request, None))

    # How it comes about.

    def _after(self, run: _Run, seconds: float, step: Callable[[_Run], None]) -> None:
        """Do something later, but for what a pod does at the very moment that it comes."""
        if seconds <= 0:
            self._due(run, step)
        else:
            run.timer = asyncio.get_running_loop().call_later(seconds, self._due, run, step)

    def _due(self, run: _Run, step: Callable[[_Run], None]) -> None:
        run.timer = None
        if run.is_writing:
            # One thing after another, as for anybody who looks.
            run.next = lambda: step(run)
        else:
            step(run)

    def _post(self, run: _Run, status: dict[str, Any], then: Callable[[], None] | None = None) -> None:
        metadata = run.pod.metadata
        body = {'metadata': {'uid': metadata.uid}, 'status': status}
        request = requests.patch(
            requests.PODS, metadata.namespace, metadata.name, body, requests.Patch.STRATEGIC, subresource='status'
        )
        self._enqueue(_Write(run, request, then))

    def _enqueue(self, write: _Write) -> None:
        write.run.is_writing = True
        self._outbox.post(functools.partial(self._write, write))

    async def _write(self, write: _Write) -> None:
        try:
            await self._api.send(write.request)
        except errors.RetryLater as error:
            logger.info('simulated kubelets: %s; trying again', error)
            asyncio.get_running_loop().call_later(WRITE_PAUSE, self._enqueue, write)
            return
        except (errors.NotFound, errors.Conflict):
            # The pod is gone, perhaps with another one in its place: the watch tells.
            pass
        except errors.ApiError as error:
            logger.warning('simulated kubelets: a status is not taken: %s', error)
        self._written(write)

    def _written(self, write: _Write) -> None:
        run = write.run
        run.is_writing = False
        if write.then is not None:
            write.then()
        elif run.next is not None:
            step, run.next = run.next, None
            step()

    def _stamp(self) -> str:
        return objects.stamp(self._now())
