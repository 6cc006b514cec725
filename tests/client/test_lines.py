"""Logs of all ranks as one stream."""

import asyncio
from typing import Any

import pytest

from jobset.client import lines
from jobset.client.lines import Line, Note, Wanted
from jobset.kube import errors
from tests.client import facts, fakes
from tests.kube.virtual import timed

STARTED = {'replicatedJobsStatus': [facts.counts('train')]}


def stamped(second: int, text: str) -> bytes:
    return f'{stamp(second)} {text}\n'.encode()


def stamp(second: int) -> str:
    return f'2026-01-01T12:00:{second:02}.000000000Z'


def cut() -> errors.Unreachable:
    return errors.Unreachable('cut', where='log', sent=True)


async def read(cluster: fakes.Cluster, *, follow: bool = False, **wanted: Any) -> list[Line | Note]:
    return [line async for line in cluster.jobsets().log_lines('js', follow=follow, wanted=Wanted(**wanted))]


async def texts(cluster: fakes.Cluster, **wanted: Any) -> list[str]:
    return [f'{line.rank}: {line.text}' for line in await read(cluster, **wanted)]


@timed
async def test_pods_in_the_order_of_the_spec() -> None:
    obj = facts.jobset(facts.group('prep'), facts.group('train', replicas=2))
    ranks = [('train', 1, 0), ('train', 0, 1), ('train', 0, 0), ('prep', 0, 0)]
    pods = [facts.pod(*rank, containers=[facts.running()]) for rank in ranks]
    cluster = fakes.Cluster(obj, *pods)
    for pod in pods:
        cluster.log(pod, stamped(1, 'one'), stamped(2, 'two'))
    assert await texts(cluster) == [
        f'{rank}: {text}' for rank in ('prep-0-0', 'train-0-0', 'train-0-1', 'train-1-0') for text in ('one', 'two')
    ]


@pytest.mark.parametrize(
    ('wanted', 'ranks'),
    [
        ({}, ['prep-0-0', 'train-0-0', 'train-0-1', 'train-1-0']),
        ({'replicated_jobs': frozenset({'train'})}, ['train-0-0', 'train-0-1', 'train-1-0']),
        ({'job_index': 1}, ['train-1-0']),
        ({'pod_index': 1}, ['train-0-1']),
        ({'attempt': 3}, []),
    ],
)
@timed
async def test_selection(wanted: dict[str, Any], ranks: list[str]) -> None:
    obj = facts.jobset(facts.group('prep'), facts.group('train', replicas=2))
    places = [('prep', 0, 0), ('train', 0, 0), ('train', 0, 1), ('train', 1, 0)]
    pods = [facts.pod(*place, containers=[facts.running()]) for place in places]
    cluster = fakes.Cluster(obj, *pods)
    for pod in pods:
        cluster.log(pod, stamped(1, 'x'))
    assert [line.rank for line in await read(cluster, **wanted)] == ranks


@timed
async def test_several_containers_are_told_apart() -> None:
    pod = facts.pod('train', names=('main', 'side'), containers=[facts.running(), facts.running('side')])
    cluster = fakes.Cluster(facts.jobset(facts.group('train')), pod)
    for name in ('main', 'side', 'side'):
        cluster.log(pod, stamped(1, name), container=name)
    assert await texts(cluster) == ['train-0-0 main: main', 'train-0-0 side: side']
    assert await texts(cluster, container='side') == ['train-0-0: side']


@timed
async def test_lines_cut_anywhere() -> None:
    pod = facts.pod('train', containers=[facts.running()])
    cluster = fakes.Cluster(facts.jobset(facts.group('train')), pod)
    whole = stamped(1, 'grüße') + stamped(2, '') + stamp(3).encode() + b' no end'
    cluster.log(pod, *(whole[i : i + 1] for i in range(len(whole))))
    assert await read(cluster) == [
        Line('train-0-0', 0, stamp(1), 'grüße'),
        Line('train-0-0', 0, stamp(2), ''),
        Line('train-0-0', 0, stamp(3), 'no end'),
    ]


@timed
async def test_what_cannot_be_read_is_noted_and_the_others_are_shown() -> None:
    pods = [facts.pod('train', 0, i, containers=[facts.running()]) for i in range(3)]
    cluster = fakes.Cluster(facts.jobset(facts.group('train')), *pods)
    cluster.log(pods[0], errors.Invalid(400, 'BadRequest', 'no'))
    cluster.log(pods[2], stamped(1, 'fine'))
    assert await read(cluster) == [
        Note('train-0-0', 'its log cannot be read: no'),
        Note('train-0-1', 'its log cannot be read: pods "js-train-0-1-x0" not found'),
        Line('train-0-2', 0, stamp(1), 'fine'),
    ]


@timed
async def test_parameters_reach_the_node() -> None:
    container = facts.running(restarts=1)
    pod = facts.pod('train', containers=[container])
    cluster = fakes.Cluster(facts.jobset(facts.group('train')), pod)
    cluster.log(pod)
    await read(cluster, tail=5, since_seconds=60, previous=True)
    assert cluster.log_requests == [
        {
            'pod': 'js-train-0-0-x0',
            'container': 'main',
            'timestamps': 'true',
            'previous': 'true',
            'tailLines': '5',
            'sinceSeconds': '60',
        }
    ]


