"""Every pod has all ports for itself: whoever listens on one keeps nobody else from it, and is found by name."""

import asyncio
import contextlib
import functools
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobset.local.node import processes
from jobset.local.node.agent import Node
from jobset.local.node.launching import ports
from tests.local.node.conftest import running
from tests.local.node.following import output, until_ended, until_logged
from tests.local.node.plane import Json, Plane
from tests.local.node.pods import container, is_ready, pod, state

PORT = 29517


def python(script: str, **more: Any) -> Json:
    """A container that runs a script of Python, with the packages of this one."""
    return container('', **more) | {'command': [sys.executable, '-u', '-c', script]}


_ANSWERS = {
    'of sockets': """
import socket
with socket.create_server(('', 29517)) as server:
    print('up', server.getsockname()[0])
    while True:
        peer, _ = server.accept()
        with peer:
            peer.sendall(socket.gethostname().encode())
""",
    'on both families': """
import socket
with socket.create_server(('', 29517), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    print('up', server.getsockname()[0])
    while True:
        peer, _ = server.accept()
        with peer:
            peer.sendall(socket.gethostname().encode())
""",
    'on localhost': """
import socket
with socket.create_server(('localhost', 29517)) as server:
    print('up', server.getsockname()[0])
    while True:
        peer, _ = server.accept()
        with peer:
            peer.sendall(socket.gethostname().encode())
""",
    'of asyncio': """
import asyncio, socket
async def answer(reader, writer):
    writer.write(socket.gethostname().encode())
    writer.close()
async def main():
    async with await asyncio.start_server(answer, None, 29517) as server:
        print('up', len(server.sockets))
        await server.serve_forever()
asyncio.run(main())
""",
    'of uvloop': """
import asyncio, socket, uvloop
async def answer(reader, writer):
    writer.write(socket.gethostname().encode())
    writer.close()
async def main():
    async with await asyncio.start_server(answer, None, 29517) as server:
        print('up', len(server.sockets))
        await server.serve_forever()
uvloop.run(main())
""",
    'of workers that share it': """
import os, socket
os.fork()
with socket.create_server(('', 29517), reuse_port=True) as server:
    print('up', server.getsockname()[0])
    while True:
        peer, _ = server.accept()
        with peer:
            peer.sendall(socket.gethostname().encode())
""",
}

_ASKS = """
import socket, sys
for host in sys.argv[1:]:
    with socket.create_connection((host, 29517), timeout=10) as peer:
        print(host, peer.recv(100).decode())
"""


def put_server(plane: Plane, name: str, script: str, **more: Any) -> None:
    meta = {'name': name, 'labels': {'app': 'x'}}
    plane.put('pods', name, metadata=meta, spec=pod(python(script, **more), hostname=name, subdomain='net'))


def put_service(plane: Plane) -> None:
    plane.put('services', 'net', spec={'clusterIP': 'None', 'selector': {'app': 'x'}, 'publishNotReadyAddresses': True})


@pytest.mark.parametrize('script', [pytest.param(script, id=name) for name, script in _ANSWERS.items()])
async def test_servers_on_one_port(plane: Plane, node: Node, script: str) -> None:
    put_service(plane)
    for name in ('a', 'b'):
        put_server(plane, name, script)
        await until_logged(node, plane, name, 'up')

    hosts = ['a.net', 'b.net.default.svc.cluster.local']
    plane.put('pods', 'client', spec=pod(python(_ASKS) | {'args': hosts}))
    await plane.ended('client')

    assert await output(node, plane, 'client') == f'{hosts[0]} a\n{hosts[1]} b\n'
    for name in ('a', 'b'):
        inside = ['localhost', '127.0.0.1', '::1', '0.0.0.0', name]  # noqa: S104
        answer = await node.execute('default', name, [sys.executable, '-c', _ASKS, *inside])
        assert answer == (0, ''.join(f'{host} {name}\n' for host in inside))


