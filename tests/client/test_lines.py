"""Logs of all ranks as one stream."""

import asyncio
from typing import Any

import msgspec
import pytest

from jobset.client import lines, observed, reading, runs
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
    for _ in range(reading.MOST_FAILURES):
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
    place = reading.Place()
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


def kept(*, restarts: int) -> dict[str, Any]:
    """A container of a node that keeps the logs of all runs."""
    return facts.running(restarts=restarts) | {'containerID': 'local://1'}


async def followed(cluster: fakes.Cluster, *states: dict[str, Any], **wanted: Any) -> list[str]:
    """What is followed while a pod goes through some states, all of them within one moment."""

    async def play() -> None:
        await asyncio.sleep(10)
        for state in states:
            cluster.put(state)
        cluster.drop(states[-1])
        cluster.put(facts.jobset(facts.group('train'), status=FINISHED))

    playing = asyncio.create_task(play())
    found = await texts(cluster, follow=True, **wanted)
    await playing
    return found


@timed
async def test_all_runs_of_a_moment_are_read_in_their_order() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=STARTED))
    for number in range(4):
        # That of a later run is there at once, but must not come before its time.
        cluster.log(facts.pod('train'), 3.0 - number, stamped(number, f'run {number}'))

    found = await followed(
        cluster,
        facts.pod('train', containers=[kept(restarts=2)]),
        facts.pod('train', containers=[kept(restarts=3)]),
    )

    assert found == [f'train-0-0: run {number}' for number in range(4)]
    assert [(one['uid'], one['run']) for one in cluster.log_requests] == [
        ('uid-js-train-0-0-0', str(number)) for number in range(4)
    ]


@timed
async def test_a_pod_that_comes_and_goes_in_a_moment_is_read() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=STARTED))
    pod = facts.pod('train', phase='Failed', containers=[facts.ended(code=1)])
    cluster.log(pod, stamped(1, 'short'))

    assert await followed(cluster, pod) == ['train-0-0: short']


@timed
async def test_of_other_nodes_the_last_two_runs_are_read_and_the_others_said_to_be_lost() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=STARTED))
    pod = facts.pod('train', containers=[facts.running(restarts=3)])
    cluster.log(pod, stamped(1, 'run 2'))
    cluster.log(pod, stamped(2, 'run 3'))

    assert await followed(cluster, pod) == [
        'train-0-0: the log of runs 0 to 1 cannot be read: its node keeps those of the last two',
        'train-0-0: run 2',
        'train-0-0: run 3',
    ]
    assert [one.get('previous') for one in cluster.log_requests] == ['true', None]


@timed
async def test_of_pods_that_are_there_at_the_start_the_present_run_is_read_or_all_are() -> None:
    for earlier, numbers in ((False, ['2']), (True, ['0', '1', '2'])):
        pod = facts.pod('train', containers=[kept(restarts=2)])
        cluster = fakes.Cluster(facts.jobset(facts.group('train'), status=STARTED), pod)
        for _ in numbers:
            cluster.log(pod)

        assert await followed(cluster, pod, earlier=earlier) == []
        assert [one['run'] for one in cluster.log_requests] == numbers


@pytest.mark.parametrize(
    ('now', 'have_all'),
    [
        pytest.param([facts.pod('train', phase='Failed', containers=[facts.ended()])], True, id='as it was seen'),
        pytest.param([facts.pod('train', containers=[facts.running(restarts=1)])], False, id='it runs again'),
        pytest.param([], False, id='it is gone, and how it went has not been told yet'),
    ],
)
@timed
async def test_after_the_end_of_the_jobset_its_pods_are_asked_for_once_more(now: list[Any], have_all: bool) -> None:
    seen = facts.family(
        facts.jobset(facts.group('train')), pods=[facts.pod('train', containers=[facts.ended(code=1)])]
    ).pods
    async with asyncio.TaskGroup() as group:
        readers = lines._Readers(fakes.Cluster(*now).client(), Wanted(), asyncio.Queue[Any]().put, group)

        assert await readers.have_all('default', 'js', seen) is have_all

        readers.close()


@pytest.mark.parametrize(
    ('status', 'last'),
    [
        (facts.waiting('ContainerCreating'), -1),
        (facts.waiting('ImagePullBackOff'), -1),
        ({'name': 'main'}, -1),
        (facts.running(), 0),
        (facts.running(restarts=2), 2),
        (facts.ended(), 0),
        (facts.waiting('CrashLoopBackOff', restarts=2, lastState=facts.ended(code=1)['state']), 2),
        (facts.waiting('ContainerCreating', restarts=2, lastState=facts.ended(code=1)['state']), 1),
        (
            facts.waiting(
                'RestartingAllContainers',
                restarts=2,
                lastState=facts.ended(code=137, reason='RestartingAllContainers')['state'],
            ),
            1,
        ),
    ],
)
def test_the_last_run_that_has_begun(status: dict[str, Any], last: int) -> None:
    assert runs.last_begun(msgspec.convert(status, observed.ContainerStatus)) == last


@pytest.mark.parametrize(
    ('restarts', 'wanted', 'notes'),
    [
        (0, {}, []),
        (1, {}, ['attempt 0 is over, and the pods are gone with what they have written']),
        (3, {}, ['attempts 0 to 2 are over, and the pods are gone with what they have written']),
        (3, {'attempt': 3}, []),
    ],
)
@timed
async def test_attempts_that_were_over_before_are_named(
    restarts: int, wanted: dict[str, Any], notes: list[str]
) -> None:
    obj = facts.jobset(facts.group('train'), status=FINISHED | {'restarts': restarts})
    found = await read(fakes.Cluster(obj), follow=True, **wanted)
    assert found == [Note('js', note) for note in notes]
