"""Paths of files within volumes."""

from jobset.local.kinds import faults
from jobset.local.problems import Cause


def descending(path: str, target: str) -> list[Cause]:
    """The mistakes of a target that should stay below where it starts."""
    causes = [faults.invalid(path, target, 'must be a relative path')] if target.startswith('/') else []
    return causes + no_backsteps(path, target)


def no_backsteps(path: str, target: str) -> list[Cause]:
    """The mistake of a target that goes up."""
    return [faults.invalid(path, target, "must not contain '..'")] if '..' in target.split('/') else []


def not_reserved(path: str, target: str) -> list[Cause]:
    """As :func:`descending`, for the name of a file: those that start with two dots are the kubelet's own."""
    causes = descending(path, target)
    if target.startswith('..') and not target.startswith('../'):
        causes.append(faults.invalid(path, target, "must not start with '..'"))
    return causes
