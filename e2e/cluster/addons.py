"""What runs on top of control plane and node: names of pods and Services, volumes, and images."""

import mmap
import re
import shutil
from pathlib import Path

from e2e.cluster import certificates, control_plane, network, node, processes, site
from e2e.cluster.names import Names
from e2e.cluster.site import Site
from e2e.images import archives, system

DNS_SERVER = 'coredns'
DNS_PORT = 5353

VOLUMES = Path('/tmp/hostpath_pv')
"""Where the controller manager puts the folders of volumes; it cannot be told otherwise."""

_VOLUME = re.compile(re.escape(bytes(VOLUMES)) + rb'/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})')

MANIFESTS = Path(__file__).parent / 'manifests' / 'addons.yaml'

READY_SECONDS = 60.0

# A pod whose image would be pulled: it is only ever sent as a dry run.
_PROBE = """{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "default"},
"spec": {"containers": [{"name": "probe", "image": "localhost/pause:latest"}]}}"""


def issue(place: Site, authority: certificates.Authority) -> None:
    """Make the credentials of the name server."""
    login = control_plane.credentials(place, DNS_SERVER)
    control_plane.login(place, authority, login, user='system:coredns')


def dns_configuration(place: Site) -> str:
    """CoreDNS' own file: names of this cluster, and none of the world's, which cannot be reached from here."""
    return f"""cluster.local:{DNS_PORT} in-addr.arpa:{DNS_PORT} {{
  bind {network.NODE}
  errors
  ready {network.NODE}:8181
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {control_plane.credentials(place, DNS_SERVER)}
    pods insecure
    ttl 1
  }}
}}
.:{DNS_PORT} {{
  bind {network.NODE}
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""


def load_images(place: Site, *, cache: Path) -> None:
    """Bring the images that every full cluster has into the container runtime."""
    made = system.images(place.binaries['pause'], store=cache / 'layers')
    load(place, archives.write(made, place.names.state / 'images.tar'))


def load(place: Site, archive: Path) -> None:
    """Bring the images of an archive into the container runtime, under the names they have there."""
    node.ctr(place, 'images', 'import', str(archive))


def start(place: Site) -> None:
    """Bring up all add-ons and wait until they work."""
    configuration = place.names.configuration / 'Corefile'
    configuration.write_text(dns_configuration(place))
    server = place.start(DNS_SERVER, [str(place.binaries[DNS_SERVER]), '-conf', str(configuration)])
    place.kubectl('apply', '--server-side', f'--filename={MANIFESTS}')
    processes.wait_until(
        lambda: _pull_policy(place) == 'IfNotPresent',
        seconds=READY_SECONDS,
        what='the admission policy for images to be in force',
        every=0.2,
    )
    processes.wait_until(
        lambda: _resolves(place), seconds=READY_SECONDS, what='the name server to be ready', programs=[server]
    )


def remove_volumes(names: Names) -> None:
    """Delete the folders of the volumes, once etcd has ended.

    They lie in a place that all clusters share, and after a crash no server is left to be asked which are ours. The
    files of etcd hold their paths as plain text.
    """
    for path in (names.state / 'etcd').rglob('*'):
        if not path.is_file() or not path.stat().st_size:
            continue
        with path.open('rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = {match.group(1).decode() for match in _VOLUME.finditer(data)}
        for volume in found:
            shutil.rmtree(VOLUMES / volume, ignore_errors=True)


def _pull_policy(place: Site) -> str:
    output = '--output=jsonpath={.spec.containers[0].imagePullPolicy}'
    try:
        return place.kubectl('create', '--dry-run=server', '--filename=-', output, stdin=_PROBE, seconds=20)
    except site.CommandError:
        # The policy refuses every pod until the server has compiled it.
        return ''


def _resolves(place: Site) -> bool:
    probe = ['busybox', 'wget', '-q', '-O', '-', f'http://{network.NODE}:8181/ready']
    try:
        return place.run(probe, seconds=20) == 'OK'
    except site.CommandError:
        return False
