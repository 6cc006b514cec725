"""Asks admission about one request; costs nothing where nobody wants to be asked."""

from jobset.local import objects
from jobset.local.admission import review
from jobset.local.objects import Object
from jobset.local.resources import Kind
from jobset.local.server.planes import Plane


def asking(
    plane: Plane,
    kind: Kind,
    operation: str,
    *,
    namespace: str,
    name: str = '',
    subresource: str = '',
    said: list[str],
    dry_run: bool = False,
) -> 'Asking | None':
    """How to ask about a request; None where nobody wants to be asked, as of most of them."""
    admission = plane.admission
    if admission is None or not (
        admission.is_mutating(kind, operation, subresource) or admission.is_validating(kind, operation, subresource)
    ):
        return None
    return Asking(
        plane,
        kind,
        operation,
        namespace=namespace,
        name=name,
        subresource=subresource,
        said=said,
        dry_run=dry_run,
    )


class Asking:
    """One request, in its two rounds; ``said`` gets what is to be said to the client."""

    def __init__(
        self,
        plane: Plane,
        kind: Kind,
        operation: str,
        *,
        namespace: str,
        name: str = '',
        subresource: str = '',
        said: list[str],
        dry_run: bool = False,
        options: Object | None = None,
        body_kind: tuple[str, str, str] | None = None,
    ) -> None:
        self._admission = plane.admission
        self._kind = kind
        self._operation = operation
        self._subresource = subresource
        self._namespace = namespace
        self._name = name
        self._dry_run = dry_run
        self._options = options
        self._body_kind = body_kind
        self._said = said

    async def mutate(self, obj: Object, old: Object | None) -> Object:
        """The object as they want it; the very same when nobody changes it."""
        admission = self._admission
        if admission is None or not admission.is_mutating(self._kind, self._operation, self._subresource):
            return obj
        return await admission.mutate(self._review(obj, old))

    async def validate(self, obj: Object | None, old: Object | None) -> None:
        """Raises Problem for a refusal."""
        admission = self._admission
        if admission is not None and admission.is_validating(self._kind, self._operation, self._subresource):
            await admission.validate(self._review(obj, old))

    def _review(self, obj: Object | None, old: Object | None) -> review.Review:
        name = self._name or (objects.name(obj) if obj is not None else '')
        return review.Review(
            operation=self._operation,
            kind=self._kind,
            subresource=self._subresource,
            namespace=self._namespace,
            name=name,
            object=obj,
            old_object=old,
            dry_run=self._dry_run,
            options=self._options,
            body_kind=self._body_kind,
            warnings=self._said,
        )
