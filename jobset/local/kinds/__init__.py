"""The kinds that the plane knows without a CustomResourceDefinition, one module each.

What is stored for an object, what is refused and in which words, and what ``kubectl get`` shows are those of
kube-apiserver; ``tests/local/kinds`` compares them with recorded answers of one.
"""

import functools
from collections.abc import Sequence

from jobset.local import resources
from jobset.local.kinds import (
    claims,
    configmaps,
    endpointslices,
    events,
    extensions,
    jobs,
    namespaces,
    nodes,
    pods,
    scheduling,
    services,
    simple,
)


@functools.cache
def all_() -> Sequence[resources.Kind]:
    """Every built-in kind, in the order of discovery. Made at the first call: that reads the vendored data."""
    return (
        configmaps.config_maps(),
        simple.endpoints(),
        events.core(),
        namespaces.kind(),
        nodes.kind(),
        claims.claims(),
        claims.volumes(),
        pods.kind(),
        configmaps.secrets(),
        simple.accounts(),
        services.kind(),
        extensions.mutating(),
        extensions.validating(),
        extensions.definitions(),
        jobs.kind(),
        simple.leases(),
        endpointslices.kind(),
        events.new(),
        scheduling.pod_groups(),
        scheduling.priority_classes(),
        scheduling.workloads(),
        claims.classes(),
    )
