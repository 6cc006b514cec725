"""The metadata of an object, whatever its kind: made for new ones, kept for changed ones, judged for both.

Source: Kubernetes API conventions, "Metadata"; error texts as kube-apiserver gives them.
"""

import datetime
import functools
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from jobset.api.validation import names
from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind

_SUFFIX_CHARACTERS: Final = 'bcdfghjklmnpqrstvwxz2456789'
"""Without vowels, so that no words come out, and without what is read as another one."""

_SUFFIX_LENGTH: Final = 5
_MAX_BASE: Final = 63 - _SUFFIX_LENGTH

_STANDARD_FINALIZERS: Final = frozenset({'kubernetes', 'orphan', 'foregroundDeletion'})

_ANNOTATION_BYTES: Final = 256 * 1024

_QUALIFIED: Final = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
_LABEL: Final = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'

label_value: Final = names.label_value


def random_suffix() -> str:
    """What follows ``generateName``."""
    return ''.join(secrets.choice(_SUFFIX_CHARACTERS) for _ in range(_SUFFIX_LENGTH))


def generate_name(base: str) -> str:
    """A name that starts with ``base``, which is cut so that the name is a DNS label."""
    return base[:_MAX_BASE] + random_suffix()


def prepare_create(kind: Kind, obj: Object, namespace: str, now: datetime.datetime) -> None:
    """What a new object gets, and may not bring."""
    found = objects.metadata(obj)
    for key in ('deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'resourceVersion', 'generation'):
        found.pop(key, None)
    if namespace:
        found['namespace'] = namespace
    else:
        found.pop('namespace', None)
    found['uid'] = objects.new_uid()
    found['creationTimestamp'] = objects.stamp(now)
    if kind.rules.has_generation:
        found['generation'] = 1
    if not found.get('name') and found.get('generateName'):
        found['name'] = generate_name(str(found['generateName']))


def prepare_update(kind: Kind, obj: Object, old: Object) -> None:
    """What an update keeps whether it is sent or not."""
    new, before = objects.metadata(obj), objects.metadata(old)
    new['creationTimestamp'] = before['creationTimestamp']
    # Clients that send none mean no change; those that send another one are told.
    for key in ('uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'):
        if not new.get(key) and key in before:
            new[key] = before[key]
    new.pop('selfLink', None)
    if kind.rules.has_generation and 'generation' in before:
        new['generation'] = before['generation']
    else:
        new.pop('generation', None)
    if before.get('generateName'):
        new['generateName'] = before['generateName']
    if 'namespace' in before:
        new['namespace'] = before['namespace']
    new['resourceVersion'] = before['resourceVersion']
    if 'managedFields' not in new and 'managedFields' in before:
        new['managedFields'] = before['managedFields']


def validate_create(kind: Kind, obj: Object, *, is_custom: bool) -> list[Cause]:
    """Mistakes in the metadata of a new object."""
    found = objects.metadata(obj)
    judge = _name_judge(kind)
    causes: list[Cause] = []
    generate = str(found.get('generateName') or '')
    if generate:
        # It may end in the middle of a label: what is made of it goes on there.
        causes += [_invalid('metadata.generateName', generate, reason) for reason in judge(_masked(generate))]
    name = str(found.get('name') or '')
    if not name:
        causes.append(Cause('metadata.name', 'Required value: name or generateName is required', 'FieldValueRequired'))
    else:
        causes += [_invalid('metadata.name', name, reason) for reason in judge(name)]
    return causes + _validate(found) + ([] if is_custom else _kube_finalizers(found))


_IMMUTABLE: Final = ('name', 'namespace', 'uid', 'deletionTimestamp', 'deletionGracePeriodSeconds')
_JUDGED: Final = frozenset({'labels', 'annotations', 'ownerReferences', 'finalizers'})


def validate_update(obj: Object, old: Object, *, is_custom: bool) -> list[Cause]:
    """Mistakes in changed metadata."""
    new, before = objects.metadata(obj), objects.metadata(old)
    changed = {key for key in new.keys() | before.keys() if new.get(key) != before.get(key)}
    immutable = [
        _invalid(f'metadata.{key}', new.get(key), 'field is immutable') for key in _IMMUTABLE if key in changed
    ]
    causes = (_new_finalizers(new, before) + immutable) * (2 if is_custom else 1)
    if changed.isdisjoint(_JUDGED):
        return causes
    if is_custom:
        return causes + _validate_owned(new) * 3 + _finalizers(new.get('finalizers') or ())
    return _validate(new) + causes + _kube_finalizers(new)


def qualified_name(text: str) -> list[str]:
    """The reasons against a label key, an annotation key or a finalizer; none when it is fine."""
    if _FINE_KEY.fullmatch(text):
        return []
    prefix, slash, name = text.rpartition('/')
    reasons: list[str] = []
    if '/' in prefix:
        return [
            _rule('a valid label key', "'-', '_' or '.'")
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if slash:
        if not prefix:
            reasons.append('prefix part must be non-empty')
        else:
            reasons += [f'prefix part {reason}' for reason in names.dns_1123_subdomain(prefix)]
    if not name:
        reasons.append('name part must be non-empty')
    elif len(name) > names.LABEL_MOST:
        reasons.append('name part must be no more than 63 bytes')
    if not re.fullmatch(_QUALIFIED, name):
        reasons.append(_rule('name part', "'-', '_' or '.'"))
    return reasons


_FINE_KEY: Final = re.compile(rf'(?:(?=[^/]{{1,253}}/){_LABEL}(?:\.{_LABEL})*/)?(?=[^/]{{1,63}}$){_QUALIFIED}')
_FINE_NAME: Final = re.compile(rf'(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*')
_FINE_VALUE: Final = re.compile(r'(?=.{0,63}$)(?:(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')


@functools.lru_cache(maxsize=4096)
def _is_fine_key(key: str) -> bool:
    # The same few keys come with every object.
    return _FINE_KEY.fullmatch(key) is not None


@functools.lru_cache(maxsize=4096)
def _is_fine_value(value: str) -> bool:
    return _FINE_VALUE.fullmatch(value) is not None


def _rule(what: str, others: str) -> str:
    return (
        f'{what} must consist of alphanumeric characters, {others}, and must start and end with an alphanumeric '
        f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
    )


def _name_judge(kind: Kind) -> Callable[[str], Sequence[str]]:
    if not kind.group and kind.plural in ('namespaces', 'services'):
        return dns_1123_label
    return _subdomain


def _subdomain(text: str) -> Sequence[str]:
    return () if _FINE_NAME.fullmatch(text) else names.dns_1123_subdomain(text)


def dns_1123_label(text: str) -> list[str]:
    """The reasons against a label of a host name; none when it is fine."""
    if '.' in text:
        return ['must not contain dots']
    reasons = []
    if len(text) > names.LABEL_MOST:
        reasons.append(f'must be no more than {names.LABEL_MOST} characters')
    if not re.fullmatch(_LABEL, text):
        reasons.append(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            f"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
            f"'{_LABEL}')"
        )
    return reasons


def _masked(base: str) -> str:
    return base[:-1] + 'a' if len(base) > 1 and base.endswith('-') else base


def _validate(found: Object) -> list[Cause]:
    return _validate_owned(found) + _finalizers(found.get('finalizers') or ())


def _validate_owned(found: Object) -> list[Cause]:
    """Mistakes that the real server tells three times of a changed custom object, once for each who looks at it."""
    causes: list[Cause] = []
    for key, value in (found.get('labels') or {}).items():
        if not _is_fine_key(key):
            causes += [_invalid('metadata.labels', key, reason) for reason in qualified_name(key)]
        if not _is_fine_value(value or ''):
            causes += [_invalid('metadata.labels', value, reason) for reason in label_value(value)]
    causes += _annotations(found.get('annotations') or {})
    return causes + _owners(found.get('ownerReferences') or ())


def _finalizers(finalizers: Sequence[str]) -> list[Cause]:
    causes: list[Cause] = []
    for name in finalizers:
        if not _is_fine_key(name):
            causes += [_invalid('metadata.finalizers', name, reason) for reason in qualified_name(name)]
    if 'orphan' in finalizers and 'foregroundDeletion' in finalizers:
        reason = 'finalizer orphan and foregroundDeletion cannot be both set'
        causes.append(Cause('metadata.finalizers', f'Invalid value: {_shown(finalizers)}: {reason}'))
    return causes


def _kube_finalizers(found: Object) -> list[Cause]:
    """What is demanded of finalizers of built-in kinds only."""
    reason = 'name is neither a standard finalizer name nor is it fully qualified'
    return [
        _invalid(f'metadata.finalizers[{place}]', name, reason)
        for place, name in enumerate(found.get('finalizers') or ())
        if '/' not in name and name not in _STANDARD_FINALIZERS
    ]


def _annotations(annotations: Object) -> list[Cause]:
    causes: list[Cause] = []
    size = 0
    for key, value in annotations.items():
        if not _is_fine_key(key):
            # Upper case is allowed here, for the sake of old ones.
            causes += [_invalid('metadata.annotations', key, reason) for reason in qualified_name(key.lower())]
        size += len(key) + len(value or '')
    if size > _ANNOTATION_BYTES:
        text = f'Too long: may not be more than {_ANNOTATION_BYTES} bytes'
        causes.append(Cause('metadata.annotations', text, 'FieldValueTooLong'))
    return causes


def _owners(owners: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    controllers = 0
    for place, owner in enumerate(owners):
        path = f'metadata.ownerReferences[{place}]'
        causes += [
            Cause(f'{path}.{key}', 'Required value: must not be empty', 'FieldValueRequired')
            for key in ('apiVersion', 'kind', 'name', 'uid')
            if not owner.get(key)
        ]
        if (owner.get('apiVersion'), owner.get('kind')) == ('v1', 'Event'):
            text = '/v1, Kind=Event is disallowed from being an owner'
            causes.append(Cause(path, f'Invalid value: {_shown(_owner(owner))}: {text}'))
        controllers += bool(owner.get('controller'))
    if controllers > 1:
        text = 'Only one reference can have Controller set to true. Found "true" in references for '
        names = ' and '.join(f'{owner["kind"]}/{owner["name"]}' for owner in owners if owner.get('controller'))
        shown = _shown([_owner(owner) for owner in owners])
        causes.append(Cause('metadata.ownerReferences', f'Invalid value: {shown}: {text}{names}'))
    return causes


_OWNER_KEYS: Final = ('apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion')


def _owner(owner: Object) -> Object:
    """A reference as a Go struct shows it."""
    return {key: owner.get(key, '') for key in _OWNER_KEYS if key in owner or key in _OWNER_KEYS[:4]}


def warnings(obj: Object, old: Object | None = None) -> list[str]:
    """What is to be said of the metadata of a custom object that is taken, or of what is new in it."""
    text = 'prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers'
    before = objects.metadata(old).get('finalizers') or () if old is not None else ()
    return [
        f'metadata.finalizers: "{name}": {text}'
        for name in objects.metadata(obj).get('finalizers') or ()
        if '/' not in name and name not in _STANDARD_FINALIZERS and name not in before
    ]


def dedupe_owners(obj: Object, said: list[str], *, when: str = '') -> None:
    """Drop owner references that are there already, in place, and tell it."""
    found = objects.metadata(obj)
    owners = found.get('ownerReferences') or ()
    if len(owners) < 2:
        return
    kept: list[Object] = []
    doubles: list[str] = []
    for owner in owners:
        if owner in kept:
            doubles.append(str(owner.get('uid', '')))
        else:
            kept.append(owner)
    if doubles:
        found['ownerReferences'] = kept
        said.append(
            f'.metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, '
            'and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: '
            + ', '.join(doubles)
        )


AFTER_ADMISSION: Final = ' after mutating admission happens'


def _new_finalizers(new: Object, before: Object) -> list[Cause]:
    if not before.get('deletionTimestamp'):
        return []
    added = sorted(set(new.get('finalizers') or ()) - set(before.get('finalizers') or ()))
    if not added:
        return []
    shown = ', '.join(f'"{one}"' for one in added)
    text = (
        'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers '
        f'[]string{{{shown}}}'
    )
    return [Cause('metadata.finalizers', text, 'FieldValueForbidden')]


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _invalid(field: str, value: object, reason: str) -> Cause:
    shown = 'null' if value is None else f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(field, f'Invalid value: {shown}: {reason}')


def demand_fresh(kind: Kind, obj: Object, old: Object) -> bool:
    """Refuse an update that was made for another state; whether the update names a state at all."""
    version = objects.metadata(obj).get('resourceVersion')
    if not version:
        return False
    if str(version) != objects.metadata(old)['resourceVersion']:
        raise modified(kind, objects.name(old))
    return True


def modified(kind: Kind, name: str) -> Problem:
    """Somebody else was faster."""
    why = 'the object has been modified; please apply your changes to the latest version and try again'
    return Problem.conflict(kind.plural, kind.group, name, why)
