"""Tables of what is written beyond those of :mod:`tests.local.kinds.inputs`: edits by name of what they are about."""

from collections.abc import Mapping
from typing import Any, Final

from tests.local.kinds.inputs import GONE, Edits

_OWNER: Final[Mapping[str, Any]] = {
    'apiVersion': 'v1',
    'kind': 'ConfigMap',
    'name': 'owner',
    'uid': '6e7bd6bf-f085-445a-afae-28aebfd18022',
}
_CONDITION: Final[Mapping[str, Any]] = {
    'type': 'Suspended',
    'status': 'True',
    'lastTransitionTime': '2026-01-01T00:00:00Z',
    'reason': 'Because',
    'message': 'it is so',
}
_STATUS_OF_JOBS: Final[Mapping[str, Any]] = {
    'name': 'leader',
    'ready': 0,
    'succeeded': 0,
    'failed': 0,
    'active': 1,
    'suspended': 0,
}

METADATA: Final[Mapping[str, Edits]] = {
    'label': {'metadata.labels.team': 'red'},
    'other label': {'metadata.labels.team': 'blue', 'metadata.labels.tier': 'one'},
    'labels gone': {'metadata.labels': GONE},
    'labels empty': {'metadata.labels': {}},
    'labels null': {'metadata.labels': None},
    'label empty': {'metadata.labels.team': ''},
    'label null': {'metadata.labels.team': None},
    'label wrong': {'metadata.labels.team': '-a', 'metadata.labels.a b': 'x'},
    'label number': {'metadata.labels.team': 1},
    'annotation': {'metadata.annotations.note': 'a\nb "c" ü'},
    'annotation wrong': {'metadata.annotations.A b': 'x'},
    'annotation odd': {'metadata.annotations.Note': 'x'},
    'annotations empty': {'metadata.annotations': {}},
    'annotation map': {'metadata.annotations.note': {'a': 1}},
    'finalizer': {'metadata.finalizers': ['example.com/wait']},
    'finalizers': {'metadata.finalizers': ['example.com/wait', 'example.com/other', 'foregroundDeletion']},
    'finalizer twice': {'metadata.finalizers': ['example.com/wait', 'example.com/wait']},
    'finalizer plain': {'metadata.finalizers': ['plain']},
    'finalizer wrong': {'metadata.finalizers': ['a b/c', '']},
    'finalizers gone': {'metadata.finalizers': GONE},
    'finalizers empty': {'metadata.finalizers': []},
    'orphan finalizer': {'metadata.finalizers': ['orphan', 'foregroundDeletion']},
    'owner': {'metadata.ownerReferences': [dict(_OWNER)]},
    'owner controls': {'metadata.ownerReferences': [{**_OWNER, 'controller': True, 'blockOwnerDeletion': True}]},
    'owners': {'metadata.ownerReferences': [dict(_OWNER), {**_OWNER, 'name': 'b', 'uid': 'b'}]},
    'owner twice': {'metadata.ownerReferences': [dict(_OWNER), dict(_OWNER)]},
    'owners control': {
        'metadata.ownerReferences': [
            {**_OWNER, 'controller': True},
            {**_OWNER, 'name': 'b', 'uid': 'b', 'controller': True},
        ]
    },
    'owner incomplete': {'metadata.ownerReferences': [{'kind': 'ConfigMap', 'name': 'a'}]},
    'owner empty': {'metadata.ownerReferences': [{}]},
    'owner event': {'metadata.ownerReferences': [{**_OWNER, 'kind': 'Event'}]},
    'uid': {'metadata.uid': '11111111-2222-3333-4444-555555555555'},
    'no uid': {'metadata.uid': GONE},
    'version old': {'metadata.resourceVersion': '1'},
    'version none': {'metadata.resourceVersion': GONE},
    'version empty': {'metadata.resourceVersion': ''},
    'version word': {'metadata.resourceVersion': 'abc'},
    'created': {'metadata.creationTimestamp': '2020-01-01T00:00:00Z'},
    'created null': {'metadata.creationTimestamp': None},
    'created wrong': {'metadata.creationTimestamp': 'yesterday'},
    'deleted': {'metadata.deletionTimestamp': '2020-01-01T00:00:00Z'},
    'grace': {'metadata.deletionGracePeriodSeconds': 5},
    'generation': {'metadata.generation': 9},
    'generation null': {'metadata.generation': None},
    'generation text': {'metadata.generation': '9'},
    'self link': {'metadata.selfLink': '/somewhere'},
    'namespace other': {'metadata.namespace': 'default'},
    'namespace none': {'metadata.namespace': GONE},
    'name other': {'metadata.name': 'other'},
    'name none': {'metadata.name': GONE},
    'generate': {'metadata.generateName': 'made-'},
    'managed none': {'metadata.managedFields': GONE},
    'managed empty': {'metadata.managedFields': []},
    'managed reset': {'metadata.managedFields': [{}]},
    'managed wrong': {'metadata.managedFields': [{'manager': 'x'}]},
    'managed by another': {
        'metadata.managedFields': [
            {
                'manager': 'x',
                'operation': 'Update',
                'apiVersion': 'v1',
                'time': '2020-01-01T00:00:00Z',
                'fieldsType': 'FieldsV1',
                'fieldsV1': {'f:metadata': {'f:labels': {'.': {}, 'f:team': {}}}},
            }
        ]
    },
    'unknown field of metadata': {'metadata.colour': 'red'},
    'kind other': {'kind': 'Other'},
    'kind none': {'kind': GONE},
    'version of the kind other': {'apiVersion': 'batch/v2'},
    'version of the kind none': {'apiVersion': GONE},
    'metadata null': {'metadata': None},
    'metadata list': {'metadata': []},
    'unknown field': {'colour': 'red', 'spec.colour': 'red'},
    'spec gone': {'spec': GONE},
    'spec null': {'spec': None},
    'spec empty': {'spec': {}},
    'spec list': {'spec': []},
    'spec text': {'spec': 'text'},
}

