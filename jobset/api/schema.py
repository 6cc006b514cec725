"""The OpenAPI schema of a JobSet, made from the structs of :mod:`jobset.api.types` and the facts beside them."""

import inspect
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import inspect as shapes

from jobset.api import embedded, facts, types
from jobset.api.embedded import JsonSchema


class SchemaError(ValueError):
    """The structs and the facts do not fit together. The text says which field."""


def jobset() -> JsonSchema:
    """The schema of a JobSet as a CRD holds it."""
    standard: JsonSchema = {
        'apiVersion': {'description': 'The version of this representation of the object.', 'type': 'string'},
        'kind': {'description': 'The kind of the object.', 'type': 'string'},
        'metadata': {'type': 'object'},
    }
    properties = standard | _properties(_fields(types.JobSet, but='metadata'))
    return {'description': inspect.getdoc(types.JobSet), 'type': 'object', 'properties': properties}


def _struct(cls: type[msgspec.Struct]) -> JsonSchema:
    fields = _fields(cls)
    # The server drops an empty map, and what is stored must be what was sent.
    made: JsonSchema = {'type': 'object'} | ({'properties': _properties(fields)} if fields else {})
    required = sorted(field.encode_name for field, fact in fields if _is_required(field, fact))
    return made | ({'required': required} if required else {}) | facts.OBJECTS.get(cls, {})


def _fields(cls: type[msgspec.Struct], *, but: str | None = None) -> list[tuple[shapes.Field, facts.Fact]]:
    """The fields of a struct with what is known about them."""
    shape = shapes.type_info(cls)
    if not isinstance(shape, shapes.StructType):
        raise SchemaError(f'{cls.__name__}: is no struct')
    fields = {field.name: field for field in shape.fields if field.name != but}
    known = facts.FIELDS.get(cls, {})
    if odd := fields.keys() ^ known.keys():
        names = ', '.join(sorted(odd))
        raise SchemaError(f'{cls.__name__}: fields and facts differ in {names}; complete jobset.api.facts')
    return [(field, known[name]) for name, field in fields.items()]


def _properties(fields: Iterable[tuple[shapes.Field, facts.Fact]]) -> JsonSchema:
    return {
        field.encode_name: {'description': fact.text} | _type(field.type, fact) | fact.more for field, fact in fields
    }


def _is_required(field: shapes.Field, fact: facts.Fact) -> bool:
    return field.required if fact.required is None else fact.required


def _type(shape: shapes.Type, fact: facts.Fact) -> JsonSchema:
    match shape:
        case shapes.UnionType(types=options):
            # Null is how an absent field may arrive; the schema itself does not allow it.
            (given,) = (option for option in options if not isinstance(option, shapes.NoneType))
            return _type(given, fact)
        case shapes.VarTupleType(item_type=item):
            return {'type': 'array', 'items': _type(item, fact) | fact.items}
        case shapes.StructType(cls=cls):
            return _struct(cls)
        case shapes.RawType() if fact.embeds is not None:
            return dict(embedded.load()[fact.embeds])
        case _:
            return {'type': _simple(shape)}


def _simple(shape: shapes.Type) -> str:
    simple: Mapping[type[shapes.Type], str] = {
        shapes.BoolType: 'boolean',
        shapes.IntType: 'integer',
        shapes.StrType: 'string',
    }
    if type(shape) not in simple:
        raise SchemaError(f'{type(shape).__name__}: there is no schema for it; add one to jobset.api.schema')
    return simple[type(shape)]
