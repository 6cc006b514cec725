"""Why a cluster cannot start or go on, in one line for a person: what its surroundings refuse, not our own faults."""

from pathlib import Path

from jobset.kube import errors
from jobset.local.node import addresses
from jobset.local.server import listener
from jobset.local.store import journal, recovery


def of(error: BaseException, folder: Path) -> str | None:
    """The line; None for a fault of ours. ``folder`` is what is meant where the system names no file."""
    match error:
        case listener.ListenError():
            return error.strerror
        case FileExistsError(filename=str() as name):
            return f'{name}: is not a folder'
        case OSError(strerror=str() as text):
            return f'{error.filename2 or error.filename or folder}: {text}'
        case errors.RetryLater():
            # The server within this process: the disk is full, or the journal cannot be written.
            return error.message
        case journal.LockedError() | journal.Unwritable() | recovery.DamagedFileError() | addresses.NoneLeft():
            return str(error)
    return None
