"""In which form the client wants what it reads: whole objects, their metadata, or a table; JSON or YAML."""

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from jobset.local.server import refusals

_OFFERED: Final = ('application/json', 'application/yaml')


class Form(enum.Enum):
    """What is made of objects."""

    WHOLE = ''
    TABLE = 'Table'
    PARTIAL = 'PartialObjectMetadata'


@dataclass(frozen=True)
class Wanted:
    """One of the forms that a client accepts."""

    form: Form
    is_yaml: bool = False

    @property
    def content_type(self) -> str:
        """What the answer is called; as the real server, without saying which form."""
        return _OFFERED[self.is_yaml]


_WHOLE: Final = Wanted(Form.WHOLE)


@lru_cache(maxsize=256)
def wanted(accept: str, *, is_list: bool = False) -> Wanted:
    """The first acceptable form that can be given. Raises Problem 406."""
    if not accept:
        return _WHOLE
    for part in _by_quality(accept):
        media, *parameters = (one.strip() for one in part.split(';'))
        found = _one(media, dict(one.split('=', 1) for one in parameters if '=' in one), is_list=is_list)
        if found is not None:
            return found
    raise refusals.not_acceptable(_OFFERED)


def _one(media: str, parameters: dict[str, str], *, is_list: bool) -> Wanted | None:
    if media in ('*/*', 'application/*', 'application/json'):
        is_yaml = False
    elif media == 'application/yaml':
        is_yaml = True
    else:
        return None
    form = parameters.get('as')
    if form is None:
        return Wanted(Form.WHOLE, is_yaml)
    if parameters.get('g') != 'meta.k8s.io' or parameters.get('v') not in ('v1', 'v1beta1'):
        return None
    partial = 'PartialObjectMetadataList' if is_list else 'PartialObjectMetadata'
    return {'Table': Wanted(Form.TABLE, is_yaml), partial: Wanted(Form.PARTIAL, is_yaml)}.get(form)


def _by_quality(accept: str) -> list[str]:
    parts = [part for part in accept.split(',') if part.strip()]
    return sorted(parts, key=lambda part: -_quality(part))


def _quality(part: str) -> float:
    for parameter in part.split(';')[1:]:
        key, _, value = parameter.strip().partition('=')
        if key == 'q':
            try:
                return float(value)
            except ValueError:
                return 0
    return 1
