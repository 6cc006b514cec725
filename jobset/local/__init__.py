"""The embedded control plane: the API server, controllers and a node in one process, for laptops, tests and simulation.

It serves the same REST interface as a Kubernetes API server, so that kubectl and the controller of this project work
with it unchanged. What it differs in is listed in ``docs/local.md``.

Start at :class:`Cluster` (:mod:`jobset.local.cluster`) for pods that run, at :mod:`jobset.local.simulated` for pods on
paper.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobset.local.cluster import Cluster, Settings

__all__ = ['Cluster', 'Settings']


def __getattr__(name: str) -> object:
    # Looked up when somebody asks: it imports all of the plane, of which many need a part only.
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module('jobset.local.cluster'), name)
