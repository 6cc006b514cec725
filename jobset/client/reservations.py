"""Nodes for the node-selector strategy of exclusive placement: each Job gets one topology domain, all of its nodes.

::

    kubectl get nodes -o json | python -m jobset.client.reservations train.yaml --topology example.com/rack \
        | kubectl apply --server-side --force-conflicts -f -

prints the nodes with the label that the pods of their Job select, and the taint that keeps all others away. Nodes that
are reserved already stay with their Job, so that it can be done again for the same file.
"""

import argparse
import json
import pathlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import yaml

from jobset.api import keys

Object = Mapping[str, Any]

TAINT: Final = {'key': keys.NO_SCHEDULE, 'value': 'true', 'effect': 'NoSchedule'}


class TooFewDomainsError(ValueError):
    """There are more Jobs than domains."""


def jobs(manifests: Iterable[Object], namespace: str) -> list[str]:
    """The Jobs of all JobSets, as their pods select nodes: ``<namespace>_<job>``."""
    return [
        f'{jobset["metadata"].get("namespace") or namespace}_{jobset["metadata"]["name"]}-{job["name"]}-{index}'
        for jobset in manifests
        if jobset.get('kind') == keys.KIND
        for job in jobset['spec']['replicatedJobs']
        for index in range(job.get('replicas', 1))
    ]


def reserve(wanted: Sequence[str], nodes: Iterable[Object], topology: str) -> list[Object]:
    """What is to be applied to the nodes. Raises :class:`TooFewDomainsError`."""
    domains: dict[str, list[str]] = {}
    held: dict[str, str] = {}
    for node in nodes:
        labels = node['metadata'].get('labels') or {}
        if topology not in labels:
            continue
        domain = labels[topology]
        domains.setdefault(domain, []).append(node['metadata']['name'])
        if keys.NAMESPACED_JOB in labels:
            held.setdefault(labels[keys.NAMESPACED_JOB], domain)
    kept = {job: held[job] for job in wanted if job in held}
    # A domain that is held for a Job of somebody else is not given away.
    free = sorted(domains.keys() - set(held.values()))
    new = [job for job in wanted if job not in kept]
    if len(new) > len(free):
        raise TooFewDomainsError(
            f'{len(new)} Jobs need a domain, and {len(free)} of {len(domains)} domains of {topology} are free; '
            'label more nodes, or take the label alpha.jobset.sigs.k8s.io/namespaced-job off those that are not needed'
        )
    places = kept | dict(zip(new, free, strict=False))
    return [_reserved(name, job) for job in wanted for name in sorted(domains[places[job]])]


def _reserved(node: str, job: str) -> Object:
    return {
        'apiVersion': 'v1',
        'kind': 'Node',
        'metadata': {'name': node, 'labels': {keys.NAMESPACED_JOB: job}},
        'spec': {'taints': [TAINT]},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the nodes; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python -m jobset.client.reservations', description='Reserve nodes for Jobs.')
    parser.add_argument('file', type=pathlib.Path, help='manifests with the JobSets')
    parser.add_argument('--topology', required=True, help='label of nodes; those with the same value are one domain')
    parser.add_argument('--namespace', default='default', help='of JobSets that name none')
    chosen = parser.parse_args(arguments)
    manifests = [one for one in yaml.safe_load_all(chosen.file.read_text()) if one]
    try:
        made = reserve(jobs(manifests, chosen.namespace), json.load(sys.stdin)['items'], chosen.topology)
    except TooFewDomainsError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 1
    print(json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': made}, indent=1))  # noqa: T201
    return 0


if __name__ == '__main__':
    sys.exit(main())
