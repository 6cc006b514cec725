"""What containers find: volumes at their paths, variables, names, the folder they start in."""

import base64
import os
from pathlib import Path

import pytest

from jobset.local.node.agent import Node
from tests.local.node.conftest import running
from tests.local.node.following import output, until_logged
from tests.local.node.plane import Json, Plane
from tests.local.node.pods import condition, container, is_ready, pod, shown, state


def mounted(script: str, *paths: str, **more: object) -> Json:
    mounts = [{'name': 'v', 'mountPath': path} for path in paths]
    return container(script, volumeMounts=[mount | more for mount in mounts])


@pytest.mark.parametrize(
    'path',
    [
        pytest.param('/data', id='a new folder of the root'),
        pytest.param('/data/deep/below', id='new folders'),
        pytest.param('/opt/new', id='in a folder of the machine'),
        pytest.param('/usr/share', id='over a folder of the machine'),
        pytest.param('/var/run/secrets/kubernetes.io/serviceaccount', id='behind a link'),
        pytest.param('/etc/config', id='in a folder with other mounts'),
    ],
)
async def test_mount_paths(plane: Plane, node: Node, path: str) -> None:
    script = f'echo hello > {path}/file && cat {path}/file && ls /bin/sh /etc/passwd /dev/null'
    plane.put('pods', 'one', spec=pod(mounted(script, path), volumes=[{'name': 'v', 'emptyDir': {}}]))

    ended = await plane.ended('one')

    assert await output(node, plane, 'one') == 'hello\n/bin/sh\n/dev/null\n/etc/passwd\n'
    assert ended['status']['phase'] == 'Succeeded'


async def test_nothing_is_left_on_the_machine(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(mounted('touch /opt/new/file', '/opt/new', '/data'), volumes=[{'name': 'v'}]))

    await plane.ended('one')

    assert [path for path in ('/opt/new', '/data') if os.path.exists(path)] == []  # noqa: ASYNC240, PTH110


async def test_config_map_and_secret(plane: Plane, node: Node) -> None:
    plane.put('configmaps', 'c', data={'a': 'one', 'b': 'two'}, binaryData={'bin': 'AAE='})
    plane.put('secrets', 's', data={'password': base64.b64encode(b'hush').decode()})
    volumes = [
        {'name': 'c', 'configMap': {'name': 'c'}},
        {'name': 'items', 'configMap': {'name': 'c', 'items': [{'key': 'a', 'path': 'x/y', 'mode': 0o400}]}},
        {'name': 's', 'secret': {'secretName': 's', 'defaultMode': 0o440}},
        {'name': 'none', 'secret': {'secretName': 'missing', 'optional': True}},
        {
            'name': 'p',
            'projected': {
                'sources': [
                    {'configMap': {'name': 'c', 'items': [{'key': 'b', 'path': 'b'}]}},
                    {'secret': {'name': 's'}},
                    {'downwardAPI': {'items': [{'path': 'labels', 'fieldRef': {'fieldPath': 'metadata.labels'}}]}},
                    {'serviceAccountToken': {'path': 'token'}},
                ]
            },
        },
    ]
    mounts = [{'name': volume['name'], 'mountPath': f'/v/{volume["name"]}'} for volume in volumes]
    mounts.append({'name': 'c', 'mountPath': '/one', 'subPath': 'a'})
    script = (
        'cd /v; cat c/a c/b items/x/y s/password one 2>/dev/null; cat /one; stat -c %a items/x/y s/password; ls none; '
        'cat p/b p/password p/labels; echo; od -An -tx1 c/bin; ls p; touch c/new 2>/dev/null || echo read-only'
    )
    plane.put(
        'pods',
        'one',
        metadata={'name': 'one', 'labels': {'k': 'v"w', 'a': 'b'}},
        spec=pod(container(script, volumeMounts=mounts), volumes=volumes),
    )

    await plane.ended('one')

    text = await output(node, plane, 'one')
    assert text.startswith('onetwoonehushone400\n440\ntwohusha="b"\nk="v\\"w"\n 00 01\nb\nlabels\npassword\ntoken\n')
    assert text.endswith('read-only\n')


async def test_a_config_map_that_comes_later(plane: Plane, node: Node) -> None:
    volumes = [{'name': 'v', 'configMap': {'name': 'late'}}]
    plane.put('pods', 'one', spec=pod(mounted('cat /v/a', '/v'), volumes=volumes))
    await plane.until(lambda: any('configmap "late" not found' in note for note in plane.notes()))
    assert plane.phase('one') == 'Pending'

    plane.put('configmaps', 'late', data={'a': 'here'})
    await plane.ended('one')

    assert await output(node, plane, 'one') == 'here'


