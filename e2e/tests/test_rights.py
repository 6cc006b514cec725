"""The controller has the rights that it needs and none that it asks for in vain, after all that it was made to do."""

import textwrap
from collections.abc import Iterator

import pytest

from e2e import deployment
from e2e.kubectl import Kubectl
from tests.scenarios.api import Object
from tests.scenarios.space import Space

URL = 'https://jobset-controller-manager-metrics-service.jobset-system.svc:8443/metrics'
TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'
SCRAPE = textwrap.dedent("""
    import pathlib, ssl, sys, urllib.error, urllib.request

    url, token, credentials = sys.argv[1:]
    headers = {'Authorization': 'Bearer ' + pathlib.Path(token).read_text()} if credentials == 'token' else {}
    try:
        request = urllib.request.Request(url, headers=headers)
        answer = urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=30)
        print(answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code)
""")


@pytest.fixture
def reader(here: Space, kubectl: Kubectl) -> Iterator[str]:
    """A service account that may read metrics."""
    kubectl('-n', here.name, 'create', 'serviceaccount', 'reader')
    binding = f'{here.name}-reader'
    kubectl(
        *('create', 'clusterrolebinding', binding, '--clusterrole=jobset-metrics-reader'),
        f'--serviceaccount={here.name}:reader',
    )
    yield 'reader'
    kubectl('delete', 'clusterrolebinding', binding)


def scraped(here: Space, name: str, account: str, credentials: str) -> list[str]:
    """What a pod under a service account gets to see of the metrics."""
    container = {
        'name': 'main',
        'image': 'python:3-slim',
        'command': ['python3', '-c', SCRAPE, URL, TOKEN, credentials],
    }
    spec: Object = {'serviceAccountName': account, 'restartPolicy': 'Never', 'containers': [container]}
    here.apply({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name}, 'spec': spec})
    phases = ('Succeeded', 'Failed')
    here.until('pods', lambda seen: seen[name]['status'].get('phase') in phases, what=f'{name} to have scraped')
    return [line for line in here.log(name) if line and not line.startswith('#')]


def test_no_request_of_the_controller_was_forbidden(here: Space, kubectl: Kubectl, reader: str) -> None:
    metrics = scraped(here, 'allowed', reader, 'token')
    counters = ('rest_client_requests_total{', 'jobset_webhook_api_requests_total{')
    requests = [line for line in metrics if line.startswith(counters)]
    log = kubectl('-n', deployment.NAMESPACE, 'logs', deployment.DEPLOYMENT)

    assert [line for line in requests if 'code="403"' in line or 'code="401"' in line] == []
    assert any('code="200"' in line and 'method="GET"' in line for line in requests)
    # Also of what was asked before this look, by pods that are gone by now, the log would tell.
    assert [line for line in log.splitlines() if 'Forbidden' in line] == []


def test_metrics_are_for_those_who_may_read_them(here: Space) -> None:
    assert scraped(here, 'stranger', 'default', 'token') == ['403']
    assert scraped(here, 'anonymous', 'default', 'none') == ['401']
