"""An API server in memory: resource versions, conflicts, deletion in the foreground, subresources, watches.

It knows what the controller relies on and refuses what a real one refuses. Everything else of Kubernetes happens in
:mod:`tests.model.environment`.
"""

import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from jobset.kube import errors, requests
from tests.model import clock, fields

Object = dict[str, Any]

FOREGROUND: Final = 'foregroundDeletion'
_PATH: Final = re.compile(r'/apis?/(?:[^/]+/)?v[^/]+/(?:namespaces/([^/]+)/)?([^/]+)(?:/([^/]+))?(?:/([^/]+))?')
GROUPS: Final = ('workloads', 'podgroups')
KINDS: Final = ('jobsets', 'jobs', 'services', 'persistentvolumeclaims', *GROUPS)
"""What caches follow."""

LOOKED_AT: Final = ('pods', 'configmaps', 'nodes')
"""What is only looked at, where a set asks for it."""


class Name(NamedTuple):
    """Which object."""

    plural: str
    name: str


class Change(NamedTuple):
    """One event of a watch: ``before`` is None for an addition; for a deletion ``raw`` is the last state."""

    version: int
    name: Name
    before: bytes | None
    raw: bytes
    is_deletion: bool


Watcher = Callable[[Change], None]
Admission = Callable[[Name, Object], str | None]
"""Why an object may not be created; None when it may."""


