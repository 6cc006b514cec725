"""A picture that changes: redrawn in place on a terminal; a line for each change where a pipe or a file reads it."""

import sys
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from jobset.cli import output

if TYPE_CHECKING:
    from rich.text import Text


class Screen:
    """Shows lines. A context manager; on a terminal the last picture stays."""

    def __init__(self) -> None:
        self._live: Any = None
        self._said = ''

    def __enter__(self) -> Self:
        if sys.stdout.isatty():
            from rich.live import Live  # noqa: PLC0415 - for terminals only

            self._live = Live(console=output.console(wrap=True), auto_refresh=False, vertical_overflow='ellipsis')
            self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def show(self, picture: Callable[[], Iterable['Text']], line: str) -> None:
        """How things are now: the picture for a terminal, the line for a pipe unless it was the last one, too."""
        if self._live is not None:
            from rich.console import Group  # noqa: PLC0415 - for terminals only

            self._live.update(Group(*picture()), refresh=True)
        elif line != self._said:
            self._said = line
            output.write(line)
            sys.stdout.flush()
