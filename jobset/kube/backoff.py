"""How long to wait after a failure: longer each time, and never the same for all who failed together."""

import random


class Backoff:
    """Waiting times that grow by ``factor`` from ``base`` to ``cap`` seconds, each longer by up to ``jitter`` of it."""

    def __init__(self, *, base: float, cap: float, factor: float = 2, jitter: float = 0.5) -> None:
        self._base = base
        self._cap = cap
        self._factor = factor
        self._jitter = jitter
        self._failures = 0

    def next(self, *, at_least: float = 0, cap: float | None = None) -> float:
        """Seconds to wait after one more failure: not less than ``at_least``; ``cap`` lowers the usual one.

        It is given where something came through in spite of the failure. Then the waiting times go on from there: the
        next failure without it must not pay for all those before.
        """
        limit = min(self._cap, cap or self._cap)
        wait = min(limit, self._delay(self._failures))
        if cap is None or wait < limit:
            self._failures += 1
        else:
            self._failures = next(count for count in range(self._failures + 1) if self._delay(count) >= limit)
        return jittered(max(at_least, wait), self._jitter)

    def _delay(self, failures: int) -> float:
        return delay(failures, base=self._base, factor=self._factor, cap=self._cap)

    def reset(self) -> None:
        """Forgets the failures."""
        self._failures = 0


def delay(failures: int, *, base: float, factor: float, cap: float) -> float:
    """Seconds after ``failures`` earlier failures, without jitter."""
    # The exponent is bounded because a float is: after a day of failures the power would overflow.
    return float(min(cap, base * factor ** min(failures, 64)))


def jittered(seconds: float, jitter: float) -> float:
    """``seconds`` and up to ``jitter`` of them more."""
    return seconds * random.uniform(1, 1 + jitter)  # noqa: S311
