"""The time of a simulation: it moves only when told to."""

import datetime
from typing import Final

START: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Clock:
    """Seconds since the start."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime.datetime:
        """The moment as an aware time."""
        return START + datetime.timedelta(seconds=self.seconds)

    def stamp(self, *, after: float = 0) -> str:
        """The moment, or one so many seconds later, as an API server writes it."""
        return (self.now() + datetime.timedelta(seconds=after)).strftime('%Y-%m-%dT%H:%M:%SZ')

    def advance(self, to: float) -> None:
        """Let it be that many seconds after the start, unless it is later already."""
        self.seconds = max(self.seconds, to)


def seconds(stamp: str) -> float:
    """Seconds from the start to a moment as an API server writes it."""
    return (datetime.datetime.fromisoformat(stamp) - START).total_seconds()
