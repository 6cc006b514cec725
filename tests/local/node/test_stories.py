"""Pods on a node, from their creation to their end, as real processes."""

import pytest

from jobset.local.node.agent import Node
from tests.local.node.following import output, until_ended, until_logged
from tests.local.node.plane import Json, Plane
from tests.local.node.pods import condition, container, is_ready, is_running, pod, shown, state


async def test_success(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(container('echo hello; echo oops >&2')))

    ended = await plane.ended('one')

    assert ended['status']['phase'] == 'Succeeded'
    end = state(ended)
    assert (end['is'], end['exitCode'], end['reason']) == ('terminated', 0, 'Completed')
    assert sorted((await output(node, plane, 'one')).splitlines()) == ['hello', 'oops']
    assert plane.states('one')[0]['phase'] == 'Pending'
    assert condition(ended, 'Ready')['reason'] == 'PodCompleted'
    assert ended['status']['podIP'].startswith('127.')


@pytest.mark.parametrize(
    ('script', 'code'),
    [
        pytest.param('exit 7', 7, id='an exit code'),
        pytest.param('kill -TERM $$$$', 143, id='a signal'),
        pytest.param('kill -KILL $$$$', 137, id='a signal that nobody can take'),
    ],
)
async def test_failure(plane: Plane, node: Node, script: str, code: int) -> None:
    plane.put('pods', 'one', spec=pod(container(script)))

    ended = await plane.ended('one')

    end = state(ended)
    assert (ended['status']['phase'], end['exitCode'], end['reason']) == ('Failed', code, 'Error')
    assert shown(ended)['restartCount'] == 0


@pytest.mark.parametrize(
    ('changed', 'reason', 'message'),
    [
        pytest.param(
            {'command': ['nope']}, 'StartError', 'exec: "nope": executable file not found in $PATH', id='unknown'
        ),
        pytest.param(
            {'command': ['/no/such']},
            'StartError',
            'exec: "/no/such": stat /no/such: no such file or directory',
            id='no such path',
        ),
        pytest.param(
            {'command': ['/etc/passwd']}, 'StartError', 'exec: "/etc/passwd": permission denied', id='no program'
        ),
        pytest.param(
            {'command': None, 'args': ['x'], 'image': 'trainer:1'},
            'ContainerCannotRun',
            'container main names no command, and the image "trainer:1" is not run here: give the container a command, '
            'or map the image to one',
            id='no command',
        ),
    ],
)
async def test_commands_that_cannot_be_run(plane: Plane, node: Node, changed: Json, reason: str, message: str) -> None:
    plane.put('pods', 'one', spec=pod(container('') | changed))

    end = state(await plane.ended('one'))

    assert (end['exitCode'], end['reason'], end['message']) == (128, reason, message)


async def test_deletion_asks_first(plane: Plane, node: Node) -> None:
    script = 'trap "echo asked; exit 3" TERM; echo up; while :; do sleep 0.05; done'
    plane.put('pods', 'one', spec=pod(container(script)))
    await plane.until(lambda: is_running(plane.pod('one')))
    await until_logged(node, plane, 'one', 'up')

    await plane.delete('one')
    await plane.gone('one')

    last = plane.states('one')[-1]
    assert last['phase'] == 'Failed'
    assert last['containerStatuses'][0]['state']['terminated']['exitCode'] == 3


async def test_deletion_of_the_deaf(plane: Plane, node: Node) -> None:
    script = 'trap "" TERM; echo up; while :; do sleep 0.05; done'
    plane.put('pods', 'one', spec=pod(container(script), terminationGracePeriodSeconds=1))
    await until_logged(node, plane, 'one', 'up')

    await plane.delete('one')
    await plane.gone('one')

    end = plane.states('one')[-1]['containerStatuses'][0]['state']['terminated']
    assert (end['exitCode'], end['reason']) == (137, 'Error')


async def test_forced_deletion_leaves_nothing(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(container('trap "" TERM; echo $$$$; while :; do sleep 0.05; done')))
    pid = int(await until_logged(node, plane, 'one', '\n'))

    await plane.delete('one', grace=0)

    await until_ended(pid)


async def test_hooks(plane: Plane, node: Node) -> None:
    lifecycle = {
        'postStart': {'exec': {'command': ['sh', '-c', 'echo started > /data/hooks']}},
        'preStop': {'exec': {'command': ['sh', '-c', 'echo stopping >> /data/hooks']}},
    }
    mounts = [{'name': 'data', 'mountPath': '/data'}]
    script = 'trap "cat /data/hooks; exit 0" TERM; while :; do sleep 0.05; done'
    spec = pod(container(script, lifecycle=lifecycle, volumeMounts=mounts), volumes=[{'name': 'data'}])
    plane.put('pods', 'one', spec=spec)
    await plane.until(lambda: is_ready(plane.pod('one')))
    before = plane.pod('one')

    # With a finalizer the object stays until somebody has read the log.
    plane.put('pods', 'one', **(before | {'metadata': before['metadata'] | {'finalizers': ['x/y']}}))
    await plane.delete('one')
    ended = await plane.ended('one')

    assert (await output(node, plane, 'one')).endswith('started\nstopping\n')
    assert ended['status']['phase'] == 'Succeeded'


