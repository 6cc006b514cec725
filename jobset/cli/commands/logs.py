"""``jobset logs NAME``: what all ranks have written."""

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobset.cli import failures, options, output, spans
from jobset.client import lines

if TYPE_CHECKING:
    from rich.console import Console

COLOURS: Final = ('cyan', 'green', 'magenta', 'yellow', 'blue', 'bright_cyan', 'bright_green', 'bright_magenta')
"""Of ranks, in turn. Not red, which is for what is wrong."""


@options.on_cluster
async def command(
    target: options.Target,
    *,
    name: options.Name,
    follow: Annotated[
        bool, typer.Option('--follow', '-f', help='Go on, with the pods of later attempts, until it has ended.')
    ] = False,
    groups: Annotated[
        list[str] | None, typer.Option('--replicated-job', '-r', help='Only these.', show_default=False)
    ] = None,
    job_index: Annotated[int | None, typer.Option('--job-index', help='Only this Job of each.', min=0)] = None,
    pod_index: Annotated[
        int | None, typer.Option('--pod-index', '--rank', help='Only this pod of each Job.', min=0)
    ] = None,
    container: Annotated[str, typer.Option('--container', '-c', help='Only this one.', show_default=False)] = '',
    attempt: Annotated[int | None, typer.Option('--attempt', help='Only this attempt, from 0.', min=0)] = None,
    previous: Annotated[
        bool, typer.Option('--previous', '-p', help='Of the containers before their last restart.')
    ] = False,
    tail: Annotated[int | None, typer.Option('--tail', help='Only so many last lines of each.', min=0)] = None,
    since: Annotated[str, typer.Option('--since', help='Only newer ones, as 5s, 2m or 3h.', show_default=False)] = '',
    timestamps: Annotated[bool, typer.Option('--timestamps', help='Show times.')] = False,
    prefix: Annotated[bool, typer.Option('--prefix/--no-prefix', help='Show whose line it is.')] = True,
    at_once: Annotated[int, typer.Option('--max-log-requests', help='Logs to read at a time.', min=1)] = 128,
) -> int:
    """Show the logs of all ranks of a JobSet, each line with its rank in front: [train-0-1]."""
    wanted = lines.Wanted(
        replicated_jobs=frozenset(groups or ()),
        job_index=job_index,
        pod_index=pod_index,
        container=container,
        attempt=attempt,
        previous=previous,
        tail=tail,
        since_seconds=round(spans.seconds('--since', since)) if since else None,
        at_once=at_once,
    )
    if follow and previous:
        raise failures.Failure('--follow and --previous exclude each other', code=failures.USAGE)
    printer = Printer(timestamps=timestamps, prefix=prefix)
    async with (
        target.connect() as jobsets,
        # Closed before the connection is, also when the reader of the output has gone.
        contextlib.aclosing(jobsets.log_lines(name, follow=follow, wanted=wanted)) as found,
    ):
        async for line in found:
            printer.show(line)
    if not printer.any_line and not printer.notes:
        output.warn(_nothing(name, attempt))
    return failures.FAILED if printer.notes and not printer.any_line else 0


def _nothing(name: str, attempt: int | None) -> str:
    if attempt is not None:
        return f'No pods of attempt {attempt} of jobset {name} are left; a cluster keeps logs as long as their pods.'
    return f'Nothing was logged by jobset {name} that fits.'


class Printer:
    """Prints lines as they come, each rank in a colour of its own where colours are shown."""

    def __init__(self, *, timestamps: bool, prefix: bool) -> None:
        self.any_line = False
        self.notes = 0
        self._timestamps = timestamps
        self._prefix = prefix
        self._colours: dict[str, str] = {}
        self._console: Console | None = output.console() if sys.stdout.isatty() else None

    def show(self, line: lines.Line | lines.Note) -> None:
        """One line; what is to be said about the logs themselves goes to standard error."""
        if isinstance(line, lines.Note):
            self.notes += 1
            output.warn(f'jobset: [{line.rank}] {line.text}')
            return
        self.any_line = True
        text = f'{line.time} {line.text}' if self._timestamps else line.text
        if not self._prefix:
            output.write(text)
        elif self._console is None:
            output.write(f'[{line.rank}] {text}')
        else:
            self._show_coloured(self._console, line.rank, text)
        # Whoever follows wants to see a line when it comes.
        sys.stdout.flush()

    def _show_coloured(self, console: 'Console', rank: str, text: str) -> None:
        from rich.text import Text  # noqa: PLC0415 - for terminals only

        colour = self._colours.setdefault(rank, COLOURS[len(self._colours) % len(COLOURS)])
        console.print(Text.assemble((f'[{rank}]', colour), ' ', Text.from_ansi(text)))
