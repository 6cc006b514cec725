"""Which Kubernetes the server behaves like: the answer to ``/version``."""

import platform
import sys
from importlib import metadata
from typing import Final

from jobset.local.objects import Object

MINOR: Final = 37
"""The release whose API and rules are followed."""


def version() -> Object:
    """As ``kubectl version`` reads it; the build metadata names this project, so that nobody takes it for the other."""
    return {
        'major': '1',
        'minor': str(MINOR),
        'emulationMajor': '1',
        'emulationMinor': str(MINOR),
        'minCompatibilityMajor': '1',
        'minCompatibilityMinor': str(MINOR - 1),
        'gitVersion': f'v1.{MINOR}.0+jobset',
        'gitCommit': metadata.version('jobset'),
        'gitTreeState': 'clean',
        'buildDate': '1970-01-01T00:00:00Z',
        'goVersion': 'none',
        'compiler': f'{platform.python_implementation()} {platform.python_version()}',
        'platform': f'{sys.platform}/{platform.machine()}',
    }
