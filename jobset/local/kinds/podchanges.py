"""What may change in a pod that exists, in its spec and in its status."""

import difflib
import json
from typing import Any, Final

from jobset.local.kinds import checks, containers, faults, placement, podspec, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

_INT32_MOST: Final = 2**31 - 1
_CHANGEABLE: Final = (
    '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only '
    'additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was '
    'previously negative)'
)
_REQUIRED: Final = 'requiredDuringSchedulingIgnoredDuringExecution'


def check(spec: Object, old: Object) -> list[Cause]:
    """The mistakes of a change, beyond those of the new state itself."""
    causes: list[Cause] = []
    for key in ('containers', 'initContainers'):
        new, before = spec.get(key) or [], old.get(key) or []
        if len(new) != len(before):
            return [*causes, faults.forbidden(f'spec.{key}', 'pod updates may not add or remove containers')]
        for i, container in enumerate(new):
            if not container.get('image'):
                causes.append(faults.required(f'spec.{key}[{i}].image'))
        causes += containers.check_images(f'spec.{key}', new)
    deadline, stops = _deadline(spec.get('activeDeadlineSeconds'), old.get('activeDeadlineSeconds'))
    causes += deadline
    if stops:
        return causes
    if spec.get('tolerations') != old.get('tolerations'):
        causes += _tolerations(spec.get('tolerations') or [], old.get('tolerations') or [])
    elif 'tolerations' in spec:
        causes += placement.tolerations('spec.tolerations', spec['tolerations'])
    known = {gate['name'] for gate in old.get('schedulingGates') or ()}
    # Of a name that comes twice the last place is told.
    gates = {gate['name']: i for i, gate in enumerate(spec.get('schedulingGates') or ())}
    for name, i in gates.items():
        if name not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{name}'"
            causes.append(faults.forbidden(f'spec.schedulingGates[{i}].name', text))
    return causes if spec == old else causes + _rest(spec, old)


def _deadline(new: int | None, old: int | None) -> tuple[list[Cause], bool]:
    """The mistakes, and whether nothing else is looked at."""
    path = 'spec.activeDeadlineSeconds'
    if new is None:
        if old is None:
            return [], False
        return [faults.invalid(path, None, 'must not update from a positive integer to nil value')], False
    if not 0 <= new <= _INT32_MOST:
        return [faults.invalid(path, new, f'must be between 0 and {_INT32_MOST}, inclusive')], True
    if old is not None and old < new:
        return [faults.invalid(path, new, 'must be less than or equal to previous value')], True
    return [], False


def _tolerations(new: list[Object], old: list[Object]) -> list[Cause]:
    for before in old:
        same = {key: value for key, value in before.items() if key != 'tolerationSeconds'}
        if not any({key: value for key, value in each.items() if key != 'tolerationSeconds'} == same for each in new):
            text = 'existing toleration can not be modified except its tolerationSeconds'
            return [faults.forbidden('spec.tolerations', text)]
    return placement.tolerations('spec.tolerations', new)


def _rest(spec: Object, old: Object) -> list[Cause]:
    """Everything else must be as it was; while a pod is gated, it may be steered more narrowly."""
    causes: list[Cause] = []
    munged = dict(spec)
    for key in ('containers', 'initContainers'):
        if key in spec:
            munged[key] = [
                container | {'image': before['image']} for container, before in zip(spec[key], old[key], strict=True)
            ]
    for key in ('activeDeadlineSeconds', 'schedulingGates', 'tolerations'):
        _restore(munged, old, key)
    if old.get('terminationGracePeriodSeconds', 0) < 0 and munged.get('terminationGracePeriodSeconds') == 1:
        _restore(munged, old, 'terminationGracePeriodSeconds')
    if old.get('schedulingGates'):
        causes += _steering(munged, old)
    if munged != old:
        text = f'pod updates may not change fields other than {_CHANGEABLE}\n{difference("core.PodSpec", old, munged)}'
        causes.append(faults.forbidden('spec', text))
    return causes


def _restore(munged: Object, old: Object, key: str) -> None:
    munged.pop(key, None)
    if key in old:
        munged[key] = old[key]


def _steering(munged: Object, old: Object) -> list[Cause]:
    causes: list[Cause] = []
    new, before = munged.get('nodeSelector') or {}, old.get('nodeSelector') or {}
    if new != before:
        if any(new.get(key) != value for key, value in before.items()):
            text = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
            causes.append(faults.invalid('spec.nodeSelector', munged.get('nodeSelector'), text))
        _restore(munged, old, 'nodeSelector')
    affinity, affinity_before = munged.get('affinity'), old.get('affinity')
    nodes, nodes_before = (affinity or {}).get('nodeAffinity'), (affinity_before or {}).get('nodeAffinity')
    if nodes != nodes_before:
        causes += _node_affinity(nodes or {}, nodes_before or {})
        rest = {key: value for key, value in (affinity or {}).items() if key != 'nodeAffinity'}
        if nodes_before is not None:
            munged['affinity'] = rest | {'nodeAffinity': nodes_before}
        elif rest or affinity_before is not None:
            munged['affinity'] = rest
        else:
            del munged['affinity']
    return causes


