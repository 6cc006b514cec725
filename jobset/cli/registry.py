"""The commands by name, looked up one at a time, so that ``jobset --help`` imports none of them."""

import importlib
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

COMMANDS: Final = {
    'run': 'Run the JobSets of files on this machine, and show how they go.',
    'cluster': 'Start, stop and look at clusters on this machine.',
    'tree': 'Show a JobSet with its Jobs, pods and volumes.',
    'status': 'Show how a JobSet is doing, and what it waits for.',
    'logs': 'Show the logs of all ranks of a JobSet.',
    'events': 'Show the events of a JobSet and all that belongs to it.',
    'timeline': 'Draw when the parts of a JobSet ran, and why they waited.',
    'validate': 'Check manifests without a cluster.',
    'explain': 'Explain the fields of a JobSet.',
    'apply': 'Create or change the objects of files.',
    'get': 'Show objects.',
    'delete': 'Delete objects.',
    'completion': 'Print the completion script of a shell.',
}
"""Names and what they are for, in the order of help."""

HIDDEN: Final = {'__complete': 'completing'}
"""Commands for programs, and their modules."""


def group() -> Any:  # noqa: ANN401 - a click command, whose class typer keeps to itself
    """The command that has all the others."""
    app = typer.Typer(cls=_Lazy, **_PLAIN)
    app.callback(help='Run JobSets and see how they go: groups of Jobs that start, fail, restart and finish together.')(
        _root
    )
    return typer.main.get_command(app)


_PLAIN: Final[dict[str, Any]] = {
    'add_completion': False,
    'pretty_exceptions_enable': False,
    # Help without frames: plain text is there in half the time, and looks like that of kubectl.
    'rich_markup_mode': None,
    'context_settings': {'help_option_names': ['-h', '--help'], 'max_content_width': 100},
}


def command(name: str) -> Any:  # noqa: ANN401 - as above
    """The command of that name, imported now; None when there is none."""
    if name not in COMMANDS and name not in HIDDEN:
        return None
    module = importlib.import_module(f'jobset.cli.commands.{HIDDEN.get(name, name)}')
    app = getattr(module, 'app', None)
    if app is None:
        app = typer.Typer(**_PLAIN)
        app.command(name)(module.command)
    return typer.main.get_command(app)


class _Lazy(TyperGroup):
    """Knows its commands by the table above."""

    def list_commands(self, ctx: object) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ANN401 - as above
        del ctx
        return command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as above
        # The base class looks for what was meant among commands that are there already.
        self.commands = cast(Any, dict.fromkeys(COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: object, formatter: Any) -> None:  # noqa: ANN401 - as above
        del ctx
        with formatter.section('Commands'):
            formatter.write_dl(list(COMMANDS.items()))


def _show_version(value: bool) -> None:
    if value:
        from jobset import __version__  # noqa: PLC0415 - it takes a while to find out

        typer.echo(f'jobset {__version__}')
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option('--version', callback=_show_version, is_eager=True, help='Show the version and exit.'),
    ] = False,
) -> None:
    del version
