"""PATCH: four ways to say what is to change.

Source: Kubernetes API concepts, "Patches and updates"; error texts as kube-apiserver gives them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import yaml

from jobset.api.validation import fields
from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.patches import typed
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind
from jobset.local.server import answers, bodies, creating, metadata, queries, refusals, updating
from jobset.local.server.planes import Patching, Plane
from jobset.local.server.registry import Target
from jobset.local.store import records

JSON: Final = 'application/json-patch+json'
MERGE: Final = 'application/merge-patch+json'
STRATEGIC: Final = 'application/strategic-merge-patch+json'
APPLY: Final = 'application/apply-patch+yaml'

_ALL: Final = (JSON, MERGE, STRATEGIC, APPLY)
_CUSTOM: Final = (JSON, MERGE, APPLY)

_MAX_OPERATIONS: Final = 10_000

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
        is_custom = self._plane.registry.is_custom(kind)
        if media == STRATEGIC and is_custom:
            raise refusals.unsupported_media(_CUSTOM)
        if len(call.body) > bodies.MAX_BYTES:
            raise refusals.too_large(bodies.MAX_BYTES)
        writing = queries.Writing.read(params, 'PatchOptions', warns=call.warns, is_apply=media == APPLY)
        if media == APPLY:
            return await self._apply(target, call, writing)
        if self._plane.store.get(kind.key, target.namespace, target.name) is None:
            raise Problem.not_found(kind.plural, kind.group, target.name)
        patched = self._patched(kind, media, call.body)

        def make(old: Object) -> Object:
            base = old if kind.rules.spares_stored else _copy(old)
            new = patched(base)
            if new is base:
                new = dict(base)
            _keep_metadata(new, base)
            _settle_kind(new, target, is_custom=is_custom, is_strategic=media == STRATEGIC)
            # What the patch does not touch is shared, and as it was stored.
            settled = [key for key, part in new.items() if part is base.get(key)]
            call.said[:] = _completed(new, kind, writing.validation, settled, call.body if media == STRATEGIC else b'')
            if 'metadata' not in settled:
                creating.demand_namespace(new, target)
                updating.demand_name(new, target)
                metadata.dedupe_owners(new, call.said, when=metadata.AFTER_ADMISSION)
            return new

        manager = self._plane.manager(writing.manager, call.user_agent)
        change = updating.Change(
            target=target,
            make=make,
            manager=manager,
            said=call.said,
            warns=call.warns,
            dry_run=writing.dry_run,
            is_patch=True,
        )
        return answers.Answer(200, await self._updater.change(change))

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

    async def _apply(self, target: Target, call: answers.Call, writing: queries.Writing) -> answers.Answer:
        kind = target.kind
        applied = _read_applied(call.body)
        _demand_appliable(applied, kind, is_custom=self._plane.registry.is_custom(kind))
        if self._plane.store.get(kind.key, target.namespace, target.name) is None:
            return await self._apply_new(target, applied, writing, call)
        creating.demand_namespace(applied, target)

        def make(old: Object) -> Object:
            new = self._applied(_copy(old), applied, target, writing)
            # Only now, as the real server does it: conflicts are told before.
            updating.demand_name(new, target)
            return new

        change = updating.Change(
            target=target,
            make=make,
            manager='',
            said=call.said,
            warns=call.warns,
            dry_run=writing.dry_run,
            is_patch=True,
        )
        return answers.Answer(200, await self._updater.change(change))

    async def _apply_new(
        self,
        target: Target,
        applied: Object,
        writing: queries.Writing,
        call: answers.Call,
    ) -> answers.Answer:
        kind = target.kind
        found = objects.metadata(applied)
        if target.subresource:
            raise Problem.not_found(kind.plural, kind.group, target.name)
        if found.get('uid'):
            why = f'uid mismatch: the provided object specified uid {found["uid"]}, and no existing object was found'
            raise Problem.conflict(kind.plural, kind.group, target.name, why)
        creating.demand_namespace(applied, target)
        updating.demand_name(applied, target)
        updating.demand_version(kind, applied)
        new = self._applied(None, applied, target, writing)
        data = await self._creator.store(
            kind,
            new,
            target.namespace,
            dry_run=writing.dry_run,
            manager='',
            said=call.said,
            warns=call.warns,
        )
        return answers.Answer(201, data)

    def _applied(self, old: Object | None, applied: Object, target: Target, writing: queries.Writing) -> Object:
        kind = target.kind
        write = self._plane.write(kind, writing.manager, target.subresource)
        new = self._plane.fields.apply(old, _copy(applied), kind.schema.root, write, force=writing.force)
        if not kind.rules.brings_into_form:
            kind.schema.default(new, keeps_null=True)
        return new


def _copy(obj: Object) -> Object:
    """As good as another one, nothing of it shared."""
    return records.decode(records.encode(obj))


def _keep_metadata(new: Object, old: Object) -> None:
    """Metadata that the patch has only compared, as by naming the uid, are those that were stored."""
    found, before = new.get('metadata'), old['metadata']
    if found is before or found != before:
        return
    anew = [(part, before[key]) for key, part in found.items() if part is not before[key] and type(part) is not str]
    # As JSON, because to Python true is 1.
    if not anew or all(records.encode(part) == records.encode(old_part) for part, old_part in anew):
        new['metadata'] = before


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
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Problem.bad_request('invalid JSON patch') from None
    if media == JSON:
        return _operations(patch)
    if patch is None:
        if media == MERGE:
            raise Problem.bad_request('Invalid JSON Patch')
        return {}
    if not isinstance(patch, dict):
        prefix = '' if media == STRATEGIC else 'error decoding patch: '
        raise Problem.bad_request(f'{prefix}{_mistyped(patch)}')
    return patch


def _operations(patch: Any) -> list[Object]:
    """Those of a JSON patch. Raises Problem 400, and 413 for too many."""
    found: Any = [] if patch is None else patch
    if not isinstance(found, list):
        raise Problem.bad_request(f'error decoding patch: {_mistyped(patch, "[]handlers.jsonPatchOp")}')
    for one in found:
        if not isinstance(one, dict):
            raise Problem.bad_request(f'error decoding patch: {_mistyped(one, "handlers.jsonPatchOp")}')
        for key in ('op', 'path', 'from'):
            if not isinstance(one.get(key, ''), str | None):
                what = f'json: cannot unmarshal {bodies.json_type(one[key])} into Go struct field jsonPatchOp.{key}'
                raise Problem.bad_request(f'error decoding patch: {what} of type string')
    if len(found) > _MAX_OPERATIONS:
        text = f'The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(found)}'
        raise Problem(413, 'RequestEntityTooLarge', text)
    return found


def _mistyped(value: object, wanted: str = 'map[string]interface {}') -> str:
    return f'json: cannot unmarshal {bodies.json_type(value)} into Go value of type {wanted}'


def _read_applied(body: bytes) -> Object:
    try:
        # Most clients send JSON, which is read a hundred times faster.
        applied: Any = _decode(body)
    except msgspec.MsgspecError:
        try:
            applied = _decode(records.encode(bodies.parse_yaml(body)))
        except (yaml.YAMLError, ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
            shown = ' '.join(str(error).split())
            raise Problem.bad_request(f'error decoding patch: error converting YAML to JSON: {shown}') from None
    if applied is None:
        return {}
    if not isinstance(applied, dict):
        why = f'error unmarshaling JSON: while decoding JSON: {_mistyped(applied)}'
        raise Problem.bad_request(f'error decoding patch: {why}')
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


def _settle_kind(new: Object, target: Target, *, is_custom: bool, is_strategic: bool) -> None:
    """What the patched object says it is must be what the path says, in place. Raises Problem 400 and 422."""
    kind = target.kind
    if is_strategic:
        # The real server has a struct there, which is of its kind whatever the patch says.
        new['apiVersion'], new['kind'] = kind.api_version, kind.kind
        return
    api_version, name = new.get('apiVersion'), new.get('kind')
    if api_version == kind.api_version and name == kind.kind:
        return
    if is_custom:
        if not name:
            shown = _sorted(new).decode()
            raise _patch_problem(new, f"Object 'Kind' is missing in '{shown}'")
        if name != kind.kind and api_version == kind.api_version:
            cause = Cause('kind', f'Invalid value: "{name}": must be {kind.kind}')
            raise Problem.invalid(str(name), kind.group, target.name, [cause])
        _demand_same_kind(new, kind)
    if not api_version:
        updating.demand_name({}, target)
    if name not in (None, '', kind.kind) or api_version != kind.api_version:
        text = f'no kind "{name or kind.kind}" is registered for version "{api_version}" here'
        raise _patch_problem(new, text)
    new['kind'] = kind.kind


def _patch_problem(new: Object, why: str) -> 'Problem':
    return _PatchProblem([Cause('patch', f'Invalid value: {fields.quote(_sorted(new).decode())}: {why}')])


def _completed(new: Object, kind: Kind, validation: str, settled: Sequence[str], patch: bytes) -> list[str]:
    """Through the schema; what is wrong there is said of ``patch``, or of the result when there is none."""
    try:
        return bodies.complete(new, kind, validation, settled=settled, is_sorted=not patch)
    except Problem as problem:
        if problem.code != 400:
            raise
        # Nothing has been changed when it is refused with this code.
        prefix = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
        shown = fields.quote(typed.plain(_decode(patch)) if patch else _sorted(new).decode())
        text = f'Invalid value: {shown}: {problem.message.removeprefix(prefix)}'
        raise _PatchProblem([Cause('patch', text)]) from None


_sorted: Final = msgspec.json.Encoder(order='sorted').encode


class _PatchProblem(Problem):
    """The result of a patch is none that the kind could be; the real server names no object there."""

    def __init__(self, causes: list[Cause]) -> None:
        text = f' "" is invalid: {causes[0].field}: {causes[0].message}'
        super().__init__(422, 'Invalid', text, causes=causes)


def _demand_appliable(applied: Object, kind: Kind, *, is_custom: bool) -> None:
    """An apply is of this kind, and of its types, whatever is asked for unknown fields. Raises Problem 400 and 500."""
    described = _go_kind(applied.get('apiVersion'), applied.get('kind'))
    found = applied.get('metadata')
    metadata_given = found if isinstance(found, dict) else {}
    if described != _go_kind(kind.api_version, kind.kind):
        raise Problem.bad_request(f'invalid object type: {described}')
    if metadata_given.get('managedFields'):
        raise Problem.bad_request('metadata.managedFields must be nil')
    what = f'({metadata_given.get("namespace") or ""}/{metadata_given.get("name") or ""}; {described})'
    mistakes = typed.mistakes(applied, kind.schema.root)
    if mistakes:
        raise refusals.internal(f'failed to create typed patch object {what}: {typed.told(mistakes)}')
    if is_custom:
        # It is overwritten before anybody reads it as a time.
        metadata_given.pop('creationTimestamp', None)
        if not kind.schema.fits(applied):
            kind.schema.prune(applied)
    try:
        kind.schema.check(applied)
    except Problem as problem:
        why = problem.message.partition(f' cannot be handled as a {kind.kind}: ')[2]
        raise refusals.internal(
            f'failed to convert new object {what} to proper version: unable to convert unstructured object to '
            f'{described}: {why}'
        ) from None


def _go_kind(api_version: object, name: object) -> str:
    """As Go prints a kind with its group and version."""
    version = str(api_version or '/')
    return f'{version if "/" in version else f"/{version}"}, Kind={name or ""}'
