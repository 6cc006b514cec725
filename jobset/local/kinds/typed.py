"""The rules that all kinds with Go types share: objects are brought into normal form before anything is looked at."""

from collections.abc import Collection

from jobset.local import resources
from jobset.local.kinds import normal
from jobset.local.objects import Object


class Rules(resources.Rules):
    """Rules of a kind behind which there is a struct."""

    shape: str
    """Its name, as ``core.Pod``."""

    brings_into_form = True

    def default(self, obj: Object, settled: Collection[str] = ()) -> None:
        """Bring the object into normal form and complete it."""
        normal.plan(self.shape).apply_beside(obj, settled)
        self.complete(obj)

    def complete(self, obj: Object) -> None:
        """Fill in what is not given. The object is in normal form."""


def keep(key: str, old: Object, new: Object) -> None:
    """Put back a part of the object that this request may not change."""
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)
