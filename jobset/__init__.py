"""jobset: the batch workload controller for Kubernetes."""

import importlib.metadata

try:
    __version__ = importlib.metadata.version('jobset')
except importlib.metadata.PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = '0.0.0'
