"""DELETE: at once, when its finalizers are gone, or when the time of grace is over.

Source: Kubernetes, "Garbage Collection", "Finalizers" and "Termination of Pods"; answers as kube-apiserver gives them.
"""

import datetime
from dataclasses import dataclass
from typing import Final

import msgspec

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind
from jobset.local.server import admitting, answers, bodies, matching, namespaces, queries, refusals, selectors
from jobset.local.server.planes import Plane
from jobset.local.server.registry import Target
from jobset.local.store import records, storage
from jobset.local.store.records import Record

_ORPHAN: Final = 'orphan'
_FOREGROUND: Final = 'foregroundDeletion'

_POLICIES: Final = ('Foreground', 'Background', 'Orphan')

_SHOWN_WHEN_GONE: Final = frozenset(
    {'pods', 'services', 'serviceaccounts', 'persistentvolumes', 'persistentvolumeclaims'}
)
"""Core kinds whose deletion is answered with the object; the others answer with a Status."""

_ORPHANED: Final = frozenset({'jobs.batch'})
"""Kinds whose dependants stay when nobody says what is to become of them, for the sake of old clients."""

_ORPHAN_WARNING: Final = (
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set '
    'propagationPolicy=Orphan to suppress this warning'
)

_ATTEMPTS: Final = 5


class _Preconditions(msgspec.Struct, frozen=True, rename='camel'):
    uid: str | None = None
    resource_version: str | None = None


class _Body(msgspec.Struct, frozen=True, rename='camel'):
    kind: str = ''
    api_version: str = ''
    grace_period_seconds: int | None = None
    preconditions: _Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


