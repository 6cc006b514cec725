"""What a stop removes from places that all clusters share, and what it must not touch there."""

import shutil
from pathlib import Path

import pytest

from e2e.cluster import addons, locks, machine, names, network

ONE, TWO = ('11111111-1111-1111-1111-111111111111', '22222222-2222-2222-2222-222222222222')


def test_volumes_are_found_in_the_files_of_etcd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / 'hostpath_pv'
    for volume in (ONE, TWO):
        (shared / volume).mkdir(parents=True)
    monkeypatch.setattr(addons, 'VOLUMES', shared)
    cluster = names.of('one', cache_folder=tmp_path)
    database = cluster.state / 'etcd' / 'member' / 'snap' / 'db'
    database.parent.mkdir(parents=True)
    database.write_bytes(b'\x00\x01k8s\n' + f'/tmp/hostpath_pv/{ONE}'.encode() + b'\x12\x00' + ONE.encode())
    (database.parent / 'empty').touch()

    addons.remove_volumes(cluster)

    assert [path.name for path in shared.iterdir()] == [TWO]


def test_notes_about_pods_of_a_cluster_with_a_longer_name_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, '_NOTES', tmp_path)
    ours, theirs = ('a' * 64, 'b' * 64)
    for note in (
        f'jobset-one-{ours}-eth0',
        f'cni-loopback-{ours}-lo',
        f'jobset-one-more-{theirs}-eth0',
        f'cni-loopback-{theirs}-lo',
    ):
        (tmp_path / note).touch()

    network.forget_pods(names.of('one', cache_folder=tmp_path))

    assert {path.name for path in tmp_path.iterdir()} == {
        f'jobset-one-more-{theirs}-eth0',
        f'cni-loopback-{theirs}-lo',
    }


@pytest.mark.skipif(not shutil.which('dpkg-query'), reason='not a Debian machine')
def test_missing_packages_are_named() -> None:
    assert machine.missing(['dpkg', 'no-such-package-here']) == ['no-such-package-here']


def test_machine_without_debian_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PATH', '')

    with pytest.raises(machine.MachineError, match='needs a Debian machine'):
        machine.missing(['dpkg'])


def test_lock_is_refused_while_held_and_free_afterwards(tmp_path: Path) -> None:
    lock = tmp_path / 'folder' / 'lock'
    with (
        locks.held(lock, seconds=0),
        pytest.raises(locks.BusyError, match='held this lock'),
        locks.held(lock, seconds=0),
    ):
        pass

    with locks.held(lock, seconds=0):
        assert lock.exists()
