"""A cache that follows a server over HTTP, through all that can happen to a watch."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import msgspec
import pytest

from jobset.api import meta
from jobset.kube import auth, client, errors, informer, requests, transport
from tests.kube import fakes

JOBS = requests.JOBS
PATH = '/apis/batch/v1/namespaces/ns/jobs'
LIST, WATCH = f'GET {PATH}', f'WATCH {PATH}'


class Spec(msgspec.Struct, frozen=True, gc=False):
    """What the tests look at."""

    size: int = 0


class Job(meta.Partial, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A Job as far as the tests care."""

    spec: Spec = Spec()


@dataclass
class Changes:
    """What a handler was told, to wait for."""

    told: list[str] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, old: Job | None, new: Job | None) -> None:
        match old, new:
            case None, Job(metadata=now, spec=spec):
                self.told.append(f'+{now.name} {spec.size}')
            case Job(metadata=before), None:
                self.told.append(f'-{before.name}')
            case Job(), Job(metadata=now, spec=spec):
                self.told.append(f'~{now.name} {spec.size}')
        self.came.set()

    async def until(self, *told: str) -> None:
        """Waits until there were as many changes, which must be these; and starts anew."""
        while len(self.told) < len(told):
            self.came.clear()
            await self.came.wait()
        assert self.told == list(told)
        self.told.clear()


QUICK = informer.Watching(backoff_base=0.001, backoff_cap=0.01, idle_timeout=30)


@dataclass
class Following:
    server: fakes.Server
    source: client.Client
    cache: informer.Informer[Job]
    changes: Changes
    troubles: list[str]

    def put(self, name: str, size: int = 0) -> None:
        self.server.put(JOBS, 'ns', name, spec={'size': size})

    def drop(self, name: str) -> None:
        self.server.drop(JOBS, 'ns', name)

    async def watching(self) -> None:
        """Waits until the server has a watch."""
        await self.server.until(lambda: self.server.watching == 1)


@contextlib.asynccontextmanager
async def following(
    *names: str,
    settings: informer.Watching = QUICK,
    keep: Callable[[Job], bool] | None = None,
    prepare: Callable[[fakes.Server], None] = lambda _server: None,
) -> AsyncIterator[Following]:
    """A server with these objects and a cache that has been told to follow it."""
    server = fakes.Server()
    for name in names:
        server.put(JOBS, 'ns', name, spec={'size': 1})
    prepare(server)
    async with (
        fakes.served(server) as url,
        transport.Transport(auth.Plain(url), user_agent='test') as carrier,
        asyncio.TaskGroup() as group,
    ):
        source = client.Client(carrier, settings=client.Retrying(attempts=1))
        troubles: list[str] = []
        cache = informer.Informer(
            source,
            JOBS,
            Job,
            namespace='ns',
            keep=keep,
            settings=settings,
            on_trouble=lambda _resource, error: troubles.append(error.reason),
        )
        changes = Changes()
        cache.subscribe(changes)
        run = group.create_task(cache.run())
        yield Following(server, source, cache, changes, troubles)
        run.cancel()


PAGED = informer.Watching(backoff_base=0.001, backoff_cap=0.01, idle_timeout=30, stream_lists=False, page_size=2)
WAYS = [pytest.param(QUICK, id='streamed list'), pytest.param(PAGED, id='list in pages')]


@pytest.mark.parametrize('settings', WAYS)
async def test_what_is_there_and_what_changes(settings: informer.Watching) -> None:
    async with following('a', 'b', 'c', settings=settings) as it:
        await it.cache.synced()
        await it.changes.until('+a 1', '+b 1', '+c 1')
        await it.watching()
        it.put('d', 2)
        it.put('a', 3)
        it.drop('b')
        await it.server.notify()
        await it.changes.until('+d 2', '~a 3', '-b')

        assert sorted(one.metadata.name for one in it.cache.values()) == ['a', 'c', 'd']
        held = it.cache.get('ns', 'a')
        assert held is not None
        assert held.spec.size == 3
        assert it.cache.get('ns', 'b') is None
        assert len(it.cache) == 3
        assert it.cache.trouble is None
        assert it.cache.age() < 30