class Server:
    """All objects of one namespace. ``is_modern`` follows Kubernetes 1.36 in when the template of a Job may change."""

    def __init__(self, time: clock.Clock, *, is_modern: bool) -> None:
        self.time = time
        self.version = 0
        self.log: dict[str, list[Change]] = {plural: [] for plural in (*KINDS, *LOOKED_AT)}
        self.watchers: list[Watcher] = []
        self.admission: Admission = lambda name, obj: None
        self.is_modern = is_modern
        self._objects: dict[Name, bytes] = {}
        self._decoded: dict[Name, Object] = {}
        self._owners: dict[str, fields.Owners] = {}
        self._uids = 0

    def get(self, plural: str, name: str) -> Object | None:
        """An object of its own; changing it changes nothing here."""
        raw = self._objects.get(Name(plural, name))
        return None if raw is None else msgspec.json.decode(raw)

    def view(self, plural: str) -> list[Object]:
        """All objects of a kind, by name, to be looked at and not to be changed."""
        return [self._decoded[name] for name in sorted(self._decoded) if name.plural == plural]

    def raw(self, plural: str) -> list[bytes]:
        """The same as they are sent."""
        return [self._objects[name] for name in sorted(self._objects) if name.plural == plural]

    def handle(self, request: requests.Request, *, manager: str) -> bytes:
        """Answer a request; raises what a client would raise."""
        matched = _PATH.fullmatch(request.path)
        if matched is None:
            raise _refusal(404, 'NotFound', f'no such path: {request.path}')
        _, plural, name, subresource = matched.groups()
        body: Any = msgspec.json.decode(request.body) if request.body else {}
        match request.method:
            case 'POST':
                return self.create(plural, body, manager=manager)
            case 'GET':
                return self._found(Name(plural, name)) if name else self._list(plural, request.query)
            case 'PUT' if plural == 'configmaps':
                return self._replace(Name(plural, name), body)
            case 'PUT':
                return self._replace_status(Name(plural, name), body, subresource)
            case 'PATCH':
                return self._patch(Name(plural, name), body, subresource, manager=manager)
            case _:
                return self.delete(plural, name, body)

    def create(self, plural: str, obj: Object, *, manager: str) -> bytes:
        """Add an object."""
        name = Name(plural, obj['metadata']['name'])
        if name in self._objects:
            raise _refusal(409, 'AlreadyExists', f'{plural} "{name.name}" already exists')
        reason = self.admission(name, obj)
        if reason is not None:
            raise _refusal(422, 'Invalid', reason)
        self._uids += 1
        uid = f'uid-{self._uids}'
        obj['metadata'] |= {'namespace': 'default', 'uid': uid, 'generation': 1, 'creationTimestamp': self.time.stamp()}
        if plural == 'jobs':
            # Who wrote what is noted before the server adds what belongs to the Job controller.
            self._note(obj, manager, {}, obj['spec'].get('template') or {})
            _add_job_labels(obj)
            obj['status'] = {}
        elif plural == 'jobsets':
            obj.pop('status', None)
        return self._store(name, None, obj)

    def change(self, plural: str, name: str, change: Callable[[Object], None], *, manager: str = 'other') -> None:
        """Anybody else than the controller changes an object, spec and status alike."""
        key = Name(plural, name)
        before = self._found(key)
        obj = msgspec.json.decode(before)
        change(obj)
        self._update(key, before, obj, manager=manager)

    def delete(self, plural: str, name: str, options: Object) -> bytes:
        """Remove an object, or mark it for removal where it is to stay until its dependants are gone."""
        key = Name(plural, name)
        before = self._found(key)
        obj = msgspec.json.decode(before)
        metadata = obj['metadata']
        uid = (options.get('preconditions') or {}).get('uid')
        if uid not in (None, metadata['uid']):
            raise _refusal(409, 'Conflict', f'{plural} "{name}": the UID in the precondition is {uid}')
        if plural == 'pods':
            return self._delete_pod(key, obj, options)
        if options.get('propagationPolicy') != requests.Propagation.FOREGROUND and not metadata.get('finalizers'):
            return self._remove(key)
        if FOREGROUND not in metadata.get('finalizers', []):
            metadata.setdefault('finalizers', []).append(FOREGROUND)
        metadata.setdefault('deletionTimestamp', self.time.stamp())
        return self._update(key, before, obj, manager='server')

    def _delete_pod(self, key: Name, pod: Object, options: Object) -> bytes:
        """A pod goes when its kubelet says so, unless nobody is to be waited for; finalizers hold it in any case."""
        before, metadata = self._found(key), pod['metadata']
        runs = pod['status'].get('phase') == 'Running'
        grace = pod['spec'].get('terminationGracePeriodSeconds', 0) if runs else 0
        metadata.setdefault('deletionTimestamp', self.time.stamp(after=grace))
        if options.get('gracePeriodSeconds') == 0 or pod['status'].get('phase') in ('Succeeded', 'Failed'):
            metadata['deletionGracePeriodSeconds'] = 0
        return self._settle_pod(key, before, pod)

    def _settle_pod(self, key: Name, before: bytes, pod: Object) -> bytes:
        metadata = pod['metadata']
        if metadata.get('deletionGracePeriodSeconds') == 0 and not metadata.get('finalizers'):
            return self._remove(key)
        return self._update(key, before, pod, manager='server')

    def _list(self, plural: str, query: str) -> bytes:
        """Those whose labels are equal to what the selector says."""
        (selector,) = urllib.parse.parse_qs(query).get('labelSelector', [''])
        wanted = dict(pair.split('=') for pair in selector.split(',') if pair)
        found = [obj for obj in self.view(plural) if wanted.items() <= (obj['metadata'].get('labels') or {}).items()]
        return msgspec.json.encode({'metadata': {'resourceVersion': str(self.version)}, 'items': found})

    def _replace(self, name: Name, body: Object) -> bytes:
        before = self._found(name)
        _check(body, msgspec.json.decode(before), name)
        return self._update(name, before, body, manager='jobset')

    def release(self, plural: str, name: str) -> None:
        """The garbage collector has done its work: the object goes."""
        self._remove(Name(plural, name))

    def _found(self, name: Name) -> bytes:
        raw = self._objects.get(name)
        if raw is None:
            raise _refusal(404, 'NotFound', f'{name.plural} "{name.name}" not found')
        return raw

    def _replace_status(self, name: Name, body: Object, subresource: str | None) -> bytes:
        if subresource != 'status':
            raise _refusal(405, 'MethodNotAllowed', 'only status is replaced as a whole')
        before = self._found(name)
        obj = msgspec.json.decode(before)
        _check(body, obj, name)
        obj['status'] = body.get('status', {})
        return self._update(name, before, obj, manager='jobset')

    def _patch(self, name: Name, patch: Any, subresource: str | None, *, manager: str) -> bytes:
        before = self._found(name)
        old = msgspec.json.decode(before)
        if isinstance(patch, list):
            return self._update(name, before, _edited(old, patch, name), manager=manager)
        _check(patch, old, name)
        kept = ('status',) if subresource == 'status' else ('spec', 'metadata')
        new = merged(old, {key: value for key, value in patch.items() if key in kept})
        new['metadata'] |= {key: old['metadata'][key] for key in ('uid', 'resourceVersion')}
        if name.plural == 'jobs':
            self._check_job(old, new)
        if name.plural == 'pods':
            return self._settle_pod(name, before, new)
        return self._update(name, before, new, manager=manager)

    def _check_job(self, old: Object, new: Object) -> None:
        """When the template of a Job may change."""
        if old['spec'].get('template') == new['spec'].get('template'):
            return
        status = old.get('status', {})
        if not old['spec'].get('suspend'):
            raise _refusal(422, 'Invalid', 'spec.template: field is immutable: the Job is not suspended')
        if self.is_modern:
            stopped = any(c['type'] == 'Suspended' and c['status'] == 'True' for c in status.get('conditions', []))
            allowed = (stopped or not status.get('startTime')) and not status.get('active')
        else:
            allowed = not status.get('startTime')
        if not allowed:
            raise _refusal(422, 'Invalid', 'spec.template: field is immutable: the Job has not stopped')

    def _update(self, name: Name, before: bytes, obj: Object, *, manager: str) -> bytes:
        old = msgspec.json.decode(before)
        if old == obj:
            return before
        if old.get('spec') != obj.get('spec'):
            obj['metadata']['generation'] += 1
            if name.plural == 'jobs':
                self._note(obj, manager, old['spec'].get('template') or {}, obj['spec'].get('template') or {})
        return self._store(name, before, obj)

    def _note(self, obj: Object, manager: str, old: Object, new: Object) -> None:
        owners = self._owners.setdefault(obj['metadata']['uid'], fields.Owners())
        owners.wrote(manager, {'spec': {'template': old}}, {'spec': {'template': new}})
        obj['metadata']['managedFields'] = owners.entries()

    def _store(self, name: Name, before: bytes | None, obj: Object) -> bytes:
        self.version += 1
        obj['metadata']['resourceVersion'] = str(self.version)
        raw = msgspec.json.encode(obj)
        self._objects[name], self._decoded[name] = raw, obj
        self._tell(Change(self.version, name, before, raw, is_deletion=False))
        return raw

    def _remove(self, name: Name) -> bytes:
        self.version += 1
        before = self._objects.pop(name)
        del self._decoded[name]
        obj = msgspec.json.decode(before)
        obj['metadata']['resourceVersion'] = str(self.version)
        self._tell(Change(self.version, name, before, msgspec.json.encode(obj), is_deletion=True))
        return b'{"kind":"Status","status":"Success"}'

    def _tell(self, change: Change) -> None:
        self.log[change.name.plural].append(change)
        for watcher in self.watchers:
            watcher(change)