CREATION: Final[Mapping[str, Edits]] = {
    'generated': {'metadata.generateName': 'made-', 'metadata.name': GONE},
    'generated after a dot': {'metadata.generateName': 'made.', 'metadata.name': GONE},
    'generated badly': {'metadata.generateName': 'Made-', 'metadata.name': GONE},
    'generated from long': {'metadata.generateName': 'm' * 70, 'metadata.name': GONE},
    'named and generated': {'metadata.generateName': 'made-'},
    'named empty': {'metadata.name': ''},
    'named long': {'metadata.name': 'n' * 254},
    'named very long': {'metadata.name': 'n' * 64},
    'named with dots': {'metadata.name': 'a.b'},
    'named in capitals': {'metadata.name': 'Train'},
    'version given': {'metadata.resourceVersion': '5'},
    'uid given': {'metadata.uid': '11111111-2222-3333-4444-555555555555'},
    'status given': {'status.active': 1, 'status.phase': 'Running', 'status.restarts': 2},
    'deletion given': {'metadata.deletionTimestamp': '2020-01-01T00:00:00Z', 'metadata.deletionGracePeriodSeconds': 3},
}
"""What only new objects are given, besides METADATA."""

JOBSETS: Final[Mapping[str, Edits]] = {
    'many at once': {'spec.replicatedJobs.0.replicas': 3, 'spec.replicatedJobs.0.groupName': 'first'},
    'group wrong': {'spec.replicatedJobs.0.groupName': 'A b'},
    'no name': {'spec.replicatedJobs.0.name': GONE},
    'no template': {'spec.replicatedJobs.0.template': GONE},
    'no jobs': {'spec.replicatedJobs': []},
    'jobs null': {'spec.replicatedJobs': None},
    'jobs gone': {'spec.replicatedJobs': GONE},
    'job more': {'spec.replicatedJobs.2': {'name': 'more', 'template': {'spec': {'template': {'spec': {}}}}}},
    'job less': {'spec.replicatedJobs.1': GONE},
    'job name very long': {'spec.replicatedJobs.0.name': 'n' * 60},
    'replicas text': {'spec.replicatedJobs.0.replicas': 'two'},
    'replicas float': {'spec.replicatedJobs.0.replicas': 1.5},
    'replicas float whole': {'spec.replicatedJobs.0.replicas': 2.0},
    'replicas null': {'spec.replicatedJobs.0.replicas': None},
    'replicas huge': {'spec.replicatedJobs.0.replicas': 2**31},
    'template labels': {
        'spec.replicatedJobs.0.template.metadata.labels': {'a': 'b'},
        'spec.replicatedJobs.0.template.metadata.annotations': {'c': 'd'},
    },
    'pod labels': {'spec.replicatedJobs.0.template.spec.template.metadata.labels': {'a': 'b'}},
    'pod label wrong': {'spec.replicatedJobs.0.template.spec.template.metadata.labels': {'a b': '-'}},
    'pod node selector': {'spec.replicatedJobs.0.template.spec.template.spec.nodeSelector': {'zone': 'a'}},
    'pod tolerations': {
        'spec.replicatedJobs.0.template.spec.template.spec.tolerations': [{'key': 'a', 'operator': 'Exists'}]
    },
    'pod gates': {'spec.replicatedJobs.0.template.spec.template.spec.schedulingGates': [{'name': 'a.b/c'}]},
    'pod image': {'spec.replicatedJobs.0.template.spec.template.spec.containers.0.image': 'other:v2'},
    'pod unknown field': {'spec.replicatedJobs.0.template.spec.template.spec.containers.0.imagee': 'x'},
    'pod resources': {
        'spec.replicatedJobs.0.template.spec.template.spec.containers.0.resources.limits': {'cpu': 1, 'memory': '1Gi'}
    },
    'pod resources wrong': {
        'spec.replicatedJobs.0.template.spec.template.spec.containers.0.resources.limits': {'cpu': 'much'}
    },
    'completions': {
        'spec.replicatedJobs.0.template.spec.completions': 2,
        'spec.replicatedJobs.0.template.spec.parallelism': 2,
        'spec.replicatedJobs.0.template.spec.completionMode': 'Indexed',
    },
    'mode': {'spec.replicatedJobs.0.template.spec.completionMode': 'NonIndexed'},
    'suspend': {'spec.suspend': True},
    'resume': {'spec.suspend': False},
    'suspend text': {'spec.suspend': 'yes'},
    'suspend null': {'spec.suspend': None},
    'managed by kueue': {'spec.managedBy': 'kueue.x-k8s.io/multikueue'},
    'managed by ourselves': {'spec.managedBy': 'jobset.sigs.k8s.io/jobset-controller'},
    'managed by long': {'spec.managedBy': 'a.b/' + 'c' * 64},
    'ttl': {'spec.ttlSecondsAfterFinished': 60},
    'ttl null': {'spec.ttlSecondsAfterFinished': None},
    'exclusive': {
        'metadata.annotations.alpha\\.jobset\\.sigs\\.k8s\\.io/exclusive-topology': 'rack',
    },
    'exclusive by selector': {
        'metadata.annotations.alpha\\.jobset\\.sigs\\.k8s\\.io/exclusive-topology': 'rack',
        'metadata.annotations.alpha\\.jobset\\.sigs\\.k8s\\.io/node-selector': 'true',
    },
    'network': {'spec.network': {'enableDNSHostnames': True, 'subdomain': 'net', 'publishNotReadyAddresses': False}},
    'network empty': {'spec.network': {}},
    'subdomain wrong': {'spec.network': {'subdomain': 'A_b'}},
    'startup in order': {'spec.startupPolicy': {'startupPolicyOrder': 'InOrder'}},
    'startup any order': {'spec.startupPolicy': {'startupPolicyOrder': 'AnyOrder'}},
    'startup empty': {'spec.startupPolicy': {}},
    'startup and dependency': {
        'spec.startupPolicy': {'startupPolicyOrder': 'InOrder'},
        'spec.replicatedJobs.1.dependsOn': [{'name': 'leader', 'status': 'Complete'}],
    },
    'depends on two': {
        'spec.replicatedJobs.1.dependsOn': [
            {'name': 'leader', 'status': 'Complete'},
            {'name': 'leader', 'status': 'Ready'},
        ]
    },
    'depends on itself': {'spec.replicatedJobs.1.dependsOn': [{'name': 'workers', 'status': 'Ready'}]},
    'first depends': {'spec.replicatedJobs.0.dependsOn': [{'name': 'workers', 'status': 'Ready'}]},
    'success incomplete': {'spec.successPolicy': {'targetReplicatedJobs': ['leader']}},
    'success any': {'spec.successPolicy': {'operator': 'Any'}},
    'failure restarts none': {'spec.failurePolicy': {'maxRestarts': -1}},
    'failure strategy': {'spec.failurePolicy': {'maxRestarts': 2, 'restartStrategy': 'BlockingRecreate'}},
    'failure strategy unknown': {'spec.failurePolicy': {'restartStrategy': 'Never'}},
    'failure rules': {
        'spec.failurePolicy': {
            'maxRestarts': 2,
            'rules': [
                {
                    'name': 'host',
                    'action': 'RestartJobSetAndIgnoreMaxRestarts',
                    'onJobFailureReasons': ['PodFailurePolicy'],
                },
                {'action': 'FailJobSet', 'targetReplicatedJobs': ['leader']},
            ],
        }
    },
    'failure rules twice': {
        'spec.failurePolicy': {'rules': [{'name': 'a', 'action': 'FailJobSet'}, {'name': 'a', 'action': 'FailJobSet'}]}
    },
    'failure rule wrong': {
        'spec.failurePolicy': {
            'rules': [{'name': '0-', 'action': 'Explode', 'targetReplicatedJobs': ['nobody', 'leader', 'leader']}]
        }
    },
    'failure rule pattern': {
        'spec.failurePolicy': {
            'rules': [{'name': 'a', 'action': 'FailJobSet', 'onJobFailureMessagePatterns': ['a.*b', '[']}]
        }
    },
    'coordinator': {'spec.coordinator': {'replicatedJob': 'leader'}},
    'coordinator pod': {'spec.coordinator': {'replicatedJob': 'workers', 'jobIndex': 0, 'podIndex': 1}},
    'coordinator of nobody': {'spec.coordinator': {'replicatedJob': 'nobody', 'jobIndex': -1}},
    'coordinator text': {'spec.coordinator': 'leader'},
    'claims': {
        'spec.volumeClaimPolicies': [
            {
                'templates': [
                    {
                        'metadata': {'name': 'data'},
                        'spec': {
                            'accessModes': ['ReadWriteOnce'],
                            'resources': {'requests': {'storage': '1Gi'}},
                        },
                    }
                ]
            }
        ],
    },
}

