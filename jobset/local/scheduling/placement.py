"""One decision about everything at once, for whoever has all facts at hand: tests, what-if questions."""

from collections.abc import Iterable

from jobset.local.scheduling import model, planner, plans


def place(
    pods: Iterable[model.Pod],
    nodes: Iterable[model.Node],
    bound: Iterable[model.Pod] = (),
    groups: Iterable[model.PodGroup] = (),
    *,
    claims: Iterable[model.Claim] = (),
    volumes: Iterable[model.PersistentVolume] = (),
    now: float = 0,
) -> plans.Plan:
    """Which of ``pods`` get a node among ``nodes``, where ``bound`` ones run already, and why the others get none."""
    plans = planner.Planner()
    for node in nodes:
        plans.put_node(node)
    for claim in claims:
        plans.put_claim(claim)
    for volume in volumes:
        plans.put_volume(volume)
    for group in groups:
        plans.put_group(group)
    for pod in (*bound, *pods):
        plans.put_pod(pod)
    return plans.plan(now)