def merged(target: Object, patch: Mapping[str, Any]) -> Object:
    """RFC 7386."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            result[key] = value
    return result


def _edited(target: Object, operations: list[Object], name: Name) -> Object:
    """RFC 6902, as much of it as is sent: test and replace."""
    edited: Object = msgspec.json.decode(msgspec.json.encode(target))
    for operation in operations:
        *path, last = [int(step) if step.isdecimal() else step for step in operation['path'].split('/')[1:]]
        place: Any = edited
        for step in path:
            place = place[step]
        if operation['op'] == 'replace':
            place[last] = operation['value']
        elif place[last] != operation['value']:
            raise _refusal(422, 'Invalid', f'{name.plural} "{name.name}": {operation["path"]} is something else')
    return edited


def owner_uid(obj: Object) -> str | None:
    """Who controls an object."""
    owners = obj['metadata'].get('ownerReferences', [])
    return next((owner['uid'] for owner in owners if owner.get('controller')), None)


def _check(sent: Object, stored: Object, name: Name) -> None:
    for key in ('uid', 'resourceVersion'):
        wanted = (sent.get('metadata') or {}).get(key)
        if wanted not in (None, stored['metadata'][key]):
            raise _refusal(409, 'Conflict', f'{name.plural} "{name.name}": {key} is not {wanted} any more')


def _add_job_labels(job: Object) -> None:
    """What the server gives each Job so that its pods are found."""
    own = {'batch.kubernetes.io/controller-uid': job['metadata']['uid'], 'job-name': job['metadata']['name']}
    template = job['spec'].setdefault('template', {})
    template['metadata'] = template.get('metadata') or {}
    template['metadata']['labels'] = (template['metadata'].get('labels') or {}) | own


def _refusal(code: int, reason: str, message: str) -> errors.ApiError:
    status = errors.Status(status='Failure', reason=reason, message=message, code=code)
    return errors.from_status(status, where='simulated API')
