"""What this process serves: probes, and metrics for those who may read them.

Source: JobSet operations surface. Probes are plain HTTP; metrics are HTTPS, and their readers are authenticated by
TokenReview and authorised by SubjectAccessReview for ``get`` on the non-resource URL ``/metrics``.
"""

import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from jobset.admission import listen
from jobset.controller import metrics
from jobset.kube import client, errors, requests

logger = logging.getLogger(__name__)

METRICS_PATH: Final = '/metrics'
TOKEN_REVIEWS: Final = requests.Resource('authentication.k8s.io', 'v1', 'tokenreviews', 'TokenReview', namespaced=False)
ACCESS_REVIEWS: Final = requests.Resource(
    'authorization.k8s.io', 'v1', 'subjectaccessreviews', 'SubjectAccessReview', namespaced=False
)


async def serve(routes: list[web.RouteDef], where: listen.Address, tls: ssl.SSLContext | None = None) -> web.AppRunner:
    """Serve the routes until the runner is cleaned up."""
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=5)
    await runner.setup()
    await web.TCPSite(runner, where.host, where.port, ssl_context=tls).start()
    return runner


Check = Callable[[], Awaitable[str | None]]
"""Says why something is not as it should be; None when all is well."""


def probe(path: str, check: Check) -> web.RouteDef:
    """A probe that answers 200 ``ok``, or 500 with the reason."""

    async def answer(_: web.Request) -> web.Response:
        trouble = await check()
        return web.Response(text='ok') if trouble is None else web.Response(status=500, text=f'{trouble}\n')

    return web.get(path, answer)


More = Callable[[], Awaitable[bytes]]
"""Metrics of another process, in the text format."""


def metrics_route(measured: metrics.Metrics, api: client.Client, more: More | None) -> web.RouteDef:
    """The metrics, for callers that the API server vouches for."""

    async def answer(request: web.Request) -> web.Response:
        scheme, _, token = request.headers.get('Authorization', '').partition(' ')
        if scheme.lower() != 'bearer' or not token:
            return web.Response(status=401, text='a bearer token is needed\n')
        try:
            user = await _user(api, token.strip())
            if user is None:
                return web.Response(status=401, text='the token is not valid\n')
            if not await _may_read(api, user):
                return web.Response(status=403, text=f'{user.get("username")} may not get {METRICS_PATH}\n')
        except errors.ApiError as error:
            logger.warning('metrics: the caller cannot be checked: %s', error)
            return web.Response(status=500, text='the caller cannot be checked\n')
        content_type = {'Content-Type': 'text/plain; version=0.0.4; charset=utf-8'}
        body = measured.exposition() + (await more() if more is not None else b'')
        return web.Response(body=body, headers=content_type)

    return web.get(METRICS_PATH, answer)


async def _user(api: client.Client, token: str) -> dict[str, Any] | None:
    review = {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenReview', 'spec': {'token': token}}
    answer = await api.request(requests.create(TOKEN_REVIEWS, None, review), into=dict[str, Any])
    status = answer.get('status') or {}
    user: dict[str, Any] | None = status.get('user')
    return user if status.get('authenticated') else None


async def _may_read(api: client.Client, user: dict[str, Any]) -> bool:
    review = {
        'apiVersion': 'authorization.k8s.io/v1',
        'kind': 'SubjectAccessReview',
        'spec': {
            'user': user.get('username'),
            'uid': user.get('uid'),
            'groups': user.get('groups'),
            'extra': user.get('extra'),
            'nonResourceAttributes': {'path': METRICS_PATH, 'verb': 'get'},
        },
    }
    answer = await api.request(requests.create(ACCESS_REVIEWS, None, review), into=dict[str, Any])
    return bool((answer.get('status') or {}).get('allowed'))
