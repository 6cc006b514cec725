"""Looking up volume claims: what is there, what is not, and what could not be found out in time."""

import asyncio
from typing import cast

import pytest

from jobset.admission import claims
from jobset.api import validation
from jobset.kube import client, requests, transport
from tests.kube import fakes


@pytest.fixture
def server() -> fakes.Server:
    return fakes.Server()


def api(carrier: fakes.Carrier) -> client.Client:
    return client.Client(cast('transport.Transport', carrier), settings=client.Retrying(attempts=1))


async def test_what_is_there(server: fakes.Server) -> None:
    server.put(requests.CLAIMS, 'team-a', 'data-train', spec={'accessModes': ['ReadWriteOnce']})
    server.put(requests.CLAIMS, 'team-b', 'logs-train', spec={})
    found = await claims.Claims(api(fakes.Carrier(server))).look_up('team-a', ['data-train', 'logs-train'])
    assert found == {'data-train': validation.ExistingClaim(spec={'accessModes': ['ReadWriteOnce']})}


@pytest.mark.parametrize(
    ('fault', 'problem'),
    [
        pytest.param(
            fakes.refusal(403, 'Forbidden', 'not allowed'),
            'GET /api/v1/namespaces/team-a/persistentvolumeclaims/data-train: 403 Forbidden: not allowed',
            id='forbidden',
        ),
        pytest.param(
            fakes.refusal(500, 'InternalError', 'broken'),
            'GET /api/v1/namespaces/team-a/persistentvolumeclaims/data-train: 500 InternalError: broken',
            id='the server fails',
        ),
    ],
)
async def test_what_cannot_be_looked_up_is_told(server: fakes.Server, fault: fakes.Answer, problem: str) -> None:
    server.faults.append(fault)
    found = await claims.Claims(api(fakes.Carrier(server))).look_up('team-a', ['data-train'])
    assert found == {'data-train': validation.UnknownClaim(problem)}


class Hanging(fakes.Carrier):
    """Answers about all claims but one, and counts how many requests are under way."""

    under_way = 0
    most = 0

    async def send(self, request: requests.Request) -> bytes:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            if request.path.endswith('/c-7'):
                await asyncio.Event().wait()
            return await super().send(request)
        finally:
            self.under_way -= 1


async def test_what_takes_too_long_is_told_and_the_rest_is_known(server: fakes.Server) -> None:
    names = [f'c-{i}' for i in range(100)]
    server.put(requests.CLAIMS, 'team-a', 'c-99', spec={'volumeName': 'v'})
    carrier = Hanging(server)
    found = await claims.Claims(api(carrier), patience=0.5).look_up('team-a', names)
    assert found == {
        'c-7': validation.UnknownClaim('no answer from the API server within 0.5 s'),
        'c-99': validation.ExistingClaim(spec={'volumeName': 'v'}),
    }
    assert carrier.most == claims.AT_ONCE
    assert carrier.under_way == 0
