"""CustomResourceDefinitions: completed, judged, established, and turned into kinds.

Source: Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions"; texts and conditions as
kube-apiserver 1.37 gives them.
"""

import copy
import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from jobset.local import objects, resources
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.schemas import columns, custom, jsonpaths, structural, structure

_LABEL: Final = re.compile('[a-z]([-a-z0-9]{0,61}[a-z0-9])?')
_LABEL_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_MIXED_TEXT: Final = f'may have mixed case, but should otherwise match: {_LABEL_TEXT}'
_GROUP: Final = re.compile(r'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
_COLUMN_TYPES: Final = ('boolean', 'date', 'integer', 'number', 'string')
_STEP: Final = re.compile(r'\.([^.\[\]]+)')


def default(definition: Object) -> None:
    """Fill in what a definition need not say, in place."""
    spec = definition.get('spec') or {}
    names = spec.get('names') or {}
    if names.get('kind'):
        if not names.get('singular'):
            names['singular'] = names['kind'].lower()
        if not names.get('listKind'):
            names['listKind'] = f'{names["kind"]}List'
    if 'conversion' not in spec:
        spec['conversion'] = {'strategy': 'None'}


def validate_crd(definition: Object, old: Object | None = None) -> list[Cause]:
    """Mistakes of a definition, as kube-apiserver words them; with ``old`` also those of the change."""
    spec = definition.get('spec') or {}
    causes = [*_name_mistakes(definition, spec), *_spec_mistakes(spec), *_version_mistakes(spec)]
    if old is not None and _condition(old, 'Established') == 'True':
        causes.extend(_change_mistakes(spec, old.get('spec') or {}))
    return causes


def establish(definition: Object, now: datetime.datetime, others: Sequence[Object] = ()) -> Object:
    """The definition with the status that says it is served: accepted names, conditions, stored versions.

    ``others`` are the definitions that are there already: a name taken by one of them is not accepted, and the
    definition not established. Times of conditions that were so before stay.
    """
    made = copy.deepcopy(definition)
    spec, status = made['spec'], made.setdefault('status', {})
    taken = _taken(definition, others)
    accepted, conflict = _accepted(spec['names'], status.get('acceptedNames') or {}, taken)
    status['acceptedNames'] = accepted
    conditions = status.setdefault('conditions', [])
    if conflict:
        _set(conditions, now, 'NamesAccepted', 'False', conflict)
    else:
        _set(conditions, now, 'NamesAccepted', 'True', ('NoConflicts', 'no conflicts found'))
    if _condition(made, 'Established') != 'True':
        if conflict:
            _set(conditions, now, 'Established', 'False', ('NotAccepted', 'not all names are accepted'))
        else:
            text = 'the initial names have been accepted'
            _set(conditions, now, 'Established', 'True', ('InitialNamesAccepted', text))
    stored = status.get('storedVersions') or []
    current = storage_version(definition)
    status['storedVersions'] = stored if current in stored else [*stored, current]
    return made


def storage_version(definition: Object) -> str:
    """The version that objects are stored in; empty when there is none."""
    return next((version['name'] for version in definition['spec']['versions'] if version.get('storage')), '')


def kinds(definition: Object) -> Sequence[resources.Kind]:
    """One kind for each served version."""
    spec = definition['spec']
    return [_kind(spec, version) for version in spec['versions'] if version.get('served')]


def _kind(spec: Object, version: Object) -> resources.Kind:
    names = spec['names']
    subresources = version.get('subresources') or {}
    rules = _Rules(has_status='status' in subresources)
    return resources.Kind(
        group=spec['group'],
        version=version['name'],
        plural=names['plural'],
        singular=names.get('singular') or names['kind'].lower(),
        kind=names['kind'],
        namespaced=spec['scope'] == 'Namespaced',
        short_names=tuple(names.get('shortNames') or ()),
        categories=tuple(names.get('categories') or ()),
        subresources=frozenset({'status'} & subresources.keys()),
        rules=rules,
        columns=columns.columns(version),
        schema=custom.Custom(names['kind'], version['name'], version['schema']['openAPIV3Schema']),
        selectable={
            each['jsonPath'].removeprefix('.'): _selector(each['jsonPath'])
            for each in version.get('selectableFields') or ()
        },
    )


class _Rules(resources.Rules):
    """Custom resources have no rules beyond their schema."""

    def __init__(self, *, has_status: bool) -> None:
        self.has_status = has_status


def _selector(path: str) -> Callable[[Object], str]:
    compiled = jsonpaths.compile(path)

    def value(obj: Object) -> str:
        found = compiled(obj)
        if not found or found[0] is None:
            return ''
        return found[0] if isinstance(found[0], str) else structure.shown(found[0])

    return value


def _name_mistakes(definition: Object, spec: Object) -> Iterator[Cause]:
    names = spec.get('names') or {}
    name = objects.name(definition)
    if name != f'{names.get("plural", "")}.{spec.get("group", "")}':
        yield _invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group')


def _spec_mistakes(spec: Object) -> Iterator[Cause]:
    group = spec.get('group')
    if not group:
        yield _required('spec.group')
    elif '.' not in group:
        yield _invalid('spec.group', group, 'should be a domain with at least one dot')
    elif not _GROUP.fullmatch(group):
        yield _invalid(
            'spec.group',
            group,
            'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
            "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        )
    scope = spec.get('scope')
    if not scope:
        yield _required('spec.scope')
    elif scope not in ('Cluster', 'Namespaced'):
        text = f'Unsupported value: "{scope}": supported values: "Cluster", "Namespaced"'
        yield Cause('spec.scope', text, 'FieldValueNotSupported')
    yield from _names_mistakes(spec.get('names') or {})
    if spec.get('preserveUnknownFields'):
        text = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'
        yield _invalid('spec.preserveUnknownFields', True, text)
    conversion = spec.get('conversion') or {}
    if conversion.get('strategy') == 'Webhook':
        webhook = conversion.get('webhook') or {}
        if not webhook.get('clientConfig'):
            yield _required('spec.conversion.webhookClientConfig', 'required when strategy is set to Webhook')
        if not webhook.get('conversionReviewVersions'):
            yield _required('spec.conversion.conversionReviewVersions')


def _names_mistakes(names: Object) -> Iterator[Cause]:
    for key, text in (
        ('plural', _LABEL_TEXT),
        ('singular', _LABEL_TEXT),
        ('kind', _MIXED_TEXT),
        ('listKind', _MIXED_TEXT),
    ):
        value = names.get(key)
        if not value:
            yield _required(f'spec.names.{key}')
        elif not _LABEL.fullmatch(value if text is _LABEL_TEXT else value.lower()):
            yield _invalid(f'spec.names.{key}', value, text)
    for index, name in enumerate(names.get('shortNames') or ()):
        if not _LABEL.fullmatch(name):
            yield _invalid(f'spec.names.shortNames[{index}]', name, _LABEL_TEXT)
    if names.get('kind') and names.get('kind') == names.get('listKind'):
        yield _invalid('spec.names.listKind', names['listKind'], 'kind and listKind may not be the same')
    for index, name in enumerate(names.get('categories') or ()):
        if not _LABEL.fullmatch(name):
            yield _invalid(f'spec.names.categories[{index}]', name, _LABEL_TEXT)


def _version_mistakes(spec: Object) -> Iterator[Cause]:
    versions = spec.get('versions') or []
    for index, version in enumerate(versions):
        if not _LABEL.fullmatch(version.get('name') or ''):
            yield _invalid(f'spec.versions[{index}].name', version.get('name', ''), _LABEL_TEXT)
            if index == 0:
                yield _invalid('spec.version', version.get('name', ''), _LABEL_TEXT)
    if len({version.get('name') for version in versions}) != len(versions):
        yield Cause('spec.versions', f'Invalid value: {_internal(versions)}: must contain unique version names')
    stored = [version.get('name', '') for version in versions if version.get('storage')]
    if len(stored) != 1:
        text = 'must have exactly one version marked as storage version'
        yield Cause('spec.versions', f'Invalid value: {_internal(versions)}: {text}')
    if not stored:
        yield Cause('status.storedVersions', 'Invalid value: null: must have at least one stored version')
    elif len(stored) > 1:
        yield _invalid('status.storedVersions', stored[:1], f'must have the storage version {stored[-1]}')
    same = len(versions) == 1 or all(_parts(version) == _parts(versions[0]) for version in versions)
    for index, version in enumerate(versions[:1] if same else versions):
        yield from _schema_mistakes(version, index, '' if same else f'spec.versions[{index}].schema')
        yield from _part_mistakes(version, 'spec' if same else f'spec.versions[{index}]')


def _parts(version: Object) -> tuple[Any, ...]:
    return tuple(version.get(key) for key in ('schema', 'additionalPrinterColumns', 'subresources'))


def _internal(versions: Sequence[Object]) -> str:
    """Versions as the server's own structs show them; what all have in common stands elsewhere there."""
    keys = (
        'Deprecated',
        'DeprecationWarning',
        'Schema',
        'Subresources',
        'AdditionalPrinterColumns',
        'SelectableFields',
    )
    shown = [
        {'Name': each.get('name', ''), 'Served': bool(each.get('served')), 'Storage': bool(each.get('storage'))}
        | {key: False if key == 'Deprecated' else None for key in keys}
        for each in versions
    ]
    return json.dumps(shown, separators=(',', ':'))


def _schema_mistakes(version: Object, index: int, path: str) -> Iterator[Cause]:
    schema = (version.get('schema') or {}).get('openAPIV3Schema')
    if schema is None:
        yield _required(f'spec.versions[{index}].schema.openAPIV3Schema')
        return
    yield from structural.mistakes(schema, f'{path or "spec.validation"}.openAPIV3Schema')


def _part_mistakes(version: Object, path: str) -> Iterator[Cause]:
    for index, column in enumerate(version.get('additionalPrinterColumns') or ()):
        where = f'{path}.additionalPrinterColumns[{index}]'
        if not column.get('name'):
            yield _required(f'{where}.name')
        if not column.get('type'):
            yield _required(f'{where}.type', f'must be one of {",".join(_COLUMN_TYPES)}')
        elif column['type'] not in _COLUMN_TYPES:
            yield _invalid(f'{where}.type', column['type'], f'must be one of {",".join(_COLUMN_TYPES)}')
        yield from _path_mistakes(column.get('jsonPath') or '', f'{where}.JSONPath')
    for index, field in enumerate(version.get('selectableFields') or ()):
        if not _is_field(field.get('jsonPath') or '', (version.get('schema') or {}).get('openAPIV3Schema') or {}):
            text = 'is an invalid path: does not refer to a valid field'
            yield _invalid(f'{path}.selectableFields[{index}].jsonPath', field.get('jsonPath'), text)
    scale = (version.get('subresources') or {}).get('scale') or {}
    for key in ('specReplicasPath', 'statusReplicasPath'):
        if scale and not str(scale.get(key, '')).startswith('.'):
            where = f'{path}.subresources.scale.{key}'
            yield _invalid(where, scale.get(key, ''), 'must be a simple json path starting with .')


def _path_mistakes(path: str, where: str) -> Iterator[Cause]:
    if not path:
        yield _required(where)
    elif not path.startswith('.'):
        yield _invalid(where, path, 'must be a simple json path starting with .')
    else:
        try:
            jsonpaths.compile(path)
        except jsonpaths.PathError as error:
            yield _invalid(where, path, f'is an invalid json path: {error}')


def _is_field(path: str, schema: Mapping[str, Any]) -> bool:
    names = _STEP.findall(path)
    if not names or ''.join(f'.{name}' for name in names) != path:
        return False
    for name in names:
        properties = schema.get('properties') or {}
        if name not in properties:
            return False
        schema = properties[name]
    return schema.get('type') in ('boolean', 'integer', 'string')


def _change_mistakes(spec: Object, old: Object) -> Iterator[Cause]:
    """What may not change any more once the kind is served."""
    for path in (('scope',), ('names', 'kind'), ('names', 'plural'), ('group',)):
        new_value: Any = spec
        old_value: Any = old
        for key in path:
            new_value, old_value = (new_value or {}).get(key), (old_value or {}).get(key)
        if new_value != old_value:
            yield _invalid(f'spec.{".".join(path)}', new_value, 'field is immutable')


def _taken(definition: Object, others: Sequence[Object]) -> dict[str, str]:
    """Names of the group that other definitions hold, with the definition that holds them."""
    group, own = definition['spec']['group'], objects.name(definition)
    taken = {}
    for other in others:
        if other['spec']['group'] == group and objects.name(other) != own:
            names = (other.get('status') or {}).get('acceptedNames') or {}
            held = [names.get('plural'), names.get('singular'), names.get('kind'), names.get('listKind')]
            taken.update({name: objects.name(other) for name in (*held, *(names.get('shortNames') or ())) if name})
    return taken


def _accepted(wanted: Object, before: Object, taken: Mapping[str, str]) -> tuple[Object, tuple[str, str] | None]:
    """The accepted names, and a reason and a message when not all could be accepted."""
    accepted: Object = {}
    conflict: tuple[str, str] | None = None
    for key in ('plural', 'singular', 'shortNames', 'kind', 'listKind', 'categories'):
        value = wanted.get(key)
        if not value:
            continue
        names = value if key == 'shortNames' else [value]
        clash = next((name for name in names if key != 'categories' and name in taken), None)
        if clash is None:
            accepted[key] = value
            continue
        if before.get(key):
            accepted[key] = before[key]
        reason = {'shortNames': 'ShortNamesConflict'}.get(key, f'{key[0].upper()}{key[1:]}Conflict')
        conflict = (reason, f'"{clash}" is already in use')
    return accepted, conflict


def _condition(definition: Object, kind: str) -> str:
    conditions = (definition.get('status') or {}).get('conditions') or ()
    return next((str(each['status']) for each in conditions if each['type'] == kind), '')


def _set(conditions: list[Object], now: datetime.datetime, kind: str, status: str, why: tuple[str, str]) -> None:
    reason, message = why
    new = {'type': kind, 'status': status, 'lastTransitionTime': objects.stamp(now)}
    new |= {'reason': reason, 'message': message}
    for index, each in enumerate(conditions):
        if each['type'] == kind:
            if each['status'] == status:
                new['lastTransitionTime'] = each['lastTransitionTime']
            conditions[index] = new
            return
    conditions.append(new)


def _required(path: str, text: str = '') -> Cause:
    return Cause(path, f'Required value: {text}' if text else 'Required value', 'FieldValueRequired')


def _invalid(path: str, value: Any, text: str) -> Cause:
    return Cause(path, f'Invalid value: {structure.shown(value)}: {text}')