JOBSET_STATUSES: Final[Mapping[str, Edits]] = {
    'restarts': {'status.restarts': 1},
    'restarts text': {'status.restarts': 'one'},
    'restarts null': {'status.restarts': None},
    'counting': {'status.restarts': 2, 'status.restartsCountTowardsMax': 1},
    'condition': {'status.conditions': [dict(_CONDITION)]},
    'condition changed': {'status.conditions': [{**_CONDITION, 'status': 'False', 'message': 'no more'}]},
    'conditions': {'status.conditions': [dict(_CONDITION), {**_CONDITION, 'type': 'Completed'}]},
    'condition twice': {'status.conditions': [dict(_CONDITION), dict(_CONDITION)]},
    'condition incomplete': {'status.conditions': [{'type': 'Suspended'}]},
    'condition wrong': {
        'status.conditions': [{**_CONDITION, 'type': 'a b', 'status': 'Maybe', 'reason': '', 'lastTransitionTime': 'x'}]
    },
    'condition null': {'status.conditions': [None]},
    'jobs': {'status.replicatedJobsStatus': [dict(_STATUS_OF_JOBS)]},
    'jobs more': {
        'status.replicatedJobsStatus': [{**_STATUS_OF_JOBS, 'active': 0}, {**_STATUS_OF_JOBS, 'name': 'workers'}]
    },
    'jobs twice': {'status.replicatedJobsStatus': [dict(_STATUS_OF_JOBS), dict(_STATUS_OF_JOBS)]},
    'jobs incomplete': {'status.replicatedJobsStatus': [{'name': 'leader'}]},
    'jobs wrong': {'status.replicatedJobsStatus': [{**_STATUS_OF_JOBS, 'ready': 'x', 'colour': 'red'}]},
    'terminal': {'status.terminalState': 'Completed'},
    'terminal unknown': {'status.terminalState': 'Exploded'},
    'terminal gone': {'status.terminalState': GONE},
    'unknown field': {'status.colour': 'red'},
    'gone': {'status': GONE},
    'empty': {'status': {}},
    'null': {'status': None},
    'spec is ignored': {'status.restarts': 3, 'spec.suspend': True, 'metadata.labels': {'status': 'x'}},
    'spec wrong is ignored': {'status.restarts': 3, 'spec.replicatedJobs': 'x'},
}

