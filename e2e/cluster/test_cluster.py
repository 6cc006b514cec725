"""The cluster itself: it runs real pods, keeps to itself, and goes without a trace."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster import cgroups, names, network, node, processes
from e2e.cluster.names import Names
from e2e.images import controller

CHECKOUT = Path(__file__).resolve().parents[2]
PODS = Path(__file__).parent / 'manifests' / 'check.yaml'

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason='a cluster with pods needs root'),
    pytest.mark.timeout(900),
]


def command(*arguments: str, check: bool = True) -> str:
    """What the command line of the cluster prints."""
    done = subprocess.run(
        [sys.executable, '-m', 'e2e.cluster', *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def kubectl(name: str, *arguments: str, profile: str = 'full') -> str:
    return command('exec', '--name', name, '--profile', profile, '--', 'kubectl', *arguments)


def traces(one: Names) -> list[str]:
    """What a cluster that is down has left on the machine, but for its logs."""
    left = [str(path) for path in one.state.glob('*') if path != one.logs]
    left += [str(hierarchy) for hierarchy in cgroups.ROOT.glob(f'*/{one.cgroup}')]
    left += [str(note) for note in Path('/var/lib/cni/results').glob(f'{one.cni_network}-*')]
    left += [line for line in Path('/proc/self/mountinfo').read_text().splitlines() if f'{one.state}/' in line]
    left += [str(shim) for shim in processes.matching(str(one.containerd_socket), program=node.SHIM)]
    return left + ([one.namespace] if network.exists(one) else [])


@pytest.fixture
def cluster() -> Iterator[Names]:
    """A name that no other cluster has; whatever runs under it is ended."""
    one = names.of('check-a', cache_folder=names.cache())
    command('down', '--name', one.cluster)
    yield one
    command('down', '--name', one.cluster)


def test_pods_run_find_each_other_and_leave_nothing(cluster: Names) -> None:
    name = cluster.cluster
    command('up', '--name', name)
    kubectl(name, 'apply', '--filename', str(PODS))

    kubectl(name, 'wait', '--for=condition=complete', 'job', '--all', '--timeout=120s')
    claim = json.loads(kubectl(name, 'get', 'persistentvolumeclaim', 'data', '--output=json'))
    client = kubectl(name, 'logs', 'job/client')
    declared = json.loads(kubectl(name, 'get', 'node', node.NAME, '--output=jsonpath={.status.declaredFeatures}'))
    volume = (
        Path('/tmp/hostpath_pv')
        / kubectl(name, 'get', 'persistentvolume', '--output=jsonpath={.items[0].spec.hostPath.path}').rpartition('/')[
            2
        ]
    )
    existed = volume.is_dir()
    command('down', '--name', name)

    assert claim['status']['phase'] == 'Bound'
    assert client.splitlines() == ['by the name of the pod', 'by the address of the Service', 'from the volume']
    assert 'RestartAllContainersOnContainerExits' in declared
    assert existed
    assert not volume.exists()
    assert traces(cluster) == []


def test_second_start_keeps_the_cluster(cluster: Names) -> None:
    name = cluster.cluster
    command('up', '--name', name, '--profile', 'control-plane')
    records = {path.name: path.read_text() for path in cluster.pids.iterdir()}

    command('up', '--name', name, '--profile', 'control-plane')

    assert {path.name: path.read_text() for path in cluster.pids.iterdir()} == records


def test_clusters_run_side_by_side(cluster: Names) -> None:
    other = names.of('check-b', cache_folder=names.cache())
    try:
        for one in (cluster, other):
            command('up', '--name', one.cluster)
            kubectl(one.cluster, 'create', 'configmap', f'of-{one.cluster}')
            kubectl(one.cluster, 'run', 'pod', '--image=localhost/pause:1')
        for one in (cluster, other):
            kubectl(one.cluster, 'wait', '--for=condition=Ready', 'pod/pod', '--timeout=60s')
        command('down', '--name', other.cluster)

        own = kubectl(cluster.cluster, 'get', 'configmap', '--output=name').split()
        assert own == ['configmap/kube-root-ca.crt', f'configmap/of-{cluster.cluster}']
        assert kubectl(cluster.cluster, 'get', 'pod', '--output=jsonpath={.items[*].status.phase}') == 'Running'
        assert traces(other) == []
    finally:
        command('down', '--name', other.cluster)


def test_control_plane_alone_leaves_jobs_to_the_test(cluster: Names) -> None:
    name = cluster.cluster
    gate = ('--feature-gates', 'CompositePodGroup=true')
    command('up', '--name', name, '--profile', 'control-plane', *gate)
    kubectl(name, 'create', 'job', 'one', '--image=localhost/pause:1', profile='control-plane')

    status = kubectl(name, 'get', 'job', 'one', '--output=jsonpath={.status}', profile='control-plane')
    groups = kubectl(name, 'api-resources', '--api-group=scheduling.k8s.io', '--output=name', profile='control-plane')

    assert status == '{}'
    assert 'compositepodgroups.scheduling.k8s.io' in groups.split()


@pytest.mark.parametrize('moment', ['containerd', 'kube-apiserver', 'kube-controller-manager', 'kubelet', 'coredns'])
def test_start_killed_at_any_moment_is_cleared_away(moment: str, cluster: Names) -> None:
    with subprocess.Popen(
        [sys.executable, '-m', 'e2e.cluster', 'up', '--name', cluster.cluster],
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as starting:
        record = cluster.pids / moment
        try:
            processes.wait_until(record.exists, seconds=300, what=f'{moment} to be started', every=0.01)
        finally:
            starting.kill()
    identity = processes.read(record)
    assert identity is not None

    command('down', '--name', cluster.cluster)

    assert processes.running(identity.pid) != identity
    assert traces(cluster) == []


def test_cluster_whose_programs_were_killed_is_started_anew(cluster: Names) -> None:
    name = cluster.cluster
    command('up', '--name', name)
    kubectl(name, 'run', 'pod', '--image=localhost/pause:1')
    kubectl(name, 'wait', '--for=condition=Ready', 'pod/pod', '--timeout=60s')
    for record in cluster.pids.iterdir():
        identity = processes.read(record)
        assert identity is not None
        processes.end(identity, grace_seconds=0)

    command('up', '--name', name)

    assert kubectl(name, 'get', 'pods', '--output=name') == ''
    assert command('status', '--name', name).splitlines()[-1] == 'ready'


def test_controller_image_starts_without_rights(cluster: Names, tmp_path: Path) -> None:
    name = cluster.cluster
    command('up', '--name', name)
    command('load-image', '--name', name, str(controller.build(tmp_path / 'controller.tar')))
    limits = {
        'runAsNonRoot': True,
        'readOnlyRootFilesystem': True,
        'allowPrivilegeEscalation': False,
        'capabilities': {'drop': ['ALL']},
    }
    overrides = {
        'spec': {
            'restartPolicy': 'Never',
            'containers': [
                {'name': 'pod', 'image': controller.NAME, 'securityContext': limits, 'args': ['--help']},
            ],
        }
    }
    kubectl(name, 'run', 'pod', f'--image={controller.NAME}', f'--overrides={json.dumps(overrides)}')

    kubectl(name, 'wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/pod', '--timeout=60s')

    assert 'usage' in kubectl(name, 'logs', 'pod').lower()
