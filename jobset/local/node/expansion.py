"""``$(NAME)`` in commands, arguments and values of variables. ``$$`` is a dollar; unknown names stay as they are."""

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r'\$(?:\$|\((?P<name>[^)]*)\))')


def expand(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with its references replaced."""

    def value(found: re.Match[str]) -> str:
        name = found['name']
        return '$' if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(value, text)
