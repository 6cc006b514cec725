"""What a suspended Job takes from the current template when it is started again.

Source: JobSet API, resuming. Five fields of the pod template may change while a set is suspended: labels, annotations,
node selector, tolerations and scheduling gates. On purpose unlike the Go controller, they become a function of the
current template: what the template no longer has goes, and only what others put into the Job stays. Who put it there
is what the API server records in ``metadata.managedFields``.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, cast

import msgspec

from jobset.api import keys, types
from jobset.core import jobs

_Object = Mapping[str, object]


class Change(NamedTuple):
    """An RFC 7386 merge patch, and the field manager under whose name it is to be written."""

    patch: dict[str, object]
    field_manager: str


def change(live: _Object, replicated_job: types.ReplicatedJob, *, execution: int | None = None) -> Change:
    """What starts ``live``, a Job as the API server holds it, with the current template.

    It carries the resource version that it was computed from, so that it cannot undo what was written since.

    Node selector and tolerations have one owner each, whoever wrote them last. While that is us alone they are
    replaced; once somebody else has written one, nobody can tell whose an entry is, and all are kept. What we then add
    is written under another name, so that the next resume does not take the whole for ours.
    """
    template = _of(_of(cast(_Object, msgspec.json.decode(replicated_job.template)), 'spec'), 'template')
    live_template = _of(_of(live, 'spec'), 'template')
    owned = _owned(live)
    pod_spec: dict[str, object] = {
        'nodeSelector': _map_change(template, live_template, owned, ('spec', 'nodeSelector')),
        'tolerations': _tolerations(template, live, owned),
        'schedulingGates': _gates(template, live_template, owned),
    }
    metadata: dict[str, object] = {
        name: _map_change(template, live_template, owned, ('metadata', name)) for name in ('labels', 'annotations')
    }
    own: dict[str, object] = {'resourceVersion': _of(live, 'metadata').get('resourceVersion')}
    if execution is not None:
        mark = {keys.EXECUTION_ATTEMPT: str(execution)}
        own['annotations'] = mark
        metadata['annotations'] = {**_changed(metadata['annotations']), **mark}
    spec: dict[str, object] = {'suspend': False}
    pod_template = {
        name: kept
        for name, part in (('metadata', metadata), ('spec', pod_spec))
        if (kept := {key: value for key, value in part.items() if value is not _SAME})
    }
    if pod_template:
        spec['template'] = pod_template
    mixed = any(pod_spec[name] is not _SAME and _is_of_others(live_template, owned, name) for name in _SINGLE_OWNER)
    patch: dict[str, object] = {
        'metadata': own,
        'spec': spec,
    }
    return Change(patch, keys.MIXED_FIELD_MANAGER if mixed else keys.FIELD_MANAGER)


def with_resources(
    live: _Object, replicated_job: types.ReplicatedJob, patch: Mapping[str, object]
) -> dict[str, object] | None:
    """The patch of :func:`change` with the template's requests and limits, by name of container; None without any.

    Claims for devices stay: they cannot change.
    """
    template = _of(cast(_Object, msgspec.json.decode(replicated_job.template)), 'spec', 'template', 'spec')
    present = _of(live, 'spec', 'template', 'spec')
    changed: dict[str, object] = {}
    for kind in ('containers', 'initContainers'):
        wanted = {str(each.get('name')): _of(each, 'resources') for each in _list(template, kind)}
        listed = [_sized(each, wanted.get(str(each.get('name')))) for each in _list(present, kind)]
        if listed != _list(present, kind):
            changed[kind] = listed
    if not changed:
        return None
    spec = _of(patch, 'spec')
    pod_template = _of(spec, 'template')
    pod_spec = {**_of(pod_template, 'spec'), **changed}
    return {**patch, 'spec': {**spec, 'template': {**pod_template, 'spec': pod_spec}}}


def has_pods(live: _Object) -> bool:
    """Whether a Job has pods that run or still go."""
    status = _of(live, 'status')
    return bool(status.get('active') or status.get('terminating'))


_SIZES: Final = ('requests', 'limits')


def _sized(container: _Object, wanted: _Object | None) -> _Object:
    if wanted is None:
        return container
    present = _of(container, 'resources')
    if all((present.get(size) or {}) == (wanted.get(size) or {}) for size in _SIZES):
        return container
    kept = {key: value for key, value in present.items() if key not in _SIZES}
    return {**container, 'resources': {**kept, **{size: wanted[size] for size in _SIZES if wanted.get(size)}}}


_SINGLE_OWNER: Final = ('nodeSelector', 'tolerations')
"""Fields of the pod spec that ``managedFields`` knows as a whole only."""


_SAME = object()
"""No change: absent from the patch, unlike null, which removes."""


def _changed(part: object) -> dict[str, object]:
    return {} if part is _SAME else cast(dict[str, object], part)


def _of(parent: _Object, *path: str) -> _Object:
    for key in path:
        parent = cast(_Object, parent.get(key) or {})
    return parent


def _list(parent: _Object, key: str) -> list[_Object]:
    return cast(list[_Object], parent.get(key) or [])


def _owned(live: _Object) -> list[_Object]:
    """The parts of the pod template that we wrote, one ``fieldsV1`` tree for each of our writes.

    Of what was written beside others, the fields that have one owner are left out.
    """
    trees: list[_Object] = []
    for entry in _list(_of(live, 'metadata'), 'managedFields'):
        tree = _of(entry, 'fieldsV1', 'f:spec', 'f:template')
        if entry.get('manager') == keys.MIXED_FIELD_MANAGER:
            single = {f'f:{name}' for name in _SINGLE_OWNER}
            pod_spec = {key: value for key, value in _of(tree, 'f:spec').items() if key not in single}
            trees.append({**tree, 'f:spec': pod_spec} if pod_spec else {k: v for k, v in tree.items() if k != 'f:spec'})
        elif entry.get('manager') == keys.FIELD_MANAGER:
            trees.append(tree)
    return trees


def _is_of_others(live_template: _Object, owned: list[_Object], name: str) -> bool:
    return bool(_of(live_template, 'spec').get(name)) and not _is_ours(owned, 'spec', name)


def _is_ours(owned: Iterable[_Object], *path: str) -> bool:
    steps = [part if part.startswith('k:') else f'f:{part}' for part in path]
    return any(_holds(tree, steps) for tree in owned)


def _holds(tree: _Object, steps: Iterable[str]) -> bool:
    """Whether a tree holds a field: itself, or as part of one that has a single owner, as a node selector has.

    Such a field is a leaf of the tree.
    """
    is_leaf = False
    for step in steps:
        if step not in tree:
            return is_leaf
        tree = cast(_Object, tree[step])
        is_leaf = not tree
    return True


def _map_change(template: _Object, live: _Object, owned: list[_Object], path: tuple[str, str]) -> object:
    """Keys to set, and with null those to remove: once ours, not wanted any more, and not part of the JobSet's own."""
    wanted, present = _of(template, *path), _of(live, *path)
    changed: dict[str, object] = {key: value for key, value in wanted.items() if present.get(key) != value}
    for key in present:
        fixed = key == keys.POD_GROUP or key.startswith((f'{keys.LABELS}/', f'{keys.PLACEMENT}/'))
        if key not in wanted and not fixed and _is_ours(owned, *path, key):
            changed[key] = None
    return changed or _SAME


