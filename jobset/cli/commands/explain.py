"""``jobset explain [FIELD.PATH]``: what the fields of a JobSet mean."""

from typing import Annotated

import typer

from jobset.cli import failures, output
from jobset.client import explaining


def command(
    field: Annotated[
        str, typer.Argument(help='As jobset.spec.failurePolicy.', metavar='FIELD.PATH', show_default=False)
    ] = 'jobset',
    *,
    recursive: Annotated[bool, typer.Option('--recursive', help='Show all fields below, without texts.')] = False,
) -> None:
    """Explain the fields of a JobSet, as kubectl explain does, without a cluster."""
    try:
        found = explaining.find(field)
    except explaining.UnknownField as error:
        raise failures.Failure(str(error)) from error
    output.write(explaining.text(found, recursive=recursive))
