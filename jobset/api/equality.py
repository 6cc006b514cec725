"""Whether two parts of a Kubernetes object mean the same.

Null, ``{}``, ``[]`` and an absent field are one; so are quantities of one value (``1Gi`` and ``1024Mi``), and, for
fields whose zero means "not given", that zero and nothing. The order of lists counts. It is the equality with which the
Go controller compares its typed objects: there the types of Job and claim decide what a zero means, here the tables
below do, read off those types.
"""

from collections.abc import Mapping
from typing import Final

from jobset.api import quantities


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESOURCES: Final = frozenset({'limits', 'requests', 'overhead', 'capacity', 'allocatedResources'})
"""Fields that map resource names to quantities."""

QUANTITIES: Final = frozenset({'divisor', 'sizeLimit'})
"""Fields that are quantities."""

FREE_MAPS: Final = _names(
    'allocatedResourceStatuses annotations labels matchLabels nodeSelector options userAnnotations volumeAttributes'
)
"""Fields whose keys users choose: a key with an empty value is not the same as no key."""

FALSE_IS_NOTHING: Final = _names(
    'chapAuthDiscovery chapAuthSession hostIPC hostNetwork hostPID readOnly sslEnabled stdin stdinOnce tty'
)
"""Flags that are off when they are not given. Of the others, off and not given may differ."""

ZERO_IS_NOTHING: Final = _names(
    'containerPort failureThreshold hostPort initialDelaySeconds maxSkew partition periodSeconds seconds '
    'successThreshold timeoutSeconds weight'
)
"""Numbers whose zero means that they are not given."""

EMPTY_TEXT_COUNTS: Final = _names(
    'apiGroup cachingMode completionMode currentVolumeAttributesClassName fsGroupChangePolicy gmsaCredentialSpec '
    'gmsaCredentialSpecName hostnameOverride initiatorName localhostProfile managedBy mountPropagation namespace '
    'nodeAffinityPolicy nodeTaintsPolicy podGroupName podReplacementPolicy preemptionPolicy procMount '
    'recursiveReadOnly resourceClaimName resourceClaimTemplateName runAsUserName runtimeClassName '
    'seLinuxChangePolicy service stopSignal storageClassName succeededIndexes supplementalGroupsPolicy '
    'volumeAttributesClassName volumeMode'
)
"""Texts that say something when they are empty: ``storageClassName: ''`` asks for a volume without a class."""

EMPTY_OBJECT_COUNTS: Final = _names(
    'affinity all appArmorProfile awsElasticBlockStore azureDisk azureFile basic capabilities cephfs cinder '
    'clusterTrustBundle configMap configMapKeyRef configMapRef csi dataSource dataSourceRef disruptionMode '
    'dnsConfig downwardAPI emptyDir ephemeral exec exitCodes fc fieldRef fileKeyRef flexVolume flocker gang '
    'gcePersistentDisk gitRepo glusterfs grpc hostPath httpGet image iscsi labelSelector lifecycle livenessProbe '
    'namespaceSelector nfs nodeAffinity nodePublishSecretRef onExitCodes os persistentVolumeClaim '
    'photonPersistentDisk podAffinity podAntiAffinity podCertificate podFailurePolicy portworxVolume postStart '
    'preStop projected quobyte rbd readinessProbe requiredDuringSchedulingIgnoredDuringExecution '
    'resourceFieldRef scaleIO scheduling schedulingConstraints schedulingGroup schedulingPolicy seLinuxOptions '
    'seccompProfile secret secretKeyRef secretRef securityContext selector serviceAccountToken single sleep '
    'startupProbe storageos successPolicy tcpSocket valueFrom volumeClaimTemplate vsphereVolume windowsOptions'
)
"""Objects that say something when they are empty: ``namespaceSelector: {}`` means every namespace, its absence one."""


def semantic(one: object, other: object) -> bool:
    """True when both say the same. They are JSON values: of a JobSet's part, a Job template or a claim."""
    return bool(_meaning(one, '') == _meaning(other, ''))


def _meaning(value: object, field: str) -> object:
    """The value in the one form that all its equals share; None for everything that says nothing."""
    if isinstance(value, Mapping):
        return _object(value, field)
    if isinstance(value, list | tuple):
        return [_entry(entry) for entry in value] or None
    if field in QUANTITIES:
        return _quantity(value)
    return None if _is_nothing(value, field) else value


def _entry(entry: object) -> object:
    # An empty entry is an entry: a toleration without fields tolerates everything.
    meaning = _meaning(entry, '')
    return entry if meaning is None else meaning


def _is_nothing(value: object, field: str) -> bool:
    match value:
        case bool():
            return not value and field in FALSE_IS_NOTHING
        case '':
            return field not in EMPTY_TEXT_COUNTS
        case 0:
            return field in ZERO_IS_NOTHING
        case _:
            return value is None


def _object(value: Mapping[str, object], field: str) -> object:
    if field in RESOURCES:
        return {name: _quantity(amount) for name, amount in value.items()} or None
    if field in FREE_MAPS:
        return dict(value) or None
    said = {key: meaning for key, entry in value.items() if (meaning := _meaning(entry, key)) is not None}
    return said if said or field in EMPTY_OBJECT_COUNTS else None


def _quantity(value: object) -> object:
    if not isinstance(value, str | int | float):
        return value
    try:
        return quantities.parse(value)
    except quantities.QuantityError:
        return value
