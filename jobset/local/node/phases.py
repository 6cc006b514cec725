"""The phase of a pod, from what has become of its containers.

Source: the rules of the kubelet. Sidecars do not count once the others have ended.
"""

import collections
import enum

from jobset.local.node import restarts, specs
from jobset.local.node.model import Container, Ended, Facts, Spec, Step

RESTARTING: str = 'RestartingAllContainers'
"""Reason of the last end of a container that begins anew with all the others."""


class Phase(enum.StrEnum):
    """As in ``status.phase``."""

    PENDING = 'Pending'
    RUNNING = 'Running'
    SUCCEEDED = 'Succeeded'
    FAILED = 'Failed'

    @property
    def is_final(self) -> bool:
        """Whether the pod has ended."""
        return self in (Phase.SUCCEEDED, Phase.FAILED)


class _State(enum.Enum):
    """How a container looks from outside."""

    WAITING = enum.auto()
    RUNNING = enum.auto()
    STOPPED = enum.auto()


def phase(spec: Spec, facts: Facts, *, is_over: bool) -> Phase:
    """The phase; ``is_over`` says that nothing will start again, whatever the policies say."""
    if _has_failed_to_initialize(spec, facts, is_over=is_over):
        return Phase.FAILED
    counts = collections.Counter(_state(facts.containers[str(main['name'])]) for main in specs.mains(spec))
    live_sidecars = [
        facts.containers[str(sidecar['name'])]
        for sidecar in specs.sidecars(spec)
        if facts.containers[str(sidecar['name'])].is_live
    ]
    if not is_over and (not _is_initialized(spec, facts) or counts[_State.WAITING]):
        return Phase.PENDING
    if counts[_State.RUNNING] or live_sidecars:
        return Phase.RUNNING
    ends = [(main, _latest(facts.containers[str(main['name'])])) for main in specs.mains(spec)]
    if not is_over and any(end is not None and _comes_back(main, spec, end) for main, end in ends):
        return Phase.RUNNING
    return Phase.SUCCEEDED if all(end is not None and end.exit_code == 0 for _, end in ends) else Phase.FAILED


def _has_failed_to_initialize(spec: Spec, facts: Facts, *, is_over: bool) -> bool:
    for init in specs.inits(spec):
        end = _latest(facts.containers[str(init['name'])])
        if specs.is_sidecar(init) or end is None or end.exit_code == 0:
            continue
        if facts.containers[str(init['name'])].is_live:
            continue
        if is_over or not _comes_back(init, spec, end):
            return True
    return False


def _is_initialized(spec: Spec, facts: Facts) -> bool:
    if any(facts.containers[str(main['name'])].step is not Step.NEW for main in specs.mains(spec)):
        return True
    for init in specs.inits(spec):
        held = facts.containers[str(init['name'])]
        is_done = held.is_started if specs.is_sidecar(init) else held.ended is not None and held.ended.exit_code == 0
        if not is_done:
            return False
    return True


def _state(held: Container) -> _State:
    if held.step is Step.RUNNING:
        return _State.RUNNING
    return _State.WAITING if _latest(held) is None else _State.STOPPED


def _latest(held: Container) -> Ended | None:
    return held.ended or (held.last if held.step is not Step.RUNNING else None)


def _comes_back(container: Spec, spec: Spec, end: Ended) -> bool:
    return end.reason == RESTARTING or restarts.judge(container, spec, end.exit_code) is not restarts.Verdict.STAY
