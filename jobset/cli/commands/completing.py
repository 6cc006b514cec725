"""``jobset __complete -- WORD…``: what completion scripts call."""

from typing import Annotated

import typer

from jobset.cli import completions, output


def command(words: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Print what may follow, for the script of a shell."""
    for line in completions.complete(words or ['']):
        output.write(line)
