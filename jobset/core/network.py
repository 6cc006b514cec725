"""Host names: the headless Service of a JobSet, and the names made of it.

Source: JobSet API, ``spec.network`` and ``spec.coordinator``. A pod is reached as
``<jobset>-<replicated job>-<job index>-<pod index>.<service>``.
"""

from typing import Final

import msgspec

from jobset.api import keys, meta, types

NO_CLUSTER_IP: Final = 'None'


class ServiceSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """What tells whether a Service gives the pods of a set their names."""

    cluster_ip: str | None = msgspec.field(default=None, name='clusterIP')
    selector: dict[str, str] | None = None


class Service(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A Service as it is observed."""

    metadata: meta.ObjectMeta
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)


def is_enabled(jobset: types.JobSet) -> bool:
    """Whether pods get host names. Without admission a missing flag means no."""
    network = jobset.spec.network
    return network is not None and bool(network.enable_dns_hostnames)


def service_name(jobset: types.JobSet) -> str:
    """The name of the Service, which is the subdomain of every pod."""
    network = jobset.spec.network
    return (network.subdomain if network else None) or jobset.metadata.name


def service(jobset: types.JobSet) -> dict[str, object]:
    """The headless Service of the set, in full."""
    network = jobset.spec.network
    publish = network.publish_not_ready_addresses if network else None
    return {
        'apiVersion': 'v1',
        'kind': 'Service',
        'metadata': {
            'name': service_name(jobset),
            'namespace': jobset.metadata.namespace,
            'ownerReferences': [owner_reference(jobset)],
        },
        'spec': {
            'clusterIP': NO_CLUSTER_IP,
            'selector': {keys.JOBSET_NAME: jobset.metadata.name},
            'publishNotReadyAddresses': publish is None or publish,
        },
    }


def serves(seen: Service, jobset: types.JobSet) -> bool:
    """Whether a Service under the wanted name resolves the pods of this set, whoever made it."""
    wanted = {keys.JOBSET_NAME: jobset.metadata.name}
    # A selector that asks for less still selects our pods.
    selects = bool(seen.spec.selector) and (seen.spec.selector or {}).items() <= wanted.items()
    return seen.spec.cluster_ip == NO_CLUSTER_IP and selects


def coordinator_endpoint(jobset: types.JobSet) -> str | None:
    """The host name of the coordinator's pod, as all pods are told it; None where no coordinator is named."""
    coordinator = jobset.spec.coordinator
    if coordinator is None:
        return None
    pod = f'{coordinator.replicated_job}-{coordinator.job_index}-{coordinator.pod_index}'
    return f'{jobset.metadata.name}-{pod}.{service_name(jobset)}'


def owner_reference(jobset: types.JobSet, *, manages: bool = True) -> dict[str, object]:
    """The reference by which an object belongs to the set, and goes with it; managed by it, or only kept."""
    owner: dict[str, object] = {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'name': jobset.metadata.name,
        'uid': jobset.metadata.uid,
    }
    return owner | {'controller': True, 'blockOwnerDeletion': True} if manages else owner
