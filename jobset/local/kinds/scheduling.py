"""The group ``scheduling.k8s.io``: priority classes, Workloads, PodGroups."""

from typing import Any, Final, NoReturn

from jobset.local import objects, resources, schemas
from jobset.local.kinds import cells, checks, faults, podadmission, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Column

GROUP: Final = 'scheduling.k8s.io'
USER_PRIORITY_MOST: Final = 1_000_000_000
_PREEMPTION: Final = ('PreemptLowerPriority', 'Never')
_TEMPLATES_MOST: Final = 8
_PINNED: Final = 'field is immutable'


class ClassRules(typed.Rules):
    """Of priority classes."""

    shape = 'scheduling.PriorityClass'
    has_status = False

    def complete(self, obj: Object) -> None:
        """They preempt, unless they say otherwise."""
        obj.setdefault('preemptionPolicy', 'PreemptLowerPriority')

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new class."""
        name, value, causes = objects.name(obj), obj['value'], []
        if name.startswith('system-') and podadmission.SYSTEM_PRIORITIES.get(name) != value:
            what = 'value of' if name in podadmission.SYSTEM_PRIORITIES else ''
            why = f'{name} is not a known system priority class' if not what else f'{what} {name} must be fixed'
            text = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            causes.append(faults.forbidden('metadata.name', text))
        elif value > USER_PRIORITY_MOST and not name.startswith('system-'):
            text = f'maximum allowed value of a user defined priority is {USER_PRIORITY_MOST}'
            causes.append(faults.forbidden('value', text))
        return causes + _preemption(obj)

    def admit(self, obj: Object, context: resources.Context) -> None:
        """There is one default at most."""
        if not obj.get('globalDefault'):
            return
        for other in context.listed(f'priorityclasses.{GROUP}', ''):
            if other.get('globalDefault') and objects.name(other) != objects.name(obj):
                text = f'PriorityClass {objects.name(other)} is already marked as default. Only one default can exist'
                raise Problem.forbidden('priorityclasses', GROUP, objects.name(obj), text)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Value and preemption stay."""
        causes = []
        if obj['value'] != old.get('value'):
            causes.append(faults.forbidden('value', 'may not be changed in an update.'))
        if obj.get('preemptionPolicy') != old.get('preemptionPolicy'):
            causes += faults.unchanged('preemptionPolicy', obj.get('preemptionPolicy'), old.get('preemptionPolicy'))
        return causes


def _preemption(obj: Object) -> list[Cause]:
    policy = obj.get('preemptionPolicy')
    return [] if policy in _PREEMPTION else [faults.unsupported('preemptionPolicy', policy, _PREEMPTION)]


class WorkloadRules(typed.Rules):
    """Of Workloads: what is scheduled together."""

    shape = 'schedulingbeta.Workload'
    has_generation = False
    has_status = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """Drop what stands behind gates that are off."""
        _drop_gated(obj)

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """Drop what stands behind gates that are off."""
        _drop_gated(obj)

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a Workload."""
        spec = obj['spec']
        templates = spec.get('podGroupTemplates') or ()
        causes: list[Cause] = []
        if len({(template.get('priorityClassName'), template.get('priority')) for template in templates}) > 1:
            causes.append(faults.invalid('spec', None, 'detected multiple priority configurations'))
        if (controller := spec.get('controllerRef')) is not None:
            at = 'spec.controllerRef'
            if group := controller.get('apiGroup'):
                causes += faults.each_invalid(f'{at}.apiGroup', group, checks.dns_subdomain(group))
            causes += [faults.required(f'{at}.{key}') for key in ('kind', 'name') if not controller.get(key)]
        if not templates:
            text = 'must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`'
            return [*causes, faults.invalid('spec', '', text)]
        if len(templates) > _TEMPLATES_MOST:
            return [*causes, faults.too_many('spec.podGroupTemplates', len(templates), _TEMPLATES_MOST)]
        names = [template.get('name', '') for template in templates]
        for i, template in enumerate(templates):
            if names[i] in names[:i]:
                causes.append(faults.duplicate(f'spec.podGroupTemplates[{i}]', template))
        for i, template in enumerate(templates):
            at, name = f'spec.podGroupTemplates[{i}]', names[i]
            causes += (
                faults.each_invalid(f'{at}.name', name, checks.dns_label(name))
                if name
                else [faults.required(f'{at}.name')]
            )
            causes += _group(at, template)
        return causes

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Only the size of gangs may change."""
        spec, before = obj['spec'], old['spec']
        causes: list[Cause] = []
        if before.get('controllerRef') is not None and spec.get('controllerRef') != before['controllerRef']:
            causes.append(faults.invalid('spec.controllerRef', None, _PINNED))
        known = {template['name']: template for template in before.get('podGroupTemplates') or ()}
        templates = spec.get('podGroupTemplates') or ()
        for i, template in enumerate(templates):
            at = f'spec.podGroupTemplates[{i}]'
            if template.get('name') not in known:
                causes.append(faults.forbidden(at, 'item may not be added'))
            else:
                causes += _group_change(at, template, known[template['name']])
        if known.keys() - {template.get('name') for template in templates}:
            causes.append(faults.forbidden('spec.podGroupTemplates', 'item may not be removed'))
        return causes or self.validate(obj)


