"""Golden runs: the recorded behaviour of the Go controller, replayed against ours on a real API server.

    python -m e2e.golden [--configuration default-gates] [--only 'ttl-*'] [-- further options of golden.py]

Each configuration of ``tests/golden/README.md`` gets a controller of its own, with what that page asks for. What we do
differently on purpose stands in ``tests/golden/differences.yaml``.
"""

import argparse
import base64
import contextlib
import datetime
import fnmatch
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, Final

from e2e import controller, embedded, takeover
from e2e.kubectl import Kubectl, control_plane
from jobset.admission import certificates
from jobset.api import keys

ROOT: Final = pathlib.Path(__file__).parents[1]
CORPUS: Final = ROOT / 'tests' / 'golden'
GATES: Final[dict[str, dict[str, bool]]] = {
    'default-gates': {},
    'all-gates': {'InPlaceRestart': True, 'RestartJob': True, 'ElasticJobSet': True},
    'no-webhooks': {},
}
TAKEN_OVER: Final = 'default-gates'
"""The configuration whose ends our controller must be able to take over."""

PARALLEL: Final = '8'
"""Cases at a time. They mostly wait until nothing changes any more."""

NOTICED_SECONDS: Final = 30
"""How long the API server may take to look at a new definition."""

COLLECTED_SECONDS: Final = 90
"""How long the garbage collector may take to notice a new kind: it looks every half minute."""