async def test_requests_of_a_streamed_list() -> None:
    async with following('a') as it:
        await it.changes.until('+a 1')

        assert [str(one) for one in it.server.seen] == [WATCH]
        query = it.server.seen[0].query
        assert 300 <= int(query.pop('timeoutSeconds')) <= 600
        assert query == {
            'watch': 'true',
            'allowWatchBookmarks': 'true',
            'sendInitialEvents': 'true',
            'resourceVersionMatch': 'NotOlderThan',
        }


async def test_requests_of_a_list_in_pages() -> None:
    async with following('a', 'b', 'c', settings=PAGED) as it:
        await it.watching()

        assert [str(one) for one in it.server.seen] == [LIST, LIST, WATCH]
        assert [one.query for one in it.server.seen[:2]] == [{'limit': '2'}, {'limit': '2', 'continue': '103:2'}]
        assert it.server.seen[2].query['resourceVersion'] == '103'


def refuse_streams(server: fakes.Server) -> None:
    server.streams_lists = False


def ignore_streams(server: fakes.Server) -> None:
    """As servers that do not know the parameter: they tell what is there, and never that this was all."""
    server.ends_lists = False


def forbid(server: fakes.Server) -> None:
    server.faults.append(fakes.refusal(403, 'Forbidden'))


@pytest.mark.parametrize(
    'refuse',
    [pytest.param(refuse_streams, id='422 of an old server'), pytest.param(forbid, id='403 of a narrow role')],
)
async def test_a_refused_stream_is_remembered(refuse: Callable[[fakes.Server], None]) -> None:
    async with following('a', prepare=refuse) as it:
        await it.changes.until('+a 1')
        await it.watching()
        it.server.streams_lists = False
        it.server.compact()
        it.server.version += 1
        it.server.compact()
        it.server.cut_watches()
        await it.server.notify()
        await it.server.until(lambda: it.server.counted(LIST) == 2)

        # The first one alone has asked for a streamed list.
        assert ['sendInitialEvents' in one.query for one in it.server.seen] == [True] + [False] * 4


async def test_a_stream_that_never_ends_its_list_is_given_up() -> None:
    settings = informer.Watching(backoff_base=0.001, idle_timeout=0.05)
    async with following('a', settings=settings, prepare=ignore_streams) as it:
        await it.changes.until('+a 1')

        assert it.troubles[0] == 'Silent'
        assert it.server.counted(LIST) == 1


@pytest.mark.parametrize('settings', WAYS)
async def test_a_cut_watch_goes_on_where_it_ended(settings: informer.Watching) -> None:
    async with following('a', settings=settings) as it:
        await it.changes.until('+a 1')
        await it.watching()
        lists = it.server.counted(LIST)
        it.server.cut_watches()
        it.put('b')
        it.drop('a')
        await it.server.notify()
        await it.changes.until('+b 0', '-a')

        assert it.server.seen[-1].query['resourceVersion'] == '101'
        assert it.server.counted(LIST) == lists
        assert it.troubles == ['Unreachable']


@pytest.mark.parametrize('settings', WAYS)
async def test_deletions_that_were_missed_are_told_after_a_410(settings: informer.Watching) -> None:
    async with following('a', 'b', 'c', settings=settings) as it:
        await it.changes.until('+a 1', '+b 1', '+c 1')
        await it.watching()
        it.server.cut_watches()
        it.drop('a')
        it.drop('c')
        it.put('b', 2)
        it.put('d', 2)
        it.server.compact()
        await it.server.notify()
        while len(it.changes.told) < 4:
            it.changes.came.clear()
            await it.changes.came.wait()

        # Deletions come in no particular order, and before all else.
        assert (sorted(it.changes.told[:2]), it.changes.told[2:]) == (['-a', '-c'], ['~b 2', '+d 2'])
        assert it.troubles == ['Unreachable', 'Expired']


async def test_a_410_in_the_answer_lists_anew() -> None:
    async with following('a', settings=PAGED) as it:
        await it.changes.until('+a 1')
        await it.watching()
        it.server.faults.append(fakes.refusal(410, 'Expired'))
        it.server.cut_watches()
        it.drop('a')
        await it.server.notify()
        await it.changes.until('-a')

        assert it.server.counted(LIST) == 2


