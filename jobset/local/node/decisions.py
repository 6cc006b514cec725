"""What a node does next about one pod, given what has become of its containers.

Init containers run one after the other; sidecars among them stay, and the next one waits until they have started. The
others then start together. When those have ended for good, sidecars are ended, last one first, and the pod is done.
"""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobset.local.node import backoffs, restarts, specs
from jobset.local.node.model import Container, Ending, Facts, Spec, Step

LATE_GRACE: float = 2
"""Seconds that sidecars have at least, when the others took all the time there was."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make what all containers need: address, folders, volumes."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start a container."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """End a container: its stop hook, SIGTERM, and at last SIGKILL."""

    name: str
    grace: float
    why: str
    hook: bool = True


@dataclass(frozen=True, slots=True)
class Restart:
    """All containers begin anew: end them, and start none before."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Forget the runs of all containers: they begin anew."""


@dataclass(frozen=True, slots=True)
class End:
    """End the pod: nothing may start any more."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing is left to do, now or later."""


Action = Prepare | Start | Stop | Restart | Reset | End | Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The numbers that decisions depend on; see :class:`jobset.local.node.settings.Settings`."""

    crash_cap: float = 300


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now, and when to look again even if nothing happens."""

    actions: list[Action] = field(default_factory=list)
    look_at: datetime.datetime | None = None
    waiting: list[str] = field(default_factory=list)
    """Containers that are not started yet because they have ended too often."""


def decide(spec: Spec, facts: Facts, now: datetime.datetime, limits: Limits = Limits()) -> Decision:
    """The next steps. Asked again whenever anything has changed, and at ``look_at``."""
    if facts.ending is not None:
        return Decision(_end(spec, facts, now))
    deadline = _deadline(spec, facts)
    if deadline is not None and now >= deadline:
        return Decision([End(_expired(spec, now))])
    if not facts.is_prepared:
        return _prepare(facts, now, deadline)
    if not facts.is_restarting and _wants_restart_of_all(spec, facts):
        return Decision([Restart()], deadline)
    if facts.is_restarting:
        stops: list[Action] = [
            Stop(name=one.name, grace=0, why='RestartAllContainers', hook=False)
            for one in _last_first(spec, facts)
            if not one.is_stopping
        ]
        return Decision(stops if facts.live else [Reset()], deadline)
    plan = _Plan(spec, facts, now, limits)
    plan.run()
    return Decision(plan.actions, _earliest(plan.look_at, deadline), plan.waiting)


def _prepare(facts: Facts, now: datetime.datetime, deadline: datetime.datetime | None) -> Decision:
    retry_at = facts.trouble.retry_at if facts.trouble else None
    if retry_at is not None and now < retry_at:
        return Decision([], _earliest(retry_at, deadline))
    return Decision([Prepare()], deadline)


