"""JobSets for tests of what the scheduler makes of them."""

from typing import Any

from jobset.api import types
from tests.api import build

OURS = 'jobset.x-k8s.io/'


def own(given: dict[str, str]) -> dict[str, str]:
    """Annotations under our own prefix."""
    return {OURS + key: value for key, value in given.items()}


def job(
    name: str,
    pods: int | None = 1,
    *,
    replicas: int = 1,
    completions: int | None = None,
    cpu: str = '1',
    complete: str = '',
    ready: str = '',
    asks: dict[str, str] | None = None,
    kueue: dict[str, str] | None = None,
    least: int | None = None,
    pod: dict[str, Any] | None = None,
) -> Any:
    """A replicated job of ``replicas`` Jobs with so many pods each, of ``cpu`` and 1Gi each.

    ``asks`` are annotations of its pods, ``complete`` and ``ready`` what it depends on.
    """
    resources = {'requests': {'cpu': cpu, 'memory': '1Gi'}}
    made = build.replicated(
        name,
        job={'parallelism': pods, 'completions': pods if completions is None else completions},
        pod={'containers': [{'name': 'c', 'resources': resources}], **(pod or {})},
    )
    made['replicas'] = replicas
    needs = [{'name': on, 'status': how} for on, how in ((complete, 'Complete'), (ready, 'Ready')) if on]
    if needs:
        made['dependsOn'] = needs
    annotations = own(asks or {}) | {f'kueue.x-k8s.io/{key}': value for key, value in (kueue or {}).items()}
    made['template']['spec']['template']['metadata'] = {'annotations': annotations}
    if least is not None:
        made['template']['metadata'] = {'annotations': own({'min-pods': str(least)})}
    return made


def jobset(
    *jobs: Any,
    labels: dict[str, str] | None = None,
    asks: dict[str, str] | None = None,
    succeeded: dict[str, int] | None = None,
    **spec: Any,
) -> types.JobSet:
    """A JobSet ``team/train``; ``succeeded`` are Jobs that did, by replicated job."""
    metadata = {'name': 'train', 'namespace': 'team', 'labels': own(labels or {}), 'annotations': own(asks or {})}
    zeros = {'ready': 0, 'failed': 0, 'active': 0, 'suspended': 0}
    status = {
        'replicatedJobsStatus': [{'name': name, 'succeeded': n, **zeros} for name, n in (succeeded or {}).items()]
    }
    return build.typed(build.obj(jobs, metadata=metadata, status=status, **spec))
