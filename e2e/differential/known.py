"""The differences that stay, each with its reason. One that is not listed fails the run."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Known:
    """Differences that match a pattern."""

    pattern: str
    """Of a difference as it is written down: kind, verb, place, what the real server says, what ours says."""

    reason: str
    sent: str = ''
    """Of the body that was sent, where the difference alone does not tell."""

    def matches(self, difference: str, body: str) -> bool:
        """Whether it is one of these."""
        found = re.search(self.pattern, difference, re.DOTALL)
        return found is not None and re.search(self.sent, body, re.DOTALL) is not None


KNOWN: Final = (
    Known(
        r' code: 0 != 4\d\d$|: null != \{"kind": "Status"',
        'kube-apiserver panics, and breaks the connection; ours refuses',
    ),
)


def reason(difference: str, body: str) -> str | None:
    """Why a difference stays; None when nobody knows."""
    return next((one.reason for one in KNOWN if one.matches(difference, body)), None)