@pytest.mark.parametrize(
    'body',
    [
        pytest.param(fakes.status(500, 'InternalError', 'etcd leader changed'), id='server error'),
        pytest.param(fakes.status(410, 'Expired', 'too old'), id='expired'),
        pytest.param({'kind': 'Status'}, id='no reason at all'),
    ],
)
async def test_an_error_inside_the_stream_lists_anew(body: fakes.Json) -> None:
    async with following('a', settings=PAGED) as it:
        await it.changes.until('+a 1')
        await it.watching()
        it.server.fail_watches(body)
        it.drop('a')
        it.put('b')
        await it.server.notify()
        await it.changes.until('-a', '+b 0')
        await it.watching()

        assert it.server.counted(LIST) == 2
        assert len(it.troubles) == 1


async def test_a_silent_watch_is_made_anew_and_the_second_time_listed() -> None:
    settings = informer.Watching(backoff_base=0.001, backoff_cap=0.01, idle_timeout=0.05, stream_lists=False)
    async with following('a', settings=settings) as it:
        await it.server.until(lambda: it.server.counted(LIST) == 2)

        assert [str(one) for one in it.server.seen] == [LIST, WATCH, WATCH, LIST]
        assert it.troubles == ['Silent', 'Silent']


async def test_bookmarks_move_the_place_to_go_on_from() -> None:
    async with following('a') as it:
        await it.changes.until('+a 1')
        await it.watching()
        it.server.version = 500
        it.server.bookmark()
        it.put('b')
        await it.server.notify()
        await it.changes.until('+b 0')
        it.server.cut_watches()
        await it.server.notify()
        await it.server.until(lambda: it.server.counted(WATCH) == 2)

        assert it.server.seen[-1].query['resourceVersion'] == '501'


async def test_a_server_that_goes_back_in_time_is_listed_anew() -> None:
    async with following('a', 'b', settings=PAGED) as it:
        await it.changes.until('+a 1', '+b 1')
        await it.watching()
        it.server.objects.pop(f'{PATH}/b')
        it.server.version = 50
        it.server.bookmark()
        await it.server.notify()
        await it.changes.until('-b')

        assert it.troubles == ['Expired']


@pytest.mark.parametrize(
    ('faults', 'troubles'),
    [
        pytest.param([fakes.refusal(500, 'InternalError')] * 3, ['InternalError'] * 3, id='500'),
        pytest.param([fakes.refusal(429, 'TooManyRequests')] * 2, ['TooManyRequests'] * 2, id='429'),
        pytest.param([fakes.refusal(404, 'NotFound')] * 2, ['NotFound'] * 2, id='the kind is not there yet'),
        pytest.param([fakes.refusal(403, 'Forbidden')] * 2, ['Forbidden'] * 2, id='the role is not there yet'),
        pytest.param([fakes.Answer(cut=True)], ['Unreachable'], id='cut'),
        pytest.param([fakes.Answer(body={'items': 5})], ['Malformed'], id='not a list'),
    ],
)
async def test_a_list_that_fails_is_tried_again(faults: list[fakes.Answer], troubles: list[str]) -> None:
    async with following('a', settings=PAGED, prepare=lambda server: server.faults.extend(faults)) as it:
        assert not it.cache.is_synced
        await it.cache.synced()
        await it.changes.until('+a 1')

        assert it.troubles == troubles
        assert it.cache.trouble is None


async def test_a_list_that_takes_too_long_is_taken_in_one_piece() -> None:
    def expire(server: fakes.Server) -> None:
        server.faults.extend([None, fakes.refusal(410, 'Expired')])

    async with following('a', 'b', 'c', settings=PAGED, prepare=expire) as it:
        await it.changes.until('+a 1', '+b 1', '+c 1')

        assert [one.query for one in it.server.seen[:3]] == [{'limit': '2'}, {'limit': '2', 'continue': '103:2'}, {}]


async def test_trouble_is_shown_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    faults = [fakes.refusal(403, 'Forbidden', 'no list for you')] * 5
    async with following('a', settings=PAGED, prepare=lambda server: server.faults.extend(faults)) as it:
        assert it.cache.age() == float('inf')
        await it.server.until(lambda: it.server.counted(LIST) == 2)
        assert isinstance(it.cache.trouble, errors.Forbidden)
        await it.cache.synced()

    said = [record.getMessage() for record in caplog.records if record.name == informer.__name__]
    assert said == [f'jobs.batch: GET {PATH}: 403 Forbidden: no list for you; trying again']