async def test_restarts_on_failure(plane: Plane, node: Node) -> None:
    script = 'echo x >> /data/runs; test $(wc -l < /data/runs) -ge 3'
    spec = pod(
        container(script, volumeMounts=[{'name': 'data', 'mountPath': '/data'}]),
        volumes=[{'name': 'data', 'emptyDir': {}}],
        restartPolicy='OnFailure',
    )
    plane.put('pods', 'one', spec=spec)

    ended = await plane.ended('one')

    assert (ended['status']['phase'], shown(ended)['restartCount']) == ('Succeeded', 2)
    assert shown(ended)['lastState']['terminated']['exitCode'] == 1
    waits = [
        one['containerStatuses'][0]['state']['waiting']
        for one in plane.states('one')
        if 'waiting' in one['containerStatuses'][0]['state']
    ]
    assert 'CrashLoopBackOff' in {wait['reason'] for wait in waits}
    assert any(note.startswith('Back-off restarting failed container main in pod one_') for note in plane.notes())


async def test_rule_restarts_one_container(plane: Plane, node: Node) -> None:
    rule = {'action': 'Restart', 'exitCodes': {'operator': 'In', 'values': [42]}}
    script = 'echo x >> /data/runs; test $(wc -l < /data/runs) -ge 2 && exit 5; exit 42'
    mounts = [{'name': 'data', 'mountPath': '/data'}]
    main = container(script, restartPolicy='Never', restartPolicyRules=[rule], volumeMounts=mounts)
    plane.put('pods', 'one', spec=pod(main, volumes=[{'name': 'data', 'emptyDir': {}}]))

    ended = await plane.ended('one')

    assert (state(ended)['exitCode'], shown(ended)['restartCount']) == (5, 1)


async def test_rule_restarts_all_containers(plane: Plane, node: Node) -> None:
    rule = {'action': 'RestartAllContainers', 'exitCodes': {'operator': 'NotIn', 'values': [0]}}
    mounts = [{'name': 'data', 'mountPath': '/data'}]
    init = container('echo init >> /data/runs', 'init', volumeMounts=mounts)
    failing = 'test $(grep -c init /data/runs) -ge 2 && exit 0; exit 1'
    main = container(failing, restartPolicy='Never', restartPolicyRules=[rule], volumeMounts=mounts)
    deaf = 'trap "" TERM; while test $(grep -c init /data/runs) -lt 2; do sleep 0.05; done; cat /data/runs'
    other = container(deaf, 'other', volumeMounts=mounts)
    spec = pod(main, other, initContainers=[init], volumes=[{'name': 'data', 'emptyDir': {}}])
    plane.put('pods', 'one', spec=spec)

    ended = await plane.ended('one')

    assert ended['status']['phase'] == 'Succeeded'
    assert [shown(ended, name)['restartCount'] for name in ('init', 'main', 'other')] == [1, 1, 1]
    last = shown(ended, 'other')['lastState']['terminated']
    assert (last['exitCode'], last['reason']) == (137, 'RestartingAllContainers')
    seen = [one for status in plane.states('one') for one in status['conditions'] if one['type'].startswith('All')]
    assert {'True', 'False'} == {one['status'] for one in seen}
    assert seen[-1]['status'] == 'False'
    assert await output(node, plane, 'one', 'other') == 'init\ninit\n'
    assert len({status.get('podIP') for status in plane.states('one')} - {None}) == 1


async def test_init_containers_in_order(plane: Plane, node: Node) -> None:
    mounts = [{'name': 'data', 'mountPath': '/data'}]
    inits = [container(f'echo {name} >> /data/order', name, volumeMounts=mounts) for name in ('a', 'b')]
    main = container('cat /data/order', volumeMounts=mounts)
    plane.put('pods', 'one', spec=pod(main, initContainers=inits, volumes=[{'name': 'data'}]))

    await plane.ended('one')

    assert await output(node, plane, 'one') == 'a\nb\n'


async def test_failed_init_container(plane: Plane, node: Node) -> None:
    inits = [container('exit 9', 'a'), container('true', 'b')]
    plane.put('pods', 'one', spec=pod(container('true'), initContainers=inits))

    ended = await plane.ended('one')

    assert ended['status']['phase'] == 'Failed'
    assert state(ended, 'a')['exitCode'] == 9
    assert condition(ended, 'Initialized')['status'] == 'False'


