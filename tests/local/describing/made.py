"""Kinds for tests of describing."""

from collections.abc import Sequence
from typing import Any, cast

from jobset.local import resources


def kind(group: str, version: str, plural: str, name: str, **options: Any) -> resources.Kind:
    return resources.Kind(
        group=group,
        version=version,
        plural=plural,
        singular=name.lower(),
        kind=name,
        schema=cast('Any', None),
        **options,
    )


PODS = kind(
    '',
    'v1',
    'pods',
    'Pod',
    short_names=('po',),
    categories=('all',),
    subresources=frozenset({'status', 'log', 'binding', 'eviction'}),
)
NAMESPACES = kind(
    '',
    'v1',
    'namespaces',
    'Namespace',
    namespaced=False,
    short_names=('ns',),
    subresources=frozenset({'status', 'finalize'}),
    verbs=('create', 'delete', 'get', 'list', 'patch', 'update', 'watch'),
)
JOBS = kind('batch', 'v1', 'jobs', 'Job', categories=('all',))
CLASSES = kind(
    'scheduling.k8s.io', 'v1', 'priorityclasses', 'PriorityClass', namespaced=False, subresources=frozenset()
)
WORKLOADS = kind('scheduling.k8s.io', 'v1beta1', 'workloads', 'Workload', subresources=frozenset())
CUSTOM_VERBS = ('delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch')
WIDGETS = kind(
    'h-g.example.com',
    'v1',
    'widgets',
    'Widget',
    short_names=('wd',),
    categories=('all',),
    subresources=frozenset({'status', 'scale'}),
    verbs=CUSTOM_VERBS,
)
OLD_WIDGETS = kind(
    'h-g.example.com', 'v1beta1', 'widgets', 'Widget', short_names=('wd',), subresources=frozenset(), verbs=CUSTOM_VERBS
)

ALL: Sequence[resources.Kind] = (OLD_WIDGETS, WIDGETS, WORKLOADS, CLASSES, JOBS, PODS, NAMESPACES)
