"""Nodes that fail by a script: not ready, then their pods given up, then perhaps back."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from jobset.kube import client, requests
from jobset.local import clock, objects
from jobset.local.simulated import kubelet, nodes

UNREACHABLE: Final = 'node.kubernetes.io/unreachable'
_SILENT: Final = 'Kubelet stopped posting node status.'


@dataclass(frozen=True, kw_only=True)
class Outage:
    """One node fails once."""

    node: str
    at: float
    """Seconds after the beginning of the simulation."""

    seconds: float | None = None
    """How long it is away; None: for good."""

    evict_after: float | None = 300
    """Seconds after which its pods are given up, as pods tolerate by default; None: never.

    They are marked as failed and disrupted, and deleted, all at once: what the taint manager, the pod garbage collector
    and an administrator do between them when a node is gone.
    """


async def carry_out(api: client.Client, kubelets: kubelet.Kubelet, outage: Outage, now: clock.Now) -> None:
    """Let it happen, from the beginning of the simulation on."""
    await asyncio.sleep(outage.at)
    kubelets.fail(outage.node)
    await _mark(api, outage.node, is_ready=False, now=now)
    gone_at = outage.evict_after
    if gone_at is not None and (outage.seconds is None or gone_at < outage.seconds):
        await asyncio.sleep(gone_at)
        kubelets.lose(
            outage.node,
            reason='DeletionByTaintManager',
            message='Taint manager: deleting due to NoExecute taint',
        )
    else:
        gone_at = 0
    if outage.seconds is not None:
        await asyncio.sleep(outage.seconds - gone_at)
        kubelets.recover(outage.node)
        await _mark(api, outage.node, is_ready=True, now=now)


async def _mark(api: client.Client, node: str, *, is_ready: bool, now: clock.Now) -> None:
    stamp = objects.stamp(now())
    condition = nodes.ready(stamp)
    taints: list[dict[str, Any]] = []
    if not is_ready:
        condition |= {'status': 'Unknown', 'reason': 'NodeStatusUnknown', 'message': _SILENT}
        taints = [{'key': UNREACHABLE, 'effect': effect, 'timeAdded': stamp} for effect in ('NoSchedule', 'NoExecute')]
    strategic = requests.Patch.STRATEGIC
    status = {'status': {'conditions': [condition]}}
    await api.send(requests.patch(requests.NODES, None, node, status, strategic, subresource='status'))
    await api.send(
        requests.patch(requests.NODES, None, node, {'spec': {'taints': taints or None}}, requests.Patch.MERGE)
    )
