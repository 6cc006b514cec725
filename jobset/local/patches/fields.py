"""Who owns which field: ``metadata.managedFields``, server-side apply and its conflicts.

Source: Kubernetes documentation, "Server-Side Apply", and what kube-apiserver 1.37 records.
"""

import datetime
import functools
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.patches import fieldsets, values
from jobset.local.patches.fieldsets import Fields
from jobset.local.problems import Cause, Problem
from jobset.local.schemas.nodes import Node

_APPLY: Final = 'Apply'
_UPDATE: Final = 'Update'
_BEFORE: Final = 'before-first-apply'
_ANCIENT: Final = 'ancient-changes'
_MOST_UPDATES: Final = 10
"""Managers of plain writes that are kept apart; the oldest ones beyond are taken together."""

_NAME_LENGTH: Final = 128


class Write(NamedTuple):
    """One write to the server."""

    manager: str
    """Under whose name."""

    api_version: str
    """In which version."""

    now: datetime.datetime
    subresource: str = ''
    """Through which door; empty for the object itself."""

    has_status: bool = False
    """Whether the kind has a status subresource: then the status belongs to that alone."""


class Manager(NamedTuple):
    """Who wrote, how, and in which version: one entry of managed fields."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def __str__(self) -> str:
        text = fieldsets.encoded(self.name)
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        if self.operation == _UPDATE:
            text += f' using {self.api_version}'
        return text


@dataclass(frozen=True, slots=True)
class _Owned:
    fields: Fields
    time: str
    """Of its last change; empty when it never changed anything."""


_Owners = dict[Manager, _Owned]


def apply(live: Object | None, applied: Object, node: Node, write: Write, *, force: bool) -> Object:
    """What ``live`` becomes when somebody applies ``applied``; ``live`` is None when that makes the object.

    The result holds its managed fields and shares nothing with ``live``; defaults and validation come after it, and
    :func:`track` does not: defaults have no owner. When nothing changed the result equals ``live``, and the server
    writes nothing.

    Raises Problem 400 when the configuration itself has managed fields, 409 with a cause for each field that another
    manager owns, unless ``force``.
    """
    if (applied.get('metadata') or {}).get('managedFields') is not None:
        raise Problem.bad_request('metadata.managedFields must be nil')
    manager, api_version, now, subresource, has_status = write
    me = Manager(manager, _APPLY, api_version, subresource)
    base: Object = {} if live is None else live
    owners = _owners_before(base, node, api_version, now) if live is not None else {}
    last = owners.get(me)
    mine = _permitted(values.applied_fields(applied, node), node, subresource, has_status=has_status)
    owners[me] = _Owned(mine, last.time if last else '')
    made: Object = values.copied(values.merged(base, applied, node))
    if last is not None:
        kept: Fields = {}
        for owned in owners.values():
            kept = fieldsets.union(kept, owned.fields)
        values.without(made, last.fields, kept, node)
    _put_back(made, base, subresource, has_status=has_status)
    written, removed = values.differences(base, made, node)
    if not force:
        _refuse_conflicts(owners, me, written)
    _take_over(owners, me, written, removed)
    if (written or removed or live is None) and me in owners:
        owners[me] = _Owned(mine, objects.stamp(now))
    _write(made, owners)
    return made


def track(old: Object | None, new: Object, node: Node, write: Write) -> None:
    """Write into ``new`` the managed fields that follow from a plain write; ``old`` stays as it is.

    Call it when the defaults are in, and before the server adds anything of its own (``prepare_create``, admission):
    what the server makes has no owner. ``old`` is the stored object, None for a create. Managed fields in ``new`` that
    are one empty entry (for built-in kinds also an empty list) reset them; when none are given those of ``old`` go on.
    """
    manager, api_version, now, subresource, has_status = write
    if old is None and 'managedFields' not in new['metadata']:
        # A new object has one owner: there is nobody to take anything from.
        written, _ = values.differences(values.empty(node), new, node)
        written = _permitted(written, node, subresource, has_status=has_status)
        if written:
            owned = _Owned(fieldsets.shared(written), objects.stamp(now))
            new['metadata']['managedFields'] = [
                _entry(Manager(manager[:_NAME_LENGTH], _UPDATE, api_version, subresource), owned)
            ]
        return
    owners = _owners_of_update(old, new, node, subresource)
    if old is not None and new['metadata'] is old['metadata']:
        new['metadata'] = dict(new['metadata'])
    if owners is None:
        new['metadata'].pop('managedFields', None)
        return
    base = values.empty(node) if old is None else old
    written, removed = values.differences(base, new, node)
    written = _permitted(written, node, subresource, has_status=has_status)
    removed = _permitted(removed, node, subresource, has_status=has_status)
    if written or removed:
        me = Manager(manager[:_NAME_LENGTH], _UPDATE, api_version, subresource)
        before = owners.get(me)
        _take_over(owners, None, written, removed)
        if written:
            fields = fieldsets.union(owners[me].fields, written) if me in owners else written
            owners[me] = _Owned(fieldsets.shared(fields), objects.stamp(now))
        elif before is not None and me in owners:
            owners[me] = _Owned(owners[me].fields, before.time)
        _cap(owners)
    _write(new, owners)


@functools.lru_cache(maxsize=64)
def manager_of(user_agent: str) -> str:
    """The manager of a write that names none: what stands before the first slash of the user agent."""
    name = user_agent.split('/', 1)[0][:_NAME_LENGTH]
    return ''.join(each for each in name if each.isprintable()) or 'unknown'


def _owners_of_update(old: Object | None, new: Object, node: Node, subresource: str) -> _Owners | None:
    """The owners before a plain write; None when they are not, or no longer, to be tracked."""
    given = new['metadata'].get('managedFields')
    if old is None:
        return _owners(given) if given and all(_is_whole(entry) for entry in given) else {}
    before = old['metadata'].get('managedFields')
    if subresource or given is None or not all(_is_whole(entry) for entry in given if entry):
        owners = _owners(before)
    elif given == [{}] or (not given and node.name):  # an empty list says something in Go types only
        return None
    else:
        owners = _owners(given) or _owners(before)
    return owners or None


def _is_whole(entry: Object) -> bool:
    """Whether an entry that a client sends is one; when one is not, none of them counts."""
    return entry.get('operation') in (_APPLY, _UPDATE) and entry.get('fieldsType', 'FieldsV1') == 'FieldsV1'


def _owners_before(live: Object, node: Node, api_version: str, now: datetime.datetime) -> _Owners:
    """The owners before an apply. Where nobody was tracked, all there is belongs to one that stands for them."""
    owners = _owners(live['metadata'].get('managedFields'))
    if not owners:
        written, _ = values.differences(values.empty(node), live, node)
        if written:
            owners[Manager(_BEFORE, _UPDATE, api_version, '')] = _Owned(written, objects.stamp(now))
    return owners


def _owners(entries: Any) -> _Owners:
    made: _Owners = {}
    for entry in entries or ():
        manager = Manager(
            entry.get('manager', ''),
            entry.get('operation', ''),
            entry.get('apiVersion', ''),
            entry.get('subresource', ''),
        )
        made[manager] = _Owned(entry.get('fieldsV1') or {}, entry.get('time') or '')
    return made


def _permitted(fields: Fields, node: Node, subresource: str, *, has_status: bool) -> Fields:
    """Of a set, what a request to this resource may change."""
    if subresource == 'status' and not node.name:
        return {step: part for step, part in fields.items() if step == 'f:status'}
    if subresource == 'status':
        metadata = _without(fields.get('f:metadata') or {}, *_KEPT_BY_STATUS.get(node.name, ()))
        return _without(fields, 'f:spec', 'f:metadata') | ({'f:metadata': metadata} if metadata else {})
    if has_status and 'f:status' in fields:
        return {step: part for step, part in fields.items() if step != 'f:status'}
    return fields


_KEPT_BY_STATUS: Final = {'v1.Pod': ('f:ownerReferences', 'f:deletionTimestamp')}
"""What of the metadata a write of the status does not change, by Go type; in custom objects it changes none."""


def _without(fields: Fields, *steps: str) -> Fields:
    return {step: part for step, part in fields.items() if step not in steps}


def _put_back(made: Object, live: Object, subresource: str, *, has_status: bool) -> None:
    """What a request to this resource may not change stays as it was."""
    if subresource == 'status':
        for name in [name for name in made if name not in ('status', 'metadata', 'apiVersion', 'kind')]:
            del made[name]
        made.update({name: values.copied(part) for name, part in live.items() if name != 'status'})
    elif has_status:
        made.pop('status', None)
        if 'status' in live:
            made['status'] = values.copied(live['status'])


def _refuse_conflicts(owners: _Owners, me: Manager, written: Fields) -> None:
    if not written:
        return
    texts: list[tuple[Manager, list[str]]] = []
    causes: list[Cause] = []
    for owner in sorted(owners, key=str):
        if owner == me:
            continue
        paths = list(fieldsets.paths(fieldsets.intersection(owners[owner].fields, written)))
        causes.extend(Cause(path, f'conflict with {owner}', 'FieldManagerConflict') for path in paths)
        if paths:
            texts.append((owner, paths))
    if not causes:
        return
    if len(causes) == 1:
        text = f'1 conflict: conflict with {texts[0][0]}: {causes[0].field}'
    else:
        lists = [f'conflicts with {owner}:\n' + '\n'.join(f'- {path}' for path in paths) for owner, paths in texts]
        text = f'{len(causes)} conflicts: ' + '\n'.join(lists)
    raise Problem(409, 'Conflict', f'Apply failed with {text}', causes=causes)


def _take_over(owners: _Owners, me: Manager | None, written: Fields, removed: Fields) -> None:
    """Others lose what is written and what is removed, in place; who has nothing left is gone."""
    for owner, owned in list(owners.items()):
        fields = owned.fields
        if owner != me:
            fields = fieldsets.difference(fieldsets.difference(fields, written), removed)
        if not fields:
            del owners[owner]
        elif fields is not owned.fields:
            owners[owner] = _Owned(fields, owned.time)


def _cap(owners: _Owners) -> None:
    """Take the oldest plain writers together when there are too many, in place."""
    updates = sorted((owner for owner in owners if owner.operation == _UPDATE), key=lambda each: owners[each].time)
    if len(updates) <= _MOST_UPDATES:
        return
    oldest = updates[: len(updates) - _MOST_UPDATES + 1]
    for owner in oldest:
        owned = owners.pop(owner)
        ancient = Manager(_ANCIENT, _UPDATE, owner.api_version, '')
        before = owners.get(ancient, _Owned({}, ''))
        fields = fieldsets.union(before.fields, owned.fields)
        owners[ancient] = _Owned(fields, max(before.time, owned.time))


def _write(obj: Object, owners: _Owners) -> None:
    if not owners:
        obj['metadata'].pop('managedFields', None)
        return
    entries = [_entry(owner, owned) for owner, owned in owners.items()]
    if len(entries) > 1:
        entries.sort(key=_rank)
    obj['metadata']['managedFields'] = entries


def _entry(owner: Manager, owned: _Owned) -> Object:
    made: Object = {'manager': owner.name, 'operation': owner.operation, 'apiVersion': owner.api_version}
    if owned.time:
        made['time'] = owned.time
    made |= {'fieldsType': 'FieldsV1', 'fieldsV1': owned.fields}
    if owner.subresource:
        made['subresource'] = owner.subresource
    return made


def _rank(entry: Object) -> tuple[str, ...]:
    keys = ('operation', 'time', 'manager', 'apiVersion', 'subresource')
    return tuple(entry.get(key, '') for key in keys)
