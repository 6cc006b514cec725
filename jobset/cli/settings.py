"""``--set PATH=VALUE``: one field of the JobSets of a file, changed without changing the file."""

from collections.abc import Sequence
from typing import Any

import yaml

from jobset.cli import failures
from jobset.client import manifests

Object = dict[str, Any]


def apply(obj: Object, assignments: Sequence[str]) -> None:
    """Make the changes, in their order; values are read as YAML. Raises :class:`~jobset.cli.failures.Failure`.

    ``spec.replicatedJobs[0].replicas=4``, or by name: ``spec.replicatedJobs[train].replicas=4``.
    """
    for assignment in assignments:
        path, equals, text = assignment.partition('=')
        steps = list(manifests.steps(path))
        if not equals or not steps:
            raise _failure(assignment, 'write it as PATH=VALUE, like spec.failurePolicy.maxRestarts=2')
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise _failure(assignment, f'the value is no YAML: {error}') from error
        _set(obj, steps, value, assignment)


def _set(obj: Object, steps: Sequence[str | int], value: object, assignment: str) -> None:
    place: Any = obj
    for number, step in enumerate(steps[:-1]):
        place = _enter(place, step, steps[number + 1], assignment)
    last = _index(place, steps[-1], assignment)
    if not isinstance(place, list | dict):
        raise _failure(assignment, f'"{steps[-1]}" is no part of {place!r}')
    place[last] = value


def _enter(place: Any, step: str | int, following: str | int, assignment: str) -> Any:  # noqa: ANN401 - JSON
    index = _index(place, step, assignment)
    if isinstance(place, list):
        return place[index]
    if not isinstance(place, dict):
        raise _failure(assignment, f'"{step}" is no part of {place!r}')
    if place.get(index) is None:
        if isinstance(following, int):
            raise _failure(assignment, f'there is no list "{step}" to index')
        place[index] = {}
    return place[index]


def _index(place: Any, step: str | int, assignment: str) -> Any:  # noqa: ANN401 - JSON
    """A key of an object, or the number of an element, which may be named by its ``name``."""
    if not isinstance(place, list):
        return str(step)
    if isinstance(step, str):
        named = [i for i, each in enumerate(place) if isinstance(each, dict) and each.get('name') == step]
        if not named:
            names = ', '.join(str(each.get('name')) for each in place if isinstance(each, dict))
            raise _failure(assignment, f'there is no "{step}"; there are: {names}')
        return named[0]
    if step >= len(place):
        raise _failure(assignment, f'there are {len(place)} elements, counted from 0')
    return step


def _failure(assignment: str, text: str) -> failures.Failure:
    return failures.Failure(f'--set {assignment}: {text}', code=failures.USAGE)
