"""The pods of JobSets, seen once for all who look at them.

Most clusters have pods that nobody needs to look at, so nothing is asked of the server before somebody wants to. From
then on one informer serves everybody, each from the time on that he asks, and beginning with what is there. Held are
the pods that somebody may ask about: what a pod is tells that, so none has to be fetched again for a later one.
"""

import asyncio
from typing import Final

from jobset.api import keys, pods
from jobset.core import causes, placement
from jobset.kube import client, informer, requests, store

OnPod = store.OnChange[pods.Pod]


class PodCache:
    """``holds_all`` holds the pods of all JobSets, and not only those that have failed, or have company to keep."""

    def __init__(
        self,
        api: client.Client,
        *,
        holds_all: bool = False,
        namespace: str | None = None,
        settings: informer.Watching | None = None,
        on_trouble: informer.OnTrouble | None = None,
    ) -> None:
        self._wanted = asyncio.Event()
        self.cache: Final = informer.Informer(
            api,
            requests.PODS,
            pods.Pod,
            namespace=namespace,
            label_selector=keys.JOBSET_NAME,
            keep=None if holds_all else _may_be_asked_about,
            settings=settings,
            on_trouble=on_trouble,
        )

        self.resource: Final = self.cache.resource

    @property
    def is_wanted(self) -> bool:
        """Whether anybody looks at pods."""
        return self._wanted.is_set()

    def follow(self, handler: OnPod) -> None:
        """Tell ``handler`` of each pod from now on; of those that are there as if they were new."""
        for pod in list(self.cache.values()):
            handler(None, pod)
        self.cache.subscribe(handler)
        self._wanted.set()

    async def run(self) -> None:
        """Watch, once somebody wants it, until cancelled."""
        await self._wanted.wait()
        await self.cache.run()


def _may_be_asked_about(pod: pods.Pod) -> bool:
    """Whether it is in a gang, is placed exclusively, or has failed or is about to."""
    return bool(pod.labels.pod_group) or placement.group_of(pod) is not None or causes.of_pod(pod) is not None
