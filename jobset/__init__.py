"""jobset: the batch workload controller for Kubernetes."""

import importlib


def __getattr__(name: str) -> object:
    # Looked up when somebody asks: it takes a tenth of the time in which the command line should be there.
    if name != '__version__':
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    metadata = importlib.import_module('importlib.metadata')
    try:
        return metadata.version('jobset')
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return '0.0.0'
