"""A webhook server that answers as its paths say, well and badly; and configurations that lead to it."""

import asyncio
import base64
import contextlib
import datetime
import json
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from jobset.admission import certificates

Object = dict[str, Any]

RESPONSES: Final[dict[str, Object]] = {
    '/allow': {'allowed': True},
    '/warn': {'allowed': True, 'warnings': ['mind the gap', 'and the step']},
    '/deny': {'allowed': False},
    '/deny-message': {'allowed': False, 'status': {'message': 'no such thing'}},
    '/deny-reason': {'allowed': False, 'status': {'reason': 'Forbidden'}},
    '/deny-code': {'allowed': False, 'status': {'code': 403, 'reason': 'Forbidden', 'message': 'not you'}},
    '/deny-success': {'allowed': False, 'status': {'status': 'Success', 'code': 200, 'message': 'well'}},
    '/deny-full': {
        'allowed': False,
        'status': {
            'status': 'Failure',
            'code': 422,
            'reason': 'Invalid',
            'message': 'spec.x: bad',
            'details': {
                'name': 'a',
                'kind': 'Thing',
                'causes': [{'reason': 'FieldValueInvalid', 'message': 'bad', 'field': 'spec.x'}],
            },
        },
    },
    '/deny-warn': {'allowed': False, 'warnings': ['mind the gap']},
    '/other-uid': {'allowed': True, 'uid': 'other'},
    '/patch': {
        'allowed': True,
        'patchType': 'JSONPatch',
        'patch': [{'op': 'add', 'path': '/metadata/labels', 'value': {'patched': 'yes'}}],
    },
    '/patch-nowhere': {
        'allowed': True,
        'patchType': 'JSONPatch',
        'patch': [{'op': 'remove', 'path': '/metadata/nothing/here'}],
    },
    '/patch-no-type': {'allowed': True, 'patch': [{'op': 'add', 'path': '/data', 'value': {}}]},
    '/patch-other-type': {
        'allowed': True,
        'patchType': 'Merge',
        'patch': [{'op': 'add', 'path': '/data', 'value': {}}],
    },
    '/type-no-patch': {'allowed': True, 'patchType': 'JSONPatch'},
}
BODIES: Final[dict[str, tuple[int, str, str]]] = {
    '/empty-review': (200, 'application/json', '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}'),
    '/other-kind': (200, 'application/json', '{"apiVersion":"v1","kind":"Pod","response":{"allowed":true}}'),
    '/other-version': (
        200,
        'application/json',
        '{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true}}',
    ),
    '/no-json': (200, 'text/html', '<html>hello</html>'),
    '/failing': (500, 'text/plain', 'out of order'),
    '/failing-status': (
        500,
        'application/json',
        '{"kind":"Status","apiVersion":"v1","reason":"InternalError","code":500,"message":"/x: the review failed"}',
    ),
    '/missing': (404, 'text/plain', 'not here'),
    '/teapot': (418, 'text/plain', 'short and stout'),
    '/redirect': (302, 'text/plain', ''),
}


@dataclass
class Webhooks:
    """The server, while it runs."""

    url: str = ''
    ca: bytes = b''
    asked: list[Object] = field(default_factory=list)
    """The requests of the reviews that came."""

    def hook(self, path: str, **options: Any) -> Object:
        """One webhook that leads to a path."""
        return {
            'name': f'{path.strip("/")}.h-g.example.com',
            'admissionReviewVersions': ['v1'],
            'clientConfig': {'url': f'{self.url}{path}', 'caBundle': base64.b64encode(self.ca).decode()},
            'sideEffects': 'None',
            'rules': [
                {'apiGroups': [''], 'apiVersions': ['v1'], 'operations': ['CREATE'], 'resources': ['configmaps']}
            ],
            **options,
        }


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Webhooks]:
    """Serves on a port of this machine inside the block."""
    bundle = certificates.renew(
        None, certificates.Due.ALL, server_name='localhost', now=datetime.datetime.now(datetime.UTC)
    )
    server = Webhooks(ca=bundle.authority)

    async def answer(request: web.Request) -> web.Response:
        review = json.loads(await request.read())
        server.asked.append(review['request'])
        if request.path == '/slow':
            await asyncio.sleep(30)
        if request.path in BODIES:
            code, kind, text = BODIES[request.path]
            return web.Response(status=code, text=text, content_type=kind, headers={'Location': '/allow'})
        response = {'uid': review['request']['uid'], **RESPONSES[request.path]}
        if 'patch' in response:
            response['patch'] = base64.b64encode(json.dumps(response['patch']).encode()).decode()
        return web.json_response({'apiVersion': 'admission.k8s.io/v1', 'kind': 'AdmissionReview', 'response': response})

    app = web.Application()
    app.add_routes([web.post('/{path:.*}', answer)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    with socket.create_server(('127.0.0.1', 0)) as listening, tempfile.TemporaryDirectory() as folder:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        pair = Path(folder, 'pair.pem')
        pair.write_bytes(  # noqa: ASYNC240
            bundle.server.key + bundle.server.certificate
        )
        context.load_cert_chain(pair)
        await web.SockSite(runner, listening, ssl_context=context).start()
        server.url = f'https://localhost:{listening.getsockname()[1]}'
        try:
            yield server
        finally:
            await runner.cleanup()
