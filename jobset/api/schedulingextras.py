"""What a JobSet tells the embedded scheduler by annotations: rows of the same kind as :mod:`jobset.api.extras`.

Kueue's annotations on where pods go mean the same as ours; where both are there, ours count.
"""

from typing import Final

from jobset.api import extravalues, keys, slices
from jobset.api.extras import PREFIX, Extra

_PODS_MOST: Final = 999_999_999

PRIORITY: Final = Extra(
    key=f'{PREFIX}priority',
    text='The priority as a number, where no class of priority is named.',
    example='1000',
    parse=extravalues.integer,
)
PROTECTED: Final = Extra(
    key=f'{PREFIX}protected',
    text='Nobody may evict the set. Only where the administrator allows it.',
    example='true',
    parse=extravalues.switch,
)
EXPECTED_DURATION: Final = Extra(
    key=f'{PREFIX}expected-duration',
    text='How long the set is going to run: for estimates, and to let short sets start before long ones.',
    example='6h',
    parse=extravalues.duration,
)
MIN_RUNTIME: Final = Extra(
    key=f'{PREFIX}min-runtime',
    text='How long the set may run before it may be evicted.',
    example='30m',
    parse=extravalues.duration,
)
CHECKPOINT_INTERVAL: Final = Extra(
    key=f'{PREFIX}checkpoint-interval',
    text='How often the set saves its state: an eviction costs what came after.',
    example='15m',
    parse=extravalues.duration,
)
LAST_CHECKPOINT: Final = Extra(
    key=f'{PREFIX}last-checkpoint',
    text='When the set has saved its state, written by itself; instead of what follows from the interval.',
    example='2026-01-31T12:00:00Z',
    parse=extravalues.moment,
)

MIN_PODS: Final = Extra(
    key=f'{PREFIX}min-pods',
    text='So many pods of the replicated job are enough to start with; rounded up to whole Jobs.',
    example='8',
    parse=lambda text: extravalues.number(text, most=_PODS_MOST),
)

REQUIRED_TOPOLOGY: Final = Extra(
    key=f'{PREFIX}required-topology',
    text='All pods of the replicated job on nodes with the same value of this label, or nowhere.',
    example='topology.example.com/rack',
    parse=extravalues.label_key,
)
PREFERRED_TOPOLOGY: Final = Extra(
    key=f'{PREFIX}preferred-topology',
    text='The same where possible; else as near to each other as can be.',
    example='topology.example.com/rack',
    parse=extravalues.label_key,
)
UNCONSTRAINED_TOPOLOGY: Final = Extra(
    key=f'{PREFIX}unconstrained-topology',
    text='The pods go anywhere, in what others have the least use for.',
    example='true',
    parse=extravalues.switch,
)
SLICE_TOPOLOGY: Final = Extra(
    key=f'{PREFIX}slice-topology',
    text='Each so many pods on nodes with the same value of a label: up to three layers, from coarse to fine.',
    example='topology.example.com/rack=16,kubernetes.io/hostname=4',
    parse=slices.parse,
)
LEADER_OF: Final = Extra(
    key=f'{PREFIX}leader-of',
    text='The one pod of this replicated job belongs to the pods of that one, and counts when a place is looked for.',
    example='workers',
    parse=extravalues.name,
)

KUEUE_REQUIRED: Final = Extra(
    key=keys.KUEUE_REQUIRED_TOPOLOGY, text='', example=REQUIRED_TOPOLOGY.example, parse=extravalues.label_key
)
KUEUE_PREFERRED: Final = Extra(
    key=keys.KUEUE_PREFERRED_TOPOLOGY, text='', example=PREFERRED_TOPOLOGY.example, parse=extravalues.label_key
)
KUEUE_UNCONSTRAINED: Final = Extra(
    key=keys.KUEUE_UNCONSTRAINED_TOPOLOGY, text='', example='true', parse=extravalues.switch
)
KUEUE_SLICE: Final = Extra(
    key=keys.KUEUE_SLICE_TOPOLOGY, text='', example='topology.example.com/rack', parse=extravalues.label_key
)
KUEUE_SLICE_SIZE: Final = Extra(
    key=keys.KUEUE_SLICE_SIZE, text='', example='16', parse=lambda text: extravalues.number(text, most=_PODS_MOST)
)
KUEUE_SLICES: Final = Extra(
    key=keys.KUEUE_SLICES, text='', example='[{"topology": "rack", "size": 16}]', parse=slices.parse
)
KUEUE_GROUP: Final = Extra(key=keys.KUEUE_GROUP, text='', example='training', parse=str)

ON_JOBSET: Final[tuple[Extra[object], ...]] = (
    PRIORITY,
    PROTECTED,
    EXPECTED_DURATION,
    MIN_RUNTIME,
    CHECKPOINT_INTERVAL,
    LAST_CHECKPOINT,
)
"""Those of a JobSet's own metadata."""

ON_JOB_TEMPLATE: Final[tuple[Extra[object], ...]] = (MIN_PODS,)
"""Those of the metadata of a replicated job's Job template."""

ON_POD_TEMPLATE: Final[tuple[Extra[object], ...]] = (
    REQUIRED_TOPOLOGY,
    PREFERRED_TOPOLOGY,
    UNCONSTRAINED_TOPOLOGY,
    SLICE_TOPOLOGY,
    LEADER_OF,
)
"""Those of the metadata of a replicated job's pod template."""

OF_KUEUE: Final[tuple[Extra[object], ...]] = (
    KUEUE_REQUIRED,
    KUEUE_PREFERRED,
    KUEUE_UNCONSTRAINED,
    KUEUE_SLICE,
    KUEUE_SLICE_SIZE,
    KUEUE_SLICES,
)
"""Kueue's own in the same place. Admission leaves them to Kueue; the scheduler does not take what it cannot read."""
