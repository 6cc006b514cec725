"""An embedded cluster as a process of its own: ``python -m jobset.local``; see :mod:`jobset.local.daemon`."""

import argparse
import asyncio
import contextlib
import logging
import os
import pathlib
import signal
import sys
from typing import Final

import uvloop

from jobset.local import cluster, daemon, homes, planelogs

UNUSABLE: Final = 1
FAULTY: Final = 70
"""Exit codes: of what the person can mend, and of what we have to."""


def main() -> int:
    """Run a cluster until a signal says to end; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python -m jobset.local', description=__doc__)
    parser.add_argument('--name', default=homes.DEFAULT)
    parser.add_argument('--folder', type=pathlib.Path, help='in place of the one that belongs to the name')
    parser.add_argument('--port', type=int, default=0)
    parser.add_argument('--ready-fd', type=int, help='a descriptor that is told when the cluster answers')
    parser.add_argument('--snapshot-bytes', type=int, help='size of the journal from which on a snapshot is made')
    arguments = parser.parse_args()
    try:
        home = homes.of_cluster(arguments.name)
        if arguments.folder is not None:
            home = homes.Home(home.name, arguments.folder)
        home.prepare()
        _log(home.log)
        journal = cluster.JournalSettings()
        if arguments.snapshot_bytes is not None:
            journal = cluster.JournalSettings(compact_bytes=arguments.snapshot_bytes)
        node = cluster.NodeSettings(keep_logs=True)
        settings = cluster.Settings(name=home.name, port=arguments.port, node=node, journal=journal)
        uvloop.run(_run(home, settings, arguments.ready_fd))
    except homes.UnusableError as error:
        _complain(str(error), arguments.ready_fd)
        return UNUSABLE
    except Exception as error:
        logging.exception('the cluster has ended')
        _complain(f'a fault of jobset itself: {type(error).__name__}: {error}', arguments.ready_fd)
        return FAULTY
    return 0


def _log(file: pathlib.Path) -> None:
    """Log to standard error; where that is the cluster's own file, it does not grow for ever."""
    handler = planelogs.Rotating(file) if planelogs.is_stream(file, 2) else logging.StreamHandler()
    form = '%(asctime)s %(levelname)s %(name)s: %(message)s'
    logging.basicConfig(level=logging.INFO, format=form, handlers=[handler])


def _complain(text: str, ready: int | None) -> None:
    """Tell why there is no cluster: as the last line of the log, and whoever waits, because a full disk has no log."""
    with contextlib.suppress(OSError):
        print(f'jobset: {text}', file=sys.stderr, flush=True)  # noqa: T201
    if ready is not None:
        with contextlib.suppress(OSError):
            os.write(ready, text.encode())


async def _run(home: homes.Home, settings: cluster.Settings, ready: int | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with cluster.Cluster(folder=home.folder, settings=settings) as running:
        daemon.note(home, running.access.server)
        if ready is not None:
            # Whoever has started us may have gone meanwhile; the cluster stays.
            with contextlib.suppress(BrokenPipeError):
                os.write(ready, daemon.READY.encode())
            os.close(ready)
        await stopping.wait()
    daemon.forget(home)


if __name__ == '__main__':
    sys.exit(main())