async def test_objects_that_are_not_kept_never_show() -> None:
    async with following('a', keep=lambda job: job.spec.size < 5) as it:
        await it.changes.until('+a 1')
        await it.watching()
        it.put('b', 9)
        it.put('a', 7)
        it.put('a', 2)
        await it.server.notify()
        await it.changes.until('-a', '+a 2')

        assert [one.metadata.name for one in it.cache.values()] == ['a']


async def test_own_writes_are_read_at_once_and_told_once() -> None:
    async with following() as it:
        await it.cache.synced()
        await it.watching()
        body = {'metadata': {'name': 'mine', 'namespace': 'ns'}, 'spec': {'size': 4}}
        created = await it.source.request(requests.create(JOBS, 'ns', body), Job)
        it.cache.observe(created)

        assert it.cache.get('ns', 'mine') == created
        it.put('other')
        await it.server.notify()
        await it.changes.until('+mine 4', '+other 0')


async def test_an_object_of_an_odd_shape_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    odd = '{"metadata":{"name":"a","namespace":"ns","uid":"uid-1","resourceVersion":"VERSION"},"spec":{"size":"big"}}'
    async with following('a') as it:
        await it.changes.until('+a 1')
        await it.watching()
        it.server.send_line(f'{{"type":"MODIFIED","object":{odd}}}', PATH)
        it.put('b')
        it.server.send_line(f'{{"type":"DELETED","object":{odd}}}', PATH)
        await it.server.notify()
        await it.changes.until('+b 0', '-a')

        assert it.troubles == []
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    problem = 'Expected `int`, got `str` - at `$.object.spec.size`'
    assert said == [f'jobs.batch ns/a: cannot be read, its last known state is kept: {problem}']


@pytest.mark.parametrize('settings', WAYS)
async def test_an_odd_object_in_a_list_does_not_hide_the_others(settings: informer.Watching) -> None:
    def add_odd(server: fakes.Server) -> None:
        server.put(JOBS, 'ns', 'odd', spec={'size': 'big'})

    async with following('a', 'z', settings=settings, prepare=add_odd) as it:
        await it.changes.until('+a 1', '+z 1')


async def test_a_line_that_is_not_an_event_lists_anew() -> None:
    async with following('a', settings=PAGED) as it:
        await it.changes.until('+a 1')
        await it.watching()
        it.server.send_line('<html>bad gateway</html>', PATH)
        it.put('b')
        await it.server.notify()
        await it.changes.until('+b 0')

        assert it.troubles == ['Malformed']
        assert it.server.counted(LIST) == 2


async def test_a_handler_that_fails_does_not_keep_the_news_from_others(caplog: pytest.LogCaptureFixture) -> None:
    def broken(old: Job | None, new: Job | None) -> None:
        raise ValueError('no')

    async with following() as it:
        it.cache.subscribe(broken)
        second = Changes()
        it.cache.subscribe(second)
        await it.watching()
        it.put('a')
        await it.server.notify()
        await second.until('+a 0')

    assert [record.getMessage() for record in caplog.records] == ['jobs.batch: a handler has failed']


async def test_selectors_go_to_the_server() -> None:
    server = fakes.Server()
    async with (
        fakes.served(server) as url,
        transport.Transport(auth.Plain(url), user_agent='test') as carrier,
        asyncio.TaskGroup() as group,
    ):
        cache = informer.Informer(
            client.Client(carrier),
            requests.PODS,
            meta.Partial,
            label_selector='a in (b, c)',
            field_selector='spec.nodeName=n',
            settings=PAGED,
        )
        run = group.create_task(cache.run())
        await server.until(lambda: server.watching == 1)
        run.cancel()

    assert [one.path for one in server.seen] == ['/api/v1/pods'] * 2
    for seen in server.seen:
        assert seen.query['labelSelector'] == 'a in (b, c)'
        assert seen.query['fieldSelector'] == 'spec.nodeName=n'
