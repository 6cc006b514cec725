"""Which kinds a server has, found by any of the names that people give them."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from jobset.kube import client, errors, requests

_AGGREGATED: Final = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'


class UnknownKind(LookupError):  # noqa: N818 - says what is wrong
    """The server has no kind of that name. The text says what was probably meant."""


@dataclass(frozen=True)
class Kind:
    """A kind that the server has."""

    resource: requests.Resource
    singular: str = ''
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    verbs: Sequence[str] = ()

    def names(self) -> Iterator[str]:
        """The names that it is found by, without its group."""
        yield self.resource.plural
        yield self.singular or self.resource.kind.lower()
        yield from self.short_names


class _ResponseKind(msgspec.Struct, frozen=True, kw_only=True):
    kind: str = ''


class _Resource(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """Of both forms of discovery: the fields that the other one has are empty."""

    resource: str = ''
    response_kind: _ResponseKind = _ResponseKind()
    scope: str = ''
    singular_resource: str = ''
    name: str = ''
    kind: str = ''
    namespaced: bool = False
    singular_name: str = ''
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    verbs: tuple[str, ...] | None = None


class _Version(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    version: str = ''
    group_version: str = ''
    resources: tuple[_Resource, ...] | None = None


class _Meta(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ''


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _Meta = _Meta()
    name: str = ''
    versions: tuple[_Version, ...] | None = None


class _Groups(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/apis`` and ``/api`` answer: groups in full, groups by name, or versions of the core group."""

    items: tuple[_Group, ...] | None = None
    groups: tuple[_Group, ...] | None = None
    versions: tuple[str, ...] | None = None


class _ResourceList(msgspec.Struct, frozen=True, kw_only=True):
    resources: tuple[_Resource, ...] | None = None


async def of_version(source: client.Client, api_version: str) -> list[Kind]:
    """The kinds of one version of a group. Empty where the server does not have it."""
    group, _, version = api_version.rpartition('/')
    path = f'/apis/{api_version}' if group else f'/api/{version}'
    try:
        found = await source.request(requests.Request('GET', path), _ResourceList)
    except errors.NotFound:
        return []
    return [_listed(group, version, one) for one in found.resources or () if '/' not in one.name]


async def all_(source: client.Client) -> list[Kind]:
    """Every kind in its preferred version, the core group first, in the order of the server."""
    kinds: list[Kind] = []
    for path in ('/api', '/apis'):
        found = await source.request(requests.Request('GET', path, accept=_AGGREGATED), _Groups)
        for group in found.items or ():
            kinds += _preferred(group)
        for version in found.versions or ():
            kinds += await of_version(source, version)
        for group in found.groups or ():
            if group.versions:
                kinds += await of_version(source, group.versions[0].group_version)
    return kinds


def _preferred(group: _Group) -> Iterator[Kind]:
    """The kinds of a group, each in the first of its versions that has it."""
    seen: set[str] = set()
    for version in group.versions or ():
        for one in version.resources or ():
            if one.resource not in seen:
                seen.add(one.resource)
                yield _aggregated(group.metadata.name, version.version, one)


def _aggregated(group: str, version: str, one: _Resource) -> Kind:
    namespaced = one.scope == 'Namespaced'
    resource = requests.Resource(group, version, one.resource, one.response_kind.kind, namespaced)
    return Kind(resource, one.singular_resource, one.short_names or (), one.categories or (), one.verbs or ())


def _listed(group: str, version: str, one: _Resource) -> Kind:
    resource = requests.Resource(group, version, one.name, one.kind, one.namespaced)
    return Kind(resource, one.singular_name, one.short_names or (), one.categories or (), one.verbs or ())


def find(kinds: Sequence[Kind], name: str) -> Kind:
    """The kind of that name: plural, singular or short, perhaps with its group, or with version and group.

    Raises :class:`UnknownKind`.
    """
    plain, _, rest = name.lower().partition('.')
    for kind in kinds:
        resource = kind.resource
        groups = (resource.group, f'{resource.version}.{resource.group}'.rstrip('.'))
        if plain in kind.names() and (not rest or rest in groups or resource.group.startswith(f'{rest}.')):
            return kind
    raise UnknownKind(_unknown(kinds, plain, name))


def in_category(kinds: Sequence[Kind], name: str) -> list[Kind]:
    """The kinds of a category, as ``all``."""
    return [kind for kind in kinds if name in kind.categories]


def _unknown(kinds: Sequence[Kind], plain: str, name: str) -> str:
    # Short names are near to everything.
    known = {one: None for kind in kinds for one in (kind.resource.plural, kind.singular) if one}
    near = difflib.get_close_matches(plain, known, n=2)
    text = f'the server has no kind "{name}"'
    return f'{text}; did you mean {" or ".join(near)}?' if near else text


async def of_object(source: client.Client, api_version: str, kind: str) -> requests.Resource:
    """Where objects that say this of themselves are kept. Raises :class:`UnknownKind`."""
    for one in await of_version(source, api_version):
        if one.resource.kind == kind:
            return one.resource
    raise UnknownKind(f'the server has no kind "{kind}" of {api_version}; is its definition installed?')
