"""Which endpoint slices a service should have, given its pods and the slices that it has. Without any I/O.

Source: Kubernetes, "EndpointSlices"; shapes as kube-controller-manager 1.37 writes them. Endpoints stay in the slice in
which they are, so that one pod that comes or goes changes one slice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobset.local.controllers import models
from jobset.local.objects import Object

LARGEST: Final = 100
"""Endpoints in one slice."""

SERVICE_NAME: Final = 'kubernetes.io/service-name'
MANAGED_BY: Final = 'endpointslice.kubernetes.io/managed-by'
MANAGER: Final = 'endpointslice-controller.k8s.io'
HEADLESS: Final = 'service.kubernetes.io/headless'

Ports = list[Object]


@dataclass(frozen=True)
class Plan:
    """What has to be written."""

    create: Sequence[Object] = ()
    update: Sequence[tuple[models.EndpointSlice, Object]] = ()
    """Slices, and the fields to write into each."""

    delete: Sequence[models.EndpointSlice] = ()


def is_served(service: models.Service) -> bool:
    """Whether slices are kept for the service: not without a selector, and not for a name elsewhere."""
    return bool(service.spec.selector) and service.spec.type != 'ExternalName' and not service.metadata.is_deleting


def plan(service: models.Service, pods: Iterable[models.Pod], slices: Sequence[models.EndpointSlice]) -> Plan:
    """The changes that make the slices of a service show its pods."""
    labels = _labels(service)
    groups: dict[tuple[Any, ...], _Group] = {}
    for pod in pods:
        if pod.status.pod_ip and not pod.is_finished:
            ports = ports_of(service, pod)
            group = groups.setdefault(_key(ports), _Group(ports))
            group.wanted[pod.metadata.uid] = endpoint(service, pod)
    delete = []
    for one in sorted(slices, key=lambda one: one.metadata.name):
        suiting = groups.get(_key(one.ports or []))
        if suiting is None:
            delete.append(one)
        else:
            suiting.slices.append(one)
    if not groups:
        # One that is empty says that the service has been looked at.
        groups[()] = _Group([], slices=delete[:1])
        del delete[:1]
    create: list[Object] = []
    update: list[tuple[models.EndpointSlice, Object]] = []
    is_only = len(groups) == 1
    for group in groups.values():
        group.plan(service, labels, create, update, delete, keep_one=is_only)
    return Plan(create, update, delete)


@dataclass
class _Group:
    """Endpoints with the same ports, and the slices that have them now."""

    ports: Ports
    wanted: dict[str, Object] = field(default_factory=dict)
    slices: list[models.EndpointSlice] = field(default_factory=list)

    def plan(
        self,
        service: models.Service,
        labels: Mapping[str, str],
        create: list[Object],
        update: list[tuple[models.EndpointSlice, Object]],
        delete: list[models.EndpointSlice],
        *,
        keep_one: bool,
    ) -> None:
        missing = dict(self.wanted)
        kept = [[missing.pop(uid) for uid in _uids(one) if uid in missing] for one in self.slices]
        rest = list(missing.values())
        for endpoints in kept:
            room = LARGEST - len(endpoints)
            endpoints.extend(rest[:room])
            del rest[:room]
        for place, (one, endpoints) in enumerate(zip(self.slices, kept, strict=True)):
            if not endpoints and not (keep_one and place == 0 and not self.wanted):
                delete.append(one)
            elif (endpoints, labels, self.ports) != (one.endpoints or [], one.metadata.labels, one.ports or []):
                metadata = {'resourceVersion': one.metadata.resource_version, 'labels': labels}
                update.append((one, {'metadata': metadata, 'endpoints': endpoints, 'ports': self.ports or None}))
        if not self.wanted and not self.slices:
            create.append(_slice(service, labels, [], self.ports))
        create.extend(
            _slice(service, labels, rest[start : start + LARGEST], self.ports) for start in range(0, len(rest), LARGEST)
        )


def endpoint(service: models.Service, pod: models.Pod) -> Object:
    """A pod as an endpoint."""
    terminating = pod.metadata.is_deleting
    serving = pod.is_ready
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    found: Object = {
        'addresses': [pod.status.pod_ip],
        'conditions': {'ready': ready, 'serving': serving, 'terminating': terminating},
    }
    if service.spec.cluster_ip == 'None' and pod.spec.hostname and pod.spec.subdomain == service.metadata.name:
        found['hostname'] = pod.spec.hostname
    if pod.spec.node_name:
        found['nodeName'] = pod.spec.node_name
    metadata = pod.metadata
    found['targetRef'] = {
        'kind': 'Pod',
        'namespace': metadata.namespace,
        'name': metadata.name,
        'uid': metadata.uid,
    }
    return found


def ports_of(service: models.Service, pod: models.Pod) -> Ports:
    """The ports of a service as this pod has them; one whose name the pod does not know is left out."""
    found = []
    for port in service.spec.ports or ():
        number = _number(port, pod)
        if number is not None:
            one: Object = {'name': port.name, 'port': number, 'protocol': port.protocol}
            if port.app_protocol is not None:
                one['appProtocol'] = port.app_protocol
            found.append(one)
    return sorted(found, key=lambda one: str(one['name']))


def _number(port: models.ServicePort, pod: models.Pod) -> int | None:
    target = port.target_port
    if target in (None, 0, ''):
        return port.port
    if isinstance(target, int):
        return target
    for container in pod.spec.containers or ():
        for named in container.ports or ():
            if named.name == target and named.protocol == port.protocol:
                return named.container_port
    return None


def _labels(service: models.Service) -> dict[str, str]:
    labels = {SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}
    if service.spec.cluster_ip == 'None':
        labels[HEADLESS] = ''
    return dict(service.metadata.labels) | labels


def _slice(service: models.Service, labels: Mapping[str, str], endpoints: list[Object], ports: Ports) -> Object:
    owner = {
        'apiVersion': 'v1',
        'kind': 'Service',
        'name': service.metadata.name,
        'uid': service.metadata.uid,
        'controller': True,
        'blockOwnerDeletion': True,
    }
    metadata = {
        'generateName': f'{service.metadata.name}-',
        'namespace': service.metadata.namespace,
        'labels': labels,
        'ownerReferences': [owner],
    }
    body: Object = {'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'metadata': metadata}
    return body | {'addressType': 'IPv4', 'endpoints': endpoints, 'ports': ports or None}


def _uids(one: models.EndpointSlice) -> Iterable[str]:
    for endpoint_ in one.endpoints or ():
        yield (endpoint_.get('targetRef') or {}).get('uid', '')


def _key(ports: Ports) -> tuple[Any, ...]:
    return tuple(tuple(sorted(one.items())) for one in ports)
