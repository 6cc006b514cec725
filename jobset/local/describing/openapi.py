"""The index of OpenAPI v3 documents: which there are, and under which address each stays the same for ever.

Source: Kubernetes, "OpenAPI V3". The address names a hash of the document, so that clients may keep what they have.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from jobset.local.objects import Object

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
