"""PUT, and what every other change of a stored object has in common with it."""

from collections.abc import Callable
from typing import Final

import msgspec

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Context, Kind
from jobset.local.server import (
    admitting,
    answers,
    bodies,
    creating,
    definitions,
    metadata,
    namespaces,
    queries,
    refusals,
)
from jobset.local.server.planes import Plane
from jobset.local.server.registry import Target
from jobset.local.store import records, storage
from jobset.local.store.records import Record

_ATTEMPTS: Final = 5
"""How often a change is made again when somebody else was faster, unless the client has said which state it means."""

_CONDITIONAL: Final = frozenset(
    {
        ('coordination.k8s.io', 'leases'),
        ('apiextensions.k8s.io', 'customresourcedefinitions'),
        ('admissionregistration.k8s.io', 'mutatingwebhookconfigurations'),
        ('admissionregistration.k8s.io', 'validatingwebhookconfigurations'),
    }
)
"""Built-in kinds of which an update must say which state it means, as those of all custom kinds must."""

Make = Callable[[Object], Object]
"""The new state, from the one that is stored: a new object, which may share parts with it and leaves it as it is."""


class Change(msgspec.Struct, kw_only=True):
    """One request to change an object."""

    target: Target
    make: Make
    manager: str
    """Empty when ``make`` takes care of the managed fields."""

    said: list[str]
    """Gets what is to be said to the client."""

    warns: bool = True
    """Whether anybody wants to know."""

    dry_run: bool = False
    is_patch: bool = False


