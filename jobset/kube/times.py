"""Times as Kubernetes writes them."""

from datetime import UTC, datetime


def now() -> datetime:
    """The wall clock: for people to read, never to measure durations with."""
    return datetime.now(UTC)


def micro(moment: datetime) -> str:
    """A MicroTime: always six digits of a second, which the server insists on; ``moment`` must be aware."""
    return moment.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%S.%fZ')