@timed
async def test_containers_that_wait_have_no_log_yet() -> None:
    pod = facts.pod('train', phase='Pending', containers=[facts.waiting('ImagePullBackOff')])
    assert await read(fakes.Cluster(facts.jobset(facts.group('train')), pod)) == []


FINISHED = {'terminalState': 'Completed', 'conditions': [facts.condition('Completed', 'AllJobsCompleted')]}


@timed
async def test_following_ends_with_the_jobset() -> None:
    obj = facts.jobset(facts.group('train'), status=STARTED)
    pod = facts.pod('train', containers=[facts.running()])
    cluster = fakes.Cluster(obj, pod)
    cluster.log(pod, stamped(1, 'one'))

    async def play() -> None:
        await asyncio.sleep(10)
        cluster.put(facts.pod('train', phase='Succeeded', containers=[facts.ended()]))
        cluster.put(facts.jobset(facts.group('train'), status=FINISHED))

    playing = asyncio.create_task(play())
    assert await texts(cluster, follow=True) == ['train-0-0: one']
    await playing
    assert cluster.log_requests[0]['follow'] == 'true'


@timed
async def test_following_takes_up_pods_of_the_next_attempt() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=STARTED))
    old = facts.pod('train', containers=[facts.running()])
    new = facts.pod('train', attempt=1, containers=[facts.running()])
    cluster.put(old)
    cluster.log(old, stamped(1, 'old'))
    cluster.log(new, stamped(2, 'new'))

    async def play() -> None:
        await asyncio.sleep(10)
        cluster.drop(old)
        cluster.put(new)
        await asyncio.sleep(10)
        cluster.put(facts.pod('train', attempt=1, phase='Succeeded', containers=[facts.ended()]))
        cluster.put(facts.jobset(facts.group('train'), status=FINISHED))

    playing = asyncio.create_task(play())
    found = await read(cluster, follow=True)
    await playing
    assert [(line.attempt, line.text) for line in found if isinstance(line, Line)] == [(0, 'old'), (1, 'new')]


@timed
async def test_a_restarted_container_is_read_again() -> None:
    pod = facts.pod('train', containers=[facts.running()])
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=STARTED), pod)
    cluster.log(pod, stamped(1, 'first run'))
    cluster.log(pod, stamped(2, 'second run'))

    async def play() -> None:
        await asyncio.sleep(10)
        cluster.put(facts.pod('train', containers=[facts.running(restarts=1)]))
        await asyncio.sleep(10)
        cluster.drop(facts.jobset(facts.group('train')))

    playing = asyncio.create_task(play())
    assert await texts(cluster, follow=True) == ['train-0-0: first run', 'train-0-0: second run']
    await playing


@timed
async def test_a_cut_log_goes_on_where_it_ended() -> None:
    pod = facts.pod('train', phase='Succeeded', containers=[facts.ended()])
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=FINISHED), pod)
    cluster.log(pod, stamped(1, 'one'), stamped(2, 'two'), cut())
    cluster.log(pod, stamped(2, 'two'), stamped(3, 'three'))
    assert await texts(cluster, follow=True, tail=7) == ['train-0-0: one', 'train-0-0: two', 'train-0-0: three']
    first, second = cluster.log_requests
    assert (first['tailLines'], 'sinceTime' in first) == ('7', False)
    assert ('tailLines' in second, second['sinceTime']) == (False, stamp(2))


@timed
async def test_a_log_that_is_cut_again_and_again_is_given_up() -> None:
    pod = facts.pod('train', phase='Succeeded', containers=[facts.ended()])
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=FINISHED), pod)
    for _ in range(lines.MOST_FAILURES):
        cluster.log(pod, cut())
    assert await read(cluster, follow=True) == [Note('train-0-0', 'its log cannot be read: cut')]


@timed
async def test_as_many_logs_at_once_as_are_allowed() -> None:
    pods = [facts.pod('train', 0, i, phase='Succeeded', containers=[facts.ended()]) for i in range(3)]
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=FINISHED), *pods)
    for pod in pods:
        cluster.log(pod, 1.0, stamped(1, 'x'))
    found = await read(cluster, follow=True, at_once=1)
    assert [line.text for line in found if isinstance(line, Line)] == ['x', 'x', 'x']
    assert {line.text for line in found if isinstance(line, Note)} == {
        'more than 1 logs at once: waits for another one to end'
    }


@timed
async def test_unknown_jobset() -> None:
    for follow in (False, True):
        with pytest.raises(errors.NotFound):
            await read(fakes.Cluster(), follow=follow)


def test_a_log_that_is_taken_up_again_loses_no_line_and_tells_none_twice() -> None:
    place = lines._Place()
    place.resume()
    assert [place.has_been(time) for time in ('1Z', '2Z', '2Z')] == [False, False, False]

    place.resume()

    assert [place.has_been(time) for time in ('1Z', '2Z', '2.0Z', '2Z', '3Z', '3Z')] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
