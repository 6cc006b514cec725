"""Pods."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from jobset.local import objects, resources, schemas
from jobset.local.kinds import (
    containers,
    faults,
    normal,
    placement,
    podadmission,
    podcells,
    podchanges,
    poddefaults,
    podspec,
    requirements,
    typed,
    warnings,
)
from jobset.local.objects import Object
from jobset.local.problems import Cause


class Rules(typed.Rules):
    """Of pods."""

    shape = 'core.Pod'
    spares_stored = True

    def default(self, obj: Object, settled: Collection[str] = ()) -> None:
        """Only what is new: most writes are of the status, and a spec has many parts."""
        normal.plan(self.shape).apply_beside(obj, settled)
        if 'spec' not in settled:
            poddefaults.spec(obj['spec'])
            poddefaults.pod(obj['spec'])
        if 'status' not in settled:
            _match_addresses(obj['status'])

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """A new pod is pending."""
        obj['status'] = {'phase': 'Pending'}
        spec = obj.get('spec') or {}
        placement.merge_label_keys(spec, objects.metadata(obj).get('labels') or {})
        if spec.get('schedulingGates'):
            obj['status']['conditions'] = [
                {
                    'type': 'PodScheduled',
                    'status': 'False',
                    'lastProbeTime': None,
                    'lastTransitionTime': objects.stamp(context.now),
                    'reason': 'SchedulingGated',
                    'message': 'Scheduling is blocked due to non-empty scheduling gates',
                }
            ]

    def admit(self, obj: Object, context: resources.Context) -> None:
        """Service account, priority and tolerations; the service class follows from the resources."""
        obj['status']['qosClass'] = requirements.service_class(obj['spec'])
        podadmission.admit(obj, context)

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new pod."""
        causes = _state(obj)
        spec = obj['spec']
        if spec.get('ephemeralContainers'):
            causes.append(faults.forbidden('spec.ephemeralContainers', 'cannot be set on create'))
        if spec.get('nodeName') and spec.get('schedulingGates'):
            text = 'cannot be set until all schedulingGates have been cleared'
            causes.append(faults.forbidden('spec.nodeName', text))
        return causes

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """The status stays, and what admission once decided; tolerations that are taken away come back."""
        super().prepare_update(obj, old, context)
        spec, before = obj.get('spec') or {}, old['spec']
        for key in ('priority', 'preemptionPolicy'):
            if spec.get(key) is None and key in before:
                spec[key] = before[key]
        podadmission.add_tolerations(spec)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the new state, then those of the change."""
        if obj['spec'] == old['spec']:
            # It was judged when it was stored.
            return _annotations(obj['metadata'])
        return _state(obj) + podchanges.check(obj['spec'], old['spec'])

    def prepare_status(self, obj: Object, old: Object, context: resources.Context) -> None:
        """Only the status, and of it what a writer who leaves it out does not mean to remove."""
        super().prepare_status(obj, old, context)
        status, before = obj.setdefault('status', {}), old.get('status') or {}
        for key in ('qosClass', 'resourceClaimStatuses', 'extendedResourceClaimStatus', 'observedGeneration'):
            if not status.get(key) and key in before:
                status[key] = before[key]
        owners = old['metadata'].get('ownerReferences')
        if owners is not None:
            obj['metadata']['ownerReferences'] = owners
        else:
            obj['metadata'].pop('ownerReferences', None)
        if 'deletionTimestamp' in old['metadata']:
            obj['metadata']['deletionTimestamp'] = old['metadata']['deletionTimestamp']
        else:
            obj['metadata'].pop('deletionTimestamp', None)

    def validate_status(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the new status."""
        return podchanges.check_status(obj, old)

    def warnings(self, obj: Object, old: Object | None) -> Sequence[str]:
        """Of new pods only: what is wrong with them cannot be changed."""
        return warnings.of_pod(obj) if old is None else ()

    def grace_seconds(self, obj: Object, wanted: int | None) -> int:
        """A pod that no node runs goes at once."""
        spec, status = obj.get('spec') or {}, obj.get('status') or {}
        if not spec.get('nodeName') or status.get('phase') in ('Succeeded', 'Failed'):
            return 0
        seconds = wanted if wanted is not None else spec.get('terminationGracePeriodSeconds', poddefaults.GRACE_SECONDS)
        return 1 if seconds < 0 else int(seconds)


def _match_addresses(status: Object) -> None:
    """The first of the addresses is said twice."""
    address, addresses = status.get('podIP'), status.get('podIPs')
    if address and (not addresses or addresses[0].get('ip') != address):
        status['podIPs'] = [{'ip': address}]
    elif addresses and not address:
        status['podIP'] = addresses[0].get('ip')


def _state(pod: Object) -> list[Cause]:
    metadata, spec = pod['metadata'], pod['spec']
    causes = _annotations(metadata)
    causes += podspec.check('spec', spec, metadata.get('name') or '-')
    causes += faults.not_negative('spec.terminationGracePeriodSeconds', spec.get('terminationGracePeriodSeconds'))
    causes += containers.check_images('spec.containers', spec.get('containers') or ())
    return causes + containers.check_images('spec.initContainers', spec.get('initContainers') or ())


def _annotations(metadata: Object) -> list[Cause]:
    return podspec.annotations('metadata.annotations', metadata.get('annotations') or {})


def _spec(key: str) -> Any:
    return lambda pod: str((pod.get('spec') or {}).get(key, ''))


def _status(key: str) -> Any:
    return lambda pod: str((pod.get('status') or {}).get(key, ''))


def kind() -> resources.Kind:
    """Pods as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='pods',
        singular='pod',
        kind='Pod',
        short_names=('po',),
        categories=('all',),
        subresources=frozenset({'status', 'log', 'binding', 'eviction'}),
        rules=Rules(),
        columns=podcells.COLUMNS,
        schema=schemas.builtin('', 'v1', 'Pod'),
        selectable=SELECTABLE,
    )


SELECTABLE: Final = {
    'spec.nodeName': _spec('nodeName'),
    'spec.restartPolicy': _spec('restartPolicy'),
    'spec.schedulerName': _spec('schedulerName'),
    'spec.serviceAccountName': _spec('serviceAccountName'),
    'spec.hostNetwork': lambda pod: 'true' if (pod.get('spec') or {}).get('hostNetwork') else 'false',
    'status.phase': _status('phase'),
    'status.podIP': _status('podIP'),
    'status.nominatedNodeName': _status('nominatedNodeName'),
}