async def test_two_clusters(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        clusters = []
        for name in ('first', 'second'):
            plane = Plane()
            node = await stack.enter_async_context(running(plane, tmp_path / name))
            clusters.append((name, plane, node))
            put_service(plane)
            put_server(plane, 'server', _ANSWERS['of sockets'].replace('socket.gethostname()', repr(name)))
            await until_logged(node, plane, 'server', 'up')
        for name, plane, node in clusters:
            plane.put('pods', 'client', spec=pod(python(_ASKS) | {'args': ['server.net']}))
            await plane.ended('client')
            assert await output(node, plane, 'client') == f'server.net {name}\n'


_HTTP = """
import http.server, socket
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == '/' + socket.gethostname() else 404)
        self.end_headers()
http.server.ThreadingHTTPServer(('0.0.0.0', 29517), Handler).serve_forever()
"""


def _is_ready(plane: Plane, name: str) -> bool:
    return is_ready(plane.pod(name))


async def test_probes_ask_their_pod(plane: Plane, node: Node) -> None:
    for name in ('a', 'b'):
        probe = {'httpGet': {'port': PORT, 'path': f'/{name}'}, 'periodSeconds': 1}
        put_server(plane, name, _HTTP, readinessProbe=probe)

    for name in ('a', 'b'):
        await plane.until(functools.partial(_is_ready, plane, name))


async def test_servers_of_the_machine_are_reached(plane: Plane, node: Node) -> None:
    async with serving('127.0.0.1', 'the machine') as port:
        plane.put('pods', 'one', spec=pod(python(_ASKS.replace('29517', str(port))) | {'args': ['localhost']}))
        await plane.ended('one')

    assert await output(node, plane, 'one') == 'localhost the machine\n'


async def test_the_pods_own_server_comes_first(plane: Plane, node: Node) -> None:
    async with serving('127.0.0.1', 'the machine') as port:
        put_server(plane, 'a', _ANSWERS['of sockets'].replace('29517', str(port)))
        await until_logged(node, plane, 'a', 'up')
        asks = _ASKS.replace('29517', str(port))

        assert await node.execute('default', 'a', [sys.executable, '-c', asks, 'localhost']) == (0, 'localhost a\n')


@contextlib.asynccontextmanager
async def serving(host: str, answer: str) -> AsyncIterator[int]:
    """A server outside of all pods."""

    async def on_connect(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer.encode())
        writer.close()

    async with await asyncio.start_server(on_connect, host, 0) as server:
        yield server.sockets[0].getsockname()[1]


_KINDS_OF_SOCKETS = """
import errno, select, socket, tempfile, threading

def own(address): return address[0].removeprefix('::ffff:') == POD
POD = socket.gethostbyname(socket.gethostname())

# UDP: to localhost without and with a connection; an answer comes back.
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('', 29518))
assert own(server.getsockname())
for send in (lambda s: s.sendto(b'x', ('127.0.0.1', 29518)),
             lambda s: (s.connect(('127.0.0.1', 29518)), s.send(b'x')),
             lambda s: s.sendto(b'x' * 60000, ('127.0.0.1', 29518))):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(10)
    send(client)
    data, peer = server.recvfrom(65536)
    server.sendto(data, peer)
    assert client.recv(65536) == data
print('udp')

# Port 0 stays as it is: free on all addresses.
zero = socket.create_server(('', 0))
assert zero.getsockname()[0] == '0.0.0.0'
socket.create_connection(('localhost', zero.getsockname()[1]), timeout=10)
print('zero')

# A port is taken once, and can be taken again.
first = socket.create_server(('', 29519))
try:
    socket.create_server(('', 29519))
except OSError as error:
    assert error.errno == errno.EADDRINUSE
client = socket.create_connection(('localhost', 29519), timeout=10)
first.accept()[0].close()
first.close()
socket.create_server(('', 29519)).close()
print('reuse')

# Not blocking.
server = socket.create_server(('', 29520))
client = socket.socket()
client.setblocking(False)
assert client.connect_ex(('127.0.0.1', 29520)) == errno.EINPROGRESS
select.select([], [client], [], 10)
assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 and own(client.getpeername())
print('not blocking')

# Blocking, in a thread, and it still blocks afterwards.
client = socket.socket()
thread = threading.Thread(target=client.connect, args=[('127.0.0.1', 29520)])
thread.start()
thread.join()
assert client.getblocking() and own(client.getpeername())
print('thread')

# Nobody there: refused, at once.
assert socket.socket().connect_ex(('127.0.0.1', 29521)) == errno.ECONNREFUSED
print('refused')

# Sockets of files.
path = tempfile.mkdtemp() + '/a/long/enough/name'.replace('/', '-')
server = socket.socket(socket.AF_UNIX)
server.bind(path.replace('-a', '/a'))
server.listen()
socket.socket(socket.AF_UNIX).connect(path.replace('-a', '/a'))
print('unix')

# Only version 6: in nobody's way.
server = socket.create_server(('', 29520), family=socket.AF_INET6)
print('six')
"""


async def test_all_kinds_of_sockets(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(python(_KINDS_OF_SOCKETS)))

    ended = await plane.ended('one')

    text = await output(node, plane, 'one')
    kinds = ['udp', 'zero', 'reuse', 'not blocking', 'thread', 'refused', 'unix', 'six']
    assert (text.splitlines(), state(ended)['exitCode']) == (kinds, 0)


_FULL = """
import os, signal, socket, threading
server = socket.create_server(('', 29517), backlog=0)
peers = []
def fill():
    while True:
        peers.append(socket.socket())
        peers[-1].setblocking(False)
        peers[-1].connect_ex(('127.0.0.1', 29517))
        if len(peers) == 10:
            return
fill()
child = os.fork()
if child == 0:
    socket.socket().connect(('127.0.0.1', 29517))
    os._exit(0)
other = socket.create_server(('', 29518))
with socket.create_connection(('127.0.0.1', 29518), timeout=10):
    print('others go on')
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
with socket.create_connection(('127.0.0.1', 29518), timeout=10):
    print('still')
waiting = threading.Thread(target=lambda: socket.socket().connect(('127.0.0.1', 29517)))
waiting.start()
while waiting.is_alive():
    server.accept()[0].close()
    waiting.join(0.1)
print('it came through')
"""


async def test_whoever_waits_holds_nobody_up(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(python(_FULL)))

    await plane.ended('one')

    assert (await output(node, plane, 'one')).splitlines() == ['others go on', 'still', 'it came through']


_CROWD = """
import os, socket
server = socket.create_server(('', 29517), backlog=1000)
pids = []
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        while True:
            with socket.socket() as client:
                client.connect(('127.0.0.1', 29517))
    pids.append(pid)
for _ in range(500):
    server.accept()[0].close()
print('end', *pids)
while True:
    server.accept()[0].close()
"""


async def test_all_end_amid_their_calls(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(python(_CROWD), terminationGracePeriodSeconds=1))
    pids = [int(word) for word in (await until_logged(node, plane, 'one', '\n')).split()[1:]]

    await plane.delete('one', grace=1)
    await plane.gone('one')

    assert len(pids) == 20
    for pid in pids:
        await until_ended(pid)


async def test_pods_of_the_machine(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(python(_ANSWERS['of sockets']), hostNetwork=True))

    assert await until_logged(node, plane, 'one', 'up') == 'up 0.0.0.0\n'


@pytest.mark.parametrize(('namespaces', 'own_ports', 'address'), [(False, True, ''), (True, False, '0.0.0.0')])  # noqa: S104
async def test_other_settings(plane: Plane, tmp_path: Path, namespaces: bool, own_ports: bool, address: str) -> None:
    async with running(plane, tmp_path / 'node', namespaces=namespaces, own_ports=own_ports) as node:
        plane.put('pods', 'one', spec=pod(python(_ANSWERS['of sockets'])))
        text = await until_logged(node, plane, 'one', '\n')

        assert text == f'up {address or plane.pod("one")["status"]["podIP"]}\n'


async def test_a_kernel_that_refuses(plane: Plane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = processes.look

    async def refused(kind: str, root: Path, *, address: str) -> tuple[str, str]:
        return (await look(kind, root, address=address))[0], 'seccomp: Device or resource busy'

    monkeypatch.setattr(processes, 'look', refused)
    async with running(plane, tmp_path / 'node') as node:
        plane.put('pods', 'one', spec=pod(python(_ANSWERS['of sockets'])))
        assert await until_logged(node, plane, 'one', '\n') == 'up 0.0.0.0\n'

    (note,) = [note for note in plane.notes() if 'share the ports' in note]
    assert note.startswith('pods share the ports of this machine (seccomp: Device or resource busy): ')


@pytest.mark.parametrize(
    ('family', 'host', 'means'),
    [
        (socket.AF_INET, '0.0.0.0', True),  # noqa: S104
        (socket.AF_INET, '127.0.0.1', True),
        (socket.AF_INET, '127.0.0.2', False),
        (socket.AF_INET, '127.64.0.1', False),
        (socket.AF_INET, '10.0.0.1', False),
        (socket.AF_INET6, '::', True),
        (socket.AF_INET6, '::1', True),
        (socket.AF_INET6, '::ffff:127.0.0.1', True),
        (socket.AF_INET6, '::ffff:0.0.0.0', True),
        (socket.AF_INET6, '::2', False),
    ],
)
def test_addresses_that_are_changed(family: socket.AddressFamily, host: str, means: bool) -> None:
    packed = socket.inet_pton(family, host)
    head = family.to_bytes(2, sys.byteorder) + (8080).to_bytes(2, 'big')
    address = head + (packed + bytes(8) if family == socket.AF_INET else bytes(4) + packed + bytes(4))

    assert ports.target(address) == (ports.Target(family, 8080) if means else None)
    assert ports.target(address[:8]) is None
