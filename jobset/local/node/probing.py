"""What the answers to a probe mean: when they change a verdict.

Source: Kubernetes, "Configure liveness, readiness and startup probes".
"""

import enum
from dataclasses import dataclass, replace

from jobset.local.node.model import Spec


class Use(enum.StrEnum):
    """What a probe is for; as named in events."""

    STARTUP = 'Startup'
    LIVENESS = 'Liveness'
    READINESS = 'Readiness'


FIELDS = {Use.STARTUP: 'startupProbe', Use.LIVENESS: 'livenessProbe', Use.READINESS: 'readinessProbe'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a probe is made, in seconds, and how many answers count."""

    initial_delay: float
    period: float
    timeout: float
    success_threshold: int
    failure_threshold: int


def timing(probe: Spec) -> Timing:
    """The timing of a probe, with the defaults of the API."""
    return Timing(
        initial_delay=probe.get('initialDelaySeconds') or 0,
        period=probe.get('periodSeconds') or 10,
        timeout=probe.get('timeoutSeconds') or 1,
        success_threshold=probe.get('successThreshold') or 1,
        failure_threshold=probe.get('failureThreshold') or 3,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The verdict of a probe so far, and the equal answers in a row."""

    verdict: bool | None = None
    """None before there is any."""

    last: bool | None = None
    count: int = 0


def first(use: Use) -> State:
    """What holds before the first answer: alive, not ready, not known to have started."""
    return State(verdict={Use.STARTUP: None, Use.LIVENESS: True, Use.READINESS: False}[use])


def after(state: State, *, is_good: bool, timing: Timing) -> State:
    """The state after one more answer."""
    count = state.count + 1 if state.last is is_good else 1
    enough = count >= (timing.success_threshold if is_good else timing.failure_threshold)
    return replace(state, last=is_good, count=count, verdict=is_good if enough else state.verdict)


def handler(probe: Spec) -> str:
    """Which kind of question it is: ``exec``, ``httpGet``, ``tcpSocket`` or ``grpc``; empty when there is none."""
    return next((kind for kind in ('exec', 'httpGet', 'tcpSocket', 'grpc') if probe.get(kind)), '')


def port(wanted: int | str, container: Spec) -> int:
    """A port by number or by name. Raises ValueError."""
    if isinstance(wanted, int) or wanted.isdigit():
        return int(wanted)
    for known in container.get('ports') or ():
        if known.get('name') == wanted:
            return int(known['containerPort'])
    raise ValueError(f'the container has no port with the name {wanted!r}')
