"""What is kept of each attempt that failed: the first cause, where, and the last words.

Asked for by :data:`jobset.api.extras.ARCHIVE_ATTEMPTS`. It stands in a ConfigMap that the set owns and not in its
status: last words are long, the status is sent to everybody who watches JobSets, and no field of it could hold them. An
entry is named after its attempt and written before the status that ends the attempt, so that writing it twice changes
nothing.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from jobset.api import keys, types
from jobset.core import causes, conditions, network, plan, status

MOST_BYTES: Final = 64 * 1024
"""What all entries may take together."""

_TEXT_AT_MOST: Final = 1_000


def name(jobset: types.JobSet) -> str:
    """The name of the ConfigMap."""
    return f'{jobset.metadata.name}-attempts'


def entry(draft: status.Draft, job: str, death: causes.Death) -> plan.AttemptRecord:
    """The end of the attempt that was running until this pass."""
    ending = conditions.terminal(draft.current)
    told = ending or conditions.find(draft.current, conditions.RESTARTING)
    return plan.AttemptRecord(
        attempt=draft.stored.restarts,
        ended_at=conditions.timestamp(draft.now),
        reason=told.reason if told is not None else '',
        jobset_failed=ending is not None,
        job=job,
        cause=death.cause.value,
        text=death.text[:_TEXT_AT_MOST],
        pod=death.pod,
        node=death.node,
        container=death.container,
        exit_code=death.exit_code,
        last_lines=death.lines,
    )


def added(data: Mapping[str, str], new: plan.AttemptRecord) -> dict[str, str]:
    """The data of the ConfigMap with the entry, without the oldest ones where all do not fit."""
    kept = {**data, str(new.attempt): msgspec.json.encode(new).decode()}
    by_age = sorted((key for key in kept if key.isdecimal()), key=int, reverse=True)
    fitting: dict[str, str] = {}
    size = 0
    for key in by_age:
        size += len(key) + len(kept[key].encode())
        if size > MOST_BYTES:
            break
        fitting[key] = kept[key]
    return {key: fitting[key] for key in sorted(fitting, key=int)}


def config_map(jobset: types.JobSet, data: Mapping[str, str]) -> dict[str, object]:
    """The ConfigMap in full."""
    return {
        'apiVersion': 'v1',
        'kind': 'ConfigMap',
        'metadata': {
            'name': name(jobset),
            'namespace': jobset.metadata.namespace,
            'labels': {keys.JOBSET_NAME: jobset.metadata.name},
            'ownerReferences': [network.owner_reference(jobset)],
        },
        'data': dict(data),
    }
