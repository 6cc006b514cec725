"""Writes to an API server: right ones, and ones with the slips that people make.

The written ones are those of :func:`written`; :func:`generate` makes any number of others from a seed.
"""

import contextlib
import copy
import itertools
import json
import pathlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobset.local.objects import Object

NAMESPACE: Final = 'h-c-kinds'
GONE: Final = object()
"""Stands for a field that is taken away."""

Edits = Mapping[str, Any]
"""Values by path, as ``spec.template.spec.containers.0.image``."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """One write: of ``body`` when ``change`` is None, otherwise of what ``change`` makes of the stored ``body``."""

    name: str
    kind: str
    """As ``jobs.batch``."""

    body: Object
    status: Edits = field(default_factory=dict)
    """Written to the status before the change."""

    change: Edits | None = None
    subresource: str = ''
    """That the change is sent to."""


def edited(obj: Object, edits: Edits) -> Object:
    """A copy of the object with these values, as far as they go together."""
    made = copy.deepcopy(obj)
    for path, value in edits.items():
        with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError, ValueError):
            put(made, path, value)
    return made


def put(obj: Any, path: str, value: Any) -> None:
    """Set, or take away, one value in place. Objects on the way are made; a number past the end of a list appends."""
    keys = path.replace('\\.', '\0').split('.')
    for here, after in itertools.pairwise(keys):
        key = here.replace('\0', '.')
        empty: Any = [] if after.isdecimal() else {}
        if isinstance(obj, list):
            if int(key) >= len(obj):
                obj.append(empty)
            obj = obj[int(key)]
        else:
            if obj.get(key) is None:
                obj[key] = empty
            obj = obj[key]
    last = keys[-1].replace('\0', '.')
    if isinstance(obj, list):
        if value is GONE:
            del obj[int(last)]
        elif int(last) < len(obj):
            obj[int(last)] = copy.deepcopy(value)
        else:
            obj.append(copy.deepcopy(value))
    elif value is GONE:
        obj.pop(last, None)
    else:
        obj[last] = copy.deepcopy(value)


def pod_spec(**values: Any) -> Object:
    """The spec of a pod that is fine."""
    container = {'name': 'main', 'image': 'registry.example.com/train:v1', 'command': ['train']}
    return {'restartPolicy': 'Never', 'automountServiceAccountToken': False, 'containers': [container]} | values


def job(edits: Edits | None = None) -> Object:
    """A Job that is fine, and that the Job controller leaves alone."""
    spec = {'managedBy': 'example.com/nobody', 'template': {'spec': pod_spec()}}
    made = {
        'apiVersion': 'batch/v1',
        'kind': 'Job',
        'metadata': {'name': 'train', 'namespace': NAMESPACE},
        'spec': spec,
    }
    return edited(made, edits or {})


def pod(edits: Edits | None = None) -> Object:
    """A pod that is fine."""
    made = {
        'apiVersion': 'v1',
        'kind': 'Pod',
        'metadata': {'name': 'train', 'namespace': NAMESPACE},
        'spec': pod_spec(),
    }
    return edited(made, edits or {})


def thing(kind: str, api_version: str = 'v1', *, namespaced: bool = True, **values: Any) -> Object:
    """An object of another kind."""
    metadata = {'name': 'train'} | ({'namespace': NAMESPACE} if namespaced else {})
    return {'apiVersion': api_version, 'kind': kind, 'metadata': metadata} | values


def _decoded(value: Any) -> Any:
    """A value of the file, where ``$gone`` stands for a field taken away and ``$repeat`` for a long text."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if '$gone' in value:
        return GONE
    if '$repeat' in value:
        text, count = value['$repeat']
        return text * count
    return {key: _decoded(item) for key, item in value.items()}


WRITTEN: Final[Mapping[str, Mapping[str, Any]]] = _decoded(
    json.loads((pathlib.Path(__file__).parent / 'written.json').read_text())
)
"""The tables: edits of an object that is fine, by name; of changes also what was before."""

JOBS: Final = tuple(WRITTEN['jobs'].values())
PODS: Final = tuple(WRITTEN['pods'].values())
JOB_TABLES: Final = (('job changes', ''), ('job statuses', 'status'))
POD_TABLES: Final = (('pod changes', ''), ('pod statuses', 'status'))


def written() -> list[Input]:
    """Every written one, with a name of its own."""
    found = [Input(name=f'job: {name}', kind='jobs.batch', body=job(edits)) for name, edits in WRITTEN['jobs'].items()]
    found += [Input(name=f'pod: {name}', kind='pods', body=pod(edits)) for name, edits in WRITTEN['pods'].items()]
    found += [Input(name=name, kind=name.partition(': ')[0], body=body) for name, body in WRITTEN['others'].items()]
    for make, kind, tables in ((job, 'jobs.batch', JOB_TABLES), (pod, 'pods', POD_TABLES)):
        for table, subresource in tables:
            found += [
                Input(
                    name=f'{kind} {subresource or "update"}: {name}',
                    kind=kind,
                    body=make(entry['base']),
                    status=entry['status'],
                    change=entry['change'],
                    subresource=subresource,
                )
                for name, entry in WRITTEN[table].items()
            ]
    for name, entry in WRITTEN['other changes'].items():
        kind, _, what = name.partition(': ')
        found.append(Input(name=f'{kind} update: {what}', kind=kind, **entry))
    return found


