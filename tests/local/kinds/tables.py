"""Objects whose rows in a table are recorded: those of the written inputs, and pods and Jobs in many states."""

import datetime
import json
import pathlib
from typing import Any, Final

from jobset.local import resources
from jobset.local.objects import Object
from tests.local.kinds import inputs

FILE: Final = pathlib.Path(__file__).parent / 'tables.json'

_START: Final = '2026-01-01T00:00:00Z'
_RUNNING: Final = {'running': {'startedAt': _START}}
_DONE: Final = {'terminated': {'exitCode': 0, 'reason': 'Completed', 'finishedAt': _START}}
_FAILED: Final[Object] = {'terminated': {'exitCode': 3, 'reason': 'Error', 'finishedAt': _START}}


def _container(state: Object, name: str = 'main', **values: Any) -> Object:
    found = {'name': name, 'image': 'x', 'imageID': '', 'ready': False, 'restartCount': 0, 'state': state}
    return found | values


def _pod(phase: str, *containers: Object, initial: tuple[Object, ...] = (), **status: Any) -> Object:
    found = {'phase': phase, 'containerStatuses': list(containers), 'initContainerStatuses': list(initial)}
    return {f'status.{key}': value for key, value in (found | status).items()}


_SIDECAR: Final = {
    'spec.initContainers': [
        {'name': 'first', 'image': 'x'},
        {'name': 'side', 'image': 'x', 'restartPolicy': 'Always'},
    ]
}
_READY: Final[dict[str, Any]] = {
    'conditions': [{'type': 'Ready', 'status': 'True'}, {'type': 'Initialized', 'status': 'True'}]
}

PODS: Final[dict[str, tuple[inputs.Edits, inputs.Edits]]] = {
    'pending': ({}, {}),
    'gated': ({'spec.schedulingGates': [{'name': 'a/b'}]}, {}),
    'creating': ({}, _pod('Pending', _container({'waiting': {'reason': 'ContainerCreating'}}))),
    'running': (
        {},
        _pod('Running', _container(_RUNNING, ready=True), podIPs=[{'ip': '10.0.0.1'}], podIP='10.0.0.1', **_READY),
    ),
    'running unready': ({}, _pod('Running', _container(_RUNNING))),
    'done': ({}, _pod('Succeeded', _container(_DONE))),
    'failed': ({}, _pod('Failed', _container(_FAILED))),
    'failed by a signal': ({}, _pod('Failed', _container({'terminated': {'exitCode': 137, 'signal': 9}}))),
    'failed by a code': ({}, _pod('Failed', _container({'terminated': {'exitCode': 7}}))),
    'evicted': ({}, _pod('Failed', reason='Evicted')),
    'crashing': (
        {'spec.restartPolicy': 'Always'},
        _pod(
            'Running',
            _container({'waiting': {'reason': 'CrashLoopBackOff'}}, restartCount=5, lastState=_FAILED),
        ),
    ),
    'initializing': (_SIDECAR, _pod('Pending', _container({}), initial=(_container(_RUNNING, 'first'),))),
    'init done': (
        _SIDECAR,
        _pod('Pending', _container({}), initial=(_container(_DONE, 'first', restartCount=2), _container({}, 'side'))),
    ),
    'init failed': (_SIDECAR, _pod('Failed', _container({}), initial=(_container(_FAILED, 'first'),))),
    'init by a code': (
        _SIDECAR,
        _pod('Pending', _container({}), initial=(_container({'terminated': {'exitCode': 4}}, 'first'),)),
    ),
    'init crashing': (
        _SIDECAR,
        _pod('Pending', _container({}), initial=(_container({'waiting': {'reason': 'CrashLoopBackOff'}}, 'first'),)),
    ),
    'with a sidecar': (
        _SIDECAR,
        _pod(
            'Running',
            _container(_RUNNING, ready=True, restartCount=1),
            initial=(
                _container(_DONE, 'first', restartCount=3),
                _container(_RUNNING, 'side', ready=True, started=True, restartCount=2, lastState=_FAILED),
            ),
            **_READY,
        ),
    ),
    'two, one done': (
        {'spec.containers.1': {'name': 'other', 'image': 'x'}},
        _pod('Running', _container(_DONE), _container(_RUNNING, 'other', ready=True)),
    ),
    'two, one failed': (
        {'spec.containers.1': {'name': 'other', 'image': 'x'}},
        _pod('Failed', _container(_DONE), _container(_FAILED, 'other')),
    ),
    'readiness gates': (
        {'spec.readinessGates': [{'conditionType': 'a/b'}, {'conditionType': 'a/c'}]},
        _pod('Running', conditions=[{'type': 'a/b', 'status': 'True'}], nominatedNodeName='n'),
    ),
    'on a node': ({'spec.nodeName': 'node-1'}, {}),
}


def cases() -> list[inputs.Input]:
    """Every object whose row is recorded, with a name of its own."""
    found = [
        inputs.Input(name=f'pod: {name}', kind='pods', body=inputs.pod(base), change=status, subresource='status')
        for name, (base, status) in PODS.items()
    ]
    for name, entry in inputs.WRITTEN['job statuses'].items():
        found.append(
            inputs.Input(
                name=f'job: {name}',
                kind='jobs.batch',
                body=inputs.job(entry['base']),
                change=entry['status'],
                subresource='status',
            )
        )
    for name, body in inputs.WRITTEN['others'].items():
        found.append(inputs.Input(name=name, kind=name.partition(': ')[0], body=body))
    return found


def row(kind: resources.Kind, obj: Object, now: datetime.datetime) -> list[object]:
    """The cells of an object."""
    return [column.cell(obj, now) for column in kind.columns]


def definitions(kind: resources.Kind) -> list[list[object]]:
    """What is recorded of columns."""
    return [[column.name, column.type, column.format, column.priority] for column in kind.columns]


def load() -> dict[str, Any]:
    """What was recorded: by name the object, the time, the columns and the cells."""
    recorded: dict[str, Any] = json.loads(FILE.read_text())
    return recorded
