"""``jobset run FILE…``: JobSets on this machine, from an empty cluster to their ends."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from jobset.api import keys
from jobset.cli import checking, failures, following, output, runs, settings, spans, views
from jobset.client import manifests
from jobset.client.manifests import Document

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What says that the run shall end: Ctrl-C, a supervisor, a terminal that is closed."""

SIGNALLED: Final = 128
"""Added to the number of the signal, the exit code of a process that was told to end, as shells have it."""

LOG_BYTES: Final = 1 << 30
"""Size at which the log of a container is rotated: a run has an end, and shall lose nothing on the way there."""

_LOOK_SECONDS: Final = 0.5
"""Between two looks at files that are watched."""


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            help='Files with JobSets and what they need; "-": standard input.', metavar='FILE...', show_default=False
        ),
    ],
    *,
    namespace: Annotated[
        str | None, typer.Option('--namespace', '-n', help='For objects that name none.', show_default=False)
    ] = None,
    timeout: Annotated[str, typer.Option(help='Give up after so long, as 90s or 5m.', show_default=False)] = '',
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            '--set',
            help='Change a field of the JobSets, as spec.replicatedJobs[train].replicas=4.',
            metavar='PATH=VALUE',
            show_default=False,
        ),
    ] = None,
    watch: Annotated[bool, typer.Option('--watch', '-w', help='Run again each time that a file changes.')] = False,
    keep: Annotated[
        bool, typer.Option('--keep', help='Leave the cluster up at the end, to look around, until Ctrl-C.')
    ] = False,
) -> int:
    """Run the JobSets of files on this machine: no Kubernetes, no containers, the same behaviour.

    Pods are processes of yours; images are not pulled. The exit code is 0 when all JobSets complete, else that of the
    container whose failure ended the first one that did not; 124 after --timeout.
    """
    seconds = spans.seconds('--timeout', timeout) if timeout else None
    while True:
        try:
            documents = _read(files, assignments or ())
            code = _play(documents, namespace=namespace, timeout=seconds, keep=keep)
        except failures.Failure as error:
            if not watch:
                raise
            output.warn(f'jobset: {error}')
            code = error.code
        if not watch or code - SIGNALLED in ENDING:
            return code
        _listen_again()
        output.warn('waiting for a change of the files; Ctrl-C ends it')
        _wait_for_change(files)


def _read(files: Sequence[str], assignments: Sequence[str]) -> list[Document]:
    """The objects of the files, all of them without mistakes."""
    contents = manifests.read_all(files)
    problems = [str(problem) for problem in contents.problems]
    documents = []
    for document in contents.documents:
        if document.kind == keys.KIND and assignments:
            settings.apply(document.obj, assignments)
        documents.append(document)
    if not problems:
        verdicts = asyncio.run(checking.check_all(documents))
        problems = [str(problem) for verdict in verdicts for problem in verdict.problems]
    if problems:
        raise failures.Failure('\njobset: '.join(problems), code=failures.USAGE)
    if not any(document.kind == keys.KIND for document in documents):
        found = ', '.join(sorted({document.kind for document in documents}))
        raise failures.Failure(f'{", ".join(files)}: no JobSet to run; found: {found}', code=failures.USAGE)
    return documents


def _play(documents: Sequence[Document], *, namespace: str | None, timeout: float | None, keep: bool) -> int:
    # Imported here: all of the control plane, which the mistakes above do not need.
    import uvloop  # noqa: PLC0415

    return uvloop.run(_session(documents, namespace=namespace, timeout=timeout, keep=keep))


async def _session(
    documents: Sequence[Document],
    *,
    namespace: str | None,
    timeout: float | None,  # noqa: ASYNC109 - handed on
    keep: bool,
) -> int:
    from jobset.local import clock, cluster, daemon, homes  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    began = loop.time()
    session = asyncio.current_task()
    assert session is not None  # noqa: S101 - for the type checker
    ended_by: list[int] = []

    def end(number: int) -> None:
        ended_by.append(number)
        session.cancel()

    for number in ENDING:
        loop.add_signal_handler(number, end, number)
    name = next(document.name for document in documents if document.kind == keys.KIND)
    try:
        daemon.sweep()
        home = homes.of_run(name, clock.wall())
    except homes.UnusableError as error:
        raise failures.Failure(str(error)) from error
    wanted = cluster.Settings(
        name=name, keeps_objects=False, node=cluster.NodeSettings(keep_logs=True, log_bytes=LOG_BYTES)
    )
    try:
        home.prepare()
        async with cluster.Cluster(folder=home.folder, settings=wanted) as running:
            daemon.note(home, running.access.server)
            with views.fitting(lambda: loop.time() - began) as view:
                run = runs.Run(running, view, namespace=namespace)
                endings = await run.play(documents, timeout=timeout)
            _sum_up(endings, home.folder / homes.LOGS, loop.time() - began)
            if keep:
                output.warn(f'the cluster is up: export KUBECONFIG={running.kubeconfig}; Ctrl-C ends it')
                await asyncio.Event().wait()
    except asyncio.CancelledError:
        if not ended_by:
            raise
        with contextlib.suppress(OSError):
            # The terminal may be gone.
            output.warn(f'{name}: ended by {signal.Signals(ended_by[0]).name}; logs: {home.folder / homes.LOGS}')
        return SIGNALLED + ended_by[0]
    except homes.UnusableError as error:
        raise failures.Failure(str(error)) from error
    finally:
        homes.strip(home)
    return runs.exit_code(endings)


def _sum_up(endings: Sequence[following.Ending], logs: Path, seconds: float) -> None:
    for ending in endings:
        count = ending.restarts
        restarts = f', {count} {"restart" if count == 1 else "restarts"}' if count else ''
        output.write(f'{ending.name}: {ending.state or "not finished"} after {seconds:.1f} s{restarts}: {ending.text}')
        # What ended it comes first, and the rest in the order in which it was seen.
        found = sorted(ending.failures, key=lambda each: each is not ending.cause)
        for failure in found[:5]:
            attempt = f', attempt {failure.attempt}' if count else ''
            output.write(f'  {failure.rank}: {failure} ({failure.where}{attempt})')
        if len(found) > 5:
            output.write(f'  and {len(found) - 5} more')
    output.write(f'logs: {logs}')


def _listen_again() -> None:
    """The loop of a run leaves its own handlers behind, which nobody listens to any more."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _wait_for_change(files: Sequence[str]) -> None:
    before = _times(files)
    while _times(files) == before:
        time.sleep(_LOOK_SECONDS)


def _times(files: Sequence[str]) -> list[object]:
    found: list[object] = []
    for file in files:
        path = Path(file)
        inside = sorted(path.rglob('*')) if path.is_dir() else [path]
        found += [(str(each), each.stat().st_mtime_ns) for each in inside if each.exists()]
    return found
