"""The clusters on this machine: where their kubeconfig files lie."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = 'JOBSET_HOME'
"""The variable that names another folder than the one in the user's home."""

DEFAULT: Final = 'default'
"""The name of the cluster that is meant when there are several and none is named."""


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of everything local; see :data:`ENVIRONMENT`."""
    named = environment.get(ENVIRONMENT)
    return Path(named) if named else Path.home() / '.jobset'


def clusters(environment: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """The kubeconfig files by the names of their clusters."""
    found = sorted((home(environment) / 'clusters').glob('*/kubeconfig'))
    return {path.parent.name: path for path in found if path.is_file()}


class UnknownCluster(LookupError):  # noqa: N818 - says what has happened
    """There is no local cluster of that name, or no saying which one is meant. The text says which there are."""


def named(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The kubeconfig file of a cluster. Raises :class:`UnknownCluster`."""
    found = clusters(environment)
    if name in found:
        return found[name]
    there = f'there are: {", ".join(found)}' if found else 'there is none; start one with "jobset cluster up"'
    raise UnknownCluster(f'no local cluster "{name}"; {there}')


def only(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The kubeconfig file of the cluster that is meant when nothing is said; None where there is no cluster.

    Raises :class:`UnknownCluster` where there are several, and none of them is called :data:`DEFAULT`.
    """
    found = clusters(environment)
    if len(found) <= 1:
        return next(iter(found.values()), None)
    if DEFAULT in found:
        return found[DEFAULT]
    raise UnknownCluster(f'there are several local clusters: {", ".join(found)}; choose one with --cluster')
