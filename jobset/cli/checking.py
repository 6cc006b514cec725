"""Whether an API server would take an object, told without one: every mistake, with its place in the file.

A JobSet goes the way of a request: strict decoding, our mutating webhook, the schema of the definition with its
defaults and rules, our validating webhook; then its Jobs are judged (:mod:`jobset.cli.madejobs`). What only a cluster
knows is not: names taken, quotas, claims that exist already. Built-in kinds are judged by their schema alone.
"""

import difflib
import enum
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jobset.admission import reviews
from jobset.api import crd, features, keys, types, validation
from jobset.api.validation import fields, names
from jobset.cli import madejobs, places
from jobset.client import manifests
from jobset.client.manifests import Document, Problem
from jobset.local import problems, resources, schemas
from jobset.local.patches import operations, values
from jobset.local.schemas import definitions

_GATES: Final = features.FeatureGates()


class Extent(enum.StrEnum):
    """How much of an object could be judged."""

    FULL = 'valid'
    STRUCTURE = 'structure checked'
    NOTHING = 'skipped: its kind is not known here'


@dataclass(frozen=True)
class Verdict:
    """What is wrong with one object."""

    document: Document
    extent: Extent
    problems: Sequence[Problem] = ()

    @property
    def is_good(self) -> bool:
        """Whether there is nothing against it, and there was nothing against what it was read from."""
        return self.document.is_whole and not self.problems


async def check_all(
    documents: Iterable[Document],
    *,
    gates: features.FeatureGates = _GATES,
) -> list[Verdict]:
    """The mistakes of all objects, one after the other."""
    return [await check(document, gates=gates) for document in documents]


async def check(document: Document, *, gates: features.FeatureGates = _GATES) -> Verdict:
    """The mistakes of one object of a file, in the order of the file."""
    found = _type(document)
    if found:
        return Verdict(document, Extent.STRUCTURE, found)
    group, _, version = document.api_version.rpartition('/')
    if (group, document.kind) == (keys.GROUP, keys.KIND):
        return Verdict(document, Extent.FULL, _sorted(await _jobset(document, version, gates)))
    try:
        schema = schemas.builtin(group, version, document.kind)
    except KeyError:
        return Verdict(document, Extent.NOTHING)
    return Verdict(document, Extent.STRUCTURE, _sorted([*_metadata(document), *_structure(document, schema)]))


@functools.cache
def jobset_kind() -> resources.Kind:
    """The kind of JobSets as a server has it that the definition is installed on."""
    (kind,) = definitions.kinds(crd.definition())
    return kind


def _type(document: Document) -> list[Problem]:
    return [
        document.problem('', f'{field}: Required value: an object without it is of no kind')
        for field, value in (('apiVersion', document.api_version), ('kind', document.kind))
        if not value
    ]


def _metadata(document: Document) -> list[Problem]:
    metadata = document.obj.get('metadata')
    if not isinstance(metadata, dict):
        return [document.problem('metadata', 'Required value: an object needs a name')]
    name = metadata.get('name')
    if not name and not metadata.get('generateName'):
        return [document.problem('metadata.name', 'Required value: name or generateName is required')]
    return []


async def _jobset(document: Document, version: str, gates: features.FeatureGates) -> list[Problem]:
    if version != keys.VERSION:
        return [document.problem('apiVersion', f'"{document.api_version}" is not known; use {keys.API_VERSION}')]
    found = _metadata(document)
    name = document.name
    if not found and isinstance(document.obj['metadata'].get('name'), str):
        found += [
            document.problem('metadata.name', f'Invalid value: "{name}": {reason}')
            for reason in names.dns_1123_subdomain(name)
        ]
    schema = jobset_kind().schema
    found += _structure(document, schema)
    obj = _completed(document)
    schema.prune(obj)
    schema.default(obj)
    found += _causes(document, schema.validate(obj))
    told = {problem.field for problem in found}
    if told & {'metadata', 'metadata.name'}:
        # Other names are made of it: one mistake would be told of each of them, too.
        obj['metadata'] = {'name': 'x'}
    for cause in await _judged(obj, name, gates):
        problem = _cause(document, cause['field'], cause['message'])
        # The schema has said it already, in words of its own.
        if not _is_within(problem.field, told):
            found.append(problem)
    return found or _causes(document, madejobs.check(_typed(obj)))


def _typed(obj: dict[str, Any]) -> types.JobSet:
    """What admission has let through."""
    return msgspec.json.decode(msgspec.json.encode(obj), type=types.JobSet)


def _structure(document: Document, schema: schemas.Schema) -> list[Problem]:
    obj = values.copied(document.obj)
    try:
        schema.check(obj)
    except problems.Problem as problem:
        return _causes(document, problem.causes) or [document.problem('', problem.message)]
    return [document.problem(path, _unknown(path, schema.root)) for path in schema.unknown_fields(obj)]


def _unknown(path: str, root: schemas.Node) -> str:
    """``unknown field``, with the known one that was probably meant."""
    node: schemas.Node | None = root
    *parents, last = manifests.steps(path)
    for step in parents:
        if node is None:
            break
        node = node.items if isinstance(step, int) else node.properties.get(step, node.additional)
    if node is None:
        return 'unknown field'
    near = difflib.get_close_matches(str(last), node.properties, n=1)
    if near:
        return f'unknown field; did you mean {near[0]}?'
    known = ', '.join(sorted(node.properties))
    return f'unknown field; known here are: {known}' if known else 'unknown field'


def _completed(document: Document) -> dict[str, Any]:
    """The object after the mutating webhook."""
    obj = values.copied(document.obj)
    answer = reviews.complete_jobset(_request(obj, document.name))
    return operations.carry_out(obj, answer.patch)


async def _judged(obj: dict[str, Any], name: str, gates: features.FeatureGates) -> list[dict[str, str]]:
    answer = await reviews.judge_jobset(_request(obj, name), gates=gates, look_up=_nothing)
    details: Any = (answer.refusal or {}).get('details') or {}
    return list(details.get('causes') or ())


async def _nothing(namespace: str, wanted: Sequence[str]) -> Mapping[str, validation.Found]:
    del namespace, wanted
    return {}


def _request(obj: dict[str, Any], name: str) -> reviews.Request:
    sent = msgspec.Raw(msgspec.json.encode(obj))
    return reviews.Request(uid='offline', kind=reviews.JOBSET, operation='CREATE', name=name, object=sent)


def _causes(document: Document, causes: Iterable[problems.Cause]) -> list[Problem]:
    told = [_cause(document, cause.field, cause.message) for cause in causes]
    # That something could not be judged for other mistakes is no mistake.
    return [problem for problem in told if problem.field or len(told) == 1 or _UNJUDGED not in problem.text]


_UNJUDGED: Final = 'some validation rules were not checked'


def _cause(document: Document, path: str, message: str) -> Problem:
    if path != fields.NO_FIELD:
        return document.problem(path, message)
    text = message.removeprefix(places.PREFIX)
    return document.problem(places.of(text, document.obj), text)


def _is_within(path: str, judged: Iterable[str]) -> bool:
    return any(path == one or (one and path.startswith((f'{one}.', f'{one}['))) for one in judged)


def _sorted(found: Iterable[Problem]) -> list[Problem]:
    """In the order of the file, each once."""
    return sorted(dict.fromkeys(found), key=lambda problem: problem.position or manifests.Position(0, 0))
