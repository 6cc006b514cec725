"""Runs our Job controller on a cluster that has none: ``python -m tests.local.jobs.ours --kubeconfig FILE``.

Beside it, ``python -m tests.local.jobs.record --check`` tells where it differs from the recorded one.
"""

import argparse
import asyncio
import datetime
import logging

from jobset.kube import auth, client, transport
from jobset.local.jobs import controller


async def run(kubeconfig: str) -> None:
    """Runs it until cancelled."""
    credentials = await auth.load(kubeconfig)
    async with transport.Transport(credentials, user_agent='job-controller') as carrier:
        ours = controller.Controller(client.Client(carrier), now=lambda: datetime.datetime.now(datetime.UTC))
        await ours.run()


def main() -> None:
    """Run it until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--kubeconfig', required=True)
    logging.basicConfig(level=logging.INFO)
    asyncio.run(run(parser.parse_args().kubeconfig))


if __name__ == '__main__':
    main()
