"""What objects of a kind may look like: fields, types, defaults, rules; for built-in kinds and for CRDs.

Start at :class:`Schema`. Definitions of custom resources are turned into kinds in
:mod:`jobset.local.schemas.definitions`, documents to serve are made in :mod:`jobset.local.schemas.documents`.
"""

from jobset.local.schemas.builtins import builtin
from jobset.local.schemas.nodes import Node
from jobset.local.schemas.schema import Schema

__all__ = ['Node', 'Schema', 'builtin']
