"""What a pod does about what its JobSet says: pure.

Source: JobSet, KEP-467, the agent's side, as the Go agent does it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LABELS = 'jobset.sigs.k8s.io/'
ATTEMPT = f'{LABELS}in-place-restart-attempt'
DISABLED = f'{LABELS}disable-in-place-restart'


def bypasses(jobset: Any) -> bool:
    """Whether the JobSet restarts its pods in another way, so that nothing need be announced."""
    policy = jobset['spec'].get('failurePolicy') or {}
    is_disabled = DISABLED in (jobset['metadata'].get('annotations') or {})
    return is_disabled or policy.get('restartStrategy') != 'InPlaceRestart'


def next_attempt(status: Any) -> int:
    """The number that a pod announces when it starts."""
    current = status.get('currentInPlaceRestartAttempt')
    return 0 if current is None else int(current) + 1


def is_over(attempt: int, status: Any) -> bool:
    previous = status.get('previousInPlaceRestartAttempt')
    return previous is not None and attempt <= int(previous)


def runs(attempt: int, status: Any) -> bool:
    current = status.get('currentInPlaceRestartAttempt')
    return current is not None and attempt == int(current)
