"""The command line: ``python -m e2e.cluster up|down|status|kubeconfig|build|exec|load-image``."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from e2e.cluster import binaries, cluster, golang, locks, machine, names, processes, providers, settings, site
from e2e.images import system

CHECKOUT = Path(__file__).resolve().parents[2]

Value = TypeVar('Value')

_EXPECTED = (
    binaries.BuildError,
    golang.CompilerError,
    locks.BusyError,
    machine.MachineError,
    names.ClusterNameError,
    processes.NotReadyError,
    processes.StuckProcessError,
    providers.ProviderError,
    site.CommandError,
    system.ImageError,
)


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code. Errors that a user can do something about come without a traceback."""
    arguments = _parser().parse_args(argv)
    try:
        return _COMMANDS[arguments.command](arguments)
    except _EXPECTED as error:
        print(f'error: {error}', file=sys.stderr)
        return 1


def default_name(profile: settings.Profile) -> str:
    """The name of this checkout's cluster; each profile has its own, so that both may run."""
    return names.default(CHECKOUT, suffix='' if profile is settings.Profile.FULL else '-cp')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m e2e.cluster', description='A real cluster for tests.')
    commands = parser.add_subparsers(dest='command', required=True)
    texts = {
        'up': 'start the cluster, or keep the one that runs; prints its kubeconfig',
        'down': 'end all that belongs to it',
        'status': 'say what runs; exit code 3 when it is not ready',
        'kubeconfig': 'print the path of the kubeconfig',
        'build': 'build the programs into the cache, start nothing',
        'exec': 'run a command with kubectl and KUBECONFIG, in the network of the cluster: exec -- CMD',
        'load-image': 'bring an image archive to the node',
    }
    for command, text in texts.items():
        one = commands.add_parser(command, help=text, description=text)
        one.add_argument(
            '--name', default=os.environ.get('CLUSTER_NAME'), help='default: from the path of the checkout'
        )
        one.add_argument(
            '--profile', type=settings.Profile, choices=list(settings.Profile), default=settings.Profile.FULL
        )
        if command == 'up':
            one.add_argument('--feature-gates', type=_argument(settings.gates), default={}, metavar='A=true,B=false')
            one.add_argument(
                '--runtime-config', type=_argument(settings.pairs), default={}, metavar='GROUP/VERSION=true'
            )
            one.add_argument('--kcm-arg', action='append', default=[], metavar='FLAG', help='of the controller manager')
        if command == 'exec':
            one.add_argument('argv', nargs='+', metavar='CMD')
        if command == 'load-image':
            one.add_argument('archive', type=Path)
    return parser


def _argument(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """``parse`` as argparse wants it, which else hides the reason of a refusal."""

    def checked(text: str) -> Value:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


def _provider(arguments: argparse.Namespace, wanted: settings.Settings | None = None) -> providers.Provider:
    wanted = wanted or settings.Settings(profile=arguments.profile)
    return providers.chosen(os.environ, name=_name(arguments), wanted=wanted)


def _name(arguments: argparse.Namespace) -> str:
    return arguments.name or default_name(arguments.profile)


def _up(arguments: argparse.Namespace) -> int:
    wanted = settings.Settings(
        profile=arguments.profile,
        feature_gates=arguments.feature_gates,
        runtime_config=arguments.runtime_config,
        controller_manager=tuple(arguments.kcm_arg),
    )
    began = time.monotonic()
    provider = _provider(arguments, wanted)
    provider.up()
    print(f'cluster {_name(arguments)} is up after {time.monotonic() - began:.1f} s', file=sys.stderr)
    print(provider.kubeconfig)
    return 0


def _down(arguments: argparse.Namespace) -> int:
    _provider(arguments).down()
    return 0


def _status(arguments: argparse.Namespace) -> int:
    cache = names.cache()
    seen = cluster.status(names.of(_name(arguments), cache_folder=cache), cache=cache)
    for program, runs in seen.programs.items():
        print(f'{program}: {"runs" if runs else "ended"}')
    print('ready' if seen.ready else 'not ready')
    return 0 if seen.ready else 3


def _kubeconfig(arguments: argparse.Namespace) -> int:
    print(_provider(arguments).kubeconfig)
    return 0


def _build(arguments: argparse.Namespace) -> int:
    full = arguments.profile is settings.Profile.FULL
    built = binaries.present(binaries.ALL if full else binaries.CONTROL_PLANE, cache=names.cache())
    print(*sorted(map(str, built.paths.values())), sep='\n')
    return 0


def _exec(arguments: argparse.Namespace) -> int:
    provider = _provider(arguments)
    argv, surroundings = provider.enter(arguments.argv), provider.surroundings()
    try:
        os.execvpe(argv[0], argv, surroundings)  # noqa: S606 - to run what the user names is the command's purpose
    except FileNotFoundError:
        raise site.CommandError(f'exec: there is no program "{argv[0]}"') from None


def _load_image(arguments: argparse.Namespace) -> int:
    _provider(arguments).load(arguments.archive)
    return 0


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    'up': _up,
    'down': _down,
    'status': _status,
    'kubeconfig': _kubeconfig,
    'build': _build,
    'exec': _exec,
    'load-image': _load_image,
}


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
