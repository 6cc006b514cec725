"""PATCH: four ways to say what is to change.

Source: Kubernetes API concepts, "Patches and updates"; error texts as kube-apiserver gives them.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
import yaml

from jobset.api.validation import fields
from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind
from jobset.local.server import answers, bodies, creating, queries, refusals, updating
from jobset.local.server.planes import Patching, Plane
from jobset.local.server.registry import Target
from jobset.local.store import records

JSON: Final = 'application/json-patch+json'
MERGE: Final = 'application/merge-patch+json'
STRATEGIC: Final = 'application/strategic-merge-patch+json'
APPLY: Final = 'application/apply-patch+yaml'

_ALL: Final = (JSON, MERGE, STRATEGIC, APPLY)
_CUSTOM: Final = (JSON, MERGE, APPLY)

_decode: Final = msgspec.json.Decoder().decode


class Patcher:
    """Patches objects of any kind."""

    def __init__(self, plane: Plane, creator: creating.Creator, updater: updating.Updater) -> None:
        self._plane = plane
        self._creator = creator
        self._updater = updater

    async def patch(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a PATCH to an object or its subresource ``status``."""
        kind = target.kind
        media = bodies.media_type(call.content_type)
        if media not in _ALL:
            raise refusals.unsupported_patch()
        if media == STRATEGIC and self._plane.registry.is_custom(kind):
            raise refusals.unsupported_media(_CUSTOM)
        if len(call.body) > bodies.MAX_BYTES:
            raise refusals.too_large(bodies.MAX_BYTES)
        writing = queries.Writing.read(params, 'PatchOptions', warns=call.warns, is_apply=media == APPLY)
        if media == APPLY:
            return await self._apply(target, call.body, writing)
        complaints: list[str] = []
        patched = self._patched(kind, media, call.body)

        def make(old: Object) -> Object:
            complaints.clear()
            new = patched(old)
            new['apiVersion'], new['kind'] = new.get('apiVersion'), new.get('kind')
            updating.demand_name(new, target)
            creating.demand_namespace(new, target)
            _demand_same_kind(new, kind)
            complaints.extend(_completed(new, kind, writing.validation, call.body if media == STRATEGIC else b''))
            return new

        manager = self._plane.manager(writing.manager, call.user_agent)
        change = updating.Change(
            target=target,
            make=make,
            manager=manager,
            dry_run=writing.dry_run,
            is_patch=True,
        )
        data, said = await self._updater.change(change)
        return answers.Answer(200, data, headers=creating.warnings(complaints + said))

    def _patched(self, kind: Kind, media: str, body: bytes) -> Callable[[Object], Object]:
        patches = self._plane.patches
        patch = _read(body, media)
        match media:
            case 'application/json-patch+json':
                return lambda old: _json_patched(patches, old, patch)
            case 'application/merge-patch+json':
                return lambda old: patches.merge(old, patch)
            case _:
                return lambda old: patches.strategic(old, patch, kind.schema.root)

    async def _apply(self, target: Target, body: bytes, writing: queries.Writing) -> answers.Answer:
        kind = target.kind
        applied = _read_applied(body)
        if objects.metadata(applied).get('managedFields'):
            raise Problem.bad_request('metadata.managedFields must be nil')
        if not applied.get('apiVersion') or not applied.get('kind'):
            shown = f'{applied.get("apiVersion") or "/"}, Kind={applied.get("kind") or ""}'
            raise Problem.bad_request(f'invalid object type: {shown}')
        _demand_same_kind(applied, kind)
        updating.demand_name(applied, target)
        creating.demand_namespace(applied, target)
        complaints = _unknown(applied, kind, writing)
        kind.schema.check(applied)
        kind.schema.prune(applied)
        if self._plane.store.get(kind.key, target.namespace, target.name) is None:
            return await self._apply_new(target, applied, writing, complaints)

        def make(old: Object) -> Object:
            new = self._applied(old, applied, target, writing)
            kind.schema.default(new)
            return new

        change = updating.Change(target=target, make=make, manager='', dry_run=writing.dry_run, is_patch=True)
        data, said = await self._updater.change(change)
        return answers.Answer(200, data, headers=creating.warnings(complaints + said))

    async def _apply_new(
        self,
        target: Target,
        applied: Object,
        writing: queries.Writing,
        complaints: list[str],
    ) -> answers.Answer:
        kind = target.kind
        found = objects.metadata(applied)
        if target.subresource:
            raise Problem.not_found(kind.plural, kind.group, target.name)
        if found.get('resourceVersion') or found.get('uid'):
            why = 'the object has been deleted' if found.get('uid') else 'the object has been modified'
            raise Problem.conflict(kind.plural, kind.group, target.name, why)
        new = self._applied(None, applied, target, writing)
        kind.schema.default(new)
        data, said = await self._creator.store(kind, new, target.namespace, dry_run=writing.dry_run, manager='')
        return answers.Answer(201, data, headers=creating.warnings(complaints + said))

    def _applied(self, old: Object | None, applied: Object, target: Target, writing: queries.Writing) -> Object:
        kind = target.kind
        return self._plane.fields.apply(
            old,
            records.decode(records.encode(applied)),
            kind.schema.root,
            manager=writing.manager,
            force=writing.force,
            api_version=kind.api_version,
            now=self._plane.now(),
            subresource=target.subresource,
            has_status='status' in kind.subresources,
        )


