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
    if not ended and not home.folder.exists():
        others = ', '.join(other.name for other in _clusters())
        there = f'there are: {others}' if others else 'there is none'
        raise failures.Failure(f'there is no cluster "{home.name}"; {there}')
    typer.echo(f'cluster "{home.name}" {"is down" if ended else "was not running"}')


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(help='Name of the cluster; all when there is none.')] = None,
) -> None:
    """Say which clusters run, those of "jobset run" too. Exit code 3 when the one that was asked for does not."""
    runs = _runs()
    named = [home for home in runs if home.name == name]
    chosen = [*_clusters(), *runs] if name is None else named or [_home(name)]
    if not chosen:
        typer.echo('no clusters; start one with "jobset cluster up"')
    for home in chosen:
        found = daemon.running(home)
        of_run = ', of "jobset run"' if home in runs else ''
        how = 'not running' if found is None else f'running at {found.server}, pid {found.pid}{of_run}'
        typer.echo(f'{home.name}: {how}')
    if name is not None and daemon.running(chosen[0]) is None:
        raise typer.Exit(NOT_RUNNING)


def _clusters() -> list[homes.Home]:
    try:
        return homes.clusters()
    except homes.UnusableError as error:
        raise failures.Failure(str(error)) from error


def _runs() -> list[homes.Home]:
    """Those that go on, or are kept; nothing is left to reach of the others."""
    try:
        return [home for home in homes.of_runs() if daemon.running(home) is not None]
    except homes.UnusableError as error:
        raise failures.Failure(str(error)) from error


def _home(name: str) -> homes.Home:
    # The pods of a cluster are processes of whoever runs it, with all that they may do.
    if os.name != 'posix':
        raise failures.Failure('clusters on this machine need Linux')
    try:
        return homes.of_cluster(name)
    except homes.UnusableError as error:
        raise failures.Failure(str(error), code=failures.USAGE) from error
