"""What we offer beyond upstream's API: annotations under ``jobset.x-k8s.io/``, which the Go controller merely stores.

Each is one row of a table; whoever reads one takes its key and its parser from here, or, where the embedded scheduler
does, from :mod:`jobset.api.schedulingextras`. Admission refuses an unknown key under the prefix, which is most often a
misspelt one, and a value that its parser does not take.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from jobset.api import extravalues, keys

T_co = TypeVar('T_co', covariant=True)

PREFIX: Final = f'{keys.GROUP}/'
ExtraError = extravalues.ExtraError


@dataclass(frozen=True, kw_only=True)
class Extra(Generic[T_co]):
    """One annotation."""

    key: str
    text: str
    """What it does, as the documentation shows it."""

    example: str
    """A value that it takes."""

    parse: Callable[[str], T_co]
    """Reads a value; raises :class:`ExtraError`."""

    def of(self, annotations: Mapping[str, str] | None) -> T_co | None:
        """What was asked for; None where nothing was, or what was admitted by a version that took it."""
        value = (annotations or {}).get(self.key)
        try:
            return None if value is None else self.parse(value)
        except ExtraError:
            return None


DONE_STAYS_DONE: Final = Extra(
    key=f'{PREFIX}done-stays-done',
    text='A Job that has succeeded is not run again in its attempt, though somebody deletes it. '
    '`ttlSecondsAfterFinished` of a Job template is carried out by the controller then.',
    example='true',
    parse=extravalues.switch,
)

START_LIMIT: Final = Extra(
    key=f'{PREFIX}start-limit',
    text='How long a Job may take from its start until all of its pods are ready; then the set fails with the reason '
    '`StartLimitExceeded`. Counts anew in each attempt and after each resume.',
    example='10m',
    parse=extravalues.duration,
)

WAIT_LIMIT: Final = Extra(
    key=f'{PREFIX}wait-limit',
    text='How long the set may wait, suspended or without any Job that has started; then it fails with the reason '
    '`WaitLimitExceeded`.',
    example='24h',
    parse=extravalues.duration,
)

RUN_LIMIT: Final = Extra(
    key=f'{PREFIX}run-limit',
    text='How long the set may run, restarts included, from its creation or its last resume; then it fails with the '
    'reason `RunLimitExceeded`.',
    example='48h',
    parse=extravalues.duration,
)

RESTART_BUDGETS: Final = Extra(
    key=f'{PREFIX}restart-budgets',
    text='How many restarts failures may cost, by cause, exit code and replicated job. What an entry names does not '
    'count towards `maxRestarts`.',
    example='disruption=free, start=free, node=5, driver/application=0',
    parse=extravalues.budgets,
)

RESTART_PAUSE: Final = Extra(
    key=f'{PREFIX}restart-pause',
    text='How long to wait before the next attempt: `base`, doubled with each restart up to `cap`, and `base` again '
    'after `reset` of running with all pods ready.',
    example='base=1s, cap=1m, reset=5m',
    parse=extravalues.pause,
)

RESTART_ON: Final = Extra(
    key=f'{PREFIX}restart-on',
    text='What counts as the failure of a Job: `JobFailed`; `FailureTarget`, without waiting for its pods to end; or '
    '`PodLost`, as soon as any pod of it has failed or was lost.',
    example='PodLost',
    parse=extravalues.one_of(extravalues.Trigger),
)

FENCE_AFTER: Final = Extra(
    key=f'{PREFIX}fence-after',
    text='How long a pod that was told to go may stay before something is done about it. Also keeps a new attempt from '
    'beginning while a pod of an earlier one may still run.',
    example='2m',
    parse=extravalues.duration,
)

FENCE_FINALIZERS: Final = Extra(
    key=f'{PREFIX}fence-finalizers',
    text='Finalizers of others that may be taken off a pod that is in the way; needs `fence-after`.',
    example='example.com/cleanup',
    parse=extravalues.finalizers,
)

ARCHIVE_ATTEMPTS: Final = Extra(
    key=f'{PREFIX}archive-attempts',
    text='Why each attempt failed is kept in the ConfigMap `<jobset>-attempts`, the oldest dropped beyond 64 KiB.',
    example='true',
    parse=extravalues.switch,
)

KEEP_FAILED: Final = Extra(
    key=f'{PREFIX}keep-failed-attempts',
    text='Of how many attempts the failed pods stay, with their logs, until the set goes.',
    example='2',
    parse=lambda text: extravalues.number(text, most=10),
)

GANG: Final = Extra(
    key=f'{PREFIX}gang',
    text='Which pods get their nodes together or not at all: those of the whole set, of each replicated job, of each '
    'Job, or of each stage, which is what starts at the same time by dependsOn or in order.',
    example='stage',
    parse=extravalues.choice('set', 'replicatedJob', 'job', 'stage'),
)
GANG_DISRUPTION: Final = Extra(
    key=f'{PREFIX}gang-disruption',
    text='Whether a preemption takes away all pods of a gang or single ones. Single ones, when absent.',
    example='all',
    parse=extravalues.choice('single', 'all'),
)
GANG_TOPOLOGY: Final = Extra(
    key=f'{PREFIX}gang-topology',
    text='All pods of a gang on nodes with the same value of this label.',
    example='topology.kubernetes.io/rack',
    parse=extravalues.label_key,
)
GANG_CLAIMS: Final = Extra(
    key=f'{PREFIX}gang-claims',
    text='Names of resourceClaims in the pod templates, up to 4, which the pods of a gang share.',
    example='fabric',
    parse=extravalues.names,
)

ON_JOBSET: Final[tuple[Extra[object], ...]] = (
    DONE_STAYS_DONE,
    START_LIMIT,
    WAIT_LIMIT,
    RUN_LIMIT,
    RESTART_BUDGETS,
    RESTART_PAUSE,
    RESTART_ON,
    FENCE_AFTER,
    FENCE_FINALIZERS,
    ARCHIVE_ATTEMPTS,
    KEEP_FAILED,
    GANG,
    GANG_DISRUPTION,
    GANG_TOPOLOGY,
    GANG_CLAIMS,
)
"""Those of a JobSet's own metadata."""