def _tolerations(template: _Object, live: _Object, owned: list[_Object]) -> object:
    """The template's tolerations, and those of others; compared by value, in a stable order."""
    present = _list(_of(live, 'spec', 'template', 'spec'), 'tolerations')
    wanted = list(_list(_of(template, 'spec'), 'tolerations'))
    if jobs.uses_node_selectors(dict(_of(live, 'metadata', 'annotations'))):
        wanted.append(jobs.PLACEMENT_TOLERATION)
    kept = [] if _is_ours(owned, 'spec', 'tolerations') else present
    merged = [*kept, *(toleration for toleration in wanted if toleration not in kept)]
    return _SAME if merged == present else (merged or None)


def _gates(template: _Object, live: _Object, owned: list[_Object]) -> object:
    """The template's scheduling gates, and those that others put into the Job."""
    present = _list(_of(live, 'spec'), 'schedulingGates')
    wanted = _list(_of(template, 'spec'), 'schedulingGates')
    merged = [
        gate for gate in present if gate in wanted or not _is_ours(owned, 'spec', 'schedulingGates', _gate_key(gate))
    ]
    merged += [gate for gate in wanted if gate not in merged]
    return _SAME if merged == present else (merged or None)


def _gate_key(gate: _Object) -> str:
    """How ``managedFields`` names an entry of a list that is keyed by name."""
    return 'k:' + msgspec.json.encode({'name': gate.get('name')}).decode()