_bodies: Final = msgspec.json.Decoder(_Body)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a deletion is meant."""

    grace_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    policy: str | None = None
    dry_run: bool = False
    waits: bool = False
    """Whether the old way was used to ask for dependents to go: the answer then has the object that is still there."""


class Deleter:
    """Deletes objects of any kind."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    async def delete(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a DELETE of an object."""
        kind = target.kind
        options = read(call, params)
        if kind.key in _ORPHANED and options.policy is None:
            call.said.append(_ORPHAN_WARNING)
        body = await self.remove(kind, target.namespace, target.name, options, said=call.said)
        stays = options.waits and self._plane.store.get(kind.key, target.namespace, target.name) is not None
        return answers.Answer(202 if stays else 200, body)

    async def delete_collection(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a DELETE of a collection: each object that is selected, as if one by one."""
        kind = target.kind
        options = read(call, params)
        selector = selectors.parse(kind, params.text('labelSelector'), params.text('fieldSelector'))
        matches = matching.matcher(selector, '', self._plane.opener(kind))
        found = self._plane.store.walk(kind.key, target.namespace)
        chosen = list(found if matches is None else filter(matches, found))
        for record in chosen:
            try:
                await self.remove(kind, record.namespace, record.name, options, said=call.said)
            except Problem as problem:
                # Somebody else was faster, which is all the same here.
                if problem.code != 404:
                    raise
        items = b','.join(self._plane.show(kind, record) for record in chosen)
        head = answers.encode({'kind': f'{kind.kind}List', 'apiVersion': kind.api_version})
        version = str(self._plane.store.revision).encode()
        body = b'%s,"metadata":{"resourceVersion":"%s"},"items":[%s]}' % (head[:-1], version, items)
        return answers.Answer(200, body)

    async def remove(self, kind: Kind, namespace: str, name: str, options: Options, *, said: list[str]) -> bytes:
        """Deletes one object, or says that it has to go; returns the body of the answer. ``said`` gets warnings."""
        for _ in range(_ATTEMPTS):
            record = self._plane.store.get(kind.key, namespace, name)
            if record is None:
                raise Problem.not_found(kind.plural, kind.group, name)
            try:
                return await self._attempt(kind, record, options, said)
            except storage.ChangedError:
                continue
        why = 'the object has been modified; please apply your changes to the latest version and try again'
        raise Problem.conflict(kind.plural, kind.group, name, why)

    def remove_now(self, kind: Kind, namespace: str, name: str) -> None:
        """Deletes one object in the background, without asking anybody; not there is fine."""
        record = self._plane.store.get(kind.key, namespace, name)
        if record is None:
            return
        obj = self._plane.open(kind, record)
        _mark(kind, obj, Options(policy=None), self._plane.now())
        self._store(kind, obj, record, dry_run=False)

    async def _attempt(self, kind: Kind, record: Record, options: Options, said: list[str]) -> bytes:
        plane = self._plane
        obj = plane.open(kind, record)
        _demand(kind, obj, options)
        if namespaces.is_namespace(kind):
            namespaces.demand_deletable(record.name)
        asking = admitting.Asking(
            plane,
            kind,
            'DELETE',
            namespace=record.namespace,
            name=record.name,
            said=said,
            dry_run=options.dry_run,
        )
        await asking.validate(None, obj)
        _mark(kind, obj, options, plane.now())
        return self._store(kind, obj, record, dry_run=options.dry_run)

    def _store(self, kind: Kind, obj: Object, record: Record, *, dry_run: bool) -> bytes:
        """Removes the object when nothing keeps it, and else stores that it has to go."""
        plane = self._plane
        if not _is_kept(kind, obj):
            # Its last state is the one before: nobody was to see it as being deleted. But for pods, whose nodes look.
            last = obj if kind.key == 'pods' else plane.open(kind, record)
            if not dry_run:
                last = plane.open(kind, plane.delete(kind, last, expected=record))
            return _gone(kind, last)
        if obj == plane.open(kind, record):
            return plane.show(kind, record)
        if dry_run:
            return records.encode(obj)
        return plane.show(kind, plane.update(kind, obj, expected=record))


def read(call: answers.Call, params: queries.Params) -> Options:
    """From the body, or from the query when there is none. Raises Problem 400 and 422."""
    if call.body.strip():
        return _from_body(call)
    policy = params.text('propagationPolicy') or None
    orphan = params.flag('orphanDependents') if 'orphanDependents' in params else None
    return _options(
        policy=policy,
        orphan=orphan,
        grace_seconds=params.number('gracePeriodSeconds'),
        dry_run=params.all('dryRun'),
        preconditions=_Preconditions(),
    )


def _from_body(call: answers.Call) -> Options:
    body = call.body
    if bodies.media_type(call.content_type) == answers.YAML:
        body = records.encode(bodies.parse_yaml(body))
    try:
        found = _bodies.decode(body)
    except msgspec.MsgspecError as error:
        raise Problem.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if found.kind not in ('', 'DeleteOptions'):
        raise Problem.bad_request(f'no kind "{found.kind}" is registered for version "{found.api_version}" here')
    return _options(
        policy=found.propagation_policy,
        orphan=found.orphan_dependents,
        grace_seconds=found.grace_period_seconds,
        dry_run=found.dry_run or [],
        preconditions=found.preconditions or _Preconditions(),
    )


def _options(
    *,
    policy: str | None,
    orphan: bool | None,
    grace_seconds: int | None,
    dry_run: list[str],
    preconditions: _Preconditions,
) -> Options:
    kind = 'DeleteOptions'
    if orphan is not None and policy is not None:
        text = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        raise refusals.options(kind, Cause('propagationPolicy', text))
    if policy is not None and policy not in _POLICIES:
        text = f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"'
        raise refusals.options(kind, Cause('propagationPolicy', text, 'FieldValueNotSupported'))
    if orphan is not None:
        policy = 'Orphan' if orphan else 'Background'
    return Options(
        grace_seconds=grace_seconds,
        uid=preconditions.uid,
        resource_version=preconditions.resource_version,
        policy=policy,
        dry_run=queries.dry_run(dry_run, kind),
        waits=orphan is False,
    )


def _demand(kind: Kind, obj: Object, options: Options) -> None:
    """The object is the one that is meant. Raises Problem 409."""
    found = objects.metadata(obj)
    name = objects.name(obj)
    if options.uid is not None and options.uid != found['uid']:
        why = (
            f'the UID in the precondition ({options.uid}) does not match the UID in record ({found["uid"]}). '
            'The object might have been deleted and then recreated'
        )
        raise Problem.conflict(kind.kind, kind.group, name, why)
    if options.resource_version is not None and options.resource_version != found['resourceVersion']:
        why = (
            f'the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion '
            f'in record ({found["resourceVersion"]}). The object might have been modified'
        )
        raise Problem.conflict(kind.kind, kind.group, name, why)


def _mark(kind: Kind, obj: Object, options: Options, now: datetime.datetime) -> None:
    """Writes into the object that it has to go, when, and what becomes of its dependants first."""
    found = objects.metadata(obj)
    if namespaces.is_namespace(kind):
        if not found.get('deletionTimestamp'):
            found['deletionTimestamp'] = objects.stamp(now)
            namespaces.end(obj)
        return
    finalizers = _finalizers(kind, list(found.get('finalizers') or ()), options.policy)
    if finalizers:
        found['finalizers'] = finalizers
    else:
        found.pop('finalizers', None)
    grace = kind.rules.grace_seconds(obj, options.grace_seconds)
    if not found.get('deletionTimestamp'):
        found['deletionTimestamp'] = objects.stamp(now + datetime.timedelta(seconds=grace))
        found['deletionGracePeriodSeconds'] = grace
        if found.get('generation'):
            found['generation'] += 1
        return
    before = int(found.get('deletionGracePeriodSeconds') or 0)
    if options.grace_seconds is not None and grace < before:
        # Time of grace is only ever cut short, counted from when it began.
        began = objects.moment(found['deletionTimestamp']) - datetime.timedelta(seconds=before)
        found['deletionTimestamp'] = objects.stamp(began + datetime.timedelta(seconds=grace))
        found['deletionGracePeriodSeconds'] = grace


def _finalizers(kind: Kind, present: list[str], policy: str | None) -> list[str]:
    wanted = {'Orphan': _ORPHAN, 'Foreground': _FOREGROUND, 'Background': ''}.get(policy or '')
    if wanted is None:
        if _ORPHAN in present or _FOREGROUND in present:
            return present
        wanted = _ORPHAN if kind.key in _ORPHANED else ''
    others = [one for one in present if one not in (_ORPHAN, _FOREGROUND)]
    if not wanted:
        return others
    return present if wanted in present and len(present) == len(others) + 1 else [*others, wanted]


def _is_kept(kind: Kind, obj: Object) -> bool:
    if namespaces.is_namespace(kind):
        return not namespaces.is_done(obj)
    found = objects.metadata(obj)
    return bool(found.get('finalizers') or found.get('deletionGracePeriodSeconds'))


def _gone(kind: Kind, obj: Object) -> bytes:
    if not kind.group and kind.plural in _SHOWN_WHEN_GONE:
        return records.encode(obj)
    found = objects.metadata(obj)
    details = {'name': found['name'], 'group': kind.group, 'kind': kind.plural, 'uid': found['uid']}
    if not kind.group:
        del details['group']
    status = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success', 'details': details}
    return answers.encode(status)
