"""What may change in the spec of a Job that exists.

Source: Kubernetes, "Jobs", and KEP-2926, KEP-3715, KEP-5440: while a Job is suspended and runs nothing, its template
may be steered to other nodes and given other resources; an indexed Job may grow and shrink.
"""

from typing import Any, Final

from jobset.local.kinds import faults, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

_STEERING: Final = ('nodeSelector', 'tolerations', 'schedulingGates')


def check(spec: Object, old_job: Object) -> list[Cause]:
    """The mistakes of the change from ``old_job`` to one with ``spec``."""
    old = old_job['spec']
    causes = _completions(spec, old)
    if spec.get('selector') != old.get('selector'):
        struct = shown.Inner('*meta.LabelSelector', spec.get('selector'))
        causes.append(faults.invalid('spec.selector', struct, faults.IMMUTABLE))
    causes += _template(spec, old_job)
    causes += faults.unchanged('spec.completionMode', spec.get('completionMode'), old.get('completionMode'))
    causes += _immutable('podFailurePolicy', spec, old, 'batch.PodFailurePolicy')
    for key in ('backoffLimitPerIndex', 'managedBy'):
        causes += faults.unchanged(f'spec.{key}', spec.get(key), old.get(key))
    return causes + _immutable('successPolicy', spec, old, 'batch.SuccessPolicy')


def _immutable(key: str, spec: Object, old: Object, shape: str) -> list[Cause]:
    return faults.unchanged(f'spec.{key}', spec.get(key), old.get(key), shape)


def _completions(spec: Object, old: Object) -> list[Cause]:
    new, before = spec.get('completions'), old.get('completions')
    if spec.get('completionMode') != 'Indexed':
        return faults.unchanged('spec.completions', new, before)
    if new is None or new == before or new == spec.get('parallelism'):
        return []
    return [faults.invalid('spec.completions', new, 'can only be modified in tandem with spec.parallelism')]


def runs_nothing(job: Object) -> bool:
    """Whether the Job is suspended and the controller has seen to it that no pod of it is left."""
    if not job['spec'].get('suspend'):
        return False
    status = job.get('status') or {}
    suspended = any(
        condition.get('type') == 'Suspended' and condition.get('status') == 'True'
        for condition in status.get('conditions') or ()
    )
    return (not status.get('startTime') or suspended) and not status.get('active')


def _template(spec: Object, old_job: Object) -> list[Cause]:
    template, before = spec['template'], old_job['spec']['template']
    if template == before:
        return []
    if not runs_nothing(old_job):
        return [faults.invalid('spec.template', shown.Inner('core.PodTemplateSpec', template), faults.IMMUTABLE)]
    # All that is left to compare is the spec of the pod: labels and annotations are free.
    pod, allowed = template['spec'], dict(before['spec'])
    for key in _STEERING:
        allowed.pop(key, None)
        if key in pod:
            allowed[key] = pod[key]
    _allow_node_affinity(allowed, pod)
    for key in ('containers', 'initContainers'):
        new, old = pod.get(key) or [], allowed.get(key) or []
        if len(new) == len(old) and old:
            allowed[key] = [
                container | {'resources': after['resources']} if container['name'] == after['name'] else container
                for container, after in zip(old, new, strict=True)
            ]
    if pod == allowed:
        return []
    return [faults.invalid('spec.template.spec', shown.Inner('core.PodSpec', pod), faults.IMMUTABLE)]


def _allow_node_affinity(allowed: Object, pod: Object) -> None:
    new: dict[str, Any] | None = pod.get('affinity')
    old: dict[str, Any] | None = allowed.get('affinity')
    rest = {key: value for key, value in (old or {}).items() if key != 'nodeAffinity'}
    if new is None:
        allowed.pop('affinity', None)
        if rest:
            allowed['affinity'] = rest
        return
    if 'nodeAffinity' in new:
        rest['nodeAffinity'] = new['nodeAffinity']
    allowed['affinity'] = rest
