r"""Plays the stories before a real Job controller and keeps what it did: ``python -m tests.local.jobs.record``.

    python -m tests.local.jobs.record --kubeconfig FILE [--only 'rule-*'] [--check]

With ``--check``, nothing is kept: what happens is compared with what was recorded earlier. The controller manager of
a cluster of ``e2e.cluster`` has no Job controller unless it is told to::

    python -m e2e.cluster up --profile control-plane --name NAME --kcm-arg=--controllers=job-controller,\
        garbage-collector-controller,namespace-controller,serviceaccount-controller
"""

import argparse
import asyncio
import fnmatch
import json
import pathlib
import sys
from typing import Any, Final

from jobset.kube import auth, client, errors, transport
from tests.local.jobs import stage, stories

RECORDED: Final = pathlib.Path(__file__).with_name('recorded.json')

AT_ONCE: Final = 8
"""Stories under way at a time: a controller-manager sends 20 requests a second."""


def recorded() -> dict[str, Any]:
    """What was recorded, by story."""
    return dict(json.loads(RECORDED.read_text()))


async def play(kubeconfig: str, names: list[str], *, namespace: str) -> dict[str, Any]:
    """Plays stories before the controller of a cluster."""
    credentials = await auth.load(kubeconfig)
    async with (
        transport.Transport(credentials, user_agent='stories') as carrier,
        stage.Server(client.Client(carrier), namespace) as server,
    ):
        limit = asyncio.Semaphore(AT_ONCE)
        told: dict[str, Any] = {}

        async def one(story: stories.Story) -> None:
            async with limit:
                try:
                    told[story.name] = await server.play(story)
                except (errors.ApiError, LookupError, TimeoutError) as error:
                    sys.stderr.write(f'{story.name}: cannot be played: {error!r}\n')

        async with asyncio.TaskGroup() as group:
            for story in stories.STORIES:
                if story.name in names:
                    group.create_task(one(story))
        return told


def main() -> int:
    """Record, or compare; 0 when nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--kubeconfig', required=True)
    parser.add_argument('--namespace', default='job-stories')
    parser.add_argument('--only', default='*')
    parser.add_argument('--check', action='store_true')
    arguments = parser.parse_args()
    names = [story.name for story in stories.STORIES if fnmatch.fnmatch(story.name, arguments.only)]
    told = asyncio.run(play(arguments.kubeconfig, names, namespace=arguments.namespace))
    if not arguments.check:
        kept = (recorded() if RECORDED.exists() else {}) | told
        ordered = {story.name: kept[story.name] for story in stories.STORIES if story.name in kept}
        RECORDED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + '\n')
        return 0
    before = recorded()
    differing = [name for name in told if stage.essence(told[name]) != stage.essence(before[name])]
    for name in differing:
        sys.stdout.write('\n  '.join([f'{name}: differs', *stage.differences(before[name], told[name])]) + '\n')
    return len(differing)


if __name__ == '__main__':
    sys.exit(main())