def main() -> int:
    """Run the configurations; 0 when no case failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--configuration', action='append', choices=list(GATES), help='default: all of them')
    parser.add_argument('--only', action='append', help='glob on case names within a configuration')
    parser.add_argument(
        '--embedded', action='store_true', help='on the embedded control plane in place of a real API server'
    )
    parser.add_argument('options', nargs='*', help='options for golden.py, after --')
    arguments = parser.parse_args()
    failed = 0
    with embedded.control_plane() if arguments.embedded else control_plane('golden') as kubectl:
        prepare(kubectl)
        for name in arguments.configuration or GATES:
            print(f'== {name}', flush=True)
            failed += _compare(kubectl, name, arguments.only or ['*'], arguments.options)
        if not arguments.only and not arguments.configuration:
            print('== taken over', flush=True)
            failed += takeover.compare(kubectl, CORPUS / TAKEN_OVER)
    return int(failed > 0)


def prepare(kubectl: Kubectl) -> None:
    """Install the CRD, and wait until the garbage collector follows JobSets."""
    kubectl('apply', '--server-side', '-k', str(ROOT / 'crds'))
    _wait_for_conditions(kubectl)
    kubectl('wait', '--for=condition=Established', f'crd/{keys.CRD_NAME}', '--timeout=30s')
    probe: dict[str, Any] = {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': 'collected', 'namespace': 'default'},
        'spec': {'managedBy': 'example.com/nobody'},
    }
    kubectl('apply', '--server-side', '-f', '-', stdin=json.dumps(probe))
    kubectl('delete', keys.PLURAL, 'collected', '--cascade=foreground', f'--timeout={COLLECTED_SECONDS}s')


def _wait_for_conditions(kubectl: Kubectl) -> None:
    """Wait until the definition has any conditions: before, ``kubectl wait`` fails at once."""
    end = time.monotonic() + NOTICED_SECONDS
    while not kubectl('get', 'crd', keys.CRD_NAME, '-o', 'jsonpath={.status.conditions}'):
        if time.monotonic() > end:
            raise TimeoutError(f'{keys.CRD_NAME}: the API server does not look at the definition')
        time.sleep(0.1)


def _compare(kubectl: Kubectl, name: str, only: list[str], options: list[str]) -> int:
    wanted = cases(name, only)
    if not wanted:
        # Without any, golden.py would take all there are.
        print('no such cases', flush=True)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        arguments = ('--disable-webhooks',) if name == 'no-webhooks' else ()
        port, bundle = controller.free_port(), certificate(folder)
        changes = {
            'featureGates': GATES[name],
            'webhook': {'host': '127.0.0.1', 'port': port, 'certDir': str(folder)},
        }
        with controller.running(kubectl.kubeconfig, folder, changes=changes, arguments=arguments) as running:
            with webhooks(kubectl, port, bundle) if name != 'no-webhooks' else contextlib.nullcontext():
                command = [sys.executable, str(CORPUS / 'tools' / 'golden.py'), 'compare']
                command += ['--kubeconfig', kubectl.kubeconfig, '--golden', str(CORPUS)]
                command += ['--differences', str(CORPUS / 'differences.yaml'), '--parallel', PARALLEL]
                for case in wanted:
                    command += ['--only', case]
                code = subprocess.run([*command, *options], check=False).returncode
            if code:
                print(f'the controller said:\n{running.tail()}', flush=True)
            return code


def cases(configuration: str, only: list[str]) -> list[str]:
    """The cases of a configuration that match one of the globs, as golden.py names them."""
    files = sorted((CORPUS / configuration).rglob('*.yaml'))
    return [
        str(file.relative_to(CORPUS).with_suffix(''))
        for file in files
        if any(fnmatch.fnmatch(file.stem, glob) for glob in only)
    ]


def certificate(folder: pathlib.Path) -> bytes:
    """Write a serving certificate for the loopback address; returns the authority that signed it."""
    bundle = certificates.renew(
        None,
        certificates.Due.ALL,
        server_name='localhost',
        now=datetime.datetime.now(datetime.UTC),
    )
    (folder / 'tls.crt').write_bytes(bundle.server.certificate)
    (folder / 'tls.key').write_bytes(bundle.server.key)
    return bundle.authority


@contextlib.contextmanager
def webhooks(kubectl: Kubectl, port: int, authority: bytes) -> Iterator[None]:
    """The webhook configurations of the manifests, called by address, for the length of the block."""
    rendered = render_webhooks(kubectl, f'https://localhost:{port}', authority)
    kubectl('apply', '--server-side', '--force-conflicts', '-f', '-', stdin=json.dumps(rendered))
    try:
        _wait_for_defaults(kubectl)
        yield
    finally:
        kubectl('delete', 'mutatingwebhookconfiguration', keys.MUTATING_CONFIGURATION)
        kubectl('delete', 'validatingwebhookconfiguration', keys.VALIDATING_CONFIGURATION)


def render_webhooks(kubectl: Kubectl, url: str, authority: bytes) -> dict[str, Any]:
    """The webhook configurations as the manifests have them, but with an address in place of a Service."""
    documents = kubectl.rendered(ROOT / 'config' / 'default')
    configurations = [each for each in documents if each['kind'].endswith('WebhookConfiguration')]
    for configuration in configurations:
        for webhook in configuration['webhooks']:
            path = webhook['clientConfig'].pop('service')['path']
            webhook['clientConfig'] = {
                'url': url + path,
                'caBundle': base64.b64encode(authority).decode(),
            }
    return {'apiVersion': 'v1', 'kind': 'List', 'items': configurations}


def _wait_for_defaults(kubectl: Kubectl) -> None:
    """Wait until the API server asks the webhooks: it learns of them a moment after they are stored."""
    probe = {'apiVersion': keys.API_VERSION, 'kind': keys.KIND, 'metadata': {'name': 'asked', 'namespace': 'default'}}
    end = time.monotonic() + 30
    while time.monotonic() < end:
        answer = kubectl('create', '--dry-run=server', '-o', 'json', '-f', '-', stdin=json.dumps(probe), check=False)
        if answer and 'successPolicy' in json.loads(answer).get('spec', {}):
            return
        time.sleep(0.1)
    raise TimeoutError('the API server does not ask the webhooks')


if __name__ == '__main__':
    sys.exit(main())
