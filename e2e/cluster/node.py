"""The one real node: containerd, kubelet and kube-proxy."""

import json
from pathlib import Path

from e2e.cluster import certificates, cgroups, control_plane, machine, mounts, network, processes, site
from e2e.cluster.names import Names
from e2e.cluster.site import Site

NAME = 'node-0'
KUBELET = 'kubelet'
PROXY = 'kube-proxy'
CONTAINERD = 'containerd'
SHIM = 'containerd-shim-runc-v2'

PAUSE_IMAGE = 'localhost/pause:1'

READY_SECONDS = 120.0

# Links to container logs that kubelet makes in a place shared by all clusters.
_LOG_LINKS = Path('/var/log/containers')


def issue(place: Site, authority: certificates.Authority) -> None:
    """Make the credentials of the node."""
    user = f'system:node:{NAME}'
    authority.issue('kubelet', user=user, groups=['system:nodes'], hosts=[NAME, network.NODE])
    login = control_plane.credentials(place, KUBELET)
    control_plane.login(place, authority, login, user=user, groups=('system:nodes',))
    control_plane.login(place, authority, control_plane.credentials(place, PROXY), user='system:kube-proxy')


def containerd_configuration(names: Names) -> str:
    """containerd's configuration, version 3: every folder and socket it would share with another one is moved."""
    return f"""version = 3
root = '{names.state}/containerd/root'
state = '{names.state}/containerd/state'
# NRI would open a socket that all containerds of a machine share; the snapshotters need disks of their own.
disabled_plugins = [
  'io.containerd.nri.v1.nri',
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.erofs',
  'io.containerd.snapshotter.v1.zfs',
]

[grpc]
address = '{names.containerd_socket}'

[plugins.'io.containerd.internal.v1.opt']
path = '{names.state}/containerd/opt'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
# A name without a host would be taken for one of a public registry, and pulled.
sandbox = '{PAUSE_IMAGE}'

[plugins.'io.containerd.cri.v1.runtime']
# Where lowering the score is refused, runc ends with "can't get final child's PID from pipe".
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['{machine.CNI_PLUGINS}']
conf_dir = '{names.configuration}/cni'

[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = 'runc'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
Root = '{names.state}/containerd/runc'
SystemdCgroup = false
"""


def kubelet_configuration(place: Site) -> dict[str, object]:
    names, tls = place.names, place.names.certificates
    return {
        'apiVersion': 'kubelet.config.k8s.io/v1beta1',
        'kind': 'KubeletConfiguration',
        'address': network.NODE,
        'readOnlyPort': 0,
        'authentication': {
            'anonymous': {'enabled': False},
            'webhook': {'enabled': True},
            'x509': {'clientCAFile': str(tls / 'ca.crt')},
        },
        'authorization': {'mode': 'Webhook'},
        'tlsCertFile': str(tls / 'kubelet.crt'),
        'tlsPrivateKeyFile': str(tls / 'kubelet.key'),
        'containerRuntimeEndpoint': f'unix://{names.containerd_socket}',
        'clusterDNS': [network.DNS],
        'clusterDomain': 'cluster.local',
        # An empty file: search domains of the machine would send names of the cluster astray.
        'resolvConf': str(names.configuration / 'resolv.conf'),
        'podLogsDir': str(names.state / 'pod-logs'),
        'volumePluginDir': str(names.state / 'volume-plugins'),
        'cgroupDriver': 'cgroupfs',
        'cgroupRoot': f'/{names.cgroup}',
        'failCgroupV1': False,
        'failSwapOn': False,
        'enforceNodeAllocatable': [],
        'localStorageCapacityIsolation': False,
        # A full disk of the machine is not this cluster's business, and there is no registry to pull again from.
        'evictionHard': {'memory.available': '100Mi'},
        'imageGCHighThresholdPercent': 100,
        'serializeImagePulls': False,
        'maxPods': 250,
        'featureGates': place.settings.gates,
    }


