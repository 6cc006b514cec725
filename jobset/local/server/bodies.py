"""Bodies of requests as objects: JSON or YAML, of the kind that the path is about, without unknown or double fields.

Source: Kubernetes API concepts, "Field validation"; error texts as kube-apiserver gives them.
"""

import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import msgspec
import yaml

from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind
from jobset.local.server import queries, refusals
from jobset.local.server.answers import JSON, PROTOBUF, YAML, Call
from jobset.local.store import records

MAX_BYTES: Final = 3 << 20
"""Bytes of a body; etcd would not take more either."""

_ACCEPTED: Final = (JSON, YAML, PROTOBUF)
_SHOWN: Final = 30


@functools.lru_cache(maxsize=64)
def media_type(content_type: str) -> str:
    """What a header ``Content-Type`` says, without its parameters."""
    return content_type.partition(';')[0].strip().lower()


def read(call: Call, kind: Kind, validation: str, *, is_custom: bool) -> Object:
    """The object in the body, without what its schema does not know; ``call.said`` gets what is to be said about that.

    Raises Problem 400, 413, 415 and, for the wrong kind of a custom one, 422.
    """
    obj, doubles = decode(call, kind.kind, validation)
    _demand_kind(obj, kind, call.body, validation, is_custom=is_custom)
    obj['apiVersion'], obj['kind'] = kind.api_version, kind.kind
    call.said += complete(obj, kind, validation, doubles=doubles)
    return obj


def complete(
    obj: Object,
    kind: Kind,
    validation: str,
    *,
    doubles: Iterable[str] = (),
    settled: Collection[str] = (),
    is_sorted: bool = False,
) -> list[str]:
    """Take an object through the schema up to its defaults; what is to be said about its fields. Raises Problem 400.

    The parts named by ``settled`` are as they were stored, and not looked into. ``is_sorted`` says that the real server
    would read it from JSON with sorted keys, as after a patch.
    """
    schema = kind.schema
    fits = schema.fits({key: part for key, part in obj.items() if key not in settled} if settled else obj)
    if not fits:
        schema.check(obj)
    complaints: list[str] = []
    if validation != queries.IGNORE:
        unknown = () if fits else schema.unknown_fields(obj)
        if is_sorted and len(unknown) > 1:
            unknown = sorted(unknown, key=_place)
        # Into a struct a field that it does not have is not read once.
        complaints = [f'duplicate field "{path}"' for path in doubles if path not in unknown or not schema.root.name]
        complaints += [f'unknown field "{path}"' for path in unknown]
        if complaints and validation == queries.STRICT:
            raise Problem.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: '
                + ', '.join(complaints)
            )
    if not fits:
        schema.prune(obj)
    default(obj, kind, settled)
    return complaints


def _place(path: str) -> list[tuple[int, str]]:
    """Where a field comes in sorted JSON."""
    steps = re.split(r'[.\[\]]+', path)
    return [(int(step), '') if step.isdecimal() else (0, step) for step in steps]


def default(obj: Object, kind: Kind, settled: Collection[str] = ()) -> None:
    """The defaults of the schema, in place, unless the rules of the kind, which are applied later, do all of that."""
    if not kind.rules.brings_into_form:
        kind.schema.default(obj, settled)


