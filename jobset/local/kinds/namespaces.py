"""Namespaces."""

from typing import Final

from jobset.local import objects, resources, schemas
from jobset.local.kinds import cells, faults, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

NAME_LABEL: Final = 'kubernetes.io/metadata.name'
FINALIZER: Final = 'kubernetes'
"""Stands in the spec until everything in the namespace is gone; subresource ``finalize`` takes it away."""

_VERBS: Final = tuple(verb for verb in resources.VERBS if verb != 'deletecollection')


class Rules(typed.Rules):
    """Of namespaces."""

    shape = 'core.Namespace'
    has_generation = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """It begins active, and ends only when it is empty."""
        obj['status'] = {'phase': 'Active'}
        spec = obj.get('spec') or {}
        finalizers = list(spec.get('finalizers') or ())
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
        obj['spec'] = spec | {'finalizers': finalizers}

    def complete(self, obj: Object) -> None:
        """The label with the name, which selectors of namespaces go by."""
        name = objects.name(obj)
        if name:
            metadata = obj['metadata']
            metadata['labels'] = (metadata.get('labels') or {}) | {NAME_LABEL: name}
        obj['status'].setdefault('phase', 'Active')

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new namespace."""
        text = 'name is neither a standard finalizer name nor is it fully qualified'
        return [
            faults.invalid('spec.finalizers', name, text)
            for name in obj['spec'].get('finalizers') or ()
            if '/' not in name and name not in (FINALIZER, 'orphan', 'foregroundDeletion')
        ]

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """Finalizers of the spec go by their own subresource, the status by its own."""
        for key in ('spec', 'status'):
            typed.keep(key, old, obj)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Nothing beyond the metadata can change."""
        return []

    def validate_status(self, obj: Object, old: Object) -> list[Cause]:
        """The phase follows from the deletion."""
        phase, going = (obj.get('status') or {}).get('phase', ''), bool(old['metadata'].get('deletionTimestamp'))
        if going and phase != 'Terminating':
            text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            return [faults.invalid('status.Phase', phase, text)]
        if not going and phase != 'Active':
            return [faults.invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty")]
        return []


COLUMNS: Final = (
    cells.NAME,
    Column(
        'Status', lambda obj, _: (obj.get('status') or {}).get('phase', ''), description='The status of the namespace'
    ),
    cells.AGE,
)


def kind() -> resources.Kind:
    """Namespaces as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='namespaces',
        singular='namespace',
        kind='Namespace',
        namespaced=False,
        short_names=('ns',),
        subresources=frozenset({'status', 'finalize'}),
        verbs=_VERBS,
        rules=Rules(),
        columns=COLUMNS,
        schema=schemas.builtin('', 'v1', 'Namespace'),
        selectable={'status.phase': lambda obj: str((obj.get('status') or {}).get('phase', ''))},
    )
