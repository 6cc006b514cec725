"""What somebody used lately: the longer ago, the less it counts.

Source: the usage-based admission of Kueue. After half a life half of what was is forgotten.
"""

from collections.abc import Mapping

import msgspec

from jobset.scheduler.quota import fairness


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over time, by resource, with recent times counting most."""

    at: float
    """When it was last brought up to date."""
    used: dict[str, float] = {}

    def after(self, now: float, using: Mapping[str, int], *, half_life: float) -> 'History':
        """The history at ``now``, when ``using`` was used since :attr:`at`.

        With no half-life nothing is remembered. A clock that went backwards counts as no time passed.
        """
        if half_life <= 0:
            return History(at=now)
        fresh = weight(now - self.at, half_life)
        names = self.used.keys() | using.keys()
        mixed = {each: (1 - fresh) * self.used.get(each, 0) + fresh * using.get(each, 0) for each in sorted(names)}
        return History(at=now, used={each: amount for each, amount in mixed.items() if amount > 0})

    def charged(self, entering: Mapping[str, int], *, period: float, half_life: float) -> 'History':
        """With what is being admitted counted at once, as if it had run for ``period`` seconds.

        Else many that come together would all be let in before the first of them counts.
        """
        fresh = weight(period, half_life)
        names = self.used.keys() | entering.keys()
        return History(
            at=self.at, used={each: self.used.get(each, 0) + fresh * entering.get(each, 0) for each in sorted(names)}
        )


def weight(seconds: float, half_life: float) -> float:
    """How much of a mean the last ``seconds`` are: 0.5 after one half-life; 0 where nothing is remembered."""
    return 1 - 0.5 ** (max(0.0, seconds) / half_life) if half_life > 0 else 0


def load(history: History, whole: Mapping[str, int], by: float) -> float:
    """The dominant part of ``whole`` that was used, in thousandths, by a weight: in the unit of shares.

    For the order of queues, keep histories of :func:`fairness.borrowed`; ``whole`` is what the parent could lend.
    """
    return fairness.dominant(history.used, whole, by)
