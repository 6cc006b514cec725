"""What ``jobset run`` shows while it goes on: lines, and on a terminal a table of all stages below them."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

from jobset.cli import output
from jobset.cli.progress import Line, Tone

if TYPE_CHECKING:
    from rich.table import Table

COLOURS: Final = ('cyan', 'green', 'magenta', 'yellow', 'blue', 'bright_cyan', 'bright_green', 'bright_magenta')
"""Of ranks, in turn. Not red, which is for what is wrong."""

Elapsed = Callable[[], float]
"""Seconds since the beginning."""


class View(Protocol):
    """Where news goes."""

    def tell(self, line: Line) -> None:
        """A piece of news."""

    def log(self, rank: str, text: str) -> None:
        """A line that a container has written."""

    def stages(self, jobset: str, stages: Mapping[str, str]) -> None:
        """Where the stages of a JobSet stand now."""


class Plain:
    """Lines for a pipe, a file, a CI."""

    def __init__(self, elapsed: Elapsed) -> None:
        self._elapsed = elapsed

    def tell(self, line: Line) -> None:
        self._write(line.subject, line.text)

    def log(self, rank: str, text: str) -> None:
        self._write(f'[{rank}]', text)

    def stages(self, jobset: str, stages: Mapping[str, str]) -> None:
        """They are told when they change."""

    def _write(self, subject: str, text: str) -> None:
        # Whoever reads wants to see it now: a pipe would keep it for the next four thousand bytes.
        sys.stdout.write(f'{self._elapsed():6.1f} s  {subject:<14} {text}\n')
        sys.stdout.flush()


class Coloured:
    """A terminal: lines scroll, the table below them stays."""

    def __init__(self, elapsed: Elapsed) -> None:
        from rich.live import Live  # noqa: PLC0415 - only for a terminal

        self._elapsed = elapsed
        self._console = output.console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._stages: dict[str, Mapping[str, str]] = {}
        self._colours: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def tell(self, line: Line) -> None:
        self._print(line.subject, line.text, subject_style='bold', style=line.tone.value)

    def log(self, rank: str, text: str) -> None:
        colour = self._colours.setdefault(rank, COLOURS[len(self._colours) % len(COLOURS)])
        self._print(f'[{rank}]', text, subject_style=colour)

    def stages(self, jobset: str, stages: Mapping[str, str]) -> None:
        self._stages[jobset] = stages
        self._live.update(self._table(), refresh=True)

    def _print(self, subject: str, text: str, *, subject_style: str, style: str = '') -> None:
        from rich.text import Text  # noqa: PLC0415 - only for a terminal

        line = Text(f'{self._elapsed():6.1f} s  ', style=Tone.NOTE.value)
        line.append(f'{subject:<14} ', style=subject_style)
        line.append(text, style=style)
        self._console.print(line)

    def _table(self) -> 'Table':
        from rich.table import Table  # noqa: PLC0415 - only for a terminal

        table = Table(box=None, padding=(0, 2, 0, 0), header_style='bold')
        for heading in ('JOBSET', 'STAGE', 'STATE'):
            table.add_column(heading)
        for jobset, stages in self._stages.items():
            for stage, text in stages.items():
                table.add_row(jobset, stage, text)
        return table


@contextlib.contextmanager
def fitting(elapsed: Elapsed) -> Iterator[View]:
    """The view that fits to where standard output goes, for the length of the block."""
    if not sys.stdout.isatty():
        yield Plain(elapsed)
        return
    with Coloured(elapsed) as view:
        yield view
