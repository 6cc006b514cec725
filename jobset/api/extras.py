"""What we offer beyond upstream's API: annotations under ``jobset.x-k8s.io/``, which the Go controller merely stores.

Each is one row of a table; whoever reads one takes its key and its parser from here. Admission refuses an unknown
key under the prefix, which is most often a misspelt one, and a value that its parser does not take.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

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


ON_JOBSET: Final[tuple[Extra[object], ...]] = ()
"""Those of a JobSet's own metadata."""

ON_REPLICATED_JOB: Final[tuple[Extra[object], ...]] = ()
"""Those of the metadata of a replicated job's Job template; there they hold for this replicated job."""
