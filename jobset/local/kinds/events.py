"""Events, served in two groups: what is written through one is read through the other.

They are stored as those of the core group.
"""

import datetime
from collections.abc import Callable
from typing import Any, Final

from jobset.local import resources, schemas
from jobset.local.kinds import cells, checks, faults, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

_TEXT_MOST: Final = 128
_NOTE_MOST: Final = 1024

_NAMES: Final = {
    'regarding': 'involvedObject',
    'note': 'message',
    'reportingController': 'reportingComponent',
    'deprecatedSource': 'source',
    'deprecatedFirstTimestamp': 'firstTimestamp',
    'deprecatedLastTimestamp': 'lastTimestamp',
    'deprecatedCount': 'count',
}
"""The fields of ``events.k8s.io/v1`` that core/v1 calls differently."""

_CORE_NAMES: Final = {core: name for name, core in _NAMES.items()}
_ALWAYS_IN_CORE: Final = ('reportingComponent', 'reportingInstance')
_FIXED: Final = (
    *('involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'type', 'eventTime'),
    *('action', 'related', 'reportingController', 'reportingInstance'),
)
_UNWANTED: Final = ('firstTimestamp', 'lastTimestamp', 'count', 'source')


def inward(event: Object) -> Object:
    """An event of ``events.k8s.io/v1`` as it is stored."""
    made = {_NAMES.get(key, key): value for key, value in event.items()} | {'apiVersion': 'v1'}
    for key in _ALWAYS_IN_CORE:
        made.setdefault(key, '')
    made.setdefault('source', {})
    return made


def outward(event: Object) -> Object:
    """A stored event as one of ``events.k8s.io/v1``."""
    made = {_CORE_NAMES.get(key, key): value for key, value in event.items()} | {'apiVersion': 'events.k8s.io/v1'}
    for key in ('reportingController', 'reportingInstance'):
        if not made.get(key):
            made.pop(key, None)
    if not made.get('regarding'):
        made.pop('regarding', None)
    return made


class Rules(typed.Rules):
    """Of events of the core group: they are taken as they come."""

    shape = 'core.Event'
    has_generation = False
    has_status = False
    controller_field = 'reportingComponent'

    def stored(self, obj: Object) -> Object:
        """The event with the names of the core group."""
        return obj

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes that count in both groups."""
        event = self.stored(obj)
        namespace = event['metadata'].get('namespace', '')
        about = (event.get('involvedObject') or {}).get('namespace', '')
        alien = faults.invalid('involvedObject.namespace', about, 'does not match event.namespace')
        if not event.get('eventTime'):
            return [alien] if about != namespace and (about or namespace not in ('', 'default')) else []
        causes = [alien] if not about and namespace not in ('default', 'kube-system') else []
        controller = event.get('reportingComponent', '')
        if not controller:
            causes.append(faults.required(self.controller_field))
        causes += faults.each_invalid(self.controller_field, controller, checks.qualified_name(controller))
        for key in ('reportingInstance', 'action', 'reason'):
            text = event.get(key, '')
            if not text:
                causes.append(faults.required(key))
            causes += _short(key, text, _TEXT_MOST)
        return causes + _short('message', event.get('message', ''), _NOTE_MOST)


class NewRules(Rules):
    """Of events of ``events.k8s.io``: fields of before are not to be set, and only a series may go on."""

    shape = 'events.Event'
    controller_field = 'reportingController'

    def stored(self, obj: Object) -> Object:
        """The event with the names of the core group."""
        return inward(obj)

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new event."""
        event = inward(obj)
        causes = super().validate(obj) + _series(event)
        if not event.get('eventTime'):
            causes.append(faults.required('eventTime'))
        if (type_ := event.get('type', '')) not in ('Normal', 'Warning'):
            causes.append(faults.invalid('type', '', f'has invalid value: {type_}'))
        return causes + [faults.invalid(key, '', 'needs to be unset') for key in _UNWANTED if event.get(key)]

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the change."""
        event, before = inward(obj), inward(old)
        causes = super().validate(obj)
        if event.get('series') != before.get('series'):
            causes += _series(event)
        for key in _FIXED:
            stored = _NAMES.get(key, key)
            causes += faults.unchanged(key, event.get(stored), before.get(stored))
        return causes


def _short(path: str, text: str, most: int) -> list[Cause]:
    if len(text.encode()) <= most:
        return []
    return [faults.invalid(path, '', f'can have at most {most} characters')]


def _series(event: Object) -> list[Cause]:
    series = event.get('series')
    if series is None:
        return []
    causes = [] if series.get('count', 0) >= 2 else [faults.invalid('series.count', '', 'should be at least 2')]
    if not series.get('lastObservedTime'):
        causes.append(faults.required('series.lastObservedTime'))
    return causes


def _first(event: Object, now: datetime.datetime) -> str:
    return cells.since(event.get('firstTimestamp') or event.get('eventTime'), now)


def _last(event: Object, now: datetime.datetime) -> str:
    if series := event.get('series'):
        return cells.since(series.get('lastObservedTime'), now)
    return cells.since(event.get('lastTimestamp'), now) if event.get('lastTimestamp') else _first(event, now)


def _target(event: Object, _: datetime.datetime) -> str:
    about = event.get('involvedObject') or {}
    kind, name = str(about.get('kind', '')).lower(), about.get('name')
    return f'{kind}/{name}' if name else kind


def _source(event: Object, _: datetime.datetime) -> str:
    source = event.get('source') or {}
    component = source.get('component') or event.get('reportingComponent') or ''
    instance = source.get('host') or event.get('reportingInstance') or ''
    return f'{component}, {instance}' if instance else component


def _count(event: Object, _: datetime.datetime) -> int:
    return int((event.get('series') or event).get('count') or 1)


def _columns(stored: Callable[[Object], Object]) -> tuple[Column, ...]:
    def of(cell: Callable[[Object, datetime.datetime], object]) -> Callable[[Object, datetime.datetime], object]:
        return lambda obj, now: cell(stored(obj), now)

    return (
        Column('Last Seen', of(_last)),
        Column('Type', lambda obj, _: obj.get('type', '')),
        Column('Reason', lambda obj, _: obj.get('reason', '')),
        Column('Object', of(_target)),
        Column('Subobject', of(lambda obj, _: (obj.get('involvedObject') or {}).get('fieldPath', '')), priority=1),
        Column('Source', of(_source), priority=1),
        Column('Message', of(lambda obj, _: obj.get('message', '').strip())),
        Column('First Seen', of(_first), priority=1),
        Column('Count', of(_count), priority=1),
        Column('Name', cells.NAME.cell, format='name', priority=1),
    )


def _selectable(about: str, source: str, component: str) -> dict[str, Callable[[Object], str]]:
    def field(outer: str, key: str) -> Callable[[Object], str]:
        return lambda obj: str((obj.get(outer) or {}).get(key) or '')

    keys = ('kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath')
    found: dict[str, Callable[[Object], str]] = {f'{about}.{key}': field(about, key) for key in keys}
    found['reason'] = lambda obj: str(obj.get('reason') or '')
    found['type'] = lambda obj: str(obj.get('type') or '')
    found[component] = lambda obj: str(obj.get(component) or '')
    found['source'] = lambda obj: str((obj.get(source) or {}).get('component') or obj.get(component) or '')
    return found


def _kind(rules: Rules, **values: Any) -> resources.Kind:
    return resources.Kind(
        version='v1',
        plural='events',
        singular='event',
        kind='Event',
        short_names=('ev',),
        subresources=frozenset(),
        rules=rules,
        columns=_columns(rules.stored),
        **values,
    )


def core() -> resources.Kind:
    """Events of the core group."""
    return _kind(
        Rules(),
        group='',
        schema=schemas.builtin('', 'v1', 'Event'),
        selectable=_selectable('involvedObject', 'source', 'reportingComponent'),
    )


def new() -> resources.Kind:
    """Events of ``events.k8s.io``: the same objects."""
    return _kind(
        NewRules(),
        group='events.k8s.io',
        storage='events',
        conversion=resources.Conversion(inward, outward),
        schema=schemas.builtin('events.k8s.io', 'v1', 'Event'),
        selectable=_selectable('regarding', 'deprecatedSource', 'reportingController'),
    )
