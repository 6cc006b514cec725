"""Our answers are those of a real API server: see :mod:`tests.local.server.table`."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from jobset.local import kinds
from jobset.local.server.answers import Answer, Call
from jobset.local.server.server import Server
from jobset.local.store import storage
from tests.local.server import standins, table

RECORDED: list[Any] = json.loads(Path(__file__).with_name('recorded.json').read_text())


@pytest.fixture(scope='module')
def server() -> Server:
    store = storage.Store()
    for name in ('default', table.NAMESPACE):
        store.create('namespaces', standins.namespace(name))
    account = {'name': 'default', 'namespace': table.NAMESPACE, 'uid': 'account'}
    store.create('serviceaccounts', {'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': account})
    return Server(store, kinds.all_(), now=lambda: datetime.datetime.now(tz=datetime.UTC))


# One after the other: each finds what those before it have left.
@pytest.mark.parametrize(
    ('step', 'real'),
    [pytest.param(step, real, id=step.title) for step, real in zip(table.STEPS, RECORDED, strict=True)],
)
async def test_answer(server: Server, step: table.Step, real: Any) -> None:
    path, _, query = step.target.partition('?')
    media = step.media if step.data else ''
    answer = await server.answer(Call(step.method, path, query, step.data, media, step.accept, 'table/1'))

    assert isinstance(answer, Answer)
    warnings = [value for key, value in answer.headers if key == 'Warning']
    ours = table.plain(answer.status, answer.body, warnings)
    assert ours.code == real['code'], ours
    if not step.differs:
        assert ours.body == real['body']
        assert sorted(ours.warnings) == sorted(real['warnings'])
