"""The index of OpenAPI v3 documents: which there are, and under which address each stays the same for ever.

Source: Kubernetes, "OpenAPI V3". The address names a hash of the document, so that clients may keep what they have.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from jobset.local.objects import Object

VERSION_2: Final = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
"""The form in which kubectl reads a document of OpenAPI v2; it asks with an "@" in it, which is no media type."""

DOCUMENT_2: Final = b'\n\x032.0\x12\x0b\n\x06jobset\x12\x011'
"""A document of OpenAPI v2 without any paths or definitions, in that form: ``swagger`` and ``info``.

kubectl asks for it where it finds a kind in none of the v3 documents, as ``List``, and does not validate what it finds
nothing about.
"""

ROOT: Final = '/openapi/v3'
IMMUTABLE: Final = 'public, immutable'
"""``Cache-Control`` of an answer to the address with the right hash."""


def path_of(group: str, version: str) -> str:
    """The name of the document of a group and version in the index: ``api/v1``, ``apis/batch/v1``."""
    return f'apis/{group}/{version}' if group else f'api/{version}'


def digest(document: bytes) -> str:
    """The hash of a document."""
    return hashlib.sha512(document).hexdigest().upper()


def address(path: str, document_hash: str) -> str:
    """Where a document is read for good; the same path with another hash, or with none, leads there."""
    return f'{ROOT}/{path}?hash={document_hash}'


def index(hashes: Mapping[str, str]) -> Object:
    """The answer to ``/openapi/v3``, from the hash of each document by its path, as :func:`path_of` gives it."""
    return {'paths': {path: {'serverRelativeURL': address(path, hashes[path])} for path in sorted(hashes)}}
