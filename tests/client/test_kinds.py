"""Kinds by the names that people give them."""

import pytest

from jobset.client import kinds, objects
from jobset.kube import errors
from tests.client import fakes
from tests.kube.virtual import timed


def aggregated(group: str, version: str, *resources: tuple[str, str, list[str]]) -> fakes.Json:
    listed = [
        {
            'resource': plural,
            'responseKind': {'kind': kind},
            'scope': 'Namespaced',
            'singularResource': kind.lower(),
            'shortNames': short,
            'verbs': ['get', 'list'],
            'categories': ['all'] if plural == 'pods' else [],
        }
        for plural, kind, short in resources
    ]
    return {'metadata': {'name': group}, 'versions': [{'version': version, 'resources': listed}]}


def new_server() -> fakes.Cluster:
    cluster = fakes.Cluster()
    cluster.answers['GET /api'] = {
        'items': [aggregated('', 'v1', ('pods', 'Pod', ['po']), ('events', 'Event', ['ev']))]
    }
    cluster.answers['GET /apis'] = {
        'items': [
            aggregated('batch', 'v1', ('jobs', 'Job', [])),
            aggregated('events.k8s.io', 'v1', ('events', 'Event', ['ev'])),
            aggregated('jobset.x-k8s.io', 'v1alpha2', ('jobsets', 'JobSet', [])),
        ]
    }
    return cluster


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('pods', 'pods'),
        ('po', 'pods'),
        ('Pod', 'pods'),
        ('job', 'jobs.batch'),
        ('jobset', 'jobsets.jobset.x-k8s.io'),
        ('jobsets.jobset.x-k8s.io', 'jobsets.jobset.x-k8s.io'),
        ('jobsets.v1alpha2.jobset.x-k8s.io', 'jobsets.jobset.x-k8s.io'),
        ('jobs.batch', 'jobs.batch'),
        ('events', 'events'),
        ('events.events.k8s.io', 'events.events.k8s.io'),
        ('ev.events.k8s.io', 'events.events.k8s.io'),
        ('pods.v1', 'pods'),
    ],
)
@timed
async def test_names(name: str, expected: str) -> None:
    known = await kinds.all_(new_server().client())
    assert str(kinds.find(known, name).resource) == expected


@timed
async def test_unknown_names() -> None:
    known = await kinds.all_(new_server().client())
    with pytest.raises(kinds.UnknownKind, match=r'the server has no kind "jobst"; did you mean jobset or jobs\?'):
        kinds.find(known, 'jobst')
    with pytest.raises(kinds.UnknownKind, match=r'the server has no kind "zebra"$'):
        kinds.find(known, 'zebra')
    with pytest.raises(kinds.UnknownKind):
        kinds.find(known, 'pods.batch')


@timed
async def test_categories() -> None:
    known = await kinds.all_(new_server().client())
    assert [str(kind.resource) for kind in kinds.in_category(known, 'all')] == ['pods']


@timed
async def test_servers_without_aggregated_discovery() -> None:
    cluster = fakes.Cluster()
    cluster.answers['GET /api'] = {'versions': ['v1']}
    cluster.answers['GET /apis'] = {'groups': [{'name': 'batch', 'versions': [{'groupVersion': 'batch/v1'}]}]}
    pods = {'name': 'pods', 'kind': 'Pod', 'namespaced': True, 'shortNames': ['po']}
    cluster.answers['GET /api/v1'] = {'resources': [pods, {**pods, 'name': 'pods/log'}]}
    cluster.answers['GET /apis/batch/v1'] = {'resources': [{'name': 'jobs', 'kind': 'Job', 'namespaced': True}]}
    known = await kinds.all_(cluster.client())
    assert [str(kind.resource) for kind in known] == ['pods', 'jobs.batch']
    assert kinds.find(known, 'po').resource.namespaced is True


@timed
async def test_kind_of_an_object() -> None:
    cluster = fakes.Cluster()
    cluster.answers['GET /apis/batch/v1'] = {'resources': [{'name': 'jobs', 'kind': 'Job', 'namespaced': True}]}
    assert str(await kinds.of_object(cluster.client(), 'batch/v1', 'Job')) == 'jobs.batch'
    with pytest.raises(kinds.UnknownKind, match='the server has no kind "Jub" of batch/v1'):
        await kinds.of_object(cluster.client(), 'batch/v1', 'Jub')
    cluster.answers['GET /apis/no/v1'] = errors.NotFound(404, 'NotFound', 'no')
    with pytest.raises(kinds.UnknownKind, match='is its definition installed'):
        await kinds.of_object(cluster.client(), 'no/v1', 'Job')


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (['pods'], ('pods', [])),
        (['pods', 'a', 'b'], ('pods', ['a', 'b'])),
        (['pod/a', 'job/b'], [('pod', 'a'), ('job', 'b')]),
    ],
)
def test_words(words: list[str], expected: object) -> None:
    assert objects.parse_names(words) == expected


@pytest.mark.parametrize('words', [['pod/a', 'b'], ['pod/'], ['/a'], ['a/b/c']])
def test_words_that_make_no_sense(words: list[str]) -> None:
    with pytest.raises(ValueError, match='write all as kind/name'):
        objects.parse_names(words)
