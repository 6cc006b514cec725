"""Whether the coordinator is a pod that will exist, under a host name that fits into a label."""

from jobset.api import keys, types
from jobset.api.templates import CompletionMode
from jobset.api.validation import fields, names


def check(spec: types.Spec, *, jobset_name: str) -> list[fields.FieldError]:
    """The mistakes in ``spec.coordinator``: the first about the pod, and independently those about its endpoint."""
    coordinator = spec.coordinator
    if coordinator is None:
        return []
    texts = (_pod(spec, coordinator), _endpoint(spec, coordinator, jobset_name))
    return [fields.plain(text) for text in texts if text is not None]


def endpoint(spec: types.Spec, coordinator: types.Coordinator, jobset_name: str) -> str:
    """The host name of the coordinator's pod inside its namespace."""
    subdomain = (spec.network.subdomain if spec.network else None) or jobset_name
    pod = f'{jobset_name}-{coordinator.replicated_job}-{coordinator.job_index}-{coordinator.pod_index}'
    return f'{pod}.{subdomain}'


def _pod(spec: types.Spec, coordinator: types.Coordinator) -> str | None:
    name = coordinator.replicated_job
    replicated = next((job for job in spec.replicated_jobs if job.name == name), None)
    if replicated is None:
        return f'coordinator replicatedJob {name} does not exist'
    if not 0 <= coordinator.job_index < replicated.count:
        return f'coordinator job index {coordinator.job_index} is invalid for replicatedJob {name}'
    job = replicated.job.spec
    if job.completion_mode != CompletionMode.INDEXED or job.completions is None:
        return 'job for coordinator pod must be indexed completion mode, and completions number must be set'
    if not 0 <= coordinator.pod_index < job.completions:
        return (
            f'coordinator pod index {coordinator.pod_index} is invalid for replicatedJob {name} '
            f'job index {coordinator.job_index}'
        )
    return None


def _endpoint(spec: types.Spec, coordinator: types.Coordinator, jobset_name: str) -> str | None:
    value = endpoint(spec, coordinator, jobset_name)
    reasons = names.label_value(value)
    if not reasons:
        return None
    return (
        f'spec will lead to invalid label value {fields.quote(value)} for coordinator label "{keys.COORDINATOR}" '
        f'(long JobSet / ReplicatedJob / SubDomain name?): {", ".join(reasons)}'
    )
