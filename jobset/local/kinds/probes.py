"""Probes and hooks of containers."""

from typing import Final

from jobset.local.kinds import checks, faults, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

_COUNTS: Final = ('initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold')
_HANDLERS: Final = ('exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep')


def check(path: str, probe: Object, grace: int | None, *, ready: bool) -> list[Cause]:
    """Mistakes in a probe; ``ready`` says that it is that of readiness."""
    causes = _handler(path, probe, grace)
    for key in _COUNTS:
        causes += faults.not_negative(f'{path}.{key}', probe.get(key))
    own_grace = probe.get('terminationGracePeriodSeconds')
    if own_grace is not None and own_grace <= 0:
        causes.append(faults.invalid(f'{path}.terminationGracePeriodSeconds', own_grace, 'must be greater than 0'))
    if ready:
        if own_grace is not None:
            text = 'must not be set for readinessProbes'
            causes.append(faults.invalid(f'{path}.terminationGracePeriodSeconds', own_grace, text))
    elif (threshold := probe.get('successThreshold')) != 1:
        causes.append(faults.invalid(f'{path}.successThreshold', threshold, 'must be 1'))
    return causes


def lifecycle(path: str, found: Object, grace: int | None) -> list[Cause]:
    """Mistakes in the hooks of a container."""
    causes: list[Cause] = []
    for key in ('postStart', 'preStop'):
        if (handler := found.get(key)) is not None:
            causes += _handler(f'{path}.{key}', handler, grace)
    return causes


def _handler(path: str, found: Object, grace: int | None) -> list[Cause]:
    causes: list[Cause] = []
    count = 0
    for key in _HANDLERS:
        if (action := found.get(key)) is None:
            continue
        count += 1
        if count > 1:
            causes.append(faults.forbidden(f'{path}.{key}', 'may not specify more than 1 handler type'))
        else:
            causes += _action(f'{path}.{key}', key, action, grace)
    return causes if count else [faults.required(path, 'must specify a handler type')]


def _action(path: str, key: str, action: Object, grace: int | None) -> list[Cause]:
    match key:
        case 'exec':
            return [] if action.get('command') else [faults.required(f'{path}.command')]
        case 'httpGet':
            return _get(path, action)
        case 'tcpSocket':
            return checks.port_or_name(f'{path}.port', action.get('port', 0))
        case 'grpc':
            return checks.port_or_name(f'{path}.port', action.get('port', 0))
    seconds = action.get('seconds', 0)
    if grace is not None and not 0 <= seconds <= grace:
        text = f'must be non-negative and less than terminationGracePeriodSeconds ({grace})'
        return [faults.invalid(path, shown.Raw(str(seconds)), text)]
    return []


def _get(path: str, action: Object) -> list[Cause]:
    causes = [] if action.get('path') else [faults.required(f'{path}.path')]
    causes += checks.port_or_name(f'{path}.port', action.get('port', 0))
    if action.get('scheme') not in ('HTTP', 'HTTPS'):
        causes.append(faults.unsupported(f'{path}.scheme', action.get('scheme', ''), ('HTTP', 'HTTPS')))
    for entry in action.get('httpHeaders') or ():
        name = entry.get('name', '')
        causes += faults.each_invalid(f'{path}.httpHeaders', name, checks.header(name))
    return causes
