"""POST: a new object, from its body to the store."""

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Problem
from jobset.local.resources import Kind
from jobset.local.server import admitting, answers, bodies, definitions, metadata, namespaces, queries, refusals
from jobset.local.server.planes import Plane
from jobset.local.server.registry import Target
from jobset.local.store import records, storage

_ATTEMPTS = 8
"""Names that are tried for ``generateName``, as the real server does."""


class Creator:
    """Creates objects of any kind."""

    def __init__(self, plane: Plane, gate: namespaces.Gate, custom: definitions.Definitions) -> None:
        self._plane = plane
        self._gate = gate
        self._definitions = custom

    async def create(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a POST to a collection."""
        kind = target.kind
        if kind.namespaced and not target.namespace:
            raise refusals.method_not_allowed()
        writing = queries.Writing.read(params, 'CreateOptions', warns=call.warns)
        is_custom = self._plane.registry.is_custom(kind)
        obj = bodies.read(call, kind, writing.validation, is_custom=is_custom)
        metadata.dedupe_owners(obj, call.said)
        demand_namespace(obj, target)
        has_version = str(objects.metadata(obj).get('resourceVersion') or 'none').isdecimal()
        manager = self._plane.manager(writing.manager, call.user_agent)
        data = await self.store(
            kind,
            obj,
            target.namespace,
            dry_run=writing.dry_run,
            manager=manager,
            said=call.said,
            warns=call.warns,
            has_version=has_version,
        )
        return answers.Answer(201, data)

    async def store(
        self,
        kind: Kind,
        obj: Object,
        namespace: str,
        *,
        dry_run: bool,
        manager: str,
        said: list[str],
        warns: bool,
        has_version: bool = False,
    ) -> bytes:
        """Completes, judges and stores an object that has been taken through its schema.

        Returns it as stored; ``said`` gets what admission says. ``manager`` is empty where managed fields are made.
        """
        plane, rules = self._plane, kind.rules
        self._definitions.demand_serving(kind, 'create')
        context = plane.context()
        metadata.prepare_create(kind, obj, namespace, context.now)
        if kind.namespaced:
            self._gate.demand(kind, namespace, objects.name(obj))
        rules.default(obj)
        if manager:
            # Before the server adds anything of its own: only what the client has sent has an owner.
            track(plane, kind, None, obj, manager=manager)
        rules.prepare_create(obj, context)
        # Whatever it adds to the other parts is complete.
        rules.default(obj, obj.keys() - {'status'})
        rules.admit(obj, context)
        asking = admitting.Asking(plane, kind, 'CREATE', namespace=namespace, dry_run=dry_run, said=said)
        mutated = await asking.mutate(obj, None)
        if mutated is not obj:
            obj = recompleted(kind, mutated, obj)
        is_custom = plane.registry.is_custom(kind)
        causes = metadata.validate_create(kind, obj, is_custom=is_custom)
        causes += kind.schema.validate(obj, found=causes) + rules.validate(obj)
        if causes:
            raise Problem.invalid(kind.kind, kind.stored_group, objects.name(obj), list(dict.fromkeys(causes)))
        if warns:
            said += metadata.warnings(obj) if is_custom else rules.warnings(obj, None)
        await asking.validate(obj, None)
        if kind.key == definitions.KEY:
            obj = self._definitions.establish(obj)
        if dry_run:
            if plane.store.get(kind.key, namespace, objects.name(obj)) is not None:
                raise Problem.already_exists(kind.plural, kind.group, objects.name(obj))
            return records.encode(obj)
        if has_version:
            raise refusals.internal('resourceVersion should not be set on objects to be created')
        return plane.show(kind, self._write(kind, obj))

    def _write(self, kind: Kind, obj: Object) -> records.Record:
        found = objects.metadata(obj)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._plane.create(kind, obj)
            except storage.TakenError:
                base = str(found.get('generateName') or '')
                if not base or not found['name'].startswith(base[:20]) or attempt == _ATTEMPTS:
                    raise Problem.already_exists(kind.plural, kind.group, found['name']) from None
                found['name'] = metadata.generate_name(base)
        raise AssertionError('not reached')


def track(
    plane: Plane,
    kind: Kind,
    old: Object | None,
    new: Object,
    *,
    manager: str,
    subresource: str = '',
) -> None:
    """Writes into ``new`` who owns which of its fields after a plain write by ``manager``."""
    plane.fields.track(old, new, kind.schema.root, plane.write(kind, manager, subresource))


def recompleted(kind: Kind, obj: Object, before: Object) -> Object:
    """An object that admission has made of the one ``before``, with its defaults again; what both share has them."""
    settled = [key for key, part in obj.items() if part is before.get(key)]
    if not kind.schema.fits({key: part for key, part in obj.items() if key not in settled}):
        kind.schema.prune(obj)
    if not kind.rules.brings_into_form:
        kind.schema.default(obj, settled, keeps_null=True)
    kind.rules.default(obj, settled)
    return obj


def demand_namespace(obj: Object, target: Target) -> None:
    """The namespace in the body, if any, is that of the path. Raises Problem 400."""
    given = objects.namespace(obj)
    if given and given != target.namespace:
        text = 'the namespace of the provided object does not match the namespace sent on the request'
        raise Problem.bad_request(text)
