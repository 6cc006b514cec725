"""Services. Nothing listens on their addresses, names are what the plane resolves."""

from typing import Final

from jobset.local import resources, schemas
from jobset.local.kinds import cells, serviceaddresses, servicespec, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

_AFFINITY_SECONDS: Final = 10800


class Rules(typed.Rules):
    """Of Services."""

    shape = 'core.Service'
    has_generation = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """The status is for a load balancer to write, and of the two fields for the address both are filled."""
        obj['status'] = {'loadBalancer': {}}
        spec = obj.get('spec')
        if spec and spec.get('clusterIP') and not spec.get('clusterIPs'):
            spec['clusterIPs'] = [spec['clusterIP']]

    def complete(self, obj: Object) -> None:
        """What is not said: a Service within the cluster."""
        spec = obj['spec']
        affinity = spec.setdefault('sessionAffinity', 'None')
        if affinity == 'None':
            spec.pop('sessionAffinityConfig', None)
        elif affinity == 'ClientIP':
            config = (spec.get('sessionAffinityConfig') or {}).get('clientIP') or {}
            if config.get('timeoutSeconds') is None:
                spec['sessionAffinityConfig'] = {'clientIP': {'timeoutSeconds': _AFFINITY_SECONDS}}
        type_ = spec.setdefault('type', 'ClusterIP')
        for port in spec.get('ports') or ():
            port.setdefault('protocol', 'TCP')
            if port.get('targetPort') in (None, 0, ''):
                port['targetPort'] = port.get('port', 0)
        if type_ in ('NodePort', 'LoadBalancer') or (type_ == 'ClusterIP' and spec.get('externalIPs')):
            spec.setdefault('externalTrafficPolicy', 'Cluster')
        if type_ in ('NodePort', 'LoadBalancer', 'ClusterIP'):
            spec.setdefault('internalTrafficPolicy', 'Cluster')
        if type_ == 'LoadBalancer':
            spec.setdefault('allocateLoadBalancerNodePorts', True)

    def admit(self, obj: Object, context: resources.Context) -> None:
        """Give it what it needs of addresses and ports."""
        serviceaddresses.allocate(obj, context)

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new Service."""
        return servicespec.check(obj)

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """What was allocated stays when it is not sent."""
        super().prepare_update(obj, old, context)
        spec, before = obj.get('spec') or {}, old['spec']
        _keep_address(spec, before)
        if not spec.get('ipFamilies') and spec.get('type') != 'ExternalName':
            for key in ('ipFamilies', 'ipFamilyPolicy'):
                if key in before:
                    spec[key] = before[key]
        allocated = {
            (port.get('name', ''), port.get('protocol'), port.get('port')): port['nodePort']
            for port in before.get('ports') or ()
            if port.get('nodePort')
        }
        if spec.get('type') in ('NodePort', 'LoadBalancer'):
            for port in spec.get('ports') or ():
                found = allocated.get((port.get('name') or '', port.get('protocol') or 'TCP', port.get('port')))
                if not port.get('nodePort') and found:
                    port['nodePort'] = found
        if spec.get('type') not in (None, 'ExternalName') and not _invalid_update(spec, before):
            serviceaddresses.allocate(obj, context)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the change, then those of the new state."""
        return servicespec.change(obj['spec'], old['spec']) + servicespec.check(obj)


def _keep_address(spec: Object, before: Object) -> None:
    if 'ExternalName' in (spec.get('type'), before.get('type')) or not before.get('clusterIP'):
        return
    if not spec.get('clusterIP'):
        spec['clusterIP'] = before['clusterIP']
    if not spec.get('clusterIPs') and spec['clusterIP'] == before['clusterIP']:
        spec['clusterIPs'] = list(before.get('clusterIPs') or ())
    elif spec['clusterIP'] != before['clusterIP'] and spec.get('clusterIPs') == before.get('clusterIPs'):
        spec['clusterIPs'] = [spec['clusterIP']]


def _invalid_update(spec: Object, before: Object) -> bool:
    return bool(before.get('clusterIP')) and spec.get('clusterIP') != before.get('clusterIP')


def _external_address(spec: Object, status: Object) -> str:
    external = cells.listed(spec.get('externalIPs') or ())
    match spec.get('type'):
        case 'ClusterIP' | 'NodePort':
            return external or cells.NONE
        case 'LoadBalancer':
            balancers = {
                entry.get('ip') or entry.get('hostname') or ''
                for entry in (status.get('loadBalancer') or {}).get('ingress') or ()
            }
            return cells.listed([*sorted(balancers - {''}), *([external] if external else [])]) or '<pending>'
        case 'ExternalName':
            return str(spec.get('externalName', ''))
    return cells.UNKNOWN


def _port_cell(port: Object) -> str:
    number = f'{port["port"]}:{port["nodePort"]}' if port.get('nodePort') else str(port['port'])
    return f'{number}/{port.get("protocol", "TCP")}'


COLUMNS: Final = (
    cells.NAME,
    Column('Type', lambda obj, _: obj['spec'].get('type', '')),
    Column('Cluster-IP', lambda obj, _: (obj['spec'].get('clusterIPs') or [cells.NONE])[0]),
    Column('External-IP', lambda obj, _: _external_address(obj['spec'], obj.get('status') or {})),
    Column('Port(s)', lambda obj, _: cells.listed(map(_port_cell, obj['spec'].get('ports') or ())) or cells.NONE),
    cells.AGE,
    Column('Selector', lambda obj, _: cells.labels(obj['spec'].get('selector')), priority=1),
)


def kind() -> resources.Kind:
    """Services as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='services',
        singular='service',
        kind='Service',
        short_names=('svc',),
        categories=('all',),
        rules=Rules(),
        columns=COLUMNS,
        schema=schemas.builtin('', 'v1', 'Service'),
        selectable={
            'spec.clusterIP': lambda obj: str((obj.get('spec') or {}).get('clusterIP', '')),
            'spec.type': lambda obj: str((obj.get('spec') or {}).get('type', '')),
        },
    )
