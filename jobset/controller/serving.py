"""What this process serves: probes, and metrics for those who may read them.

Source: JobSet operations surface. Probes are plain HTTP; metrics are HTTPS, and their readers are authenticated by
TokenReview and authorised by SubjectAccessReview for ``get`` on the non-resource URL ``/metrics``.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from jobset.admission import status
from jobset.controller import metrics
from jobset.kube import client, errors, pages, requests
from jobset.kube.httpserver import Answer, Head
from jobset.kube.pages import Page

logger = logging.getLogger(__name__)

METRICS_PATH: Final = '/metrics'
TOKEN_REVIEWS: Final = requests.Resource('authentication.k8s.io', 'v1', 'tokenreviews', 'TokenReview', namespaced=False)
ACCESS_REVIEWS: Final = requests.Resource(
    'authorization.k8s.io', 'v1', 'subjectaccessreviews', 'SubjectAccessReview', namespaced=False
)


Check = Callable[[], Awaitable[str | None]]
"""Says why something is not as it should be; None when all is well."""


def probe(check: Check) -> Page:
    """A probe that answers 200 ``ok``, or 500 with the reason."""

    async def answer(_: Head) -> Answer:
        trouble = await check()
        return pages.text('ok') if trouble is None else pages.text(f'{trouble}\n', 500)

    return answer


More = Callable[[], Awaitable[bytes]]
"""Metrics of another process, in the text format."""


def exposition(measured: metrics.Metrics, api: client.Client, more: More | None) -> Page:
    """The metrics, for callers that the API server vouches for."""

    async def answer(head: Head) -> Answer:
        scheme, _, token = head.headers.get('authorization', '').partition(' ')
        if scheme.lower() != 'bearer' or not token:
            return pages.text('a bearer token is needed\n', 401)
        try:
            user = await _user(api, token.strip())
            if user is None:
                return pages.text('the token is not valid\n', 401)
            if not await _may_read(api, user):
                return pages.text(f'{user.get("username")} may not get {METRICS_PATH}\n', 403)
        except errors.ApiError as error:
            logger.warning('metrics: the caller cannot be checked: %s', error)
            return pages.text('the caller cannot be checked\n', 500)
        body = measured.exposition() + (await more() if more is not None else b'')
        return Answer(200, body, status.EXPOSITION)

    return answer


async def _user(api: client.Client, token: str) -> dict[str, Any] | None:
    review = {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenReview', 'spec': {'token': token}}
    answer = await api.request(requests.create(TOKEN_REVIEWS, None, review), into=dict[str, Any])
    found = answer.get('status') or {}
    user: dict[str, Any] | None = found.get('user')
    return user if found.get('authenticated') else None


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