class GroupRules(typed.Rules):
    """Of PodGroups. The protection finalizer is left to the controller that knows when to take it away."""

    shape = 'schedulingbeta.PodGroup'
    has_generation = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """Without status, and without what stands behind gates that are off."""
        super().prepare_create(obj, context)
        _drop_gated(obj)

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """The status stays, and what admission once decided."""
        super().prepare_update(obj, old, context)
        _drop_gated(obj)

    def complete(self, obj: Object) -> None:
        """Pods of a group are disrupted one by one, unless it says otherwise."""
        if not obj['spec'].get('disruptionMode'):
            obj['spec']['disruptionMode'] = {'single': {}}

    def admit(self, obj: Object, context: resources.Context) -> None:
        """Resolve the priority class."""
        spec = obj['spec']
        name, value = _priority(obj, spec.get('priorityClassName', ''), context)
        given = spec.get('priority')
        if given is not None and given != value:
            text = (
                f'priority set in the pod group ({given}) must match the priority computed ({value}) based on the '
                'priority class set in the spec'
            )
            _forbid(obj, text)
        if name:
            spec['priorityClassName'] = name
        spec['priority'] = value

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a PodGroup."""
        spec = obj['spec']
        causes: list[Cause] = []
        if (ref := spec.get('workloadRef')) is not None:
            for key, judge in (('workloadName', checks.dns_subdomain), ('templateName', checks.dns_label)):
                at, name = f'spec.workloadRef.{key}', ref.get(key)
                causes += faults.each_invalid(at, name, judge(name)) if name else [faults.required(at)]
        return causes + _group('spec', spec)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Only the size of a gang may change."""
        spec, before = obj['spec'], old['spec']
        causes: list[Cause] = []
        if spec.get('workloadRef') != before.get('workloadRef'):
            causes.append(faults.invalid('spec.workloadRef', None, _PINNED))
        causes += _group_change('spec', spec, before)
        return causes or self.validate(obj)

    def validate_status(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes in conditions."""
        causes: list[Cause] = []
        for i, condition in enumerate((obj.get('status') or {}).get('conditions') or ()):
            causes += [
                faults.required(f'status.conditions[{i}].{key}')
                for key in ('type', 'status', 'lastTransitionTime', 'reason')
                if not condition.get(key)
            ]
        return causes


def _forbid(obj: Object, text: str) -> NoReturn:
    raise Problem.forbidden('podgroups', GROUP, objects.name(obj), text)


def _priority(obj: Object, name: str, context: resources.Context) -> tuple[str, int]:
    if not name:
        found = podadmission.default_class(context)
        return ('', 0) if found is None else (objects.name(found), int(found.get('value', 0)))
    found = context.look_up(f'priorityclasses.{GROUP}', '', name)
    if found is not None:
        return name, int(found.get('value', 0))
    if name not in podadmission.SYSTEM_PRIORITIES:
        _forbid(obj, f'no PriorityClass with name {name} was found')
    return name, podadmission.SYSTEM_PRIORITIES[name]


def _drop_gated(obj: Object) -> None:
    """Composite groups, claims and preemption policies of groups stand behind gates that are off by default."""
    spec = obj.get('spec') or {}
    spec.pop('compositePodGroupTemplates', None)
    spec.pop('parentCompositePodGroupName', None)
    for part in (spec, *(spec.get('podGroupTemplates') or ())):
        part.pop('resourceClaims', None)
        part.pop('preemptionPolicy', None)


def _one_of(path: str, found: Object | None, keys: tuple[str, str]) -> list[Cause]:
    """Exactly one of two members must be there."""
    given = [key for key in keys if (found or {}).get(key) is not None]
    choice = ', '.join(f'`{key}`' for key in keys)
    if not given:
        return [faults.invalid(path, '', f'must specify one of: {choice}')]
    if len(given) > 1:
        return [faults.invalid(path, f'{{{", ".join(keys)}}}', f'must specify exactly one of: {choice}')]
    return []


def _group(at: str, spec: Object) -> list[Cause]:
    policy = spec.get('schedulingPolicy') or {}
    causes = _one_of(f'{at}.schedulingPolicy', policy, ('basic', 'gang'))
    if (gang := policy.get('gang')) is not None:
        count, path = gang.get('minCount', 0), f'{at}.schedulingPolicy.gang.minCount'
        if count == 0:
            causes.append(faults.required(path))
        elif count < 0:
            causes.append(faults.invalid(path, count, 'must be greater than or equal to 1'))
    topology = (spec.get('schedulingConstraints') or {}).get('topology') or ()
    path = f'{at}.schedulingConstraints.topology'
    if len(topology) > 1:
        text = f'Too many: {len(topology)}: must have at most 1 item'
        causes.append(Cause(path, text, 'FieldValueTooMany'))
    else:
        for i, constraint in enumerate(topology):
            key = constraint.get('key')
            causes += (
                faults.each_invalid(f'{path}[{i}].key', key, checks.qualified_name(key))
                if key
                else [faults.required(f'{path}[{i}].key')]
            )
    if (mode := spec.get('disruptionMode')) is not None:
        causes += _one_of(f'{at}.disruptionMode', mode, ('single', 'all'))
    if name := spec.get('priorityClassName'):
        causes += faults.each_invalid(f'{at}.priorityClassName', name, checks.dns_subdomain(name))
    priority = spec.get('priority')
    if priority is not None and priority > USER_PRIORITY_MOST:
        text = f'must be less than or equal to {USER_PRIORITY_MOST}'
        causes.append(faults.invalid(f'{at}.priority', priority, text))
    return causes


def _group_change(at: str, spec: Object, before: Object) -> list[Cause]:
    causes: list[Cause] = []
    policy, policy_before = spec.get('schedulingPolicy') or {}, before.get('schedulingPolicy') or {}
    if policy.get('basic') != policy_before.get('basic'):
        causes.append(faults.invalid(f'{at}.schedulingPolicy.basic', None, _PINNED))
    if (policy.get('gang') is None) != (policy_before.get('gang') is None):
        text = 'field cannot be cleared once set' if policy.get('gang') is None else 'field cannot be set once created'
        causes.append(faults.invalid(f'{at}.schedulingPolicy.gang', None, text))
    return causes + [
        faults.invalid(f'{at}.{key}', None, _PINNED)
        for key in ('schedulingConstraints', 'disruptionMode', 'priorityClassName', 'priority')
        if spec.get(key) != before.get(key)
    ]


def _status(group: Object) -> str:
    if disrupted := cells.condition(group, 'DisruptionTarget'):
        return str(disrupted.get('reason', ''))
    scheduled = cells.condition(group, 'PodGroupInitiallyScheduled')
    if scheduled is None:
        return 'Pending'
    return 'Scheduled' if scheduled.get('status') == 'True' else 'Unschedulable'


def _kind(plural: str, kind: str, version: str, rules: resources.Rules, **values: Any) -> resources.Kind:
    return resources.Kind(
        group=GROUP,
        version=version,
        plural=plural,
        singular=kind.lower(),
        kind=kind,
        rules=rules,
        schema=schemas.builtin(GROUP, version, kind),
        **values,
    )


def priority_classes() -> resources.Kind:
    """Priority classes as the server knows them."""
    return _kind(
        'priorityclasses',
        'PriorityClass',
        'v1',
        ClassRules(),
        namespaced=False,
        short_names=('pc',),
        subresources=frozenset(),
        columns=(
            cells.NAME,
            Column('Value', lambda obj, _: obj.get('value', 0), type='integer'),
            Column('Global-Default', lambda obj, _: bool(obj.get('globalDefault')), type='boolean'),
            cells.AGE,
            Column('PreemptionPolicy', lambda obj, _: obj.get('preemptionPolicy', '')),
        ),
    )


def workloads() -> resources.Kind:
    """Workloads as the server knows them."""
    columns = (cells.NAME, cells.AGE)
    return _kind('workloads', 'Workload', 'v1beta1', WorkloadRules(), subresources=frozenset(), columns=columns)


def pod_groups() -> resources.Kind:
    """PodGroups as the server knows them."""
    return _kind(
        'podgroups',
        'PodGroup',
        'v1beta1',
        GroupRules(),
        columns=(
            cells.NAME,
            Column('Policy', lambda obj, _: 'Gang' if 'gang' in obj['spec'].get('schedulingPolicy', {}) else 'Basic'),
            Column('Workload', lambda obj, _: (obj['spec'].get('workloadRef') or {}).get('workloadName', cells.NONE)),
            Column('Status', lambda obj, _: _status(obj)),
            cells.AGE,
        ),
    )
