"""The entry points of ``jobset``, ``kubectl-jobset`` and ``kubectl_complete-jobset``."""

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

INTERRUPTED = 130
"""The exit code of a program that was ended by Ctrl-C, as shells count it."""

CUT_OFF = 141
"""The exit code of a program whose reader has gone, as ``head`` does."""


def main(args: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Whatever goes wrong is one line on standard error."""
    given = list(sys.argv[1:] if args is None else args)
    try:
        # Imported here, so that Ctrl-C is quiet from the start.
        from jobset.cli import running  # noqa: PLC0415

        code = running.run(given or ['--help'], program=_program())
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return CUT_OFF
    return code


def complete(args: Sequence[str] | None = None) -> int:
    """What kubectl calls for the completion of ``kubectl jobset``: the words so far, the last one incomplete."""
    return main(['__complete', '--', *(sys.argv[1:] if args is None else args)])


def _program() -> str:
    return 'kubectl jobset' if Path(sys.argv[0]).name.startswith('kubectl') else 'jobset'


def _forget_output() -> None:
    """Keeps Python from writing what is left at its end, and from telling that it cannot."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == '__main__':
    sys.exit(main())
