"""The message that a container leaves behind.

Source: Kubernetes, "Determine the Reason for Pod Failure".
"""

from pathlib import Path
from typing import Final

from jobset.local.node import logfiles, loglines
from jobset.local.node.model import Spec

DEFAULT_PATH: Final = '/dev/termination-log'
_LONGEST: Final = 4096
_LOG_BYTES: Final = 2048
_LOG_LINES: Final = 80


def message(container: Spec, exit_code: int, file: Path, log: Path) -> str:
    """What the container has written to its message file, or where it wants that, the end of its log."""
    try:
        with file.open('rb') as source:
            text = source.read(_LONGEST).decode(errors='replace')
    except OSError:
        text = ''
    if text or exit_code == 0 or container.get('terminationMessagePolicy') != 'FallbackToLogsOnError':
        return text
    return _end_of(log)


def _end_of(log: Path) -> str:
    lines = [line for file in logfiles.parts(log)[-1:] for line in file.read_bytes().splitlines()[-_LOG_LINES:]]
    entries = [entry for line in lines if (entry := loglines.parse(line)) is not None]
    text = b''.join(entry.text if entry.is_part else entry.text + b'\n' for entry in entries)
    return text[-_LOG_BYTES:].decode(errors='replace')
