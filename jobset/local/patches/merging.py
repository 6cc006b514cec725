"""JSON merge patch. Source: RFC 7386."""

from typing import Any

from jobset.local.objects import Object
from jobset.local.problems import Problem

GO_TYPES = {dict: 'object', list: 'array', str: 'string', bool: 'bool', int: 'number', float: 'number'}


def merge(obj: Object, patch: Any) -> Object:
    """A new object that may share parts with both; raises Problem 400 for a patch that is no object."""
    if patch is None:
        raise Problem.bad_request('Invalid JSON Patch')
    if not isinstance(patch, dict):
        what = GO_TYPES[type(patch)]
        text = f'error decoding patch: json: cannot unmarshal {what} into Go value of type map[string]interface {{}}'
        raise Problem.bad_request(text)
    return _merged(obj, patch)


def _merged(value: Any, patch: Object) -> Object:
    merged = dict(value) if isinstance(value, dict) else {}
    for key, part in patch.items():
        if part is None:
            merged.pop(key, None)
        elif isinstance(part, dict):
            merged[key] = _merged(merged.get(key), part)
        else:
            merged[key] = part
    return merged
