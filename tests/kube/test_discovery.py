"""What a server has; on a clock that jumps."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from jobset.kube import client, discovery, requests
from tests.kube import fakes, virtual

JOBSETS = requests.Resource('jobset.x-k8s.io', 'v1alpha2', 'jobsets', 'JobSet')
LIST = fakes.Answer(body={'resources': [{'name': 'jobs', 'kind': 'Job'}, {'name': 'jobs/status'}]})
ABSENT = fakes.refusal(404, 'NotFound')


def asking(*answers: fakes.Answer) -> tuple[fakes.Server, client.Client]:
    server = fakes.Server()
    server.faults.extend(answers)
    return server, client.Client(fakes.Carrier(server), settings=client.Retrying(attempts=1))


@pytest.mark.parametrize(
    ('answer', 'names'),
    [
        pytest.param(LIST, {'jobs', 'jobs/status'}, id='there'),
        pytest.param(ABSENT, set(), id='not there'),
        pytest.param(fakes.Answer(body={'resources': None}), set(), id='empty'),
    ],
)
@virtual.timed
async def test_served(answer: fakes.Answer, names: set[str]) -> None:
    server, source = asking(answer, answer)

    assert await discovery.served(source, 'batch', 'v1') == names
    assert await discovery.served(source, '', 'v1') == names
    assert [one.path for one in server.seen] == ['/apis/batch/v1', '/api/v1']


@pytest.mark.parametrize(
    ('answer', 'versions'),
    [
        pytest.param(
            fakes.Answer(body={'versions': [{'version': 'v1'}, {'version': 'v1beta1'}]}), ('v1', 'v1beta1'), id='two'
        ),
        pytest.param(ABSENT, (), id='none'),
    ],
)
@virtual.timed
async def test_versions(answer: fakes.Answer, versions: tuple[str, ...]) -> None:
    server, source = asking(answer)

    assert await discovery.versions(source, 'batch') == versions
    assert [one.path for one in server.seen] == ['/apis/batch']


@virtual.timed
async def test_what_is_missing_is_named_and_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    there = fakes.Answer(body={'resources': [{'name': 'jobsets'}]})
    broken = fakes.refusal(500, 'InternalError', 'starting up')
    # Jobs and JobSets are asked for in each look; three looks miss, one fails.
    server, source = asking(ABSENT, ABSENT, LIST, ABSENT, LIST, ABSENT, broken, LIST, there)
    told: list[list[str]] = []

    def on_missing(missing: Sequence[requests.Resource]) -> None:
        told.append([one.plural for one in missing])

    await discovery.wait_for(source, [requests.JOBS, JOBSETS], on_missing=on_missing)

    assert told == [['jobs', 'jobsets'], ['jobsets']]
    assert len(server.seen) == 9
    assert 1 + 2 + 4 + 8 <= virtual.now() <= (1 + 2 + 4 + 8) * 1.5
    assert [record.getMessage() for record in caplog.records] == [
        'the server does not have jobs.batch (v1), jobsets.jobset.x-k8s.io (v1alpha2); install the definition; waiting',
        'the server does not have jobsets.jobset.x-k8s.io (v1alpha2); install the definition; waiting',
        'what the server has cannot be seen: GET /apis/batch/v1: 500 InternalError: starting up; trying again',
    ]


@virtual.timed
async def test_waiting_for_ever_costs_little() -> None:
    server, source = asking(*[ABSENT] * 1000)
    wait = asyncio.ensure_future(discovery.wait_for(source, [JOBSETS]))

    await asyncio.sleep(3600)
    wait.cancel()

    assert 80 <= len(server.seen) <= 125
