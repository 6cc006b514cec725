"""Whoever holds the token may do everything."""

import pytest

from tests.local.server import standins
from tests.local.server.standins import Caller

ACCESS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
RULES = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews'


@pytest.fixture
def call() -> Caller:
    return Caller(standins.server())


async def test_everything_is_allowed(call: Caller) -> None:
    spec = {'resourceAttributes': {'verb': 'create', 'resource': 'jobs'}}

    assert await call('POST', ACCESS, {'spec': spec}) == (
        201,
        {
            'kind': 'SelfSubjectAccessReview',
            'apiVersion': 'authorization.k8s.io/v1',
            'metadata': {},
            'spec': spec,
            'status': {'allowed': True},
        },
    )


@pytest.mark.parametrize(
    'spec',
    [
        pytest.param({}, id='neither'),
        pytest.param({'resourceAttributes': {'verb': 'get'}, 'nonResourceAttributes': {'path': '/'}}, id='both'),
    ],
)
async def test_one_thing_is_asked_about(call: Caller, spec: object) -> None:
    code, refused = await call('POST', ACCESS, {'spec': spec})

    assert code == 422
    assert refused['message'] == (
        '.authorization.k8s.io "" is invalid: spec: Invalid value: null: exactly one of nonResourceAttributes or '
        'resourceAttributes must be specified'
    )


async def test_what_may_be_done_is_listed(call: Caller) -> None:
    _, found = await call('POST', RULES, {'spec': {'namespace': 'default'}})

    assert found['status'] == {
        'resourceRules': [{'verbs': ['*'], 'apiGroups': ['*'], 'resources': ['*']}],
        'nonResourceRules': [{'verbs': ['*'], 'nonResourceURLs': ['*']}],
        'incomplete': False,
    }


async def test_who_asks_is_told(call: Caller) -> None:
    _, found = await call('POST', SELF, {'kind': 'SelfSubjectReview', 'apiVersion': 'authentication.k8s.io/v1'})

    assert found['status']['userInfo'] == {
        'username': 'system:admin',
        'groups': ['system:masters', 'system:authenticated'],
    }


async def test_another_kind_is_not_taken(call: Caller) -> None:
    code, refused = await call('POST', SELF, {'kind': 'Pod', 'apiVersion': 'v1'})

    assert code == 400
    assert refused['message'] == (
        'Pod in version "v1" cannot be handled as a SelfSubjectReview: '
        'no kind "Pod" is registered for version "v1" here'
    )


async def test_reviews_are_not_kept(call: Caller) -> None:
    assert (await call('GET', ACCESS))[0] == 405