def _node_affinity(new: Object, old: Object) -> list[Cause]:
    before = (old.get(_REQUIRED) or {}).get('nodeSelectorTerms') or []
    terms = (new.get(_REQUIRED) or {}).get('nodeSelectorTerms') or []
    path = f'spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms'
    if before and len(before) != len(terms):
        text = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'
        return [faults.invalid(path, shown.Inner('[]core.NodeSelectorTerm', terms or None), text)]
    text = 'only additions are allowed (no mutations or deletions)'
    return [
        faults.invalid(f'{path}[{i}]', shown.Inner('core.NodeSelectorTerm', term), text)
        for i, (term, was) in enumerate(zip(terms, before, strict=False))
        if not _only_added(term, was)
    ]


def _only_added(term: Object, was: Object) -> bool:
    lists = [(term.get(key) or [], was.get(key) or []) for key in ('matchExpressions', 'matchFields')]
    if not any(before for _, before in lists):
        return not any(new for new, _ in lists)
    return all(new[: len(before)] == before for new, before in lists)


def difference(shape: str, old: Any, new: Any) -> str:
    """The lines in which two structs differ, as the server shows them."""
    before, after = (
        f'{json.dumps(shown.inner(shape, value), indent=1, ensure_ascii=False)}\n'.splitlines(keepends=True)
        for value in (old, new)
    )
    lines = list(difflib.unified_diff(before, after))
    return ''.join(lines[2:])


def check_status(pod: Object, old: Object) -> list[Cause]:
    """The mistakes of a new status."""
    status, before = pod.get('status') or {}, old.get('status') or {}
    causes: list[Cause] = []
    for i, condition in enumerate(status.get('conditions') or ()):
        name = condition.get('type', '')
        if name not in ('PodScheduled', 'Ready', 'Initialized'):
            causes += faults.each_invalid(f'status.conditions[{i}].Type', name, checks.qualified_name(name))
    nominated = status.get('nominatedNodeName')
    if nominated and nominated != before.get('nominatedNodeName'):
        causes += faults.each_invalid('status.nominatedNodeName', nominated, checks.dns_subdomain(nominated))
        if (old.get('spec') or {}).get('nodeName'):
            text = 'may not be set on pods that are already bound to a node'
            causes.append(faults.forbidden('status.nominatedNodeName', text))
    causes += faults.unchanged('status.qosClass', status.get('qosClass', ''), before.get('qosClass', ''))
    spec = old.get('spec') or {}
    for key, declared in (('containerStatuses', 'containers'), ('initContainerStatuses', 'initContainers')):
        causes += _states(f'status.{key}', status.get(key) or (), before.get(key) or (), spec, declared)
    return causes + _addresses(status)


def _states(path: str, new: Any, old: Any, spec: Object, declared: str) -> list[Cause]:
    """A container that has ended stays so, unless it is one that is started again."""
    causes: list[Cause] = []
    if not old or _all_may_restart(spec):
        return causes
    states = {status.get('name'): status.get('state') or {} for status in new}
    for i, status in enumerate(old):
        ended = (status.get('state') or {}).get('terminated')
        if ended is None or 'terminated' in states.get(status.get('name'), {'terminated': None}):
            continue
        container = next((each for each in spec.get(declared) or () if each['name'] == status.get('name')), None)
        if container is None or not restarts(container, spec, ended.get('exitCode', 0)):
            text = 'may not be transitioned to non-terminated state'
            causes.append(faults.forbidden(f'{path}[{i}].state', text))
    return causes


def _all_may_restart(spec: Object) -> bool:
    return any(
        rule.get('action') == 'RestartAllContainers'
        for key in ('containers', 'initContainers')
        for container in spec.get(key) or ()
        for rule in container.get('restartPolicyRules') or ()
    )


def restarts(container: Object, spec: Object, exit_code: int) -> bool:
    """Whether a container that ended with this code is started again."""
    for rule in container.get('restartPolicyRules') or ():
        codes = rule.get('exitCodes') or {}
        if (exit_code in (codes.get('values') or ())) == (codes.get('operator') == 'In'):
            return True
    policy = container.get('restartPolicy') or spec.get('restartPolicy')
    return policy == 'Always' or (policy == 'OnFailure' and exit_code != 0)


def _addresses(status: Object) -> list[Cause]:
    causes: list[Cause] = []
    pods = [entry.get('ip', '') for entry in status.get('podIPs') or ()]
    for i, address in enumerate(pods):
        causes += podspec.address(f'status.podIPs[{i}]', address)
    hosts = [entry.get('ip', '') for entry in status.get('hostIPs') or ()]
    if hosts:
        if status.get('hostIP', '') != hosts[0]:
            causes.append(faults.invalid('status.hostIPs[0].ip', hosts[0], 'must be equal to `hostIP`'))
        for i, address in enumerate(hosts):
            causes += podspec.address(f'status.hostIPs[{i}]', address)
    return causes