DELETIONS: Final[Mapping[str, Any]] = {
    'plain': None,
    'empty': {},
    'background': {'propagationPolicy': 'Background'},
    'foreground': {'propagationPolicy': 'Foreground'},
    'orphan': {'propagationPolicy': 'Orphan'},
    'policy unknown': {'propagationPolicy': 'Sideways'},
    'orphans': {'orphanDependents': True},
    'no orphans': {'orphanDependents': False},
    'both': {'orphanDependents': True, 'propagationPolicy': 'Background'},
    'grace': {'gracePeriodSeconds': 5},
    'no grace': {'gracePeriodSeconds': 0},
    'negative grace': {'gracePeriodSeconds': -1},
    'another uid': {'preconditions': {'uid': '11111111-2222-3333-4444-555555555555'}},
    'another version': {'preconditions': {'resourceVersion': '1'}},
    'dry': {'dryRun': ['All']},
    'dry wrong': {'dryRun': ['Some']},
    'typed': {'apiVersion': 'v1', 'kind': 'DeleteOptions', 'propagationPolicy': 'Background'},
    'typed otherwise': {'apiVersion': 'v1', 'kind': 'Pod'},
    'unknown field': {'colour': 'red'},
}
"""Options of a deletion."""

QUERIES: Final = (
    *('',) * 12,
    'fieldManager=alpha',
    'fieldManager=beta',
    'fieldValidation=Strict',
    'fieldValidation=Ignore',
    'fieldValidation=Warn',
    'fieldManager=alpha&fieldValidation=Strict',
    'dryRun=All',
    'dryRun=All&fieldValidation=Strict',
    'dryRun=Some',
    'fieldValidation=Sometimes',
    'force=true',
    'fieldManager=' + 'm' * 129,
    'pretty=true',
)
APPLY_QUERIES: Final = (
    *('fieldManager=alpha', 'fieldManager=beta') * 4,
    *('fieldManager=alpha&force=true', 'fieldManager=beta&force=true') * 3,
    'fieldManager=gamma',
    'fieldManager=alpha&dryRun=All',
    'fieldManager=beta&fieldValidation=Strict',
    'fieldManager=beta&fieldValidation=Ignore&force=true',
    'fieldManager=alpha&force=false',
    '',
    'force=true',
)
