"""The library for CEL: take ``cel`` and ``stdlib`` from here.

The package imports its own command line, and with it what draws terminals: ten times as much code as all the rest of
it, which a server on a laptop would wait for at every start. An empty module stands there while it is imported.
"""

import sys
import types
from typing import Final

_COMMAND_LINE: Final = 'cel.cli'
_is_loaded: Final = _COMMAND_LINE in sys.modules

if not _is_loaded:
    sys.modules[_COMMAND_LINE] = types.ModuleType(_COMMAND_LINE)

import cel  # noqa: E402
from cel import stdlib  # noqa: E402

if not _is_loaded:
    # Whoever wants the command line gets the real one.
    del sys.modules[_COMMAND_LINE]

__all__ = ['cel', 'stdlib']
