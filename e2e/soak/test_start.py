"""Starts in bad surroundings: what is missing is named and waited for, and no secret is ever told."""

import asyncio
import base64
import contextlib
import json
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import yaml

from e2e import controller, golden
from e2e.kubectl import Kubectl, KubectlError
from e2e.soak import kinds
from e2e.soak.killing import ARGUMENTS
from e2e.soak.server import SECONDS, connected
from jobset.api import keys

RIGHTS: Final = 'soak-controller'
GRANTED: Final = [
    {'apiGroups': [''], 'resources': ['services', 'persistentvolumeclaims'], 'verbs': ['*']},
    {'apiGroups': ['batch'], 'resources': ['jobs', 'jobs/status'], 'verbs': ['*']},
    {'apiGroups': [keys.GROUP], 'resources': ['*'], 'verbs': ['*']},
    {'apiGroups': ['events.k8s.io'], 'resources': ['events'], 'verbs': ['*']},
]


def until(holds: Callable[[], bool], *, what: str) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@contextlib.contextmanager
def started(kubeconfig: str, folder: pathlib.Path, *arguments: str) -> Iterator[controller.Controller]:
    """A controller that need not be ready."""
    one = controller.Controller(kubeconfig, folder, arguments=(*ARGUMENTS, *arguments))
    one.start()
    try:
        yield one
    finally:
        if one.process is not None and one.process.poll() is None:
            one.stop()


def messages(one: controller.Controller) -> list[str]:
    text = one.log.read_text() if one.log.exists() else ''
    return [json.loads(line)['msg'] for line in text.splitlines() if line.startswith('{')]


async def runs(kubeconfig: str, namespace: str) -> None:
    """A JobSet gets its Jobs."""
    async with connected(kubeconfig, namespace) as server, asyncio.timeout(SECONDS):
        await server.create('jobsets', kinds.KINDS[0].manifest('js'))
        while len(await server.all('jobs')) < 2:
            await asyncio.sleep(0.1)


def test_missing_definition_is_named_and_waited_for(
    kubectl: Kubectl, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl('delete', 'crd', keys.CRD_NAME)
    with started(kubectl.kubeconfig, tmp_path) as one:
        said = 'the server does not have jobsets.jobset.x-k8s.io (v1alpha2); install the definition; waiting'
        until(lambda: said in messages(one), what=f'the log has: {said}')
        assert one.process is not None
        assert one.process.poll() is None
        with monkeypatch.context() as hurry:
            hurry.setattr(controller, 'READY_SECONDS', 1)
            with pytest.raises(controller.NotReadyError, match='caches are being filled'):
                one.wait_until_ready()

        kubectl('apply', '--server-side', '-k', str(golden.ROOT / 'crds'))

        one.wait_until_ready()
        asyncio.run(runs(kubectl.kubeconfig, 'late-definition'))
        assert one.stop() == 0


def test_missing_right_is_named_and_waited_for(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    kubectl('create', 'serviceaccount', RIGHTS)
    token = kubectl('create', 'token', RIGHTS, '--duration=1h').strip()
    path = _kubeconfig(kubectl, tmp_path, token)
    with started(path, tmp_path, '--zap-log-level', 'debug') as one:
        user = f'User "system:serviceaccount:default:{RIGHTS}"'
        for plural, group in (
            ('jobsets', keys.GROUP),
            ('jobs', 'batch'),
            ('services', ''),
            ('persistentvolumeclaims', ''),
        ):
            said = f'403 Forbidden: {plural}{"." * bool(group)}{group} is forbidden: {user} cannot '
            until(lambda said=said: said in '\n'.join(messages(one)), what=f'the log has: {said}')  # type: ignore[misc]
        assert one.process is not None
        assert one.process.poll() is None

        _grant(kubectl)

        one.wait_until_ready()
        asyncio.run(runs(kubectl.kubeconfig, 'late-rights'))
        assert one.stop() == 0
    log = one.log.read_text()
    assert token not in log
    assert token.split('.')[2] not in log


def test_keys_of_the_kubeconfig_are_in_no_log(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    config = yaml.safe_load(pathlib.Path(kubectl.kubeconfig).read_text())
    user = config['users'][0]['user']
    with started(kubectl.kubeconfig, tmp_path, '--zap-log-level', 'debug') as one:
        one.wait_until_ready()
        asyncio.run(runs(kubectl.kubeconfig, 'secrets'))
        assert one.stop() == 0

    log = one.log.read_text()
    assert messages(one)
    secrets = [user['client-key-data'], base64.b64decode(user['client-key-data']).decode()]
    for secret in secrets:
        lines = [line for line in secret.splitlines() if len(line) > 20 and '-----' not in line]
        assert lines
        assert [line for line in lines if line in log] == []


def _kubeconfig(kubectl: Kubectl, folder: pathlib.Path, token: str) -> str:
    """The same server, for somebody with a token."""
    config: dict[str, Any] = yaml.safe_load(pathlib.Path(kubectl.kubeconfig).read_text())
    config['users'] = [{'name': 'token', 'user': {'token': token}}]
    config['contexts'][0]['context']['user'] = 'token'
    path = folder / 'kubeconfig'
    path.write_text(yaml.safe_dump(config))
    return str(path)


def _grant(kubectl: Kubectl) -> None:
    role = {
        'apiVersion': 'rbac.authorization.k8s.io/v1',
        'kind': 'ClusterRole',
        'metadata': {'name': RIGHTS},
        'rules': GRANTED,
    }
    kubectl('apply', '--server-side', '-f', '-', stdin=json.dumps(role))
    with contextlib.suppress(KubectlError):
        kubectl('create', 'clusterrolebinding', RIGHTS, f'--clusterrole={RIGHTS}', f'--serviceaccount=default:{RIGHTS}')
