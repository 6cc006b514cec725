"""Start and stop one cluster.

Both may be called at any time and any number of times: a healthy cluster is kept, a broken one is cleared away first,
and a stop finds what an interrupted start left behind, from the records on disk alone.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.cluster import addons, binaries, control_plane, locks, machine, network, node, processes, site
from e2e.cluster.names import Names, check_sockets
from e2e.cluster.settings import Profile, Settings
from e2e.cluster.site import Ports, Site

LOCK_SECONDS = 900.0
"""How long a start or stop waits for another one of the same cluster. Builds do not count, they have a lock apart."""

# In the order in which they are ended: who writes before who keeps.
_PROGRAMS = (
    node.KUBELET,
    node.CONTAINERD,
    node.PROXY,
    addons.DNS_SERVER,
    control_plane.SCHEDULER,
    control_plane.CONTROLLER_MANAGER,
    'kube-apiserver',
    'etcd',
)


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is there of a cluster."""

    settings: Settings | None
    """What it was started with; None when no start of it came to its end."""
    programs: dict[str, bool]
    """Each program that was started, and whether it still runs."""
    ready: bool
    """Every program runs and the API server answers."""


def up(names: Names, wanted: Settings, *, cache: Path) -> Site:
    """Start the cluster, or keep the one that runs when it is healthy and as wanted; returns when it is ready."""
    full = wanted.profile is Profile.FULL
    built = binaries.present(binaries.ALL if full else binaries.CONTROL_PLANE, cache=cache)
    if full:
        check_sockets(names)
        machine.prepare()
    with locks.held(names.lock, seconds=LOCK_SECONDS):
        found = recorded(names, cache=cache)
        if found and found.settings == wanted and status(names, cache=cache).ready:
            return found
        _clear(names)
        names.state.mkdir(parents=True, exist_ok=True)
        place = _place(names, wanted, built)
        _start(place, cache=cache)
        return place


def down(names: Names) -> None:
    """End all that belongs to the cluster and remove its state but for the logs. Nothing to do is no error."""
    with locks.held(names.lock, seconds=LOCK_SECONDS):
        _clear(names)


def recorded(names: Names, *, cache: Path) -> Site | None:
    """The cluster that a start brought up, whatever has become of it; None when no start came to its end."""
    if not names.record.exists():
        return None
    data = json.loads(names.record.read_text())
    wanted = Settings.parse(data['settings'])
    components = binaries.ALL if wanted.profile is Profile.FULL else binaries.CONTROL_PLANE
    return Site(
        names=names,
        settings=wanted,
        binaries=binaries.present(components, cache=cache),
        address=data['address'],
        ports=Ports(**data['ports']),
    )


def status(names: Names, *, cache: Path) -> Status:
    """Look at the cluster without changing it."""
    found = recorded(names, cache=cache)
    programs = {name: processes.alive(names.pids / name) for name in _PROGRAMS if (names.pids / name).exists()}
    ready = found is not None and bool(programs) and all(programs.values()) and control_plane.ready(found)
    return Status(settings=found.settings if found else None, programs=programs, ready=ready)


def _place(names: Names, wanted: Settings, built: binaries.Binaries) -> Site:
    full = wanted.profile is Profile.FULL
    return Site(
        names=names,
        settings=wanted,
        binaries=built,
        address=network.NODE if full else site.LOOPBACK,
        ports=Ports(api=6443, etcd=2379, etcd_peer=2380) if full else site.free_ports(names.cluster),
    )


def _start(place: Site, *, cache: Path) -> None:
    names = place.names
    if place.full:
        network.create(names)
    authority = control_plane.issue(place)
    if place.full:
        node.issue(place, authority)
        addons.issue(place, authority)
        node.start_containerd(place)
        addons.load_images(place, cache=cache)
    control_plane.start(place)
    if place.full:
        node.start(place)
        addons.start(place)
    # Written last: its presence says that the start came to its end.
    record = {'settings': place.settings.text(), 'address': place.address, 'ports': asdict(place.ports)}
    names.record.write_text(json.dumps(record, indent=1))


def _clear(names: Names) -> None:
    names.record.unlink(missing_ok=True)
    site.program(names, node.KUBELET).stop()
    node.end_pods(names)
    for name in _PROGRAMS:
        site.program(names, name).stop()
    node.clear(names)
    addons.remove_volumes(names)
    network.delete(names)
    if names.state.exists():
        for entry in names.state.iterdir():
            if entry == names.logs:
                continue
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
