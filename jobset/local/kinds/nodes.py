"""Nodes."""

from collections.abc import Sequence
from typing import Any, Final

from jobset.local import resources, schemas
from jobset.local.kinds import amounts, cells, checks, faults, shown, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

NOT_READY: Final = {'key': 'node.kubernetes.io/not-ready', 'effect': 'NoSchedule'}
"""The taint that a node is born with: whoever watches over nodes takes it away."""

_EFFECTS: Final = ('NoSchedule', 'PreferNoSchedule', 'NoExecute')
_ROLE: Final = 'node-role.kubernetes.io/'
_CIDR_TEXT: Final = 'node updates may not change podCIDR except from "" to valid'


class Rules(typed.Rules):
    """Of nodes. A node brings its status along when it is made."""

    shape = 'core.Node'
    has_generation = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """A node may be made with its status."""
        obj.setdefault('status', {})

    def complete(self, obj: Object) -> None:
        """What is there may be used, unless it says otherwise."""
        status = obj['status']
        if 'allocatable' not in status and 'capacity' in status:
            status['allocatable'] = dict(status['capacity'])

    def admit(self, obj: Object, context: resources.Context) -> None:
        """Nothing is to be put on it before it is found to be ready."""
        taints = obj['spec'].setdefault('taints', [])
        if not any(
            taint.get('key') == NOT_READY['key'] and taint.get('effect') == NOT_READY['effect'] for taint in taints
        ):
            taints.append(dict(NOT_READY))

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new node."""
        return _taints(obj['spec'].get('taints') or ()) + _amounts(obj['status'])

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the change and of the new state."""
        spec, before = obj['spec'], old['spec']
        causes = _amounts(obj['status'])
        if before.get('podCIDRs') and spec.get('podCIDRs') != before['podCIDRs']:
            causes.append(faults.forbidden('spec.podCIDRs', _CIDR_TEXT))
        if before.get('providerID') and spec.get('providerID') != before['providerID']:
            text = 'field cannot be modified once set' if spec.get('providerID') else 'field cannot be cleared once set'
            causes.append(faults.invalid('spec.providerID', None, text))
        return causes + _taints(spec.get('taints') or ())

    def validate_status(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the new status."""
        return _amounts(obj['status'])


def _taints(taints: Sequence[Any]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        at, key, value = f'metadata.taints[{i}]', taint.get('key', ''), taint.get('value', '')
        effect = taint.get('effect', '')
        causes += faults.each_invalid(f'{at}.key', key, checks.qualified_name(key))
        if reasons := checks.label_value(value):
            causes.append(faults.invalid(f'{at}.value', value, ';'.join(reasons)))
        if not effect:
            causes.append(faults.required(f'{at}.effect'))
        elif effect not in _EFFECTS:
            causes.append(faults.unsupported(f'{at}.effect', effect, _EFFECTS))
        if (key, effect) in seen:
            text = f'Duplicate value: {shown.text(_shown(taint))}: taints must be unique by key and effect pair'
            causes.append(Cause(at, text, 'FieldValueDuplicate'))
        seen.add((key, effect))
    return causes


def _shown(taint: Object) -> Object:
    return {
        'Key': taint.get('key', ''),
        'Value': taint.get('value', ''),
        'Effect': taint.get('effect', ''),
        'TimeAdded': taint.get('timeAdded'),
    }


def _amounts(status: Object) -> list[Cause]:
    causes: list[Cause] = []
    for key in ('capacity', 'allocatable'):
        for name, amount in (status.get(key) or {}).items():
            exact, path = amounts.exact(amount), f'status.{key}.{name}'
            if exact < 0:
                causes.append(faults.invalid(path, amount, 'must be greater than or equal to 0'))
            if exact.denominator != 1 and (name == 'pods' or ('/' in name and 'kubernetes.io/' not in name)):
                causes.append(faults.invalid(path, amount, 'must be an integer'))
    return causes


def _state(node: Object) -> str:
    ready = cells.condition(node, 'Ready')
    text = 'Unknown' if ready is None else 'Ready' if ready.get('status') == 'True' else 'NotReady'
    return f'{text},SchedulingDisabled' if node['spec'].get('unschedulable') else text


def _roles(node: Object) -> str:
    labels = node['metadata'].get('labels') or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)} | {
        labels.get('kubernetes.io/role', '')
    }
    return cells.listed(sorted(roles - {''})) or cells.NONE


def _info(node: Object, key: str) -> str:
    return str(((node.get('status') or {}).get('nodeInfo') or {}).get(key) or '')


def _kernel(node: Object) -> str:
    architecture = _info(node, 'architecture')
    version = _info(node, 'kernelVersion') or cells.UNKNOWN
    return f'{version} ({architecture})' if architecture else version


def _address(node: Object, type_: str) -> str:
    for address in (node.get('status') or {}).get('addresses') or ():
        if address.get('type') == type_:
            return str(address.get('address', ''))
    return cells.NONE


COLUMNS: Final = (
    cells.NAME,
    Column('Status', lambda node, _: _state(node), description='The status of the node'),
    Column('Roles', lambda node, _: _roles(node), description='The roles of the node'),
    cells.AGE,
    Column('Version', lambda node, _: _info(node, 'kubeletVersion')),
    Column('Internal-IP', lambda node, _: _address(node, 'InternalIP'), priority=1),
    Column('External-IP', lambda node, _: _address(node, 'ExternalIP'), priority=1),
    Column('OS-Image', lambda node, _: _info(node, 'osImage') or cells.UNKNOWN, priority=1),
    Column('Kernel-Version', lambda node, _: _kernel(node), priority=1),
    Column(
        'Container-Runtime',
        lambda node, _: _info(node, 'containerRuntimeVersion') or cells.UNKNOWN,
        priority=1,
    ),
)


def kind() -> resources.Kind:
    """Nodes as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='nodes',
        singular='node',
        kind='Node',
        namespaced=False,
        short_names=('no',),
        rules=Rules(),
        columns=COLUMNS,
        schema=schemas.builtin('', 'v1', 'Node'),
        selectable={
            'spec.unschedulable': lambda node: 'true' if (node.get('spec') or {}).get('unschedulable') else 'false'
        },
    )
