"""Simulated nodes as objects."""

import datetime

from jobset.local.simulated import nodes

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def test_names_have_one_width() -> None:
    assert nodes.Pool(count=11).names()[::5] == ['node-00', 'node-05', 'node-10']


def test_labels_follow_from_the_place_in_the_row() -> None:
    pool = nodes.Pool(count=6, levels={'example.com/rack': 2, 'example.com/block': 4}, labels={'kind': 'big'})

    labels = [node['metadata']['labels'] for node in pool.made(lambda: NOON)]

    assert [(one['example.com/rack'], one['example.com/block']) for one in labels] == [
        ('rack-0', 'block-0'),
        ('rack-0', 'block-0'),
        ('rack-1', 'block-0'),
        ('rack-1', 'block-0'),
        ('rack-2', 'block-1'),
        ('rack-2', 'block-1'),
    ]
    assert labels[5]['kubernetes.io/hostname'] == 'node-5'
    assert labels[5]['kind'] == 'big'


def test_a_node_is_ready_and_has_what_it_should() -> None:
    (node,) = nodes.Pool(count=1, cpu='8', memory='32Gi', pods=20, extended={'example.com/gpu': '4'}).made(lambda: NOON)

    wanted = {'cpu': '8', 'memory': '32Gi', 'pods': '20', 'example.com/gpu': '4'}
    assert node['status']['allocatable'] == node['status']['capacity'] == wanted
    assert node['status']['conditions'] == [
        {
            'type': 'Ready',
            'status': 'True',
            'reason': 'KubeletReady',
            'message': 'kubelet is posting ready status',
            'lastHeartbeatTime': '2026-01-01T12:00:00Z',
            'lastTransitionTime': '2026-01-01T12:00:00Z',
        }
    ]
