"""What is written: stories of one object each, from its creation to its deletion, most writes right or with one slip.

The same for the same seed. What an update changes is said by paths and values, so that each server is sent its own
object with that change.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from e2e.differential import forms, slips
from jobset.local.objects import Object
from tests.local.kinds import inputs
from tests.local.kinds.inputs import Edits, edited

NAMESPACE: Final = 'differential'


class Verb(StrEnum):
    """How a write is sent."""

    CREATE = 'create'
    REPLACE = 'replace'
    JSON = 'json patch'
    MERGE = 'merge patch'
    STRATEGIC = 'strategic patch'
    APPLY = 'apply'
    DELETE = 'delete'


@dataclass(frozen=True, kw_only=True)
class Write:
    """One request."""

    verb: Verb
    edits: Edits = field(default_factory=dict)
    """Of the stored object, for a change; what is sent follows from it."""

    body: Any = None
    """As it is, where nothing follows from what is stored."""

    text: bytes | None = None
    """The same, where it is no JSON that Python would write."""

    subresource: str = ''
    query: str = ''

    def content(self, stored: Object) -> bytes:
        """The body for a server that has stored this."""
        if self.text is not None:
            return self.text
        if self.verb in (Verb.CREATE, Verb.APPLY, Verb.DELETE) or self.body is not None:
            return b'' if self.body is None else json.dumps(self.body).encode()
        changed = edited(stored, self.edits)
        form = _FORMS.get(self.verb)
        return json.dumps(changed if form is None else form(stored, changed)).encode()


_FORMS: Final[Mapping[Verb, Callable[[Object, Object], Any]]] = {
    Verb.JSON: forms.operations,
    Verb.MERGE: forms.merge,
    Verb.STRATEGIC: forms.strategic,
}


@dataclass(frozen=True, kw_only=True)
class Story:
    """The life of one object."""

    name: str
    """Also of the object, unless a write says otherwise."""

    kind: str
    """As ``jobs.batch``."""

    writes: Sequence[Write]


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """What is written of one kind."""

    kind: str
    make: Callable[[Edits], Object]
    creations: Sequence[Edits]
    changes: Sequence[tuple[Edits, Edits, Edits]]
    """Before, status before, and the change."""

    statuses: Sequence[tuple[Edits, Edits, Edits]]
    within: str
    """Where the pod template is."""

    is_custom: bool = False


def _entries(table: str) -> list[tuple[Edits, Edits, Edits]]:
    return [(entry['base'], entry['status'], entry['change']) for entry in inputs.WRITTEN[table].values()]


_JOBSET_CREATIONS: Final = (*inputs.WRITTEN['jobset slips'].values(), *slips.JOBSETS.values())

KINDS: Final = (
    _Kind(
        kind='jobs.batch',
        make=inputs.job,
        creations=inputs.JOBS,
        changes=_entries('job changes'),
        statuses=_entries('job statuses'),
        within='spec.template',
    ),
    _Kind(
        kind='pods',
        make=inputs.pod,
        creations=inputs.PODS,
        changes=_entries('pod changes'),
        statuses=_entries('pod statuses'),
        within='',
    ),
    _Kind(
        kind='jobsets.jobset.x-k8s.io',
        make=inputs.jobset,
        creations=_JOBSET_CREATIONS,
        changes=[({}, {}, change) for change in _JOBSET_CREATIONS]
        + [({'spec.suspend': True}, {}, change) for change in _JOBSET_CREATIONS],
        statuses=[({}, {}, change) for change in slips.JOBSET_STATUSES.values()],
        within='spec.replicatedJobs.0.template.spec.template',
        is_custom=True,
    ),
)

_METADATA: Final = tuple(slips.METADATA.values())
_CREATION: Final = tuple(slips.CREATION.values())


def stories(seed: str) -> Iterator[Story]:
    """Stories without end."""
    chance = random.Random(seed)
    for number in itertools.count():
        yield _story(chance, f'w{number}')


def _story(chance: random.Random, name: str) -> Story:
    kind = chance.choice((*KINDS, KINDS[2]))
    base, status, change = chance.choice(chance.choice((kind.changes, kind.statuses)))
    is_change = chance.random() < 0.6
    writes = [_creation(chance, kind, name, base if is_change else None)]
    if is_change and status:
        writes.append(Write(verb=Verb.REPLACE, edits=status, subresource='status'))
    if is_change:
        subresource = 'status' if any(path.startswith('status') for path in change) else ''
        writes.append(_change(chance, kind, change, subresource=subresource))
    writes += [_any_change(chance, kind, name) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
    if chance.random() < 0.4:
        writes.append(_deletion(chance))
        if chance.random() < 0.4:
            writes.append(_any_change(chance, kind, name))
    return Story(name=name, kind=kind.kind, writes=writes)


def _creation(chance: random.Random, kind: _Kind, name: str, base: Edits | None) -> Write:
    body = _object(kind, name, base or {})
    if base is None:
        edits = dict(_some(chance, kind.creations))
        if kind.is_custom and chance.random() < 0.4:
            edits |= {
                f'spec.replicatedJobs.0.template.{path}': value
                for path, value in _some(chance, inputs.JOBS).items()
                if path.startswith('spec.')
            }
        if kind.within and chance.random() < 0.4:
            edits |= _within(kind, _some(chance, inputs.PODS))
        body = _twisted(chance, edited(body, edits), 0.3)
    if chance.random() < 0.15:
        body = edited(body, chance.choice((*_METADATA, *_CREATION)))
    query = chance.choice(slips.QUERIES)
    if chance.random() < 0.12:
        return Write(verb=Verb.APPLY, body=body, query=chance.choice(slips.APPLY_QUERIES))
    if chance.random() < 0.03:
        return Write(verb=Verb.CREATE, text=forms.twice(chance, body), query=query)
    return Write(verb=Verb.CREATE, body=body, query=query)


def _object(kind: _Kind, name: str, edits: Edits) -> Object:
    body = edited(kind.make({}), edits)
    metadata = body.get('metadata')
    if isinstance(metadata, dict):
        if metadata.get('name') == 'train':
            metadata['name'] = name
        if metadata.get('namespace') == inputs.NAMESPACE:
            metadata['namespace'] = NAMESPACE
    return body


def _any_change(chance: random.Random, kind: _Kind, name: str) -> Write:
    what = chance.random()
    if what < 0.3:
        return _change(chance, kind, chance.choice(_METADATA))
    if what < 0.5:
        return _change(chance, kind, chance.choice(kind.statuses)[2], subresource='status')
    if what < 0.65:
        change = _some(chance, kind.creations)
    elif what < 0.75 and kind.within:
        change = _within(kind, _some(chance, inputs.PODS))
    elif what < 0.8:
        change = inputs.twist(chance, kind.make({}))
    else:
        change = chance.choice(kind.changes)[2]
    if chance.random() < 0.2:
        return _application(chance, kind, name, change)
    return _change(chance, kind, change)


def _change(chance: random.Random, kind: _Kind, change: Edits, *, subresource: str = '') -> Write:
    verb = chance.choice((Verb.REPLACE, Verb.REPLACE, Verb.REPLACE, Verb.JSON, Verb.MERGE, Verb.STRATEGIC))
    query = chance.choice(slips.QUERIES)
    if verb == Verb.JSON and chance.random() < 0.2:
        return Write(verb=verb, body=forms.odd_operations(chance), subresource=subresource, query=query)
    if verb == Verb.STRATEGIC and chance.random() < 0.3:
        return Write(verb=verb, body=forms.odd_strategic(chance, kind.within), subresource=subresource, query=query)
    if chance.random() < 0.1:
        change = {**change, **chance.choice(_METADATA)}
    return Write(verb=verb, edits=change, subresource=subresource, query=query)


def _application(chance: random.Random, kind: _Kind, name: str, change: Edits) -> Write:
    """An apply: of the whole object, or only of what changes."""
    body = edited(_object(kind, name, {}), change)
    if chance.random() < 0.5:
        plain = _object(kind, name, {})
        identity: Object = {key: body[key] for key in ('apiVersion', 'kind', 'metadata') if key in body}
        body = {**identity, **forms.merge(plain, body)}
        body['metadata'] = identity.get('metadata')
    if chance.random() < 0.3:
        body = edited(body, chance.choice(_METADATA))
    subresource = 'status' if 'status' in body and chance.random() < 0.7 else ''
    return Write(verb=Verb.APPLY, body=body, query=chance.choice(slips.APPLY_QUERIES), subresource=subresource)


def _deletion(chance: random.Random) -> Write:
    return Write(verb=Verb.DELETE, body=chance.choice(tuple(slips.DELETIONS.values())))


def _some(chance: random.Random, table: Sequence[Edits]) -> Edits:
    edits: dict[str, Any] = {}
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2))):
        edits |= chance.choice(table)
    return edits


def _within(kind: _Kind, edits: Edits) -> Mapping[str, Any]:
    return {f'{kind.within}.{path}': value for path, value in edits.items() if not path.startswith('metadata.name')}


def _twisted(chance: random.Random, body: Object, share: float) -> Object:
    return edited(body, inputs.twist(chance, body)) if chance.random() < share else body