def generate(seed: int, count: int) -> Iterator[Input]:
    """Writes of Jobs, pods and JobSets, most of them right or with one slip; the same for the same seed."""
    chance = random.Random(seed)
    for number in range(count):
        yield chance.choice((_any_job, _any_job, _any_pod, _any_pod, _any_jobset))(chance, f'{seed}-{number}')


def _slips(chance: random.Random, table: Sequence[Edits]) -> Edits:
    """None, one or two entries of a table together."""
    edits: dict[str, Any] = {}
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2))):
        edits |= chance.choice(table)
    return edits


def _within_template(edits: Edits) -> Edits:
    """Edits of a pod as edits of the template of one."""
    return {f'spec.template.{path}': value for path, value in edits.items() if not path.startswith('metadata.name')}


_ODD: Final[Mapping[type, Sequence[Any]]] = {
    str: ('', 'A', 'a b', 'a.b', '-a', 'a' * 64, '0', 'x/y'),
    int: (-1, 0, 1, 2**31 - 1, 70000),
    bool: (True, False),
    list: ([],),
    dict: ({},),
}
"""Values that stand for one of the same type by mistake."""


def _leaves(value: Any, path: str = '') -> Iterator[tuple[str, Any]]:
    """Every place of an object with its value, lists and maps included."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        where = f'{path}.{str(key).replace(".", chr(92) + ".")}' if path else str(key)
        yield where, item
        yield from _leaves(item, where)


def twist(chance: random.Random, body: Object) -> Edits:
    """One place of the spec with an odd value, none at all, or once more."""
    places = [(path, value) for path, value in _leaves(body.get('spec') or {}, 'spec')]
    if not places:
        return {}
    path, value = chance.choice(places)
    what = chance.random()
    if what < 0.15 and not path.rpartition('.')[2].isdecimal():
        return {path: GONE}
    if what < 0.3 and isinstance(value, list) and value:
        return {f'{path}.{len(value)}': chance.choice(value)}
    return {path: chance.choice(_ODD.get(type(value), (None,)))}


def _twisted(chance: random.Random, make: Any, edits: Edits) -> Object:
    body = edited(make(), edits)
    if chance.random() < 0.4:
        body = edited(body, twist(chance, body))
    return body


def _changed(chance: random.Random, name: str, kind: str, make: Any, tables: Sequence[tuple[str, str]]) -> Input:
    """A change, of what is written for it or of something else."""
    table, subresource = chance.choice(tables)
    entries = tuple(WRITTEN[table].values())
    entry = chance.choice(entries)
    base, status, change = entry['base'], entry['status'], entry['change']
    if chance.random() < 0.4:
        other = chance.choice(entries)
        base, status = {**base, **other['base']}, {**status, **other['status']}
    if chance.random() < 0.3:
        change = {**change, **chance.choice(entries)['change']}
    body = edited(make(), base)
    if chance.random() < 0.2:
        change = {**change, **twist(chance, body)}
    return Input(name=name, kind=kind, body=body, status=status, change=change, subresource=subresource)


def _any_job(chance: random.Random, name: str) -> Input:
    if chance.random() < 0.5:
        return _changed(chance, name, 'jobs.batch', job, JOB_TABLES)
    edits = dict(_slips(chance, JOBS))
    if chance.random() < 0.4:
        edits |= _within_template(_slips(chance, PODS))
    return Input(name=name, kind='jobs.batch', body=_twisted(chance, job, edits))


def _any_pod(chance: random.Random, name: str) -> Input:
    if chance.random() < 0.4:
        return _changed(chance, name, 'pods', pod, POD_TABLES)
    return Input(name=name, kind='pods', body=_twisted(chance, pod, _slips(chance, PODS)))


def jobset(edits: Edits | None = None) -> Object:
    """A JobSet that is fine."""
    replicated = [
        {'name': name, 'replicas': 1, 'template': {'spec': {'template': {'spec': pod_spec()}}}}
        for name in ('leader', 'workers')
    ]
    metadata = {'name': 'train', 'namespace': NAMESPACE}
    made = {
        'apiVersion': 'jobset.x-k8s.io/v1alpha2',
        'kind': 'JobSet',
        'metadata': metadata,
        'spec': {'replicatedJobs': replicated},
    }
    return edited(made, edits or {})


def _any_jobset(chance: random.Random, name: str) -> Input:
    edits = dict(_slips(chance, tuple(WRITTEN['jobset slips'].values())))
    template = 'spec.replicatedJobs.0.template.'
    if chance.random() < 0.4:
        edits |= {template + path: value for path, value in _slips(chance, JOBS).items() if path.startswith('spec.')}
    if chance.random() < 0.3:
        within = _within_template(_slips(chance, PODS))
        edits |= {template + path: value for path, value in within.items()}
    body = edited(jobset(), edits)
    if chance.random() < 0.6:
        return Input(name=name, kind='jobsets.jobset.x-k8s.io', body=body)
    change = dict(_slips(chance, tuple(WRITTEN['jobset slips'].values())))
    return Input(name=name, kind='jobsets.jobset.x-k8s.io', body=jobset(), change=change)
