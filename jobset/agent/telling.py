"""What the agent says, in the log of its container. Never a token."""

from __future__ import annotations

import sys


def tell(text: str) -> None:
    sys.stderr.write(f'jobset-agent: {text}\n')
    sys.stderr.flush()
