"""The cluster's network: one namespace that holds API server, node, pods, Service addresses and packet filter."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from e2e.cluster.names import Names

NODE = '172.31.0.2'
GATEWAY = '172.31.0.1'
PODS = '10.244.0.0/16'
SERVICES = '10.96.0.0/16'
DNS = '10.96.0.10'
API = '10.96.0.1'

INTERFACE = 'node0'
"""The node's interface. Its other end is inside too: nothing leaves the namespace, and no other cluster sees it."""

# Fixed in the library that runs the plugins.
_NOTES = Path('/var/lib/cni/results')

_SWITCHES = ('net/ipv4/ip_forward', 'net/ipv4/conf/all/route_localnet', 'net/bridge/bridge-nf-call-iptables')


def inside(names: Names, argv: Sequence[str]) -> list[str]:
    """``argv`` entered into the namespace of the cluster.

    Not by ``ip netns exec``, which mounts /sys anew and so hides the cgroups that kubelet looks for.
    """
    return ['nsenter', f'--net={_path(names)}', '--', *argv]


def exists(names: Names) -> bool:
    return _path(names).exists()


def create(names: Names) -> None:
    """Make the namespace with the node's interface and a default route. Raises ``CalledProcessError``."""
    _ip('netns', 'add', names.namespace)
    within = ('-n', names.namespace)
    _ip(*within, 'link', 'set', 'lo', 'up')
    # A pair, because not every kernel has the link type "dummy".
    _ip(*within, 'link', 'add', INTERFACE, 'type', 'veth', 'peer', 'name', 'node1')
    _ip(*within, 'addr', 'add', f'{NODE}/24', 'dev', INTERFACE)
    for interface in (INTERFACE, 'node1'):
        _ip(*within, 'link', 'set', interface, 'up')
    _ip(*within, 'route', 'add', 'default', 'via', GATEWAY, 'dev', INTERFACE)
    for switch in _SWITCHES:
        # The bridge switch is missing where the kernel does not pass bridged packets to the filter at all.
        script = f'test ! -e /proc/sys/{switch} || echo 1 > /proc/sys/{switch}'
        subprocess.run(inside(names, ['sh', '-c', script]), check=True, timeout=20)


def delete(names: Names) -> None:
    """Remove the namespace; interfaces and filter tables go with it."""
    if exists(names):
        _ip('netns', 'delete', names.namespace)


def cni(names: Names) -> str:
    """The configuration of the pod network: a bridge, and addresses handed out on the node."""
    bridge = {
        'type': 'bridge',
        'bridge': 'cni0',
        'isGateway': True,
        'hairpinMode': True,
        'ipMasq': False,
        'ipam': {
            'type': 'host-local',
            'dataDir': str(names.state / 'cni'),
            'ranges': [[{'subnet': PODS}]],
            'routes': [{'dst': '0.0.0.0/0'}],
        },
    }
    plugins = [bridge, {'type': 'portmap', 'capabilities': {'portMappings': True}}]
    return json.dumps({'cniVersion': '1.0.0', 'name': names.cni_network, 'plugins': plugins}, indent=1)


def forget_pods(names: Names) -> None:
    """Remove what the pod network noted down, in a folder that all clusters share, about pods that were killed."""
    if not _NOTES.is_dir():
        return
    for note in _NOTES.iterdir():
        # The whole pattern, because the name of one cluster may be the beginning of another's.
        if match := re.fullmatch(rf'{re.escape(names.cni_network)}-([0-9a-f]{{64}})-eth0', note.name):
            note.unlink()
            (_NOTES / f'cni-loopback-{match.group(1)}-lo').unlink(missing_ok=True)


def _path(names: Names) -> Path:
    return Path('/run/netns') / names.namespace


def _ip(*arguments: str) -> None:
    subprocess.run(['ip', *arguments], check=True, timeout=20)
