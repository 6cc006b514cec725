"""Nodes and the pods on them, as the controllers of nodes look at them, and what these write to a pod."""

from typing import Any

from jobset.kube import client, index, requests
from jobset.local.controllers import models, shared


class Placed:
    """What is known. Subscribed when it is made; the informers have to run beside it."""

    def __init__(self, informers: shared.Informers) -> None:
        self.nodes = informers.nodes()
        self.pods = informers.pods()
        self._by_node: index.Index[str, models.Pod] = index.Index(_node_of)
        self.pods.subscribe(self._by_node.on_change)

    async def synced(self) -> None:
        """Waits until all of them have been seen."""
        await self.nodes.synced()
        await self.pods.synced()

    def node(self, name: str) -> models.Node | None:
        """The node of that name."""
        return self.nodes.get('', name)

    def on(self, node: str) -> list[models.Pod]:
        """The pods on a node, as they are now."""
        return list(self._by_node.get(node).values())


async def write_status(source: client.Client, pod: models.Pod, status: dict[str, Any]) -> None:
    """Merge something into the status of this very pod."""
    metadata = pod.metadata
    body = {'metadata': {'uid': metadata.uid}, 'status': status}
    patch = requests.Patch.STRATEGIC
    await source.send(
        requests.patch(requests.PODS, metadata.namespace, metadata.name, body, patch, subresource='status')
    )


def _node_of(pod: models.Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()
