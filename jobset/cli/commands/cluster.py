"""``jobset cluster``: embedded clusters in the background, for as many commands as one likes."""

import os
from typing import Annotated

import typer

from jobset.cli import failures
from jobset.client.homes import DEFAULT
from jobset.local import daemon, homes

app = typer.Typer(help='Start, stop and look at clusters on this machine.', add_completion=False, rich_markup_mode=None)

NOT_RUNNING = 3
"""Exit code of ``status`` for a cluster that does not run, as services have it."""

_Name = Annotated[str, typer.Argument(help='Name of the cluster.')]


@app.command()
def up(
    name: _Name = DEFAULT,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help='Port of the API server on the loopback interface; 0: as before, or a free one.'
        ),
    ] = 0,
) -> None:
    """Start a cluster, or take the one that runs."""
    home = _home(name)
    try:
        found = daemon.up(home, ('--port', str(port)))
    except homes.UnusableError as error:
        raise failures.Failure(str(error)) from error
    typer.echo(f'cluster "{home.name}" is up at {found.server}')
    typer.echo(f'export KUBECONFIG={home.kubeconfig}')


@app.command()
def down(
    name: _Name = DEFAULT,
    keep_data: Annotated[
        bool, typer.Option('--keep-data', help='Leave its objects, volumes and logs for the next "up".')
    ] = False,
) -> None:
    """End a cluster with all its pods, and take its data away."""
    home = _home(name)
    try:
        ended = daemon.down(home, keep_data=keep_data)
    except homes.UnusableError as error:
        raise failures.Failure(str(error)) from error
    if ended:
        typer.echo(f'cluster "{home.name}" is down')
    else:
        typer.echo(f'cluster "{home.name}" was not {"running" if home.folder.exists() else "there"}')


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(help='Name of the cluster; all when there is none.')] = None,
) -> None:
    """Say which clusters run. Exit code 3 when the one that was asked for does not."""
    chosen = [_home(name)] if name is not None else homes.clusters()
    if not chosen:
        typer.echo('no clusters; start one with "jobset cluster up"')
    for home in chosen:
        found = daemon.running(home)
        typer.echo(f'{home.name}: {"not running" if found is None else f"running at {found.server}, pid {found.pid}"}')
    if name is not None and daemon.running(chosen[0]) is None:
        raise typer.Exit(NOT_RUNNING)


def _home(name: str) -> homes.Home:
    # The pods of a cluster are processes of whoever runs it, with all that they may do.
    if os.name != 'posix':
        raise failures.Failure('clusters on this machine need Linux')
    try:
        return homes.of_cluster(name)
    except homes.UnusableError as error:
        raise failures.Failure(str(error), code=failures.USAGE) from error
