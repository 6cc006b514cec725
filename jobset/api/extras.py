"""What we offer beyond upstream's API: annotations under ``jobset.x-k8s.io/``, which the Go controller merely stores.

Each is one row of a table; whoever reads one takes its key and its parser from here. Admission refuses an unknown
key under the prefix, which is most often a misspelt one, and a value that its parser does not take.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from jobset.api import keys

T = TypeVar('T')

PREFIX: Final = f'{keys.GROUP}/'


class ExtraError(ValueError):
    """The value is none that the annotation takes. The text says what it takes."""


@dataclass(frozen=True, kw_only=True)
class Extra(Generic[T]):
    """One annotation."""

    key: str
    text: str
    """What it does, as the documentation shows it."""

    example: str
    """A value that it takes."""

    parse: Callable[[str], T]
    """Reads a value; raises :class:`ExtraError`."""

    def of(self, annotations: Mapping[str, str] | None) -> T | None:
        """What was asked for; None where nothing was, or what was admitted by a version that took it."""
        value = (annotations or {}).get(self.key)
        try:
            return None if value is None else self.parse(value)
        except ExtraError:
            return None


def _one_of(*values: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in values:
            raise ExtraError(f'{text!r} is none of: {", ".join(values)}')
        return text

    return parse


def _label(text: str) -> str:
    prefix, slash, name = text.rpartition('/')
    if not _LABEL_NAME.fullmatch(name) or (slash and not _LABEL_PREFIX.fullmatch(prefix)) or len(prefix) > _PREFIX_MOST:
        raise ExtraError(f'{text!r} is no key of a label; write it as the nodes bear it')
    return text


_LABEL_NAME: Final = re.compile('[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?', re.ASCII)
_LABEL_PREFIX: Final = re.compile(r'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*', re.ASCII)
_PREFIX_MOST: Final = 253


def _names(text: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(','))
    if not all(found) or len(set(found)) < len(found):
        raise ExtraError(f'{text!r} is no list of different names; write them with commas between')
    return found


GANG: Final = Extra[str](
    key=f'{PREFIX}gang',
    text='Which pods get their nodes together or not at all: those of the whole set, of each replicated job, of each '
    'Job, or of each stage, which is what starts at the same time by dependsOn or in order.',
    example='stage',
    parse=_one_of('set', 'replicatedJob', 'job', 'stage'),
)
GANG_DISRUPTION: Final = Extra[str](
    key=f'{PREFIX}gang-disruption',
    text='Whether a preemption takes away all pods of a gang or single ones. Single ones, when absent.',
    example='all',
    parse=_one_of('single', 'all'),
)
GANG_TOPOLOGY: Final = Extra[str](
    key=f'{PREFIX}gang-topology',
    text='All pods of a gang on nodes with the same value of this label.',
    example='topology.kubernetes.io/rack',
    parse=_label,
)
GANG_CLAIMS: Final = Extra[tuple[str, ...]](
    key=f'{PREFIX}gang-claims',
    text='Names of resourceClaims in the pod templates, up to 4, which the pods of a gang share.',
    example='fabric',
    parse=_names,
)

ON_JOBSET: Final[tuple[Extra[Any], ...]] = (GANG, GANG_DISRUPTION, GANG_TOPOLOGY, GANG_CLAIMS)
"""Those of a JobSet's own metadata."""

ON_REPLICATED_JOB: Final[tuple[Extra[Any], ...]] = ()
"""Those of the metadata of a replicated job's Job template; there they hold for this replicated job."""