def proxy_configuration(place: Site) -> dict[str, object]:
    return {
        'apiVersion': 'kubeproxy.config.k8s.io/v1alpha1',
        'kind': 'KubeProxyConfiguration',
        'mode': 'nftables',
        'bindAddress': network.NODE,
        'hostnameOverride': NAME,
        'clusterCIDR': network.PODS,
        'clientConnection': {'kubeconfig': str(control_plane.credentials(place, PROXY))},
        # The table's size belongs to the machine, not to a namespace.
        'conntrack': {'maxPerCore': 0},
    }


def start_containerd(place: Site) -> processes.Program:
    """Start the container runtime and wait until it answers."""
    names = place.names
    plugins = names.configuration / 'cni'
    plugins.mkdir(parents=True, exist_ok=True)
    (plugins / '10-pods.conflist').write_text(network.cni(names))
    configuration = names.configuration / 'containerd.toml'
    configuration.write_text(containerd_configuration(names))
    runtime = place.start(CONTAINERD, [str(place.binaries[CONTAINERD]), '--config', str(configuration)])
    processes.wait_until(
        names.containerd_socket.exists, seconds=READY_SECONDS, what='containerd to answer', programs=[runtime]
    )
    ctr(place, 'version')
    return runtime


def ctr(place: Site, *arguments: str, seconds: float = 300) -> str:
    """What containerd's own client prints. Raises :class:`site.CommandError`."""
    base = [str(place.binaries['ctr']), f'--address={place.names.containerd_socket}', '--namespace=k8s.io']
    return place.run([*base, *arguments], seconds=seconds)


def start(place: Site) -> None:
    """Start kubelet and kube-proxy, and wait until the node is ready for pods."""
    names = place.names
    cgroups.create(names)
    (names.configuration / 'resolv.conf').touch()
    programs = [
        place.start(
            KUBELET,
            [
                str(place.binaries[KUBELET]),
                f'--config={_written(place, KUBELET, kubelet_configuration(place))}',
                f'--kubeconfig={control_plane.credentials(place, KUBELET)}',
                f'--hostname-override={NAME}',
                f'--node-ip={network.NODE}',
                f'--root-dir={names.state / "kubelet"}',
                f'--cert-dir={names.state / "kubelet-tls"}',
            ],
        ),
        place.start(
            PROXY, [str(place.binaries[PROXY]), f'--config={_written(place, PROXY, proxy_configuration(place))}']
        ),
    ]
    processes.wait_until(
        lambda: _ready(place), seconds=READY_SECONDS, what='the node to be ready', every=0.2, programs=programs
    )


def end_pods(names: Names) -> None:
    """Kill what runs in pods, and the shims that watch over it. Kubelet must have ended, or it starts them anew."""
    cgroups.end_all(names)
    sockets = _shim_sockets(names)
    for shim in list(processes.matching(str(names.containerd_socket), program=SHIM)):
        processes.end(shim, grace_seconds=0)
    for socket in sockets:
        socket.unlink(missing_ok=True)


def clear(names: Names) -> None:
    """Remove what a node leaves outside the state folder, and what would keep that from being removed."""
    mounts.clear(names.state)
    cgroups.remove(names)
    network.forget_pods(names)
    if _LOG_LINKS.is_dir():
        for link in _LOG_LINKS.iterdir():
            if link.is_symlink() and link.readlink().is_relative_to(names.state):
                link.unlink()


def _shim_sockets(names: Names) -> list[Path]:
    """Sockets that a killed shim leaves in a folder which all containerds of the machine share."""
    found: list[Path] = []
    for bundle in (names.state / 'containerd' / 'state').glob('io.containerd.runtime.v2.task/k8s.io/*/bootstrap.json'):
        address = str(json.loads(bundle.read_text()).get('address', ''))
        if address.startswith('unix://'):
            found.append(Path(address.removeprefix('unix://')))
    return found


def _written(place: Site, part: str, configuration: dict[str, object]) -> Path:
    path = place.names.configuration / f'{part}.json'
    path.write_text(json.dumps(configuration, indent=1))
    return path


def _ready(place: Site) -> bool:
    condition = '{.status.conditions[?(@.type=="Ready")].status}'
    try:
        return place.kubectl('get', 'node', NAME, f'--output=jsonpath={condition}', seconds=20) == 'True'
    except site.CommandError:
        return False
