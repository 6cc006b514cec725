"""What the schema says about a field beyond its type: its description, limits, defaults and list kind.

:mod:`jobset.api.types` decodes leniently, because a stored object must never become unreadable; the server's schema is
strict about what comes in. The strict part stands here, once, keyed by the same structs and fields.
"""

import enum
from dataclasses import dataclass, field
from typing import Final

import msgspec

from jobset.api import embedded, templates, types
from jobset.api.embedded import JsonSchema


@dataclass(frozen=True, kw_only=True)
class Fact:
    """The schema's part of one field."""

    text: str
    """The description, as ``kubectl explain`` shows it."""

    more: JsonSchema = field(default_factory=dict)
    """What is added to the schema of the field itself."""

    items: JsonSchema = field(default_factory=dict)
    """What is added to the schema of the list's items."""

    required: bool | None = None
    """Whether it has to be sent; None where the struct tells."""

    embeds: str | None = None
    """Which of the embedded schemas stands for raw bytes."""


_ATOMIC: Final[JsonSchema] = {'x-kubernetes-list-type': 'atomic'}
_COUNT: Final[JsonSchema] = {'format': 'int32'}
_AMOUNT: Final[JsonSchema] = {'format': 'int32', 'minimum': 0}
_FIXED: Final[JsonSchema] = {
    'x-kubernetes-validations': [{'message': 'Value is immutable', 'rule': 'self == oldSelf'}],
}


def _map_by(key: str) -> JsonSchema:
    return {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key]}


def _one_of(values: type[enum.StrEnum], **more: object) -> JsonSchema:
    return {'enum': [value.value for value in values], **more}


_JOBSET: Final = {
    'spec': Fact(
        text='What is wanted.',
        more={
            'x-kubernetes-validations': [
                {
                    'message': 'StartupPolicy and DependsOn APIs are mutually exclusive',
                    'rule': (
                        "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' "
                        '&& self.replicatedJobs.exists(x, has(x.dependsOn)))'
                    ),
                }
            ]
        },
    ),
    'status': Fact(text='What has been observed; written by the controller.'),
}

_SPEC: Final = {
    'replicated_jobs': Fact(
        text='The groups of equal Jobs that make up this set. Immutable, but for the scheduling fields of the pod '
        'templates while the set is suspended.',
        more=_map_by('name'),
    ),
    'network': Fact(text='Host names for the pods. Immutable.', more=_FIXED),
    'success_policy': Fact(
        text='When the set is complete; by default when all Jobs have succeeded. Immutable.',
        more=_FIXED,
    ),
    'failure_policy': Fact(
        text='What to do when a Job fails; without it the set fails with its first failed Job. Immutable.',
        more=_FIXED,
    ),
    'startup_policy': Fact(
        text='The order in which the replicated jobs start. Deprecated: dependsOn says more. Immutable.',
        more=_FIXED,
    ),
    'suspend': Fact(text='Whether nothing of the set may run: its Jobs are created suspended, or suspended now.'),
    'coordinator': Fact(
        text='The pod whose stable host name all Jobs and pods of the set carry in the label and annotation '
        'jobset.sigs.k8s.io/coordinator.'
    ),
    'managed_by': Fact(
        text='The controller in charge of this set, as a domain-prefixed path; the JobSet controller where it is '
        'absent. Immutable.'
    ),
    'ttl_seconds_after_finished': Fact(
        text='Seconds after its end at which the set is deleted, with all that belongs to it; never, when absent.',
        more=_AMOUNT,
    ),
    'volume_claim_policies': Fact(
        text='Volume claims that are made for the set and shared by its Jobs. Immutable.',
        more={**_ATOMIC, 'maxItems': 50, **_FIXED},
    ),
    'scheduling': Fact(
        text='Which pods get their nodes together or not at all, as groups of scheduling.k8s.io. Needs the gate '
        'JobSetWorkloadAwareSchedulingAPI, and is dropped without it. Immutable, unless the set is suspended.',
    ),
    'active_deadline_seconds': Fact(
        text='Seconds that the set may run from its creation or its last resume on, restarts included; then it fails. '
        'Needs the gate JobSetActiveDeadlineSeconds, and is dropped without it.',
        more={'format': 'int64', 'minimum': 1},
    ),
}

_POLICY: Final = 'A gang gets its nodes together or not at all; basic: each pod by itself. A gang, when absent.'
_PLACES: Final = 'Where the pods of a group may be.'
_DISRUPTION: Final = 'Whether a preemption takes away all pods of a group, or single ones. Single ones, when absent.'
_BASIC: Final = 'Each pod gets its node by itself.'

_GROUPED: Final = {
    'scheduling_policy': Fact(text=_POLICY),
    'scheduling_constraints': Fact(text=_PLACES),
    'disruption_mode': Fact(text=_DISRUPTION),
}