class Updater:
    """Changes objects of any kind."""

    def __init__(self, plane: Plane, custom: definitions.Definitions) -> None:
        self._plane = plane
        self._definitions = custom

    async def replace(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a PUT to an object or one of its subresources ``status`` and ``finalize``."""
        kind = target.kind
        writing = queries.Writing.read(params, 'UpdateOptions', warns=call.warns)
        is_custom = self._plane.registry.is_custom(kind)
        obj = bodies.read(call, kind, writing.validation, is_custom=is_custom)
        creating.demand_namespace(obj, target)
        demand_name(obj, target)
        metadata.dedupe_owners(obj, call.said)

        def make(old: Object) -> Object:
            # A further attempt starts from the same body.
            return records.decode(sent)

        sent = records.encode(obj)
        manager = self._plane.manager(writing.manager, call.user_agent)
        change = Change(
            target=target, make=make, manager=manager, said=call.said, warns=call.warns, dry_run=writing.dry_run
        )
        return answers.Answer(200, await self.change(change))

    async def change(self, change: Change) -> bytes:
        """Makes the change; again from the latest state when that was changed meanwhile. Returns it as stored."""
        target = change.target
        kind = target.kind
        for _ in range(_ATTEMPTS):
            record = self._plane.store.get(kind.key, target.namespace, target.name)
            if record is None:
                raise Problem.not_found(kind.plural, kind.group, target.name)
            try:
                return await self._attempt(change, record)
            except storage.ChangedError:
                continue
        raise metadata.modified(kind, target.name)

    async def _attempt(self, change: Change, record: Record) -> bytes:
        plane, target = self._plane, change.target
        kind = target.kind
        old = plane.current(kind, record)
        new = change.make(old)
        if new.get('metadata') is not old['metadata']:
            demand_version(kind, new)
            if not metadata.demand_fresh(kind, new, old):
                self._demand_condition(kind, new)
            if not change.is_patch:
                _demand_uid(kind, target.name, new, objects.metadata(old))
            metadata.prepare_update(kind, new, old)
        context = plane.context()
        if target.subresource != 'binding':
            kind.rules.default(new, [key for key, part in new.items() if key in old and part == old[key]])
        if change.manager and new != old:
            # Before the server adds anything of its own: only what the client has sent has an owner.
            creating.track(plane, kind, old, new, manager=change.manager, subresource=target.subresource)
        self._prepare(target, new, old, context)
        asking = admitting.asking(
            plane,
            kind,
            'UPDATE',
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            said=change.said,
            dry_run=change.dry_run,
        )
        if asking is not None:
            mutated = await asking.mutate(new, old)
            if mutated is not new:
                new = creating.recompleted(kind, mutated, new)
        if target.subresource != 'binding':
            self._bump(target, new, old)
            self._judge(target, new, old)
            if change.warns and not target.subresource:
                is_custom = plane.registry.is_custom(kind)
                change.said.extend(metadata.warnings(new, old) if is_custom else kind.rules.warnings(new, old))
        if asking is not None:
            await asking.validate(new, old)
        if kind.key == definitions.KEY and not target.subresource:
            new = self._definitions.establish(new)
        return self._write(change, kind, new, old, record)

    def _prepare(self, target: Target, new: Object, old: Object, context: Context) -> None:
        kind, rules = target.kind, target.kind.rules
        before = objects.metadata(old)
        given = list(new.values())
        match target.subresource:
            case 'status':
                if self._plane.registry.is_custom(kind):
                    _keep_metadata(new, before)
                rules.prepare_status(new, old, context)
            case 'finalize':
                taken = namespaces.take_finalizers(new, old)
                new.clear()
                new.update(taken)
            case 'binding':
                # It is made by the server itself, and changes what no update may.
                return
            case _:
                rules.prepare_update(new, old, context)
        if target.subresource != 'status' or list(map(id, given)) != list(map(id, new.values())):
            # What has been put back is complete; only whole parts may be missing now.
            rules.default(new, new.keys())

    def _judge(self, target: Target, new: Object, old: Object) -> None:
        kind = target.kind
        is_custom, is_status = self._plane.registry.is_custom(kind), target.subresource == 'status'
        causes: list[Cause] = []
        if new['metadata'] is not old['metadata']:
            causes += metadata.validate_update(new, old, is_custom=is_custom)
        if target.subresource != 'finalize':
            causes += kind.schema.validate(new, old, subresource=target.subresource, found=causes)
            causes += kind.rules.validate_status(new, old) if is_status else kind.rules.validate_update(new, old)
        if causes:
            if not is_custom:
                causes = list(dict.fromkeys(causes))
            raise Problem.invalid(kind.kind, kind.stored_group, target.name, causes)

    def _bump(self, target: Target, new: Object, old: Object) -> None:
        """Counts the change of what its maker wants."""
        rules = target.kind.rules
        if not rules.has_generation or (rules.has_status and target.subresource == 'status'):
            return
        ignored = _NO_SPEC if rules.has_status else _NO_SPEC - {'status'}
        if any(new.get(key) != old.get(key) for key in (new.keys() | old.keys()) - ignored):
            _own_metadata(new, old)
            found = objects.metadata(new)
            found['generation'] = int(found.get('generation') or 0) + 1

    def _write(self, change: Change, kind: Kind, new: Object, old: Object, record: Record) -> bytes:
        plane = self._plane
        if new == old:
            return plane.show(kind, record)
        if change.dry_run:
            return records.encode(new)
        if _is_done(kind, new):
            # Whoever took the last finalizer off sees the object as it was then; only a watch tells the later version.
            answer = records.encode(new)
            _own_metadata(new, old)
            plane.delete(kind, new, expected=record)
            return answer
        _own_metadata(new, old)
        return plane.show(kind, plane.update(kind, new, expected=record))

    def _demand_condition(self, kind: Kind, obj: Object) -> None:
        if self._plane.registry.is_custom(kind) or (kind.group, kind.plural) in _CONDITIONAL:
            cause = Cause('metadata.resourceVersion', 'Invalid value: 0: must be specified for an update')
            raise Problem.invalid(kind.plural, kind.group, objects.name(obj), [cause])


_NO_SPEC: Final = frozenset({'metadata', 'apiVersion', 'kind', 'status'})
"""Parts whose changes are not counted."""


def _own_metadata(new: Object, old: Object) -> None:
    """The metadata of the new state are its own, to be changed."""
    if new['metadata'] is old['metadata']:
        new['metadata'] = dict(new['metadata'])


def demand_version(kind: Kind, obj: Object) -> None:
    """The resource version, if any, is a number. Raises Problem 500, as the real server does."""
    version = objects.metadata(obj).get('resourceVersion')
    if version:
        try:
            queries.version(str(version))
        except ValueError as error:
            raise refusals.internal(str(error)) from None


def demand_name(obj: Object, target: Target) -> None:
    """The name in the body is that of the path. Raises Problem 400."""
    name = objects.name(obj)
    if not name:
        text = f'the name of the object ({target.name} based on URL) was undeterminable: name must be provided'
        raise Problem.bad_request(text)
    if name != target.name:
        text = f'the name of the object ({name}) does not match the name on the URL ({target.name})'
        raise Problem.bad_request(text)


def _demand_uid(kind: Kind, name: str, new: Object, before: Object) -> None:
    uid = objects.metadata(new).get('uid')
    if uid and uid != before['uid']:
        why = f'Precondition failed: UID in precondition: {uid}, UID in object meta: {before["uid"]}'
        raise Problem.conflict(kind.plural, kind.group, name, why)


def _keep_metadata(new: Object, before: Object) -> None:
    managed = objects.metadata(new).get('managedFields')
    new['metadata'] = dict(before)
    if managed is not None:
        new['metadata']['managedFields'] = managed


def _is_done(kind: Kind, new: Object) -> bool:
    """Whether nobody keeps an object that is being deleted any longer."""
    if namespaces.is_namespace(kind):
        return namespaces.is_done(new)
    found = objects.metadata(new)
    return (
        bool(found.get('deletionTimestamp'))
        and not found.get('finalizers')
        and not found.get('deletionGracePeriodSeconds')
    )
