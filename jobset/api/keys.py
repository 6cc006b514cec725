"""Every name that the JobSet API gives to groups, labels, annotations and objects: one home for each constant.

Source: JobSet ``v1alpha2`` as served by the Go controller. Nothing outside this module spells one of them.
"""

from typing import Final

GROUP: Final = 'jobset.x-k8s.io'
VERSION: Final = 'v1alpha2'
API_VERSION: Final = f'{GROUP}/{VERSION}'
KIND: Final = 'JobSet'
PLURAL: Final = 'jobsets'
CRD_NAME: Final = f'{PLURAL}.{GROUP}'

CONTROLLER_NAME: Final = 'jobset.sigs.k8s.io/jobset-controller'
"""The value of ``spec.managedBy`` that means us; any other value means somebody else."""

FIELD_MANAGER: Final = 'jobset'
"""Under which name our writes stand in ``metadata.managedFields``: the one the Go controller's writes stand under."""

MIXED_FIELD_MANAGER: Final = 'jobset-beside-others'
"""The name for writes to fields that others have written, too: see :mod:`jobset.core.resumption`."""

LABELS: Final = 'jobset.sigs.k8s.io'
JOBSET_NAME: Final = f'{LABELS}/jobset-name'
JOBSET_UID: Final = f'{LABELS}/jobset-uid'
REPLICATED_JOB_NAME: Final = f'{LABELS}/replicatedjob-name'
REPLICATED_JOB_REPLICAS: Final = f'{LABELS}/replicatedjob-replicas'
GLOBAL_REPLICAS: Final = f'{LABELS}/global-replicas'
JOB_INDEX: Final = f'{LABELS}/job-index'
JOB_GLOBAL_INDEX: Final = f'{LABELS}/job-global-index'
JOB_KEY: Final = f'{LABELS}/job-key'
EXECUTION_ATTEMPT: Final = f'{LABELS}/execution-attempt'
RESTART_ATTEMPT: Final = f'{LABELS}/restart-attempt'
JOB_RESTART_ATTEMPT: Final = f'{LABELS}/job-restart-attempt'
GROUP_NAME: Final = f'{LABELS}/group-name'
GROUP_REPLICAS: Final = f'{LABELS}/group-replicas'
JOB_GROUP_INDEX: Final = f'{LABELS}/job-group-index'
COORDINATOR: Final = f'{LABELS}/coordinator'
PRIORITY: Final = f'{LABELS}/priority'
IN_PLACE_RESTART_ATTEMPT: Final = f'{LABELS}/in-place-restart-attempt'
DISABLE_IN_PLACE_RESTART: Final = f'{LABELS}/disable-in-place-restart'

COMPLETION_INDEX: Final = 'batch.kubernetes.io/job-completion-index'
"""Kubernetes' own: which of the pods of an Indexed Job a pod is."""
JOB_NAME: Final = 'batch.kubernetes.io/job-name'
"""Kubernetes' own: the label of a pod with the name of its Job."""

KUEUE: Final = 'kueue.x-k8s.io'
"""The prefix of Kueue's own keys. These annotations of a pod template say where the pods go."""
KUEUE_REQUIRED_TOPOLOGY: Final = f'{KUEUE}/podset-required-topology'
KUEUE_PREFERRED_TOPOLOGY: Final = f'{KUEUE}/podset-preferred-topology'
KUEUE_UNCONSTRAINED_TOPOLOGY: Final = f'{KUEUE}/podset-unconstrained-topology'
KUEUE_SLICE_TOPOLOGY: Final = f'{KUEUE}/podset-slice-required-topology'
KUEUE_SLICE_SIZE: Final = f'{KUEUE}/podset-slice-size'
KUEUE_SLICES: Final = f'{KUEUE}/podset-slice-required-topology-constraints'
KUEUE_GROUP: Final = f'{KUEUE}/podset-group-name'

KUEUE_QUEUE: Final = f'{KUEUE}/queue-name'
"""Kueue's own: the label of a JobSet with the queue that it waits in while it is suspended."""

PRIORITY_CLASS: Final = f'{GROUP}/priority-class'
"""The label of a JobSet with its class of priority, one of those that hold for all clusters."""

KEPT_OF: Final = f'{GROUP}/kept-of'
"""The label of a failed pod that was kept: the JobSet whose attempt it was in."""

POD_GROUP: Final = f'{GROUP}/pod-group'
"""On a Job and its pods, as a label: the PodGroup that we made and that they belong to."""

DELEGATED_GROUP: Final = 'scheduling.k8s.io/group-template-name'
"""On a Job, as an annotation: the Job controller makes a PodGroup of that template, and is in charge of it."""

PLACEMENT: Final = 'alpha.jobset.sigs.k8s.io'
EXCLUSIVE_TOPOLOGY: Final = f'{PLACEMENT}/exclusive-topology'
NODE_SELECTOR_STRATEGY: Final = f'{PLACEMENT}/node-selector'
NAMESPACED_JOB: Final = f'{PLACEMENT}/namespaced-job'
NO_SCHEDULE: Final = f'{PLACEMENT}/no-schedule'

MUTATING_CONFIGURATION: Final = 'jobset-mutating-webhook-configuration'
VALIDATING_CONFIGURATION: Final = 'jobset-validating-webhook-configuration'
MUTATE_JOBSET_PATH: Final = '/mutate-jobset-x-k8s-io-v1alpha2-jobset'
VALIDATE_JOBSET_PATH: Final = '/validate-jobset-x-k8s-io-v1alpha2-jobset'
MUTATE_POD_PATH: Final = '/mutate--v1-pod'
VALIDATE_POD_PATH: Final = '/validate--v1-pod'
