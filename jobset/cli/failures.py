"""What goes wrong, as one line for a person and an exit code."""

import errno
import os
import sys
import traceback
from pathlib import Path
from typing import Final

FAILED: Final = 1
USAGE: Final = 2

DEBUGGING: Final = 'JOBSET_DEBUG_COMPLETION'
"""Variable of the environment; not empty where completions shall say why they offer nothing."""

_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class Failure(Exception):  # noqa: N818 - what a command ends with, not what has happened inside
    """A command cannot do what it was asked for. The text is all that a person has to know."""

    def __init__(self, text: str, *, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


def describe(error: Exception) -> str | None:
    """The line for an error of what lies below the commands; None for one that is a fault of ours."""
    # Imported here: a command that fails early has not needed them.
    from jobset.client import failures, homes  # noqa: PLC0415
    from jobset.kube import auth, errors  # noqa: PLC0415

    match error:
        case errors.Unauthorized():
            return 'the server does not accept the credentials; log in again, or choose another --context'
        case errors.Unreachable():
            return f'no answer from the server: {error.message}'
        case errors.ApiError():
            return error.message
        case OSError(filename=str() as name, strerror=str() as text):
            is_ours = error.errno in _NOT_ALLOWED and Path(name).is_relative_to(homes.home())
            advice = f'; set {homes.ENVIRONMENT} to a folder of yours' if is_ours else ''
            return f'{name}: {text}{advice}'
        case Failure() | auth.Misconfigured() | OSError() | homes.UnknownCluster() | failures.WaitError():
            return str(error)
    return None


def explain(error: Exception) -> None:
    """Say what went wrong with a completion, to those who have asked."""
    if os.environ.get(DEBUGGING):
        text = describe(error) or ''
        if isinstance(error, TimeoutError):
            text = 'the cluster does not answer in time'
        print(f'jobset: no completion: {text or repr(error)}', file=sys.stderr)  # noqa: T201
        if not text or wants_traceback():
            traceback.print_exception(error)


def wants_traceback() -> bool:
    """Whether whoever looks for a fault of ours has asked to see it all."""
    return bool(os.environ.get('JOBSET_TRACEBACK'))
