"""What new pods get so that they are placed exclusively, and which are refused."""

import base64
import json
from typing import Any

import pytest

from jobset.api import keys
from tests.admission.asking import ALLOWED, POD_KIND, Standing, answer, review
from tests.core.placing import UNSCHEDULABLE, manifest, pod

NODES = {'n1': {'rack': 'r1', 'zone': 'z1'}, 'bare': {'other': 'x'}}
LEADER = pod('js-a-0-0-abcde', node='n1', namespace='team-a')
PRIORITY = keys.PRIORITY
REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
TOGETHER = {
    'labelSelector': {'matchExpressions': [{'key': keys.JOB_KEY, 'operator': 'In', 'values': ['key-of-js-a-0']}]},
    'topologyKey': 'rack',
    'namespaceSelector': {},
}


def apart(level: dict[str, Any]) -> dict[str, Any]:
    return {
        'labelSelector': {
            'matchExpressions': [
                {'key': keys.JOB_KEY, 'operator': 'Exists'},
                {'key': keys.JOB_KEY, 'operator': 'NotIn', 'values': ['key-of-js-a-0']},
                {'key': PRIORITY, **level},
            ]
        },
        'topologyKey': 'rack',
        'namespaceSelector': {},
    }


SAME = apart({'operator': 'In', 'values': ['7']})
LABELLED = {'op': 'add', 'path': '/metadata/labels/jobset.sigs.k8s.io~1priority', 'value': '7'}


def changes_of(answered: Any) -> list[Any]:
    response = answered['response']
    assert response['allowed'], answered
    return list(json.loads(base64.b64decode(response.get('patch', 'W10='))))


async def operations(sent: dict[str, Any], *leaders: Any) -> list[Any]:
    """What the mutating webhook changes."""
    answered = await answer(keys.MUTATE_POD_PATH, review(sent, kind=POD_KIND), leaders=Standing(*leaders, nodes=NODES))
    return changes_of(answered)


async def refusal(path: str, sent: dict[str, Any], *leaders: Any) -> tuple[int, str, str] | None:
    answered = await answer(path, review(sent, kind=POD_KIND), leaders=Standing(*leaders, nodes=NODES))
    response = answered['response']
    if response['allowed']:
        return None
    return response['status']['code'], response['status']['reason'], response['status']['message']


def new(name: str = 'js-a-0-1-', *, index: int | None = 1, **what: Any) -> dict[str, Any]:
    return manifest(name, index=index, **what)


@pytest.mark.parametrize(
    ('affinity', 'changes'),
    [
        pytest.param(
            None,
            [('/spec/affinity', {'podAffinity': {REQUIRED: [TOGETHER]}, 'podAntiAffinity': {REQUIRED: [SAME]}})],
            id='none',
        ),
        pytest.param(
            {},
            [
                ('/spec/affinity/podAffinity', {REQUIRED: [TOGETHER]}),
                ('/spec/affinity/podAntiAffinity', {REQUIRED: [SAME]}),
            ],
            id='an empty one',
        ),
        pytest.param(
            {'podAffinity': {}, 'podAntiAffinity': {REQUIRED: [{'topologyKey': 'zone'}]}},
            [
                (f'/spec/affinity/podAffinity/{REQUIRED}', [TOGETHER]),
                (f'/spec/affinity/podAntiAffinity/{REQUIRED}/-', SAME),
            ],
            id='what the user wants is kept',
        ),
    ],
)
async def test_a_leader_is_kept_apart_from_other_jobs(affinity: Any, changes: list[tuple[str, Any]]) -> None:
    sent = new('js-a-0-0-', index=0, priority=7)
    if affinity is not None:
        sent['spec']['affinity'] = affinity
    made = [{'op': 'add', 'path': path, 'value': value} for path, value in changes]
    assert await operations(sent) == [LABELLED, *made]


async def test_a_priority_that_is_no_label_is_a_level_of_its_own() -> None:
    (made,) = await operations(new('js-a-0-0-', index=0, priority=-5))
    assert made['value']['podAntiAffinity'] == {REQUIRED: [apart({'operator': 'DoesNotExist'})]}


@pytest.mark.parametrize(
    ('selector', 'changes'),
    [
        pytest.param(None, [('/spec/nodeSelector', {'rack': 'r1'})], id='none'),
        pytest.param({'disk': 'ssd'}, [('/spec/nodeSelector/rack', 'r1')], id='another one'),
        pytest.param({'rack': 'r9'}, [('/spec/nodeSelector/rack', 'r1')], id='a wrong one'),
        pytest.param({'rack': 'r1'}, [], id='the right one'),
    ],
)
async def test_a_follower_goes_where_its_leader_is(selector: Any, changes: list[tuple[str, Any]]) -> None:
    sent = new()
    if selector is not None:
        sent['spec']['nodeSelector'] = selector
    assert await operations(sent, LEADER) == [{'op': 'add', 'path': path, 'value': value} for path, value in changes]


