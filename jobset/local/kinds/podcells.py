"""The columns of pods."""

import datetime
from collections.abc import Iterable
from typing import Any, Final

from jobset.local.kinds import cells
from jobset.local.objects import Object
from jobset.local.resources import Column


def _statuses(pod: Object, key: str) -> list[Any]:
    return (pod.get('status') or {}).get(key) or []


def _sidecars(pod: Object) -> frozenset[str]:
    initial = pod['spec'].get('initContainers') or ()
    return frozenset(each['name'] for each in initial if each.get('restartPolicy') == 'Always')


class _Summary:
    """What the containers of a pod come to. Later findings overrule earlier ones, as in kubectl."""

    def __init__(self, pod: Object) -> None:
        self.pod = pod
        self.ready = 0
        self.restarts = 0
        self.restarted_at = ''
        status = pod.get('status') or {}
        self.text: str = status.get('reason') or status.get('phase') or ''
        scheduled = cells.condition(pod, 'PodScheduled')
        if scheduled and scheduled.get('reason') == 'SchedulingGated':
            self.text = 'SchedulingGated'
        initializing = self._initial()
        initialized = (cells.condition(pod, 'Initialized') or {}).get('status') == 'True'
        if not initializing or initialized:
            self._regular()
        if (pod.get('metadata') or {}).get('deletionTimestamp'):
            if status.get('reason') == 'NodeLost':
                self.text = 'Unknown'
            elif status.get('phase') not in ('Succeeded', 'Failed'):
                self.text = 'Terminating'

    def _count(self, status: Object) -> None:
        self.restarts += status.get('restartCount', 0)
        last = (status.get('lastState') or {}).get('terminated') or {}
        self.restarted_at = max(self.restarted_at, last.get('finishedAt') or '')

    def _initial(self) -> bool:
        sidecars = _sidecars(self.pod)
        for i, status in enumerate(_statuses(self.pod, 'initContainerStatuses')):
            self._count(status)
            state = status.get('state') or {}
            ended = state.get('terminated')
            if ended is not None and ended.get('exitCode', 0) == 0:
                continue
            if status.get('name') in sidecars and status.get('started'):
                self.ready += bool(status.get('ready'))
                continue
            waiting = (state.get('waiting') or {}).get('reason')
            if ended is not None:
                self.text = f'Init:{_end(ended)}'
            elif waiting and waiting != 'PodInitializing':
                self.text = f'Init:{waiting}'
            else:
                self.text = f'Init:{i}/{len(self.pod["spec"].get("initContainers") or ())}'
            return True
        return False

    def _regular(self) -> None:
        sidecars = _sidecars(self.pod)
        self.restarts, self.restarted_at = 0, ''
        for status in _statuses(self.pod, 'initContainerStatuses'):
            if status.get('name') in sidecars:
                self._count(status)
        running, error = False, ''
        for status in reversed(_statuses(self.pod, 'containerStatuses')):
            self._count(status)
            state = status.get('state') or {}
            ended, waiting = state.get('terminated'), (state.get('waiting') or {}).get('reason')
            if waiting:
                self.text = waiting
            elif ended is not None:
                self.text = _end(ended)
                if ended.get('exitCode', 0) != 0:
                    error = self.text
            elif status.get('ready') and 'running' in state:
                running = True
                self.ready += 1
        if self.text == 'Completed':
            if running and (cells.condition(self.pod, 'Ready') or {}).get('status') == 'True':
                self.text = 'Running'
            elif error:
                self.text = error
            elif running:
                self.text = 'NotReady'


def _end(ended: Object) -> str:
    if reason := ended.get('reason'):
        return str(reason)
    if signal := ended.get('signal'):
        return f'Signal:{signal}'
    return f'ExitCode:{ended.get("exitCode", 0)}'


def _ready(pod: Object, _: datetime.datetime) -> str:
    return f'{_Summary(pod).ready}/{len(pod["spec"].get("containers") or ()) + len(_sidecars(pod))}'


def status(pod: Object) -> str:
    """The state of a pod in one word, as ``Running``, ``CrashLoopBackOff`` or ``Init:0/1``."""
    return _Summary(pod).text


def _restarts(pod: Object, now: datetime.datetime) -> str:
    summary = _Summary(pod)
    if summary.restarts and summary.restarted_at:
        return f'{summary.restarts} ({cells.since(summary.restarted_at, now)} ago)'
    return str(summary.restarts)


def _address(pod: Object, _: datetime.datetime) -> str:
    addresses: Iterable[Any] = (pod.get('status') or {}).get('podIPs') or ()
    return next((entry['ip'] for entry in addresses if entry.get('ip')), cells.NONE)


def _gates(pod: Object, _: datetime.datetime) -> str:
    gates = pod['spec'].get('readinessGates') or ()
    if not gates:
        return cells.NONE
    met = sum((cells.condition(pod, gate['conditionType']) or {}).get('status') == 'True' for gate in gates)
    return f'{met}/{len(gates)}'


COLUMNS: Final = (
    cells.NAME,
    Column('Ready', _ready, description='The aggregate readiness state of this pod for accepting traffic.'),
    Column(
        'Status',
        lambda pod, _: status(pod),
        description='The aggregate status of the containers in this pod.',
    ),
    Column(
        'Restarts',
        _restarts,
        description='The number of times the containers in this pod have been restarted and when the last container in '
        'this pod has restarted.',
    ),
    cells.AGE,
    Column('IP', _address, priority=1),
    Column('Node', lambda pod, _: pod['spec'].get('nodeName') or cells.NONE, priority=1),
    Column(
        'Nominated Node',
        lambda pod, _: (pod.get('status') or {}).get('nominatedNodeName') or cells.NONE,
        priority=1,
    ),
    Column('Readiness Gates', _gates, priority=1),
)
