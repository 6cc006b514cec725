"""The options that commands have in common, with the names and meanings of kubectl."""

import asyncio
import contextlib
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from jobset.cli import failures
from jobset.client import connections, homes
from jobset.client.jobsets import Jobsets
from jobset.kube import auth, errors

P = ParamSpec('P')

Namespace = Annotated[str | None, typer.Option('--namespace', '-n', help='The namespace.', show_default=False)]
Context = Annotated[str | None, typer.Option('--context', help='The context of the kubeconfig file.')]
Kubeconfig = Annotated[str | None, typer.Option('--kubeconfig', help='The kubeconfig file.', metavar='FILE')]
Cluster = Annotated[str | None, typer.Option('--cluster', help='A cluster on this machine.', metavar='NAME')]

Name = Annotated[str, typer.Argument(help='The name of the JobSet.', metavar='NAME', show_default=False)]
Output = Annotated[
    str, typer.Option('--output', '-o', help='The form: table, wide, json, yaml or name.', show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class Target:
    """Which cluster and namespace a command is about."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    cluster: str | None = None

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[Jobsets]:
        """The JobSets of the cluster, for the length of the block."""
        try:
            async with connections.connect(self.kubeconfig, context=self.context, cluster=self.cluster) as connection:
                yield Jobsets(connection.source, namespace=self.namespace or connection.namespace)
        except (auth.Misconfigured, errors.Unreachable) as error:
            hint = self._hint()
            if not hint:
                raise
            text = failures.describe(error)
            raise failures.Failure(f'{text}; {hint}') from error

    def _hint(self) -> str:
        """What else there is, for somebody whose cluster is not there."""
        if self.kubeconfig or self.context:
            return ''
        if self.cluster:
            return f'does it run? Start it with: jobset cluster up {self.cluster}'
        names = ', '.join(homes.clusters())
        if not names:
            return ''
        return (
            f'clusters on this machine: {names}; start one with "jobset cluster up NAME", or choose one with --cluster'
        )


Command = Callable[Concatenate[Target, P], Coroutine[Any, Any, int | None]]


def on_cluster(command: Command[P]) -> Callable[..., int | None]:
    """Makes a command of a coroutine function: it gets the target, and the command the options that say which."""

    @functools.wraps(command)
    def run(**options: Any) -> int | None:  # noqa: ANN401 - what the signature below says
        target = Target(**{name: options.pop(name) for name in _TARGET})
        call: Callable[..., Coroutine[Any, Any, int | None]] = command
        return asyncio.run(call(target, **options))

    signature = inspect.signature(command)
    _, *own = signature.parameters.values()
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _TARGET.items()
    ]
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    run.__signature__ = signature.replace(parameters=[*own, *more], return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


_TARGET = {'namespace': Namespace, 'context': Context, 'kubeconfig': Kubeconfig, 'cluster': Cluster}


def one_of(value: str, *known: str) -> str:
    """An output format, if the command knows it."""
    if value not in known:
        raise failures.Failure(f'-o {value}: unknown; known are {", ".join(known)}', code=failures.USAGE)
    return value
