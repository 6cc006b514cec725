"""The answers of kube-apiserver 1.37 to what webhooks may do, replayed over HTTPS against the same webhooks.

``recorded.json`` was made by sending the creation of a ConfigMap to a real API server with one webhook configuration at
a time. Texts that come from Go's libraries differ; the codes do not.
"""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from jobset.local import problems
from jobset.local.admission import calling, dispatch
from tests.local.admission import made, webhooks

RECORDED: Final[list[dict[str, Any]]] = json.loads(Path(__file__).with_name('recorded.json').read_text())
OWN_WORDS: Final = ('/patch-nowhere', '/other-kind', '/other-version', '/no-json', '/redirect', '/refused', '/no-ca')
"""Where the reason is worded by a library."""

ELSEWHERE: Final[dict[str, Any]] = {
    '/refused': {'url': 'https://localhost:1/refused'},
    '/service': {'service': {'namespace': 'h-g', 'name': 'nope', 'path': '/x'}},
    '/no-ca': {},
}


@pytest_asyncio.fixture(scope='module', loop_scope='module')
async def server() -> AsyncIterator[webhooks.Webhooks]:
    async with webhooks.serving() as one:
        yield one


def _name(case: dict[str, Any]) -> str:
    return f'{case["kind"]} {case["path"]} {" ".join(case["options"])}'.strip()


@pytest.mark.asyncio(loop_scope='module')
@pytest.mark.parametrize('case', RECORDED, ids=_name)
async def test_as_recorded(case: dict[str, Any], server: webhooks.Webhooks) -> None:
    code, body, warnings = await _outcome(case, server)

    assert (code, warnings) == (case['code'], case['warnings'])
    if case['path'] in OWN_WORDS and code == 500:
        start = case['body']['message'].partition('failed to call webhook')[0].partition('remove')[0]
        assert body['message'].startswith(start)
        assert body['details'] == {'causes': [{'message': body['message'].removeprefix('Internal error occurred: ')}]}
    else:
        assert body == case['body']


async def _outcome(case: dict[str, Any], server: webhooks.Webhooks) -> tuple[int, dict[str, Any], list[str]]:
    hook = server.hook(case['path'], **case['options'])
    if case['path'] in ELSEWHERE:
        authority = {} if case['path'] == '/no-ca' else {'caBundle': base64.b64encode(server.ca).decode()}
        hook['clientConfig'] = {'url': f'{server.url}/allow'} | ELSEWHERE[case['path']] | authority
    configurations = [made.configuration('one', hook)]
    is_mutating = case['kind'] == 'mutating'
    asked = made.asked()
    async with calling.Caller() as caller:
        dispatcher = dispatch.Dispatcher(caller, lambda *_: None)
        dispatcher.configure(
            mutating=configurations if is_mutating else (), validating=() if is_mutating else configurations
        )
        try:
            changed = await dispatcher.mutate(asked)
            await dispatcher.validate(asked)
        except problems.Problem as problem:
            body = problem.status()
            text = json.dumps(body).replace(server.url, 'URL')
            if asked_uid := [one['uid'] for one in server.asked[-1:]]:
                text = text.replace(asked_uid[0], 'UID')
            return problem.code, json.loads(text), asked.warnings
    assert changed is not None
    labels = changed['metadata'].get('labels')
    return 201, {'kind': changed['kind'], 'apiVersion': changed['apiVersion'], 'labels': labels}, asked.warnings


@pytest.mark.asyncio(loop_scope='module')
async def test_what_a_webhook_is_told(server: webhooks.Webhooks) -> None:
    server.asked.clear()
    options = {'kind': 'UpdateOptions', 'apiVersion': 'meta.k8s.io/v1', 'dryRun': ['All']}
    old = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a'}, 'data': {'x': 'y'}}
    asked = made.asked(operation='UPDATE', subresource='status', old_object=old, dry_run=True, options=options)
    rules = [{'apiGroups': [''], 'apiVersions': ['v1'], 'operations': ['UPDATE'], 'resources': ['configmaps/status']}]
    async with calling.Caller() as caller:
        dispatcher = dispatch.Dispatcher(caller, lambda *_: None)
        dispatcher.configure(mutating=(), validating=[made.configuration('one', server.hook('/allow', rules=rules))])
        await dispatcher.validate(asked)

    (request,) = server.asked
    assert len(request.pop('uid')) == 36
    kind = {'group': '', 'version': 'v1', 'kind': 'ConfigMap'}
    resource = {'group': '', 'version': 'v1', 'resource': 'configmaps'}
    assert request == {
        'kind': kind,
        'resource': resource,
        'subResource': 'status',
        'requestKind': kind,
        'requestResource': resource,
        'requestSubResource': 'status',
        'name': 'a',
        'namespace': 'n',
        'operation': 'UPDATE',
        'userInfo': {'username': 'system:admin', 'groups': ['system:masters', 'system:authenticated']},
        'object': asked.object,
        'oldObject': old,
        'dryRun': True,
        'options': options,
    }


@pytest.mark.asyncio(loop_scope='module')
async def test_a_service_is_reached_where_it_resolves_to_under_the_name_in_its_certificate(
    server: webhooks.Webhooks,
) -> None:
    async def resolve(service: object) -> tuple[str, int]:
        return '127.0.0.1', int(server.url.rpartition(':')[2])

    where = {
        'service': {'namespace': 'h-g', 'name': 'hooks', 'path': '/allow'},
        'caBundle': base64.b64encode(server.ca).decode(),
    }
    async with calling.Caller(resolve=resolve) as caller:
        dispatcher = dispatch.Dispatcher(caller, lambda *_: None)
        dispatcher.configure(
            mutating=(), validating=[made.configuration('one', server.hook('/allow', clientConfig=where))]
        )

        with pytest.raises(problems.Problem, match=r"certificate is not valid for 'hooks\.h-g\.svc'"):
            await dispatcher.validate(made.asked())
