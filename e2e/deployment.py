"""Our controller in a real cluster, deployed as ``config/default`` has it: brought up, waited for, taken down.

The variable ``CLUSTER`` chooses the cluster, see :mod:`e2e.cluster.providers`. For one that somebody else keeps,
``JOBSET_IMAGE`` names an image of the controller that its nodes can pull. ``CLUSTER_FEATURE_GATES`` are gates of the
cluster beside the usual ones, for one that is started here.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Final

from e2e.cluster import cluster, names, providers, settings
from e2e.images import controller
from e2e.kubectl import Kubectl, KubectlError

ROOT: Final = pathlib.Path(__file__).parents[1]
FOLDER: Final = ROOT / 'config' / 'default'
NAMESPACE: Final = 'jobset-system'
DEPLOYMENT: Final = 'deployment/jobset-controller-manager'

READY_SECONDS: Final = 180
"""How long the controller may take from its deployment until its webhooks answer."""

_PROBE: Final = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: probe, namespace: default}
spec: {}
"""


class DeploymentError(RuntimeError):
    """The controller does not come up; the message tells what was seen."""


class Cluster:
    """A full cluster and the way to it."""

    def __init__(self, name: str | None = None) -> None:
        gates = settings.gates(os.environ.get('CLUSTER_FEATURE_GATES', ''))
        wanted = settings.Settings(profile=settings.Profile.FULL, feature_gates=gates)
        self.name = name or names.default(ROOT, suffix='-e2e')
        self.provider = providers.chosen(os.environ, name=self.name, wanted=wanted)

    def runs(self) -> bool:
        """Whether it was up before we touched it."""
        if not isinstance(self.provider, providers.Own):
            return True
        return cluster.status(self.provider.names, cache=self.provider.cache).ready

    def up(self) -> Kubectl:
        """Start it, or take the one that runs."""
        self.provider.up()
        return Kubectl(
            str(self.provider.kubeconfig), tuple(self.provider.enter([])), surroundings=self.provider.surroundings()
        )

    def down(self) -> None:
        """End all that belongs to it."""
        self.provider.down()

    def load_controller(self) -> None:
        """Build the controller's image from this checkout, and bring it to the nodes."""
        with tempfile.TemporaryDirectory() as scratch:
            self.provider.load(controller.build(pathlib.Path(scratch) / 'controller.tar'))


def image() -> str | None:
    """The image to run in place of one that is built from this checkout."""
    return os.environ.get('JOBSET_IMAGE') or None


def deploy(kubectl: Kubectl) -> None:
    """Apply ``config/default``, over whatever version of it is there; of that, nothing runs any more then."""
    manifests = kubectl('kustomize', str(FOLDER))
    if wanted := image():
        manifests = manifests.replace(controller.NAME, wanted)
    ran = kubectl('-n', NAMESPACE, 'get', DEPLOYMENT, '--ignore-not-found', '-o', 'name')
    kubectl('apply', '--server-side', '--force-conflicts', '-f', '-', stdin=manifests)
    if ran:
        # The name of the image is the same as ever, what is in it may be new.
        _restart(kubectl)


@contextlib.contextmanager
def gated(kubectl: Kubectl, *gates: str) -> Iterator[None]:
    """With feature gates of the controller switched on for the length of the block."""
    name = ('-n', NAMESPACE, 'get', 'configmap', 'jobset-manager-config', '-o', 'json')
    data = json.loads(kubectl(*name))['data']
    [(file, text)] = data.items()
    try:
        _configure(kubectl, file, f'{text}featureGates: {json.dumps(dict.fromkeys(gates, True))}\n')
        yield
    finally:
        _configure(kubectl, file, text)


def _configure(kubectl: Kubectl, file: str, text: str) -> None:
    patch = json.dumps({'data': {file: text}})
    kubectl('-n', NAMESPACE, 'patch', 'configmap', 'jobset-manager-config', '--type=merge', '-p', patch)
    _restart(kubectl)


def _restart(kubectl: Kubectl) -> None:
    old = kubectl('-n', NAMESPACE, 'get', 'pods', '-o', 'name').split()
    kubectl('-n', NAMESPACE, 'rollout', 'restart', DEPLOYMENT)
    wait_until_ready(kubectl)
    # As long as they are there, some requests to the webhooks are theirs, and perhaps the lead.
    kubectl('-n', NAMESPACE, 'wait', '--for=delete', f'--timeout={READY_SECONDS}s', *old, seconds=READY_SECONDS + 10)


def wait_until_ready(kubectl: Kubectl) -> None:
    """Wait until the Deployment is rolled out and a JobSet would be admitted. Raises :class:`DeploymentError`."""
    try:
        kubectl(
            '-n', NAMESPACE, 'rollout', 'status', DEPLOYMENT, f'--timeout={READY_SECONDS}s', seconds=READY_SECONDS + 10
        )
    except KubectlError as error:
        raise DeploymentError(f'{error}\n{diagnosis(kubectl)}') from None
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            kubectl('create', '--dry-run=server', '-f', '-', stdin=_PROBE)
        except KubectlError as error:
            # The pod is ready, and the addresses of its Service are on their way to the node.
            if time.monotonic() > end:
                raise DeploymentError(f'webhooks do not answer: {error}\n{diagnosis(kubectl)}') from None
            time.sleep(0.2)
        else:
            return


def diagnosis(kubectl: Kubectl, namespace: str = NAMESPACE) -> str:
    """What somebody who looks for the trouble would look at first: pods, warnings, and the ends of logs."""
    views = [
        ('pods', ('get', 'pods', '-o', 'wide')),
        ('warnings', ('get', 'events', '--field-selector=type=Warning', '--sort-by=.metadata.creationTimestamp')),
    ]
    told = []
    pods = _said(kubectl, namespace, ('get', 'pods', '-o', 'name')).split()
    views += [(f'log of {pod}', ('logs', pod, '--all-containers', '--tail=20')) for pod in pods[:10]]
    for title, arguments in views:
        lines = _said(kubectl, namespace, arguments).strip().splitlines()[-20:]
        told.append('\n'.join([f'--- {title} in {namespace}', *(lines or ['(none)'])]))
    return '\n'.join(told)


def _said(kubectl: Kubectl, namespace: str, arguments: tuple[str, ...]) -> str:
    """What kubectl prints, or why it does not: who diagnoses must not fail."""
    try:
        return kubectl('-n', namespace, *arguments, seconds=20)
    except (KubectlError, subprocess.TimeoutExpired) as error:
        return str(error)