_REPLICATED_JOB: Final = {
    'name': Fact(text='The name of the group: a part of the names of its Jobs.', required=True),
    'group_name': Fact(
        text='The group whose Jobs are counted together for the labels group-replicas and job-group-index.',
        more={'default': 'default'},
    ),
    'template': Fact(text='The template of each Job.', embeds=embedded.JOB_TEMPLATE),
    'replicas': Fact(text='The number of Jobs.', more={**_AMOUNT, 'default': 1}),
    'depends_on': Fact(
        text='Earlier replicated jobs that must have reached a status before this one starts. Not for the first one, '
        'nor together with the startup policy InOrder. Immutable.',
        more={**_map_by('name'), 'maxItems': 5, **_FIXED},
    ),
}

_FAILURE_RULE: Final = {
    'name': Fact(
        text='The name of the rule, which becomes a part of the reason of a condition: letters, digits, "_", "," and '
        '":", up to 128. By default failurePolicyRule and the index.',
        required=True,
    ),
    'action': Fact(text='What to do when the rule fits.', more=_one_of(types.Action)),
    'on_job_failure_reasons': Fact(
        text='The reasons of a failed Job that the rule is for; any, when empty. Known ones are BackoffLimitExceeded, '
        'DeadlineExceeded, FailedIndexes, MaxFailedIndexesExceeded and PodFailurePolicy.'
    ),
    'on_job_failure_message_patterns': Fact(
        text='Regular expressions (RE2) of which one must be found in the message of the failed Job; any message, when '
        'empty.'
    ),
    'target_replicated_jobs': Fact(
        text='The replicated jobs whose Jobs the rule is for; all, when empty.',
        more=_ATOMIC,
    ),
}

_CONDITION: Final = {
    'type': Fact(
        text='What the condition is about.',
        more={
            'maxLength': 316,
            'pattern': (
                r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?'
                r'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$'
            ),
        },
    ),
    'status': Fact(text='Whether it holds.', more={'enum': ['True', 'False', 'Unknown']}),
    'reason': Fact(
        text='Why it changed last, as one word for programs.',
        more={'minLength': 1, 'maxLength': 1024, 'pattern': '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$'},
    ),
    'message': Fact(text='Why it changed last, for people.', more={'maxLength': 32768}),
    'last_transition_time': Fact(text='When its status changed last.', more={'format': 'date-time'}),
    'observed_generation': Fact(
        text='The generation of the set that the condition was judged by.',
        more={'format': 'int64', 'minimum': 0},
    ),
}

_REPLICATED_JOB_STATUS: Final = {
    'name': Fact(text='The name of the replicated job.'),
    'ready': Fact(text='Jobs all of whose pods are ready or have succeeded.', more=_COUNT),
    'succeeded': Fact(text='Jobs that have completed.', more=_COUNT),
    'failed': Fact(text='Jobs that have failed.', more=_COUNT),
    'active': Fact(text='Jobs with pods that run or wait to run.', more=_COUNT),
    'suspended': Fact(text='Jobs that are suspended.', more=_COUNT),
    'job_restarts': Fact(
        text='How often each Job was restarted by itself, by index.',
        more={**_ATOMIC, 'maxItems': 1024},
        items=_COUNT,
    ),
    'job_restarts_count_towards_max': Fact(
        text='How many of those restarts count towards maxRestarts, by index.',
        more={**_ATOMIC, 'maxItems': 1024},
        items=_COUNT,
    ),
}

_STATUS: Final = {
    'conditions': Fact(text='The conditions of the set.', more=_map_by('type')),
    'restarts': Fact(text='How often the whole set was restarted.', more=_COUNT),
    'restarts_count_towards_max': Fact(text='How many of the restarts count towards maxRestarts.', more=_COUNT),
    'terminal_state': Fact(text='Completed or Failed once the set has ended.'),
    'replicated_jobs_status': Fact(text='The counts of Jobs of each replicated job.', more=_map_by('name')),
    'previous_in_place_restart_attempt': Fact(
        text='The latest attempt that pods must leave when they restart in place.',
        more=_AMOUNT,
    ),
    'current_in_place_restart_attempt': Fact(
        text='The attempt that pods restarting in place may begin.',
        more=_AMOUNT,
    ),
    'execution_attempts': Fact(
        text='How often the set was resumed or restarted as a whole since its first start; absent before that, and '
        'without the gate ExecutionAttemptsTracking.',
        more=_AMOUNT,
    ),
}