def _json_patched(patches: Patching, old: Object, operations: list[Object]) -> Object:
    try:
        return patches.json_patch(old, operations)
    except Problem as problem:
        if problem.code != 422 or problem.causes:
            raise
        # Which operation it was, the real server does not say either; its details stand empty.
        raise refusals.BareProblem(422, problem.reason, problem.message) from None


def _read(body: bytes, media: str) -> Any:
    """The patch in the body. Raises Problem 400."""
    try:
        patch = _decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        if media == MERGE:
            raise Problem.bad_request('invalid JSON patch') from None
        raise Problem.bad_request(f'error decoding patch: {error}') from None
    if media == JSON:
        if not isinstance(patch, list) or not all(isinstance(one, dict) for one in patch):
            what = 'object' if isinstance(patch, dict) else 'value'
            text = f'error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp'
            raise Problem.bad_request(text)
        if len(patch) > 10000:
            raise Problem(
                413,
                'RequestEntityTooLarge',
                f'The allowed maximum operations in a JSON patch is 10000, got {len(patch)}',
            )
    elif not isinstance(patch, dict):
        what = 'array' if isinstance(patch, list) else 'value'
        text = f'error decoding patch: json: cannot unmarshal {what} into Go value of type map[string]interface {{}}'
        raise Problem.bad_request(text)
    return patch


def _read_applied(body: bytes) -> Object:
    try:
        # Most clients send JSON, which is read a hundred times faster.
        applied: Any = _decode(body)
    except msgspec.MsgspecError:
        try:
            applied = _decode(records.encode(bodies.parse_yaml(body)))
        except (yaml.YAMLError, ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
            raise Problem.bad_request(f'error decoding YAML: {" ".join(str(error).split())}') from None
    if not isinstance(applied, dict):
        raise Problem.bad_request('error decoding YAML: the document is not an object')
    return applied


def _demand_same_kind(obj: Object, kind: Kind) -> None:
    """What the object says it is, is what the path says. Raises Problem 400."""
    if obj.get('kind') != kind.kind:
        text = f'the kind in the data ({obj.get("kind") or ""}) does not match the expected kind ({kind.kind})'
        raise Problem.bad_request(text)
    if obj.get('apiVersion') != kind.api_version:
        text = (
            f'the API version in the data ({obj.get("apiVersion") or ""}) does not match the expected API version '
            f'({kind.api_version})'
        )
        raise Problem.bad_request(text)


def _completed(new: Object, kind: Kind, validation: str, patch: bytes) -> list[str]:
    """Through the schema; what is wrong there is said of ``patch``, or of the result when there is none."""
    before = b'' if patch else _sorted(new)
    try:
        return bodies.complete(new, kind, validation, [])
    except Problem as problem:
        if problem.code != 400:
            raise
        prefix = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
        shown = fields.quote(_go(_decode(patch)) if patch else before.decode())
        text = f'Invalid value: {shown}: {problem.message.removeprefix(prefix)}'
        raise _PatchProblem([Cause('patch', text)]) from None


def _go(value: object) -> str:
    """A value as Go prints it."""
    match value:
        case dict():
            return f'map[{" ".join(f"{key}:{_go(value[key])}" for key in sorted(value))}]'
        case list():
            return f'[{" ".join(_go(part) for part in value)}]'
        case None:
            return '<nil>'
        case bool():
            return str(value).lower()
        case _:
            return str(value)


_sorted: Final = msgspec.json.Encoder(order='sorted').encode


class _PatchProblem(Problem):
    """The result of a patch is none that the kind could be; the real server names no object there."""

    def __init__(self, causes: list[Cause]) -> None:
        text = f' "" is invalid: {causes[0].field}: {causes[0].message}'
        super().__init__(422, 'Invalid', text, causes=causes)


def _unknown(applied: Object, kind: Kind, writing: queries.Writing) -> list[str]:
    if writing.validation == queries.IGNORE:
        return []
    unknown = kind.schema.unknown_fields(applied)
    if unknown and writing.validation == queries.STRICT:
        shown = f'/{kind.group}/{kind.version}' if kind.group else f'/{kind.version}'
        what = f'{objects.namespace(applied)}/{objects.name(applied)}'
        why = f'.{unknown[0]}: field not declared in schema'
        raise refusals.internal(f'failed to create typed patch object ({what}; {shown}, Kind={kind.kind}): {why}')
    return [f'unknown field "{path}"' for path in unknown]