class _Plan:
    """The steps of a pod that goes on."""

    def __init__(self, spec: Spec, facts: Facts, now: datetime.datetime, limits: Limits) -> None:
        self.actions: list[Action] = []
        self.look_at: datetime.datetime | None = None
        self.waiting: list[str] = []
        self._spec = spec
        self._facts = facts
        self._now = now
        self._limits = limits
        self._wants_start = False

    def run(self) -> None:
        is_initialized = self._initialize()
        if is_initialized is None:
            self._finish()
            return
        if not is_initialized:
            return
        sidecar_starts, self.actions = self.actions, []
        self._wants_start = False
        keeps = False
        for container in specs.mains(self._spec):
            held = self._held(container)
            if held.is_live:
                keeps = True
                self._stop_if_failing(container, held)
            elif self._should_start(container, held):
                self._start(held)
        if keeps or self._wants_start:
            self.actions = [*sidecar_starts, *self.actions]
        else:
            self._finish()

    def _initialize(self) -> bool | None:
        """Whether the other containers may run; None when they never will."""
        inits = specs.inits(self._spec)
        was = any(self._held(main).step is not Step.NEW for main in specs.mains(self._spec))
        reached = (
            len(inits)
            if was
            else max((index for index, init in enumerate(inits) if self._held(init).step is not Step.NEW), default=0)
        )
        done = was or not inits
        for index, init in enumerate(inits[: reached + 1]):
            held = self._held(init)
            if specs.is_sidecar(init):
                if held.is_live:
                    self._stop_if_failing(init, held)
                else:
                    self._start(held)
            if index < reached:
                continue
            match self._step(init, held):
                case True if index + 1 < len(inits):
                    self._start(self._held(inits[index + 1]))
                case True:
                    done = True
                case None:
                    return None
        return done

    def _step(self, init: Spec, held: Container) -> bool | None:
        """Whether an init container lets the next one start; None when it has failed for good."""
        if specs.is_sidecar(init):
            return held.step is Step.RUNNING and held.is_started
        if held.ended is None:
            if held.step is Step.NEW:
                self._start(held)
            return False
        if held.ended.exit_code == 0:
            return True
        if restarts.judge(init, self._spec, held.ended.exit_code) is restarts.Verdict.STAY:
            return None
        self._start(held)
        return False

    def _finish(self) -> None:
        self.actions = list(_stops(self._spec, self._facts, specs.grace_seconds(self._spec)))
        self.look_at = None
        if not self._facts.live:
            self.actions = [Finish()]

    def _should_start(self, container: Spec, held: Container) -> bool:
        if held.ended is None:
            return True
        return restarts.judge(container, self._spec, held.ended.exit_code) is not restarts.Verdict.STAY

    def _start(self, held: Container) -> None:
        self._wants_start = True
        at = held.trouble.retry_at if held.trouble else None
        if held.ended is not None and held.ended.finished_at is not None:
            resume = backoffs.resume_at(held.delay, held.ended.finished_at, cap=self._limits.crash_cap)
            at = max(resume, at) if at else resume
        if at is not None and self._now < at:
            self.look_at = _earliest(self.look_at, at)
            if held.ended is not None and held.trouble is None:
                self.waiting.append(held.name)
        else:
            self.actions.append(Start(held.name))

    def _stop_if_failing(self, container: Spec, held: Container) -> None:
        if held.failing and not held.is_stopping:
            grace = specs.grace_seconds(self._spec) if held.failing_grace is None else held.failing_grace
            self.actions.append(Stop(name=str(container['name']), grace=grace, why=held.failing))

    def _held(self, container: Spec) -> Container:
        return self._facts.containers[str(container['name'])]


def _end(spec: Spec, facts: Facts, now: datetime.datetime) -> list[Action]:
    assert facts.ending is not None  # noqa: S101 - for the type checker
    left = max(0.0, (facts.ending.until - now).total_seconds())
    return list(_stops(spec, facts, left)) if facts.live else [Finish()]


def _stops(spec: Spec, facts: Facts, grace: float) -> Iterator[Stop]:
    """The containers to end now: first all that are no sidecars, then those one by one, last one first."""
    names = [str(sidecar['name']) for sidecar in specs.sidecars(spec)]
    others = [one for one in facts.live if one.name not in names]
    why = facts.ending.reason if facts.ending else ''
    for one in others:
        if not one.is_stopping:
            yield Stop(name=one.name, grace=grace, why=why)
    if others:
        return
    for name in reversed(names):
        held = facts.containers[name]
        if held.is_live:
            if not held.is_stopping:
                is_forced = facts.ending is not None and facts.ending.is_forced
                yield Stop(name=name, grace=grace if is_forced else max(LATE_GRACE, grace), why=why)
            return


def _last_first(spec: Spec, facts: Facts) -> list[Container]:
    held = [facts.containers[str(container['name'])] for container in specs.containers(spec)]
    return [one for one in reversed(held) if one.is_live]


def _wants_restart_of_all(spec: Spec, facts: Facts) -> bool:
    mains = [_verdict(main, spec, facts) for main in specs.mains(spec)]
    # Once these have ended for good the pod is done, whatever its sidecars then end with.
    if all(verdict is restarts.Verdict.STAY for verdict in mains):
        return False
    return any(_verdict(one, spec, facts) is restarts.Verdict.RESTART_ALL for one in specs.containers(spec))


def _verdict(container: Spec, spec: Spec, facts: Facts) -> restarts.Verdict | None:
    """What follows from the end of a container; None while it has not ended."""
    ended = facts.containers[str(container['name'])].ended
    return None if ended is None else restarts.judge(container, spec, ended.exit_code)


def _deadline(spec: Spec, facts: Facts) -> datetime.datetime | None:
    seconds = spec.get('activeDeadlineSeconds')
    return None if seconds is None else facts.seen_at + datetime.timedelta(seconds=seconds)


def _expired(spec: Spec, now: datetime.datetime) -> Ending:
    return Ending(
        until=now + datetime.timedelta(seconds=specs.grace_seconds(spec)),
        reason='DeadlineExceeded',
        message='Pod was active on the node longer than the specified deadline',
    )


def _earliest(*moments: datetime.datetime | None) -> datetime.datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