def decode(call: Call, expected: str, validation: str) -> tuple[Object, list[str]]:
    """The object in the body, and the paths of its double fields unless nobody wants to know."""
    if len(call.body) > MAX_BYTES:
        raise refusals.too_large(MAX_BYTES)
    media = media_type(call.content_type)
    if media == YAML:
        return _yaml(call.body, expected)
    if media and media != JSON:
        raise refusals.unsupported_media(_ACCEPTED)
    try:
        value: Any = _decode(call.body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(call.body, expected, _why(call.body, str(error))) from None
    except RecursionError:
        raise _unreadable(call.body, expected, 'json: exceeded max depth') from None
    obj = _object(value, call.body, expected)
    if validation == queries.IGNORE or not _may_have_doubles(call.body, obj):
        return obj, []
    return obj, list(_doubles(json.loads(call.body, object_pairs_hook=_Noting.of), ''))


_decode: Final = msgspec.json.Decoder().decode


def _object(value: object, body: bytes, expected: str) -> Object:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    why = (
        f'json: cannot unmarshal {json_type(value)} into Go value of type struct {{ APIVersion string '
        '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    )
    raise _unreadable(body, expected, why)


def _unreadable(body: bytes, expected: str, why: str) -> Problem:
    return _unrecognized(body, expected, f"couldn't get version/kind; json parse error: {why}")


def _unrecognized(body: bytes, expected: str, why: str) -> Problem:
    shown = body[:_SHOWN].decode(errors='replace') or '<empty>'
    more = ' ...' if len(body) > _SHOWN else ''
    return Problem.bad_request(
        f'the object provided is unrecognized (must be of type {expected}): {why} ({shown}{more})'
    )


def _why(body: bytes, text: str) -> str:
    if not body.strip() or 'truncated' in text:
        return 'unexpected end of JSON input'
    return text


def _demand_kind(obj: Object, kind: Kind, body: bytes, validation: str, *, is_custom: bool) -> None:
    api_version, name = obj.get('apiVersion'), obj.get('kind')
    if api_version == kind.api_version and name == kind.kind:
        return
    for value, field in ((api_version, 'APIVersion'), (name, 'Kind')):
        if value is not None and not isinstance(value, str):
            what = f'json: cannot unmarshal {json_type(value)} into Go struct field .{field.lower()} of type string'
            raise _unreadable(body, kind.kind, what)
    if is_custom:
        _demand_custom(obj, kind, body, validation)
        return
    # Built-in kinds need not say what they are; what they say must be right.
    if name not in (None, '', kind.kind):
        version = str(api_version or kind.api_version)
        raise Problem.bad_request(
            f'{name} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind.kind}: '
            f'no kind "{name}" is registered for version "{version}" here'
        )
    if api_version not in (None, '', kind.api_version):
        version = str(api_version)
        raise Problem.bad_request(
            f'{kind.kind} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind.kind}: '
            f'no kind "{kind.kind}" is registered for version "{version}" here'
        )


def _demand_custom(obj: Object, kind: Kind, body: bytes, validation: str) -> None:
    name, api_version = obj.get('kind'), obj.get('apiVersion')
    if not name:
        why = f"Object 'Kind' is missing in '{body.decode(errors='replace')}'"
        if validation == queries.IGNORE:
            raise Problem.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'
            )
        raise _unrecognized(body, kind.kind, why)
    if api_version != kind.api_version:
        raise Problem.bad_request(
            f'the API version in the data ({api_version or ""}) does not match the expected API version '
            f'({kind.api_version})'
        )
    if name != kind.kind:
        given = (obj.get('metadata') or {}).get('name') or ''
        cause = Cause('kind', f'Invalid value: "{name}": must be {kind.kind}')
        raise Problem.invalid(str(name), kind.group, given, [cause])


def json_type(value: object) -> str:
    """What Go calls the type of a JSON value."""
    match value:
        case bool():
            return 'bool'
        case int() | float():
            return 'number'
        case str():
            return 'string'
        case list():
            return 'array'
        case _:
            return 'object'


def _may_have_doubles(body: bytes, obj: Object) -> bool:
    """A quick look: an encoded copy has fewer keys when some of them were double."""
    if b' :' in body or b'\t:' in body or b'\n:' in body:
        return True
    return body.count(b'":') != records.encode(obj).count(b'":')


class _Noting(dict[str, Any]):
    """An object that remembers which of its keys came twice."""

    doubles: tuple[str, ...] = ()

    @classmethod
    def of(cls, pairs: list[tuple[str, Any]]) -> '_Noting':
        found = cls(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            found.doubles = tuple(key for key in found if keys.count(key) > 1)
        return found


def _doubles(value: object, path: str) -> Iterator[str]:
    if isinstance(value, _Noting):
        for key in value.doubles:
            yield f'{path}.{key}' if path else key
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _doubles(part, f'{path}.{key}' if path else key)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _doubles(part, f'{path}[{place}]')


class _Loader(yaml.CSafeLoader):
    """YAML as JSON has it: dates stay text, and keys that come twice are noted."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != 'tag:yaml.org,2002:timestamp']
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _mapping(loader: yaml.CSafeLoader, node: yaml.MappingNode) -> _Noting:
    loader.flatten_mapping(node)
    pairs = [
        (str(loader.construct_object(key, True)), loader.construct_object(value, True)) for key, value in node.value
    ]
    return _Noting.of(pairs)


_Loader.add_constructor('tag:yaml.org,2002:map', _mapping)


def parse_yaml(body: bytes) -> object:
    """What a YAML document (or JSON, which is YAML too) holds. Raises yaml.YAMLError and ValueError."""
    return yaml.load(body.decode(), _Loader)  # noqa: S506 - a safe loader with less in it


def _yaml(body: bytes, expected: str) -> tuple[Object, list[str]]:
    try:
        value = parse_yaml(body)
        # Only what JSON can hold may get further; the copy has plain dicts.
        plain: Any = _decode(records.encode(value))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        shown = ' '.join(str(error).split())
        raise Problem.bad_request(
            f'the object provided is unrecognized (must be of type {expected}): error converting YAML to JSON: {shown}'
        ) from None
    return _object(plain, body, expected), list(_doubles(value, ''))
