"""The differences that stay, each with its reason. One that is not listed fails the run."""

import re
from dataclasses import dataclass
from typing import Final

from e2e.differential.comparing import Difference


@dataclass(frozen=True, kw_only=True)
class Known:
    """Differences that match all of its patterns."""

    why: str
    what: str = ''
    """Kind, verb and subresource of the write, and the place of the answer, as ``jobs.batch create: warnings``."""

    real: str = ''
    """What the real server says there."""

    ours: str = ''
    sent: str = ''
    """The body of the write."""

    blurred: str = ''
    """Without what matches this, both say the same."""

    def matches(self, what: str, difference: Difference, sent: str) -> bool:
        """Whether a difference is one of these."""
        real, ours = difference.real, difference.ours
        patterns = ((self.what, what), (self.real, real), (self.ours, ours), (self.sent, sent))
        if not all(re.search(pattern, text, re.DOTALL) for pattern, text in patterns):
            return False
        return not self.blurred or re.sub(self.blurred, '', real) == re.sub(self.blurred, '', ours)


KNOWN: Final = (
    Known(
        why='kube-apiserver panics and breaks the connection; ours refuses',
        what=': code$',
        real='^0$',
        ours='^4',
    ),
    Known(
        why='the text of kube-apiserver names a file of its Go sources',
        real=r'pkg/runtime/scheme\.go',
        blurred=r' in scheme \\*"pkg/runtime/scheme.go:\d+\\*"| here',
    ),
    Known(
        why='within the Go struct that is shown, a list or map that was given empty is not null',
        real=r'\\"(Spec|Volumes|Containers)\\":',
        blurred=r'null|\[\]|\{\}',
    ),
)


def reason(what: str, difference: Difference, sent: str) -> str | None:
    """Why a difference stays; None when nobody knows."""
    return next((one.why for one in KNOWN if one.matches(what, difference, sent)), None)
