"""Pods for stories, in few words."""

from typing import Any

from tests.local.node.plane import Json


def container(script: str, name: str = 'main', **more: Any) -> Json:
    made: Json = {'name': name, 'image': 'busybox', 'command': ['sh', '-c', script]}
    return made | more


def pod(*containers: Json, **spec: Any) -> Json:
    return {'nodeName': 'here', 'restartPolicy': 'Never', 'containers': list(containers)} | spec


def state(pod: Json, name: str = 'main') -> Json:
    """The one state of a container, with its kind."""
    ((kind, found),) = shown(pod, name)['state'].items()
    return {'is': kind, **found}


def shown(pod: Json, name: str = 'main') -> Json:
    status = pod['status']
    every = [*status.get('initContainerStatuses', ()), *status.get('containerStatuses', ())]
    return next(one for one in every if one['name'] == name)


def condition(pod: Json, kind: str) -> Json:
    return next((one for one in pod['status'].get('conditions') or () if one['type'] == kind), {'status': None})


def is_ready(pod: Json) -> bool:
    return bool('status' in pod and condition(pod, 'Ready')['status'] == 'True')


def is_running(pod: Json, name: str = 'main') -> bool:
    return 'containerStatuses' in pod.get('status', {}) and 'running' in shown(pod, name)['state']
