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

from jobset.local import cluster, daemon, homes

UNUSABLE: Final = 1


def main() -> int:
    """Run a cluster until a signal says to end; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python -m jobset.local', description=__doc__)
    parser.add_argument('--name', default=homes.DEFAULT)
    parser.add_argument('--folder', type=pathlib.Path, help='in place of the one that belongs to the name')
    parser.add_argument('--port', type=int, default=0)
    parser.add_argument('--ready-fd', type=int, help='a descriptor that is told when the cluster answers')
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format='%(asctime)s %(levelname)s %(name)s: %(message)s')
    try:
        home = homes.of_cluster(arguments.name)
        if arguments.folder is not None:
            home = homes.Home(home.name, arguments.folder)
        home.prepare()
        uvloop.run(_run(home, arguments.port, arguments.ready_fd))
    except homes.UnusableError as error:
        print(f'jobset: {error}', file=sys.stderr)  # noqa: T201 - the last line of the log is what a person is shown
        return UNUSABLE
    return 0


async def _run(home: homes.Home, port: int, ready: int | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    settings = cluster.Settings(name=home.name, port=port, node=cluster.NodeSettings(keep_logs=True))
    async with cluster.Cluster(folder=home.folder, settings=settings) as running:
        daemon.note(home, running.access.server)
        if ready is not None:
            os.write(ready, daemon.READY.encode())
            os.close(ready)
        await stopping.wait()
    with contextlib.suppress(FileNotFoundError):
        home.process.unlink()


if __name__ == '__main__':
    sys.exit(main())
