"""Settings of a cluster, and the flags that they become."""

import socket
from pathlib import Path

import pytest

from e2e.cluster import binaries, control_plane, mounts, names, settings, site
from e2e.cluster.settings import Profile, Settings


def place(wanted: Settings) -> site.Site:
    programs = {program: Path('/bin') / program for one in binaries.ALL for program in one.packages}
    return site.Site(
        names=names.of('one', cache_folder=Path('/c')),
        settings=wanted,
        binaries=binaries.Binaries(programs),
        address='127.0.0.1',
        ports=site.Ports(api=1, etcd=2, etcd_peer=3),
    )


def test_settings_survive_their_record() -> None:
    wanted = Settings(
        profile=Profile.CONTROL_PLANE,
        feature_gates={'A': True, 'B': False},
        runtime_config={'a/v1': 'true'},
        controller_manager=('--controllers=*',),
    )

    assert Settings.parse(wanted.text()) == wanted
    assert Settings.parse(wanted.text()) != Settings()


def test_own_gates_come_on_top_of_ours() -> None:
    wanted = Settings(feature_gates={'GenericWorkload': False, 'CompositePodGroup': True})

    flag = settings.flag(wanted.gates)

    assert flag == 'GenericWorkload=false,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true'
    for argv in (control_plane.api_server, control_plane.controller_manager, control_plane.scheduler):
        assert f'--feature-gates={flag}' in argv(place(wanted))


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        pytest.param('A', '"A" is not NAME=VALUE', id='no value'),
        pytest.param('A=', '"A=" is not NAME=VALUE', id='an empty value'),
        pytest.param('=true', '"=true" is not NAME=VALUE', id='no name'),
        pytest.param('A=yes', 'feature gate A: "yes" is neither true nor false', id='a word'),
    ],
)
def test_bad_gates_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings.gates(text)


def test_gates_are_read() -> None:
    assert settings.gates(' A=true,B=False, ') == {'A': True, 'B': False}


def test_flag_of_the_user_replaces_ours() -> None:
    wanted = Settings(profile=Profile.CONTROL_PLANE, controller_manager=('--controllers=*,-job-controller', '--v=4'))

    argv = control_plane.controller_manager(place(wanted))

    assert [one for one in argv if one.startswith('--controllers')] == ['--controllers=*,-job-controller']
    assert argv[-1] == '--v=4'


def test_control_plane_alone_has_no_job_controller_and_takes_the_loopback() -> None:
    one = place(Settings(profile=Profile.CONTROL_PLANE))
    collectors = (
        'garbage-collector-controller,namespace-controller,serviceaccount-controller,'
        'root-ca-certificate-publisher-controller'
    )

    assert f'--controllers={collectors}' in control_plane.controller_manager(one)
    assert '--endpoint-reconciler-type=none' in control_plane.api_server(one)
    assert '--bind-address=127.0.0.1' in control_plane.api_server(one)
    assert one.enter(['kubectl']) == ['kubectl']


def test_full_cluster_runs_in_its_namespace_with_volumes() -> None:
    one = place(Settings(profile=Profile.FULL))

    assert '--enable-hostpath-provisioner=true' in control_plane.controller_manager(one)
    assert '--endpoint-reconciler-type=none' not in control_plane.api_server(one)
    assert one.enter(['kubectl']) == ['nsenter', '--net=/run/netns/jobset-one', '--', 'kubectl']


def test_ports_are_free_and_differ() -> None:
    first = site.free_ports('one')
    with socket.create_server((site.LOOPBACK, first.api)):
        second = site.free_ports('one')

    assert len({first.api, first.etcd, first.etcd_peer}) == 3
    assert first.api not in {second.api, second.etcd, second.etcd_peer}


def test_mounts_are_found_the_innermost_first() -> None:
    table = '\n'.join(
        [
            '22 1 0:20 / / rw - ext4 /dev/a rw',
            '23 22 0:21 / /c/clusters/one/kubelet rw - tmpfs tmpfs rw',
            '24 23 0:22 / /c/clusters/one/kubelet/pods/a\\040b rw - tmpfs tmpfs rw',
            '25 22 0:23 / /c/clusters/one-more/kubelet rw - tmpfs tmpfs rw',
        ]
    )

    assert mounts.below(Path('/c/clusters/one'), table=table) == [
        Path('/c/clusters/one/kubelet/pods/a b'),
        Path('/c/clusters/one/kubelet'),
    ]
