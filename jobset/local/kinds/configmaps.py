"""ConfigMaps and Secrets: what holds keys and values."""

import base64
import binascii
from typing import Final

from jobset.local import resources, schemas
from jobset.local.kinds import cells, checks, faults, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

SIZE_MOST: Final = 1024 * 1024
_SEALED: Final = 'field is immutable when `immutable` is set'
_NEEDED: Final = {
    'kubernetes.io/dockercfg': ('.dockercfg',),
    'kubernetes.io/dockerconfigjson': ('.dockerconfigjson',),
    'kubernetes.io/ssh-auth': ('ssh-privatekey',),
    'kubernetes.io/tls': ('tls.crt', 'tls.key'),
}
"""The keys that Secrets of a type must have."""

_ACCOUNT_NAME: Final = 'kubernetes.io/service-account.name'


class ConfigMapRules(typed.Rules):
    """Of ConfigMaps."""

    shape = 'core.ConfigMap'
    has_generation = False
    has_status = False

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes in keys and sizes."""
        causes: list[Cause] = []
        texts, binaries = obj.get('data') or {}, obj.get('binaryData') or {}
        for key in texts:
            reasons = checks.config_key(key)
            if reasons:
                causes += faults.each_invalid(f'data[{key}]', key, reasons)
            if key in binaries:
                causes.append(faults.invalid(f'data[{key}]', key, 'duplicate of key present in binaryData'))
        for key in binaries:
            causes += faults.each_invalid(f'binaryData[{key}]', key, checks.config_key(key))
        size = sum(len(text.encode()) for text in texts.values()) + sum(map(decoded_size, binaries.values()))
        if size > SIZE_MOST:
            causes.append(faults.too_long('[]', SIZE_MOST))
        return causes

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the change, then those of the new state."""
        return _sealed(obj, old, ('data', 'binaryData')) + self.validate(obj)


class SecretRules(typed.Rules):
    """Of Secrets."""

    shape = 'core.Secret'
    has_generation = False
    has_status = False

    def complete(self, obj: Object) -> None:
        """What is given as text becomes data, and is stored as such only."""
        obj.setdefault('type', 'Opaque')
        texts = obj.pop('stringData', None)
        if texts:
            encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            obj['data'] = (obj.get('data') or {}) | encoded

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes in keys and sizes, and what the type of the Secret asks for."""
        data, type_ = obj.get('data') or {}, obj['type']
        causes: list[Cause] = []
        for key in data:
            causes += faults.each_invalid(f'data[{key}]', key, checks.config_key(key))
        if sum(map(decoded_size, data.values())) > SIZE_MOST:
            causes.append(faults.too_long('data', SIZE_MOST))
        if type_ == 'kubernetes.io/service-account-token':
            if not (obj['metadata'].get('annotations') or {}).get(_ACCOUNT_NAME):
                causes.append(faults.required(f'metadata.annotations[{_ACCOUNT_NAME}]'))
        elif type_ == 'kubernetes.io/basic-auth':
            if not data.keys() & {'username', 'password'}:
                causes += [faults.required(f'data[{key}]') for key in ('username', 'password')]
        else:
            causes += [faults.required(f'data[{key}]') for key in _NEEDED.get(type_, ()) if key not in data]
        return causes

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the change, then those of the new state."""
        causes = faults.unchanged('type', obj['type'], old.get('type'))
        return causes + _sealed(obj, old, ('data',)) + self.validate(obj)


def decoded_size(text: str) -> int:
    """How many bytes a text in base64 stands for."""
    try:
        return len(base64.b64decode(text))
    except binascii.Error:
        return len(text)


def _sealed(obj: Object, old: Object, keys: tuple[str, ...]) -> list[Cause]:
    if not old.get('immutable'):
        return []
    causes = [] if obj.get('immutable') else [faults.forbidden('immutable', _SEALED)]
    return causes + [faults.forbidden(key, _SEALED) for key in keys if (obj.get(key) or {}) != (old.get(key) or {})]


def config_maps() -> resources.Kind:
    """ConfigMaps as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='configmaps',
        singular='configmap',
        kind='ConfigMap',
        short_names=('cm',),
        subresources=frozenset(),
        rules=ConfigMapRules(),
        columns=(
            cells.NAME,
            Column('Data', lambda obj, _: len(obj.get('data') or ()) + len(obj.get('binaryData') or ())),
            cells.AGE,
        ),
        schema=schemas.builtin('', 'v1', 'ConfigMap'),
    )


def secrets() -> resources.Kind:
    """Secrets as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='secrets',
        singular='secret',
        kind='Secret',
        subresources=frozenset(),
        rules=SecretRules(),
        columns=(
            cells.NAME,
            Column('Type', lambda obj, _: obj.get('type', '')),
            Column('Data', lambda obj, _: len(obj.get('data') or ())),
            cells.AGE,
        ),
        schema=schemas.builtin('', 'v1', 'Secret'),
        selectable={'type': lambda obj: str(obj.get('type', ''))},
    )