async def test_claim(plane: Plane, node: Node, tmp_path: Path) -> None:
    plane.put('persistentvolumes', 'pv', '', spec={'hostPath': {'path': str(tmp_path / 'disk')}})
    plane.put('persistentvolumeclaims', 'mine', spec={'volumeName': 'pv'}, status={'phase': 'Bound'})
    volumes = [{'name': 'v', 'persistentVolumeClaim': {'claimName': 'mine'}}]
    plane.put('pods', 'w', spec=pod(mounted('echo kept > /data/file', '/data'), volumes=volumes))
    await plane.ended('w')
    plane.put('pods', 'r', spec=pod(mounted('cat /data/file; touch /data/x', '/data', readOnly=True), volumes=volumes))

    ended = await plane.ended('r')

    assert 'kept\n' in await output(node, plane, 'r')
    assert state(ended)['exitCode'] == 1


async def test_environment(plane: Plane, node: Node) -> None:
    plane.put('configmaps', 'c', data={'A': 'a', 'B': 'b'})
    plane.put('secrets', 's', data={'S': base64.b64encode(b'hush').decode()})
    plane.put('services', 'web', spec={'clusterIP': '10.0.0.1', 'ports': [{'port': 80}]})
    main = container(
        'echo "$A $B $P_S $NAME $IP $CPU $MEM $BOTH $NONE $LIT $HOSTNAME $WEB_SERVICE_HOST $WEB_SERVICE_PORT '
        '$(VAR) $0"',
        envFrom=[{'configMapRef': {'name': 'c'}}, {'prefix': 'P_', 'secretRef': {'name': 's'}}],
        env=[
            {'name': 'B', 'value': 'mine'},
            {'name': 'NAME', 'valueFrom': {'fieldRef': {'fieldPath': "metadata.labels['x/y']"}}},
            {'name': 'IP', 'valueFrom': {'fieldRef': {'fieldPath': 'status.podIP'}}},
            {'name': 'CPU', 'valueFrom': {'resourceFieldRef': {'resource': 'limits.cpu'}}},
            {'name': 'MEM', 'valueFrom': {'resourceFieldRef': {'resource': 'requests.memory', 'divisor': '1Mi'}}},
            {'name': 'BOTH', 'value': '$(NAME)-$(B)-$(LATER)'},
            {'name': 'NONE', 'valueFrom': {'configMapKeyRef': {'name': 'no', 'key': 'x', 'optional': True}}},
            {'name': 'LIT', 'value': '$$(NAME)'},
            {'name': 'VAR', 'value': 'expanded'},
        ],
        resources={'limits': {'cpu': '1500m'}, 'requests': {'memory': '100Mi'}},
    )
    main['args'] = ['$(NAME)']
    plane.put('pods', 'one', metadata={'name': 'one', 'labels': {'x/y': 'label'}}, spec=pod(main))

    ended = await plane.ended('one')

    ip = ended['status']['podIP']
    assert await output(node, plane, 'one') == (
        f'a mine hush label {ip} 2 100 label-mine-$(LATER)  $(NAME) one web.default.svc 80 expanded label\n'
    )
    assert ended['status']['qosClass'] == 'Burstable'


@pytest.mark.parametrize(
    ('origin', 'message'),
    [
        ({'configMapKeyRef': {'name': 'no', 'key': 'x'}}, 'configmap "no" not found'),
        ({'secretKeyRef': {'name': 'no', 'key': 'x'}}, 'secret "no" not found'),
        ({'configMapKeyRef': {'name': 'c', 'key': 'x'}}, "couldn't find key x in ConfigMap default/c"),
    ],
)
async def test_missing_sources(plane: Plane, node: Node, origin: Json, message: str) -> None:
    plane.put('configmaps', 'c', data={})
    plane.put('pods', 'one', spec=pod(container('true', env=[{'name': 'X', 'valueFrom': origin}])))

    await plane.until(lambda: 'status' in plane.pod('one') and state(plane.pod('one')).get('message'))

    waiting = state(plane.pod('one'))
    assert (waiting['reason'], waiting['message']) == ('CreateContainerConfigError', message)
    assert plane.phase('one') == 'Pending'


async def test_working_folder(plane: Plane, node: Node) -> None:
    plane.put('pods', 'given', spec=pod(container('pwd', workingDir='/some/where')))
    plane.put('pods', 'own', spec=pod(container('pwd; touch file')))

    await plane.ended('given')
    ended = await plane.ended('own')

    assert await output(node, plane, 'given') == '/some/where\n'
    assert await output(node, plane, 'own') == f'{node.logs.folder.parent}/pods/{ended["metadata"]["uid"]}/work\n'


async def test_names(plane: Plane, node: Node) -> None:
    plane.put('services', 'net', spec={'clusterIP': 'None', 'selector': {'app': 'x'}, 'publishNotReadyAddresses': True})
    named = {'subdomain': 'net', 'hostname': 'server'}
    plane.put(
        'pods', 'server', metadata={'name': 'server', 'labels': {'app': 'x'}}, spec=pod(container(_SERVER), **named)
    )
    await until_logged(node, plane, 'server', 'up')

    plane.put('pods', 'client', spec=pod(container(_CLIENT), hostname='client'))
    ended = await plane.ended('client')

    ip = plane.pod('server')['status']['podIP']
    text = await output(node, plane, 'client')
    assert text.splitlines() == [*[f'{ip} answered'] * 5, f'{ip} server.net.default.svc.cluster.local', 'client']
    assert ended['status']['phase'] == 'Succeeded'
    assert await output(node, plane, 'server', previous=False) == 'server up\n'


