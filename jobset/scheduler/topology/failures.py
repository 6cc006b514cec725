"""Why pods find no place, in words and numbers."""

from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.fitting import Fitting
from jobset.scheduler.topology.levels import Short
from jobset.scheduler.topology.results import NoRoom
from jobset.scheduler.topology.rollup import Counts, Plan


def explain(
    fitting: Fitting,
    wanted: Plan,
    counts: list[Counts],
    short: Short,
    bans: Ints,
    *,
    names_leader: bool,
) -> NoRoom:
    """What is missing. ``bans`` says by slot which leaves were not in question."""
    tree, request = fitting.tree, wanted.request
    is_leader_at_fault = short.only_leader and names_leader and request.leader is not None
    shape = request.leader if is_leader_at_fault and request.leader is not None else request.pod
    excluded = dict(sorted(fitting.exclusions(shape, bans).items()))
    text = _leader_text(wanted) if is_leader_at_fault else _text(fitting, wanted, counts, short)
    if excluded:
        listed = ', '.join(f'{reason}: {many}' for reason, many in excluded.items())
        whose = ' for the leader' if is_leader_at_fault else ''
        text = f'{text}. Total nodes: {tree.order.size}; excluded{whose}: {listed}'
    return NoRoom(
        name=request.name,
        text=text,
        level=tree.levels[short.level],
        domain=tree.names[short.level][short.best] if counts[short.level].slices[short.best] else None,
        wanted=wanted.slices,
        fitting=short.fitting,
        total_nodes=tree.order.size,
        excluded=excluded,
        only_leader=short.only_leader,
    )


def _leader_text(wanted: Plan) -> str:
    return f"doesn't allow to fit the leader together with {wanted.slices} {_unit(wanted)}"


def _text(fitting: Fitting, wanted: Plan, counts: list[Counts], short: Short) -> str:
    if wanted.is_layered:
        return "doesn't allow to fit" + ''.join(_layers(fitting, wanted, counts, short))
    if short.fitting:
        return f'allows to fit only {short.fitting} out of {wanted.slices} {_unit(wanted)}'
    return f"doesn't allow to fit any of {wanted.slices} {_unit(wanted)}"


def _unit(wanted: Plan) -> str:
    return 'pod(s)' if wanted.slice_size == 1 else 'slice(s)'


def _layers(fitting: Fitting, wanted: Plan, counts: list[Counts], short: Short) -> list[str]:
    """For each layer, how many slices the best domain holds."""
    tree = fitting.tree
    first, end = short.best, short.best + 1
    level = short.level
    parts = []
    for layer in wanted.request.slices:
        while level < tree.levels.index(layer.level):
            first, end = int(tree.starts[level][first]), int(tree.starts[level][end])
            level += 1
        fit = int(counts[level].slices[first:end].sum())
        parts.append(f'; {fit}/{wanted.request.count // layer.size} slice(s) fit on level {layer.level}')
    return parts
