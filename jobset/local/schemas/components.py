"""The vendored OpenAPI data of the built-in kinds. :mod:`jobset.local.schemas.vendoring` makes it."""

import functools
import gzip
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

FOLDER: Final = pathlib.Path(__file__).with_name('data')
COMPONENTS: Final = 'components.json.gz'
"""Schemas by name. The same ones serve all documents."""

PATHS: Final = 'paths.json.gz'
"""Per document: its paths, and the kinds of its group by name of their schema."""

REFERENCE: Final = '#/components/schemas/'
GVK: Final = 'x-kubernetes-group-version-kind'

PER_DOCUMENT: Final = ('io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',)
"""Schemas that list the groups that use them: each document shows its own group only, so it is not kept."""

Json = dict[str, Any]


@functools.cache
def schemas() -> Mapping[str, Any]:
    """The schemas by name, shared: not to be changed."""
    return _load(COMPONENTS)


@functools.cache
def paths() -> Mapping[str, Any]:
    """Paths and kinds by document, shared: not to be changed."""
    return _load(PATHS)


def _load(name: str) -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = msgspec.json.decode(gzip.decompress((FOLDER / name).read_bytes()))
    return loaded


def references(value: object) -> Iterator[str]:
    """The names of all schemas that a piece of a document refers to."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key == '$ref' and isinstance(part, str):
                yield part.removeprefix(REFERENCE)
            else:
                yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def closure(names: Iterable[str], components: Mapping[str, Any]) -> set[str]:
    """The names and all that they refer to, directly or not."""
    reached: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead.extend(references(components[name]))
    return reached
