"""How long a pod bears the taints of its node. Without any I/O.

Source: Kubernetes, "Taints and Tolerations".
"""

import datetime
from collections.abc import Sequence

from jobset.local import objects
from jobset.local.controllers import models

NO_EXECUTE = 'NoExecute'


def evicted_at(
    tolerations: Sequence[models.Toleration],
    taints: Sequence[models.Taint],
    noticed: datetime.datetime,
) -> datetime.datetime | None:
    """When a pod has to go because of taints, which may be at once; None for never.

    ``noticed`` stands for the time of taints that have none.
    """
    ends = []
    for taint in taints:
        if taint.effect != NO_EXECUTE:
            continue
        since = objects.moment(taint.time_added) if taint.time_added else noticed
        bearing = [one for one in tolerations if _tolerates(one, taint)]
        if not bearing:
            ends.append(since)
            continue
        limits = [max(0, one.toleration_seconds) for one in bearing if one.toleration_seconds is not None]
        if limits:
            ends.append(since + datetime.timedelta(seconds=min(limits)))
    return min(ends, default=None)


def _tolerates(toleration: models.Toleration, taint: models.Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == 'Exists':
        return True
    return bool(toleration.key) and toleration.operator in ('', 'Equal') and toleration.value == taint.value
