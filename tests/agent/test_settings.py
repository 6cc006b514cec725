"""What a pod says about itself, and how it is told that it is wrong."""

from pathlib import Path

import pytest

from jobset.agent import settings

ALL = {
    'KUBERNETES_SERVICE_HOST': '10.96.0.1',
    'KUBERNETES_SERVICE_PORT': '6443',
    'JOBSET_NAME': 'train',
    'POD_NAME': 'train-w-0-0-x7k2p',
}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / 'namespace').write_text('team\n')
    return tmp_path


def read(account: Path, *arguments: str, **changes: str) -> settings.Settings:
    return settings.Settings({**ALL, 'JOBSET_SERVICE_ACCOUNT_DIR': str(account), **changes}, list(arguments))


def test_beside_the_worker(account: Path) -> None:
    pod = read(account)

    assert vars(pod) == {
        'account': str(account),
        'namespace': 'team',
        'jobset': 'train',
        'pod': 'train-w-0-0-x7k2p',
        'host': '10.96.0.1',
        'port': 6443,
        'exit_code': 1,
        'has_barrier': False,
        'command': [],
        'probe_path': '/barrier-is-down',
        'probe_port': 8081,
    }


def test_everything_chosen(account: Path) -> None:
    pod = read(
        account,
        IN_PLACE_RESTART_EXIT_CODE='255',
        STARTUP_PROBE_PATH='/open',
        STARTUP_PROBE_PORT='9000',
        JOBSET_START_BARRIER='True',
        KUBERNETES_SERVICE_HOST='fd00::1',
        KUBERNETES_SERVICE_PORT='',
    )

    assert (pod.exit_code, pod.probe_path, pod.probe_port) == (255, '/open', 9000)
    assert (pod.has_barrier, pod.host, pod.port) == (True, 'fd00::1', 443)


@pytest.mark.parametrize(
    ('arguments', 'changes', 'message'),
    [
        pytest.param(
            [],
            {'JOBSET_NAME': ''},
            "JOBSET_NAME: not set; take it from the field metadata.annotations['jobset.sigs.k8s.io/jobset-name']",
            id='no JobSet',
        ),
        pytest.param([], {'POD_NAME': ''}, 'POD_NAME: not set; take it from the field metadata.name', id='no pod'),
        pytest.param([], {'KUBERNETES_SERVICE_HOST': ''}, 'KUBERNETES_SERVICE_HOST: not set', id='no cluster'),
        pytest.param([], {'POD_NAME': 'a&b'}, "POD_NAME: 'a&b' is no name", id='a name that is none'),
        pytest.param(
            [],
            {'IN_PLACE_RESTART_EXIT_CODE': '0'},
            "IN_PLACE_RESTART_EXIT_CODE: '0' is no number from 1 to 255",
            id='an exit code that restarts nothing',
        ),
        pytest.param(
            [],
            {'IN_PLACE_RESTART_EXIT_CODE': 'x'},
            "IN_PLACE_RESTART_EXIT_CODE: 'x' is no number from 1 to 255",
            id='an exit code that is none',
        ),
        pytest.param(
            [],
            {'STARTUP_PROBE_PORT': '65536'},
            "STARTUP_PROBE_PORT: '65536' is no number from 1 to 65535",
            id='a port that is none',
        ),
        pytest.param(
            [],
            {'WORKER_COMMAND': 'true', 'STARTUP_PROBE_PORT': '8081'},
            'STARTUP_PROBE_PORT: there is no barrier to probe where the agent runs the worker; unset it',
            id='a probe for nothing',
        ),
        pytest.param(
            ['--', 'true'],
            {'STARTUP_PROBE_PATH': '/x'},
            'STARTUP_PROBE_PATH: there is no barrier to probe where the agent runs the worker; unset it',
            id='another one',
        ),
        pytest.param(
            ['--', 'true'],
            {'WORKER_COMMAND': 'true'},
            'WORKER_COMMAND: there is a command in the arguments, too; give one of them',
            id='two workers',
        ),
        pytest.param(['train'], {}, 'train: unknown; to run a worker, give its command after "--"', id='no dashes'),
        pytest.param(['--'], {}, '--: unknown; to run a worker, give its command after "--"', id='no command'),
        pytest.param(
            [], {'JOBSET_START_BARRIER': 'yes'}, "JOBSET_START_BARRIER: 'yes' is neither 1 nor 0", id='neither nor'
        ),
    ],
)
def test_what_cannot_be(account: Path, arguments: list[str], changes: dict[str, str], message: str) -> None:
    with pytest.raises(settings.Misused) as caught:
        read(account, *arguments, **changes)

    assert str(caught.value) == message


def test_no_service_account(tmp_path: Path) -> None:
    with pytest.raises(settings.Misused) as caught:
        read(tmp_path)

    assert str(caught.value) == (
        f'{tmp_path}/namespace: No such file or directory; mount the service account into this container'
    )
