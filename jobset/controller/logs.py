"""Logs as JSON, one object a line, on standard error."""

import logging
import sys
from typing import Final

from pythonjsonlogger.json import JsonFormatter

_FIELDS: Final = '%(asctime)s %(levelname)s %(name)s %(message)s'
_NAMES: Final = {'asctime': 'ts', 'levelname': 'level', 'name': 'logger', 'message': 'msg', 'exc_info': 'stacktrace'}


def set_up(level: int) -> None:
    """Send all logs of this process through one JSON handler.

    Libraries speak up from WARNING: what they say below is about their inner life.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(_FIELDS, rename_fields=_NAMES))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger('jobset').setLevel(level)
