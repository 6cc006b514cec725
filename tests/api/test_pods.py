"""A pod as it is observed: what of it is held, and what is held once for many."""

from typing import Any

import msgspec

from jobset.api import keys, pods

RUNS: Any = [
    {'type': 'Ready', 'status': 'True', 'lastTransitionTime': '2026-01-01T00:00:00Z'},
    {'type': 'PodScheduled', 'status': 'True', 'lastTransitionTime': '2026-01-01T00:00:00Z'},
]
WAITS: Any = {'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', 'message': 'no room'}
TAKEN: Any = {'type': 'DisruptionTarget', 'status': 'True', 'reason': 'PreemptionByScheduler'}


def pod(index: int = 0, *, node: str = 'n', **status: Any) -> pods.Pod:
    manifest = {
        'metadata': {
            'name': f'js-a-0-{index}',
            'namespace': 'default',
            'uid': f'uid-{index}',
            'labels': {keys.JOBSET_UID: 'js-uid', pods.JOB_UID: 'job-uid'},
            'annotations': {keys.EXCLUSIVE_TOPOLOGY: 'rack', keys.COMPLETION_INDEX: '7'},
            'ownerReferences': [{'apiVersion': 'batch/v1', 'kind': 'Job', 'uid': 'job-uid', 'controller': True}],
            'finalizers': [pods.JOB_TRACKING],
        },
        'spec': {'nodeName': node, 'nodeSelector': {'rack': 'r1'}},
        'status': {'phase': 'Running', **status},
    }
    return msgspec.json.decode(msgspec.json.encode(manifest), type=pods.Pod)


def test_what_is_equal_in_pods_is_held_once() -> None:
    one, two = pod(1, conditions=RUNS), pod(2, conditions=RUNS)

    assert one.metadata.labels is two.metadata.labels
    assert one.metadata.annotations is two.metadata.annotations
    assert one.metadata.owner_references is two.metadata.owner_references
    assert one.metadata.finalizers is two.metadata.finalizers
    assert one.spec.node_name is two.spec.node_name
    assert one.spec.node_selector is two.spec.node_selector
    assert one.status is two.status


def test_of_a_pod_that_is_well_its_phase_is_held() -> None:
    running = [{'name': 'main', 'restartCount': 0, 'state': {'running': {'startedAt': '2026-01-01T00:00:00Z'}}}]

    one = pod(conditions=RUNS, containerStatuses=running, initContainerStatuses=running)

    assert one.status == pods.PodStatus(phase='Running')


def test_trouble_is_held() -> None:
    ended = {'name': 'init', 'state': {'terminated': {'exitCode': 1}}}
    again = {'name': 'main', 'restartCount': 3, 'state': {'running': {}}}
    waits = {'name': 'side', 'state': {'waiting': {'reason': 'ErrImagePull'}}}

    one = pod(node='', conditions=[*RUNS[:1], WAITS], initContainerStatuses=[ended], containerStatuses=[again, waits])

    assert [(each.name, each.restart_count) for each in one.containers] == [('init', 0), ('main', 3), ('side', 0)]
    assert one.unscheduled is not None
    assert one.unscheduled.message == 'no room'


def test_a_word_about_a_node_counts_until_there_is_one() -> None:
    assert pod(node='n', conditions=[WAITS]).unscheduled is None


def test_disruption() -> None:
    held = pod(conditions=[*RUNS, TAKEN]).disruption
    assert held is not None
    assert held.reason == 'PreemptionByScheduler'
    assert pod(conditions=[TAKEN | {'status': 'False'}]).disruption is None
