"""What is kept of each attempt that failed: the first cause, where, and the last words.

Asked for by :data:`jobset.api.extras.ARCHIVE_ATTEMPTS`. It stands in a ConfigMap that the set owns and not in its
status: last words are long, the status is sent to everybody who watches JobSets, and no field of it could hold them. An
entry is named after its attempt and written before the status that ends the attempt, so that writing it twice changes
nothing: ``3`` is the attempt of the whole set, ``3.train-w-1.2`` the attempt 2 of a single Job within it, and
``3.in-place.5`` one in place.
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


def entry(
    draft: status.Draft,
    job: str,
    death: causes.Death,
    *,
    own_attempt: int | None = None,
    in_place_attempt: int | None = None,
) -> plan.AttemptRecord:
    """The end of the attempt that was running until this pass: of the set, of a single Job, or in place."""
    ending = conditions.terminal(draft.current)
    told = ending or conditions.find(draft.current, conditions.RESTARTING)
    reason = told.reason if told is not None else ''
    if ending is None and own_attempt is not None:
        reason = 'JobRestarted'
    elif ending is None and in_place_attempt is not None:
        reason = 'RestartedInPlace'
    return plan.AttemptRecord(
        attempt=draft.stored.restarts,
        own_attempt=own_attempt,
        in_place_attempt=in_place_attempt if ending is None else None,
        ended_at=conditions.timestamp(draft.now),
        reason=reason,
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
    kept = {**data, _key(new): msgspec.json.encode(new).decode()}
    ours = (key for key in kept if _attempt(key) is not None)
    by_age = sorted(ours, key=lambda key: _age(key, kept[key]), reverse=True)
    fitting: dict[str, str] = {}
    size = 0
    for key in by_age:
        size += len(key) + len(kept[key].encode())
        if size > MOST_BYTES:
            break
        fitting[key] = kept[key]
    return dict(reversed(fitting.items()))


class _Ended(msgspec.Struct, frozen=True, rename='camel'):
    """When an attempt ended, as its entry tells."""

    ended_at: str = ''


def _key(record: plan.AttemptRecord) -> str:
    if record.own_attempt is not None:
        return f'{record.attempt}.{record.job}.{record.own_attempt}'
    if record.in_place_attempt is not None:
        return f'{record.attempt}.in-place.{record.in_place_attempt}'
    return str(record.attempt)


def _attempt(key: str) -> int | None:
    """The attempt of the set that an entry belongs to; None where it is none of ours."""
    attempt = key.partition('.')[0]
    return int(attempt) if attempt.isdecimal() else None


def _age(key: str, text: str) -> tuple[int, bool, str, str]:
    """What entries are sorted by: what ended within an attempt comes before its own end."""
    try:
        ended_at = msgspec.json.decode(text, type=_Ended).ended_at
    except msgspec.MsgspecError:
        ended_at = ''
    return (_attempt(key) or 0, key.isdecimal(), ended_at, key)


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
