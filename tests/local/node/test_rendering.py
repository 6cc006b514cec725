"""Texts and plans that are made for containers: names, mounts, log entries, patches."""

import datetime
from collections.abc import Mapping, Sequence

import pytest

from jobset.local.node import commands, expansion, images, loglines, mounts, names, reports, specs
from tests.local.node.plane import Json

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ('text', 'expanded'),
    [
        ('$(A) and $(B)', 'a and b'),
        ('$(C)', '$(C)'),
        ('$$(A)', '$(A)'),
        ('$$$(A)', '$a'),
        ('$A ${A} $', '$A ${A} $'),
        ('$(A', '$(A'),
        ('$()', '$()'),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    assert expansion.expand(text, {'A': 'a', 'B': 'b'}) == expanded


HOSTS = [
    names.Host(namespace='n', name='p1', ip='127.9.0.2', hostname='p-1', subdomain='net', labels={'a': 'x'}),
    names.Host(
        namespace='n', name='p0', ip='127.9.0.1', hostname='p-0', subdomain='net', labels={'a': 'x'}, is_ready=True
    ),
    names.Host(namespace='n', name='other', ip='127.9.0.3', labels={'a': 'y'}, is_ready=True),
    names.Host(namespace='m', name='far', ip='127.9.0.4', labels={'a': 'x'}, is_ready=True),
]


def test_names_of_ready_pods() -> None:
    service = names.Service(namespace='n', name='net', selector={'a': 'x'})

    assert names.entries(HOSTS, [service]) == [('127.9.0.1', 'net', 'n'), ('127.9.0.1', 'p-0.net', 'n')]


def test_names_of_all_pods() -> None:
    service = names.Service(namespace='n', name='net', selector={'a': 'x'}, publishes_unready=True)

    text = names.render(names.entries(HOSTS, [service]), 'n')

    assert text.splitlines() == [
        '127.9.0.1\tnet.n.svc.cluster.local net.n.svc net.n net',
        '127.9.0.2\tnet.n.svc.cluster.local net.n.svc net.n net',
        '127.9.0.1\tp-0.net.n.svc.cluster.local p-0.net.n.svc p-0.net.n p-0.net',
        '127.9.0.2\tp-1.net.n.svc.cluster.local p-1.net.n.svc p-1.net.n p-1.net',
    ]


def test_names_for_another_namespace() -> None:
    text = names.render([('127.9.0.1', 'net', 'n')], 'm')

    assert text == '127.9.0.1\tnet.n.svc.cluster.local net.n.svc net.n\n'


def test_services_without_a_selector_have_no_names_here() -> None:
    assert names.entries(HOSTS, [names.Service(namespace='n', name='net')]) == []


def test_own_names() -> None:
    text = names.header('127.9.0.1', 'p-0', 'net', 'n', [('10.0.0.1', ['a', 'b'])])

    assert text.splitlines()[-2:] == ['127.9.0.1\tp-0.net.n.svc.cluster.local p-0', '10.0.0.1\ta b']


@pytest.mark.parametrize(
    ('spec', 'lines'),
    [
        pytest.param({}, ['nameserver 1.1.1.1', 'search home', 'options timeout:2 attempts:2'], id="the machine's"),
        pytest.param(
            {
                'dnsPolicy': 'None',
                'dnsConfig': {'nameservers': ['9.9.9.9'], 'options': [{'name': 'ndots', 'value': '2'}]},
            },
            ['nameserver 9.9.9.9', 'options ndots:2 timeout:2 attempts:2'],
            id='its own',
        ),
    ],
)
def test_resolver(spec: Json, lines: list[str]) -> None:
    machine = '# made by x\nnameserver 1.1.1.1\nsearch home\n'

    assert names.resolver(spec, machine, 'n').splitlines() == lines


class Files:
    """A machine with some folders; links point to other paths."""

    def __init__(self, folders: Mapping[str, Sequence[str]], links: Mapping[str, str]) -> None:
        self._folders = folders
        self._links = links

    def children(self, folder: str) -> Sequence[str]:
        return self._folders.get(folder, ())

    def kind(self, path: str) -> str:
        if path in self._links:
            return 'link'
        if path in self._folders:
            return 'folder'
        parent, _, name = path.rpartition('/')
        return 'file' if name in self._folders.get(parent or '/', ()) else ''

    def target(self, path: str) -> str:
        return self._links[path]

    def resolve(self, path: str) -> str:
        for link, target in self._links.items():
            if path.startswith(link + '/'):
                return target + path.removeprefix(link)
        return path


MACHINE = Files(
    {'/': ['etc', 'run', 'var', 'vmlinuz'], '/etc': ['hosts', 'x'], '/etc/x': [], '/run': ['lock'], '/var': ['run']},
    {'/var/run': '/run'},
)
ROOT = [
    ('place', '/etc', 'folder'),
    ('bind', '/etc', '/etc', 'optional'),
    ('place', '/run', 'folder'),
    ('bind', '/run', '/run', 'optional'),
    ('place', '/var', 'folder'),
    ('bind', '/var', '/var', 'optional'),
    ('place', '/vmlinuz', 'file'),
    ('bind', '/vmlinuz', '/vmlinuz', 'optional'),
]


def test_a_place_in_the_root() -> None:
    assert mounts.plan([mounts.Mount(source='/s', target='/data/deep')], MACHINE) == [
        *ROOT,
        ('place', '/data/deep', 'folder'),
        ('bind', '/s', '/data/deep', ''),
    ]


def test_over_what_is_there() -> None:
    wanted = mounts.Mount(source='/s', target='/etc/hosts', is_file=True, is_read_only=True)

    assert mounts.plan([wanted], MACHINE) == [
        *ROOT,
        ('place', '/etc/hosts', 'file'),
        ('bind', '/s', '/etc/hosts', ''),
        ('lock', '/etc/hosts'),
    ]


def test_a_new_place_behind_a_link() -> None:
    plan = mounts.plan([mounts.Mount(source='/s', target='/var/run/secrets/x')], MACHINE)

    assert plan == [
        *ROOT[:2],
        ('folder', '/run', '/run'),
        ('place', '/run/lock', 'file'),
        ('bind', '/run/lock', '/run/lock', 'optional'),
        *ROOT[4:],
        ('place', '/run/secrets/x', 'folder'),
        ('bind', '/s', '/run/secrets/x', ''),
    ]


def test_a_volume_within_a_volume() -> None:
    inner = mounts.Mount(source='/inner', target='/etc/new/inner')
    outer = mounts.Mount(source='/outer', target='/etc/x')
    deep = mounts.Mount(source='/deep', target='/etc/x/deep')

    steps = [step for step in mounts.plan([deep, outer], MACHINE) if step not in ROOT]
    assert steps == [
        ('place', '/etc/x', 'folder'),
        ('bind', '/outer', '/etc/x', ''),
        ('place', '/etc/x/deep', 'folder'),
        ('bind', '/deep', '/etc/x/deep', ''),
    ]
    assert ('folder', '/etc', '/etc') in mounts.plan([inner], MACHINE)


def test_log_entries() -> None:
    splitter = loglines.Splitter('stdout', loglines.Stamps())

    assert splitter.feed(b'one\ntw', NOW) == b'2026-01-01T12:00:00.123456000Z stdout F one\n'
    assert splitter.feed(b'o\n', NOW) == b'2026-01-01T12:00:00.123456001Z stdout F two\n'
    assert splitter.feed(b'rest', NOW) == b''
    assert splitter.finish(NOW) == b'2026-01-01T12:00:00.123456002Z stdout P rest\n'
    assert splitter.finish(NOW) == b''


def test_no_two_entries_have_one_time() -> None:
    stamps = loglines.Stamps()
    out, err = loglines.Splitter('stdout', stamps), loglines.Splitter('stderr', stamps)

    text = out.feed(b'x\n' * 1500, NOW) + err.feed(b'y\n', NOW) + out.feed(b'z\n', NOW - datetime.timedelta(hours=1))
    text += err.feed(b'later\n', NOW + datetime.timedelta(seconds=1))

    times = [line.split()[0] for line in text.splitlines()]
    assert times == sorted(set(times))
    assert times[1001] == b'2026-01-01T12:00:00.123457001Z'
    assert times[-1] == b'2026-01-01T12:00:01.123456000Z'


def test_long_lines_are_parted() -> None:
    text = loglines.Splitter('stderr', loglines.Stamps()).feed(b'x' * 40_000 + b'\n', NOW)

    entries = [loglines.parse(line) for line in text.splitlines()]
    assert [(entry.is_part, len(entry.text)) for entry in entries if entry] == [
        (True, 16384),
        (True, 16384),
        (False, 7232),
    ]
    assert entries[0] is not None
    assert loglines.moment(entries[0]) == NOW


def test_status_patch() -> None:
    old = {
        'phase': 'Running',
        'reason': 'X',
        'conditions': [
            {'type': 'Ready', 'status': 'False', 'reason': 'ContainersNotReady', 'message': 'm'},
            {'type': 'Initialized', 'status': 'True'},
            {'type': 'DisruptionTarget', 'status': 'True'},
        ],
    }
    new = {
        'phase': 'Running',
        'conditions': [{'type': 'Ready', 'status': 'True'}, {'type': 'Initialized', 'status': 'True'}],
    }

    assert reports.patch(old, new) == {
        'reason': None,
        'conditions': [{'type': 'Ready', 'status': 'True', 'reason': None, 'message': None}],
    }
    assert reports.patch(new, new) == {}


def test_images() -> None:
    known = {
        'python:*': images.Image(env={'A': 'image'}, path=['/opt/py/bin'], prefix=['nice'], command=['python3']),
    }
    env = {'PATH': '/bin', 'B': 'b'}

    argv, made, cwd = commands.build(
        {'name': 'm', 'image': 'python:3', 'args': ['$(B)']}, env, known, default_cwd='/work'
    )

    assert argv == ['nice', 'python3', 'b']
    assert made == {'A': 'image', 'B': 'b', 'PATH': '/opt/py/bin:/bin'}
    assert cwd == '/work'


@pytest.mark.parametrize(
    'image',
    [
        pytest.param('busybox', id='plain'),
        pytest.param('docker.io/library/python:3.12-slim', id='with registry and tag'),
        pytest.param('localhost:5000/alpine@sha256:1234', id='with digest'),
    ],
)
def test_arguments_are_the_command_where_the_image_has_no_program_in_front(image: str) -> None:
    argv, _, _ = commands.build({'name': 'm', 'image': image, 'args': ['sh', '-c', 'true']}, {}, {}, default_cwd='/')

    assert argv == ['sh', '-c', 'true']


@pytest.mark.parametrize(
    'container',
    [
        pytest.param({'name': 'm', 'image': 'example.com/train:1', 'args': ['--epochs']}, id='its program is unknown'),
        pytest.param({'name': 'm', 'image': 'busybox'}, id='no arguments'),
    ],
)
def test_there_may_be_nothing_to_run(container: dict[str, Json]) -> None:
    with pytest.raises(commands.Missing):
        commands.build(container, {}, {}, default_cwd='/')


@pytest.mark.parametrize(
    ('name', 'place'),
    [
        pytest.param('before', 'spec.initContainers{before}', id='an init container'),
        pytest.param('main', 'spec.containers{main}', id='another'),
    ],
)
def test_events_say_where_a_container_stands(name: str, place: str) -> None:
    spec = {'initContainers': [{'name': 'before'}], 'containers': [{'name': 'main'}]}

    assert specs.place(spec, name) == place
