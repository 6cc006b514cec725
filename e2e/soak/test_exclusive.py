"""Leaders are killed one after the other: in the end each Job has one rack, and no other Job is there."""

import asyncio
import pathlib
import random
from typing import Final

from e2e import racks
from e2e.soak.conftest import IN_FULL, SEED
from jobset.controller import world
from jobset.kube import requests
from jobset.local.simulated import nodes

KILLS: Final = 50 if IN_FULL else 5
JOBSETS: Final = {'one': 15, 'two': 10} if IN_FULL else {'one': 2, 'two': 1}
"""The Job controller makes a Job wait twice as long after each pod that is lost: so few kills a Job, and many Jobs."""
PODS: Final = 4
NODES_OF_RACK: Final = 2


def test_each_job_has_one_rack_however_often_its_leader_goes(tmp_path: pathlib.Path) -> None:
    with racks.cluster('exclusive', tmp_path) as (kubectl, log):
        asyncio.run(_kill(kubectl.kubeconfig))
        assert 'Traceback' not in log.read_text()


async def _kill(kubeconfig: str) -> None:
    chance = random.Random(f'{SEED}-exclusive')
    jobs = sorted(f'{name}-w-{number}' for name, count in JOBSETS.items() for number in range(count))
    killed = dict.fromkeys(jobs, 0)
    # One rack more than there are Jobs, so that a leader may come back elsewhere.
    pools = [nodes.Pool(count=NODES_OF_RACK * (len(jobs) + 1), cpu='4', levels={racks.RACK: NODES_OF_RACK})]
    async with racks.racks(kubeconfig, 'exclusive', pools) as seen:

        def rests() -> bool:
            # All that there is runs, and it is all that there should be.
            return seen.running() == dict.fromkeys(jobs, PODS) and len(seen.pods) == len(jobs) * PODS

        def leaders() -> list[racks.Pod]:
            found = [pod for pod in seen.pods.values() if pod.is_leader and not pod.metadata.deletion_timestamp]
            fewest = min((killed[pod.job] for pod in found), default=0)
            return sorted((pod for pod in found if killed[pod.job] == fewest), key=lambda pod: pod.metadata.name)

        for name, count in JOBSETS.items():
            one = racks.jobset(name, jobs=count, pods=PODS, exclusive=True)
            await seen.api.send(requests.create(world.JOBSETS, seen.namespace, one))
        await seen.until(rests, what='all pods to run')
        for number in range(1, KILLS + 1):
            await seen.until(lambda: bool(leaders()), what='a leader')
            chosen = chance.choice(leaders())
            # Mostly the next one goes before all is well again, and now and then a follower with it.
            followers = [pod for pod in seen.pods.values() if pod.job == chosen.job and not pod.is_leader]
            if followers and chance.random() < 0.3:
                await seen.kill(chance.choice(followers))
            await seen.kill(chosen)
            killed[chosen.job] += 1
            if chance.random() < 0.4 or number == KILLS:
                await seen.until(rests, what=f'all pods to run after kill {number}')
                places = list(seen.racks().values())
                assert [len(place) for place in places] == [1] * len(jobs), (number, seen.racks())
                assert len(set.union(*places)) == len(jobs), (number, seen.racks())