async def test_a_topology_key_with_a_slash_is_escaped() -> None:
    key = 'example.com/rack~1'
    leader = pod('js-a-0-0-x', node='n3', topology=key, namespace='team-a')
    sent = new(topology=key)
    sent['spec']['nodeSelector'] = {}
    answered = await answer(
        keys.MUTATE_POD_PATH, review(sent, kind=POD_KIND), leaders=Standing(leader, nodes={'n3': {key: 'r3'}})
    )
    assert changes_of(answered) == [{'op': 'add', 'path': '/spec/nodeSelector/example.com~1rack~01', 'value': 'r3'}]


@pytest.mark.parametrize(
    ('sent', 'leaders'),
    [
        pytest.param(new(), [], id='no leader'),
        pytest.param(new(), [pod('js-a-0-0-x', namespace='team-a')], id='a leader without a node'),
        pytest.param(new(), [LEADER, pod('js-a-0-0-y', namespace='team-a')], id='two leaders'),
        pytest.param(new(drop=(keys.JOB_INDEX,)), [LEADER], id='a follower that does not tell its Job'),
        pytest.param(new(owner='job-9'), [LEADER], id='of another owner'),
        pytest.param(new(topology=None), [LEADER], id='not exclusive'),
        pytest.param(new(strategy=True), [LEADER], id='placed by a node selector'),
    ],
)
async def test_what_cannot_be_placed_is_left_to_be_judged(sent: dict[str, Any], leaders: list[Any]) -> None:
    assert await operations(sent, *leaders) == []


async def test_the_node_of_the_leader_has_to_be_there_and_to_have_the_label() -> None:
    gone = pod('js-a-0-0-x', node='gone', namespace='team-a')
    bare = pod('js-a-0-0-x', node='bare', namespace='team-a')
    assert await refusal(keys.MUTATE_POD_PATH, new(), gone) == (404, 'NotFound', 'Node "gone" not found')
    expected = (403, 'Forbidden', 'node does not have topology label: rack')
    assert await refusal(keys.MUTATE_POD_PATH, new(), bare) == expected


PENDING = 'leader pod not yet scheduled, not creating follower pod. this is an expected, transient error'
MISSING = 'expected 1 leader pod (js-a-0-0), but got 0. this is an expected, transient error'


@pytest.mark.parametrize(
    ('sent', 'leaders', 'text'),
    [
        pytest.param(new(), [LEADER], 'follower pod node selector not set', id='the leader is bound only now'),
        pytest.param(new(), [], f'follower pod node selector not set: {MISSING}', id='no leader'),
        pytest.param(
            new(),
            [pod('js-a-0-0-x', namespace='team-a', conditions=[UNSCHEDULABLE])],
            f'follower pod node selector not set: {PENDING}. js-a-0-0-x: 0/2 nodes are available',
            id='the first cause is told',
        ),
        pytest.param(
            new(topology='zone', rack='r1'),
            [],
            f'follower pod node selector for topology domain not found. missing selector: zone: {MISSING}',
            id='another selector',
        ),
        pytest.param(new(rack='r9'), [pod('js-a-0-0-x', namespace='team-a')], PENDING, id='a selector too early'),
        pytest.param(new(rack='r9'), [], MISSING, id='a selector without a leader'),
        pytest.param(
            new(rack='r1', drop=(keys.JOB_INDEX,)), [LEADER], f'pod missing label: {keys.JOB_INDEX}', id='no index'
        ),
    ],
)
async def test_a_follower_that_has_nothing_to_follow_is_refused(
    sent: dict[str, Any], leaders: list[Any], text: str
) -> None:
    assert await refusal(keys.VALIDATE_POD_PATH, sent, *leaders) == (403, 'Forbidden', text)


@pytest.mark.parametrize(
    'sent',
    [
        pytest.param(new(rack='r1'), id='a follower with the selector'),
        pytest.param(new('js-a-0-0-', index=0), id='a leader'),
        pytest.param(new(topology=None), id='not exclusive'),
        pytest.param(new(strategy=True), id='placed by a node selector'),
    ],
)
async def test_others_are_let_through(sent: dict[str, Any]) -> None:
    answered = await answer(keys.VALIDATE_POD_PATH, review(sent, kind=POD_KIND), leaders=Standing(LEADER, nodes=NODES))
    assert answered == ALLOWED