FIELDS: Final[dict[type[msgspec.Struct], dict[str, Fact]]] = {
    types.JobSet: _JOBSET,
    types.Spec: _SPEC,
    types.ReplicatedJob: _REPLICATED_JOB,
    types.DependsOn: {
        'name': Fact(text='The name of an earlier replicated job.'),
        'status': Fact(
            text='What all of its Jobs must have reached: Ready (pods ready, or ended) or Complete (succeeded).',
            more=_one_of(types.DependsOnStatus),
        ),
    },
    types.Network: {
        'enable_dns_hostnames': Fact(
            text='Whether a headless Service gives each pod the host name <jobset>-<replicated job>-<job index>-'
            '<pod index>.<subdomain>. On by default.'
        ),
        'subdomain': Fact(
            text='The name of that Service and the subdomain of the host names; by default the name of the set.'
        ),
        'publish_not_ready_addresses': Fact(
            text='Whether the host names resolve before the pods are ready. On by default.'
        ),
    },
    types.SuccessPolicy: {
        'operator': Fact(
            text='How many of the targets must succeed.',
            more=_one_of(types.Operator),
            required=True,
        ),
        'target_replicated_jobs': Fact(
            text='The replicated jobs that count; all, when empty.',
            more=_ATOMIC,
        ),
    },
    types.FailurePolicy: {
        'max_restarts': Fact(text='How many restarts are allowed before the set fails.', more=_COUNT),
        'restart_strategy': Fact(
            text='What may overlap in a restart: Recreate makes each Job anew as soon as its old one is gone, '
            'BlockingRecreate waits until all old Jobs are gone, InPlaceRestart keeps the pods.',
            more=_one_of(types.RestartStrategy, default=types.RestartStrategy.RECREATE.value),
        ),
        'rules': Fact(text='What to do about which failure: the first rule that fits. A restart, when none does.'),
    },
    types.FailurePolicyRule: _FAILURE_RULE,
    types.StartupPolicy: {
        'startup_policy_order': Fact(
            text='AnyOrder starts all at once; InOrder starts each replicated job when the one before it is ready.',
            more=_one_of(types.StartupOrder),
            required=True,
        ),
    },
    types.Coordinator: {
        'replicated_job': Fact(text='The name of its replicated job.'),
        'job_index': Fact(text='The index of its Job.'),
        'pod_index': Fact(text='The index of its pod.'),
    },
    types.VolumeClaimPolicy: {
        'claim_templates': Fact(
            text='The claims. Each becomes the PersistentVolumeClaim <template>-<jobset>, and a volume of each Job in '
            'which a container mounts its name.',
            more={**_ATOMIC, 'maxItems': 50},
            embeds=embedded.CLAIM,
        ),
        'retention_policy': Fact(text='What becomes of the claims.'),
    },
    types.Retention: {
        'when_deleted': Fact(
            text='Whether the claims are deleted with the set.',
            more=_one_of(types.RetentionPolicy, default=types.RetentionPolicy.DELETE.value),
        ),
    },
    types.Scheduling: {
        **_GROUPED,
        'replicated_jobs': Fact(
            text='Groups by replicated job, instead of one for the whole set; each replicated job is named once.',
            more={**_ATOMIC, 'maxItems': 8},
        ),
    },
    types.ReplicatedJobScheduling: {
        **_GROUPED,
        'target_replicated_jobs': Fact(
            text='The replicated jobs whose pods form the group.',
            more={**_ATOMIC, 'minItems': 1},
        ),
        'job': Fact(text='A group for each Job of the one target, instead of one for all; then nothing else is set.'),
    },
    types.JobScheduling: {
        **_GROUPED,
        'resource_claims': Fact(
            text='Claims for devices that the pods of a group share. Pods list an equal entry.',
            more={**_map_by('name'), 'maxItems': 4},
        ),
    },
    types.CompositeSchedulingPolicy: {
        'basic': Fact(text=_BASIC),
        'gang': Fact(text='All pods of the set get their nodes together.'),
    },
    types.SchedulingPolicy: {
        'basic': Fact(text=_BASIC),
        'gang': Fact(text='The pods of a group get their nodes together.'),
    },
    types.GroupOfGroups: {
        'min_group_count': Fact(
            text='How many groups must get their nodes together. Not for a set that is one group.',
            more={'format': 'int32', 'minimum': 1},
        ),
    },
    types.Gang: {
        'min_count': Fact(
            text='How many pods must get their nodes together; as many as there may be, when absent.',
            more={'format': 'int32', 'minimum': 1},
        ),
    },
    types.SchedulingConstraints: {
        'topology': Fact(
            text='All pods of a group on nodes with the same value of a label.',
            more={**_ATOMIC, 'maxItems': 1},
        ),
    },
    types.TopologyConstraint: {'key': Fact(text='The label.', more={'minLength': 1})},
    types.DisruptionMode: {
        'single': Fact(text='Single pods may be taken away.'),
        'all': Fact(text='All pods of the group are taken away, or none.'),
    },
    templates.ResourceClaim: {
        'name': Fact(text='The name by which containers use it.', required=True),
        'resource_claim_name': Fact(text='A claim that exists.'),
        'resource_claim_template_name': Fact(text='A template: each group gets a claim of its own.'),
    },
    types.Status: _STATUS,
    types.Condition: _CONDITION,
    types.ReplicatedJobStatus: _REPLICATED_JOB_STATUS,
}
"""Each field of each struct that users see, and nothing else."""

OBJECTS: Final[dict[type[msgspec.Struct], JsonSchema]] = {
    types.VolumeClaimPolicy: {
        'x-kubernetes-validations': [
            {
                'message': 'namespace cannot be set for VolumeClaimPolicies templates',
                'rule': 'self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)',
            }
        ]
    },
}
"""What is added to the schema of a whole object."""