_SERVER = """
exec python3 -u - <<'END'
import socket
with socket.create_server((socket.gethostbyname('server.net'), 29500)) as server:
    print(socket.gethostname(), 'up')
    while True:
        peer, _ = server.accept()
        with peer:
            peer.sendall(b'answered')
END
"""

_CLIENT = """
python3 - <<'END'
import socket
full = 'server.net.default.svc.cluster.local'
for name in ('server.net', 'server.net.default', 'server.net.default.svc', full, 'net'):
    with socket.create_connection((name, 29500), timeout=5) as peer:
        print(peer.getpeername()[0], peer.recv(100).decode())
END
getent hosts server.net.default.svc | awk '{print $1, $2}'
hostname
"""


async def test_names_follow_readiness(plane: Plane, node: Node) -> None:
    plane.put('services', 'net', spec={'clusterIP': 'None', 'selector': {'app': 'x'}})
    waits = 'until getent hosts net >/dev/null; do sleep 0.05; done; getent ahostsv4 net | sort -u | wc -l'
    plane.put('pods', 'watcher', spec=pod(container(waits)))
    await plane.until(lambda: 'status' in plane.pod('watcher'))
    meta = {'labels': {'app': 'x'}}
    plane.put('pods', 'a', metadata={'name': 'a', **meta}, spec=pod(container('exec sleep 100')))

    ended = await plane.ended('watcher')

    assert is_ready(plane.pod('a'))
    assert ended['status']['phase'] == 'Succeeded'


async def test_without_namespaces(plane: Plane, tmp_path: Path) -> None:
    async with running(plane, tmp_path / 'node', namespaces=False) as node:
        plane.put('services', 'net', spec={'clusterIP': 'None', 'selector': {'app': 'x'}})
        meta = {'name': 'server', 'labels': {'app': 'x'}}
        spec = pod(container('exec sleep 100'), subdomain='net', hostname='server')
        plane.put('pods', 'server', metadata=meta, spec=spec)
        await plane.until(lambda: is_ready(plane.pod('server')))
        plane.put('pods', 'one', spec=pod(mounted(_BARE, '/data'), volumes=[{'name': 'v'}]))

        await plane.ended('one')

        assert await output(node, plane, 'one') == f'x\n{plane.pod("server")["status"]["podIP"]}\n'
    assert any(
        'volumes are not at /data but where the variables JOBSET_VOLUME_<NAME> say' in note for note in plane.notes()
    )


_BARE = """
echo x > $JOBSET_VOLUME_V/f
cat $JOBSET_VOLUME_V/f
python3 -c "import socket; print(socket.gethostbyname('server.net'))"
"""


async def test_two_clusters_do_not_meet(tmp_path: Path) -> None:
    first, second = Plane(), Plane()
    async with running(first, tmp_path / 'a'), running(second, tmp_path / 'b'):
        for plane in (first, second):
            plane.put('pods', 'one', spec=pod(container('true')))
            await plane.ended('one')

    prefixes = [plane.pod('one')['status']['podIP'].rsplit('.', 2)[0] for plane in (first, second)]
    assert prefixes[0] != prefixes[1]


async def test_registration(plane: Plane, node: Node) -> None:
    registered = plane.get('nodes', 'here', '')
    lease = plane.get('leases', 'here', 'kube-node-lease')

    assert registered is not None
    assert lease is not None
    status = registered['status']
    assert {one['type']: one['status'] for one in status['conditions']} == {
        'MemoryPressure': 'False',
        'DiskPressure': 'False',
        'PIDPressure': 'False',
        'Ready': 'True',
    }
    assert int(status['allocatable']['cpu']) == len(os.sched_getaffinity(0))
    assert registered['metadata']['labels']['kubernetes.io/hostname'] == 'here'
    assert lease['spec']['holderIdentity'] == 'here'


async def test_sub_path(plane: Plane, node: Node) -> None:
    main = container(
        'touch /data/file; ls /all',
        env=[{'name': 'POD', 'valueFrom': {'fieldRef': {'fieldPath': 'metadata.name'}}}],
        volumeMounts=[
            {'name': 'v', 'mountPath': '/data', 'subPathExpr': '$(POD)'},
            {'name': 'v', 'mountPath': '/all'},
        ],
    )
    plane.put('pods', 'one', spec=pod(main, volumes=[{'name': 'v'}]))

    ended = await plane.ended('one')

    assert await output(node, plane, 'one') == 'one\n'
    assert shown(ended)['volumeMounts'] == [
        {'name': 'v', 'mountPath': '/data'},
        {'name': 'v', 'mountPath': '/all'},
    ]
    assert condition(ended, 'PodScheduled')['status'] == 'True'