async def test_sidecar(plane: Plane, node: Node) -> None:
    mounts = [{'name': 'data', 'mountPath': '/data'}]
    probe = {'exec': {'command': ['test', '-e', '/data/up']}, 'periodSeconds': 0.05}
    script = 'trap "echo side >> /data/ends; cat /data/ends; exit 0" TERM; touch /data/up; while :; do sleep 0.05; done'
    side = container(script, 'side', restartPolicy='Always', startupProbe=probe, volumeMounts=mounts)
    main = container('test -e /data/up && echo main >> /data/ends', volumeMounts=mounts)
    plane.put('pods', 'one', spec=pod(main, initContainers=[side], volumes=[{'name': 'data'}]))

    ended = await plane.ended('one')

    assert ended['status']['phase'] == 'Succeeded'
    assert (await output(node, plane, 'one', 'side')).endswith('main\nside\n')


async def test_readiness(plane: Plane, node: Node) -> None:
    mounts = [{'name': 'data', 'mountPath': '/data'}]
    probe = {'exec': {'command': ['test', '-e', '/data/go']}, 'periodSeconds': 0.05}
    script = 'while test ! -e /data/seen; do sleep 0.05; done; touch /data/go; exec sleep 100'
    spec = pod(
        container(script, readinessProbe=probe, volumeMounts=mounts),
        volumes=[{'name': 'data', 'hostPath': {'path': str(node.logs.folder)}}],
    )
    plane.put('pods', 'one', spec=spec)
    await plane.until(lambda: is_running(plane.pod('one')))
    assert condition(plane.pod('one'), 'ContainersReady')['message'] == 'containers with unready status: [main]'

    (node.logs.folder / 'seen').touch()

    await plane.until(lambda: is_ready(plane.pod('one')))


async def test_liveness(plane: Plane, node: Node) -> None:
    probe = {'exec': {'command': ['false']}, 'periodSeconds': 0.05, 'failureThreshold': 2}
    spec = pod(
        container('exec sleep 100', livenessProbe=probe), restartPolicy='Always', terminationGracePeriodSeconds=1
    )
    plane.put('pods', 'one', spec=spec)

    await plane.until(lambda: 'status' in plane.pod('one') and shown(plane.pod('one'))['restartCount'] >= 1)

    assert shown(plane.pod('one'))['lastState']['terminated']['exitCode'] == 143


async def test_http_and_tcp_probes(plane: Plane, node: Node) -> None:
    serve: Json = {'name': 'web', 'image': 'x', 'command': ['python3', '-u', '-c', _SERVER]}
    serve |= {'ports': [{'name': 'http', 'containerPort': 18080}]}
    serve |= {'readinessProbe': {'httpGet': {'port': 'http', 'path': '/ok'}, 'periodSeconds': 0.1}}
    serve |= {'startupProbe': {'tcpSocket': {'port': 18080}, 'periodSeconds': 0.1, 'failureThreshold': 100}}
    plane.put('pods', 'one', spec=pod(serve))

    await plane.until(lambda: is_ready(plane.pod('one')))


_SERVER = """
import http.server, os, socket
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == '/ok' else 404)
        self.end_headers()
http.server.HTTPServer((socket.gethostbyname(socket.gethostname()), 18080), Handler).serve_forever()
"""


async def test_deadline(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(container('exec sleep 100'), activeDeadlineSeconds=1))

    ended = await plane.ended('one')

    assert ended['status']['reason'] == 'DeadlineExceeded'
    assert ended['status']['message'] == 'Pod was active on the node longer than the specified deadline'
    assert ended['status']['phase'] == 'Failed'


async def test_messages(plane: Plane, node: Node) -> None:
    own = container('echo -n because > /dev/termination-log; exit 1', 'own')
    logged = container('echo the end; exit 1', 'logged', terminationMessagePolicy='FallbackToLogsOnError')
    plane.put('pods', 'one', spec=pod(own, logged))

    ended = await plane.ended('one')

    assert state(ended, 'own')['message'] == 'because'
    assert state(ended, 'logged')['message'] == 'the end\n'


async def test_a_command_in_a_container(plane: Plane, node: Node) -> None:
    spec = pod(container('exec sleep 100', env=[{'name': 'X', 'value': 'seen'}]), hostname='inside')
    plane.put('pods', 'one', spec=spec)
    await plane.until(lambda: is_running(plane.pod('one')))

    assert await node.execute('default', 'one', ['sh', '-c', 'hostname; echo $X; exit 4']) == (4, 'inside\nseen\n')
    assert (await node.execute('default', 'one', ['nope']))[0] == 127
    with pytest.raises(LookupError, match='there is no pod default/two on this node'):
        await node.execute('default', 'two', ['true'])
    with pytest.raises(LookupError, match='container other of pod one does not run'):
        await node.execute('default', 'one', ['true'], 'other')
