"""Slices of the pods of a replicated job: each so many of them stay together."""

import itertools
from typing import Final, NamedTuple

import msgspec

from jobset.api import extravalues

MOST: Final = 3
"""Layers."""

_EXAMPLE: Final = 'write level=size, up to three with commas, from coarse to fine'


class Layer(NamedTuple):
    """Each ``size`` pods on nodes with the same value of the label ``level``."""

    level: str
    size: int


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    topology: str
    size: int


def parse(text: str) -> tuple[Layer, ...]:
    """As ``rack=16,host=4`` or as Kueue has it, ``[{"topology": "rack", "size": 16}]``; raises :class:`ExtraError`."""
    layers = _of_json(text) if text.lstrip().startswith('[') else _of_pairs(text)
    if not 1 <= len(layers) <= MOST:
        raise extravalues.ExtraError(f'{text!r} has {len(layers)} layers; {_EXAMPLE}')
    if len({layer.level for layer in layers}) < len(layers):
        raise extravalues.ExtraError(f'{text!r} names a level twice')
    for layer in layers:
        extravalues.label_key(layer.level)
        if layer.size < 1:
            raise extravalues.ExtraError(f'{layer.level} in {text!r} has a size of {layer.size}; write at least 1')
    for outer, inner in itertools.pairwise(layers):
        if outer.size % inner.size:
            raise extravalues.ExtraError(
                f'{outer.size} pods of {outer.level} cannot be cut into {inner.level} of {inner.size}; '
                'each size is a multiple of the next one'
            )
    return layers


def _of_json(text: str) -> tuple[Layer, ...]:
    try:
        entries = msgspec.json.decode(text, type=tuple[_Entry, ...])
    except msgspec.MsgspecError as error:
        raise extravalues.ExtraError(f'{text!r} is no list of topology and size: {error}; {_EXAMPLE}') from None
    return tuple(Layer(entry.topology, entry.size) for entry in entries)


def _of_pairs(text: str) -> tuple[Layer, ...]:
    layers = []
    for piece in text.split(','):
        level, equals, size = (part.strip() for part in piece.rpartition('='))
        if not equals or not size.isascii() or not size.isdecimal() or len(size) > 9:
            raise extravalues.ExtraError(f'{piece.strip()!r} is no level=size; {_EXAMPLE}')
        layers.append(Layer(level, int(size)))
    return tuple(layers)
