"""What a pod gets that did not say it: for a pod and for the template of one, which differ.

The objects are in normal form already (:mod:`.normal`), so that what is empty is not there.
"""

import functools
import re
from collections.abc import Iterable
from typing import Any, Final

from jobset.local.objects import Object

GRACE_SECONDS: Final = 30
SCHEDULER: Final = 'default-scheduler'
FILE_MODE: Final = 0o644

_IMAGE: Final = re.compile(
    r'(?P<name>(?:[\w.-]+(?::\d+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)'
    r'(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>[A-Za-z][\w+.-]*:[0-9a-fA-F]{32,}))?',
    re.ASCII,
)
_IDENTIFIER: Final = re.compile('[a-f0-9]{64}')


def spec(found: Object) -> None:
    """Complete the spec of a pod or of a template, in place."""
    account = found.get('serviceAccountName') or found.get('serviceAccount')
    if account:
        found['serviceAccountName'] = found['serviceAccount'] = account
    _set(found, 'dnsPolicy', 'ClusterFirst')
    _set(found, 'restartPolicy', 'Always')
    if 'securityContext' not in found:
        found['securityContext'] = {}
    _set(found, 'terminationGracePeriodSeconds', GRACE_SECONDS)
    _set(found, 'schedulerName', SCHEDULER)
    for volume in found.get('volumes') or ():
        _volume(volume)
    for key in ('initContainers', 'containers', 'ephemeralContainers'):
        for container in found.get(key) or ():
            _container(container)


def pod(found: Object) -> None:
    """Complete the spec of a pod by what templates do not get. Call it after :func:`spec`."""
    if found['terminationGracePeriodSeconds'] < 0:
        found['terminationGracePeriodSeconds'] = 1
    on_host = found.get('hostNetwork')
    for key in ('containers', 'initContainers'):
        for container in found.get(key) or ():
            _requests(container['resources'])
            if on_host:
                for port in container.get('ports') or ():
                    _set(port, 'hostPort', port.get('containerPort', 0))
    _set(found, 'enableServiceLinks', value=True)


def _set(found: Object, key: str, value: object) -> None:
    if key not in found:
        found[key] = value


def _requests(resources: Object) -> None:
    """What is limited and not requested is requested up to its limit."""
    limits = resources.get('limits')
    if limits:
        resources['requests'] = limits | resources.get('requests', {})


def _container(container: Object) -> None:
    if 'imagePullPolicy' not in container:
        container['imagePullPolicy'] = pull_policy(container.get('image', ''))
    if 'terminationMessagePath' not in container:
        container['terminationMessagePath'] = '/dev/termination-log'
    if 'terminationMessagePolicy' not in container:
        container['terminationMessagePolicy'] = 'File'
    for port in container.get('ports') or ():
        _set(port, 'protocol', 'TCP')
    for variable in container.get('env') or ():
        if 'valueFrom' in variable:
            _source(variable['valueFrom'])
    for key in ('livenessProbe', 'readinessProbe', 'startupProbe'):
        if key in container:
            _probe(container[key])
    if hooks := container.get('lifecycle'):
        # Its gate is off by default.
        if hooks.pop('stopSignal', None) is not None and not hooks:
            del container['lifecycle']
        for handler in hooks.values():
            _action(handler)


def _source(source: Object) -> None:
    if 'fieldRef' in source:
        _set(source['fieldRef'], 'apiVersion', 'v1')
    if 'fileKeyRef' in source:
        _set(source['fileKeyRef'], 'optional', value=False)


def _probe(probe: Object) -> None:
    _action(probe)
    _set(probe, 'timeoutSeconds', 1)
    _set(probe, 'periodSeconds', 10)
    _set(probe, 'successThreshold', 1)
    _set(probe, 'failureThreshold', 3)


def _action(handler: Object) -> None:
    if get := handler.get('httpGet'):
        _set(get, 'path', '/')
        _set(get, 'scheme', 'HTTP')
    if (grpc := handler.get('grpc')) and grpc.get('service') is None:
        grpc['service'] = ''


@functools.lru_cache(maxsize=1024)
def pull_policy(image: str) -> str:
    """Whether the image is to be pulled each time: only the one called latest, by name or for want of a name."""
    found = _IMAGE.fullmatch(image)
    # What looks like an identifier is no name.
    if found is None or _IDENTIFIER.fullmatch(image) or (found['tag'] is None and found['digest'] is not None):
        return 'IfNotPresent'
    return 'Always' if found['tag'] in (None, 'latest') else 'IfNotPresent'


def _volume(volume: Object) -> None:
    source = next((key for key, value in volume.items() if key != 'name' and value is not None), None)
    match source:
        case None:
            volume['emptyDir'] = {}
        case 'secret' | 'configMap':
            _set(volume[source], 'defaultMode', FILE_MODE)
        case 'downwardAPI':
            _set(volume[source], 'defaultMode', FILE_MODE)
            _field_files(volume[source].get('items') or ())
        case 'projected':
            _projected(volume[source])
        case 'hostPath':
            _set(volume[source], 'type', '')
        case 'image':
            _set(volume[source], 'pullPolicy', pull_policy(volume[source].get('reference', '')))
        case 'ephemeral':
            if template := volume[source].get('volumeClaimTemplate'):
                _set(template['spec'], 'volumeMode', 'Filesystem')


def _projected(source: Object) -> None:
    _set(source, 'defaultMode', FILE_MODE)
    for part in source.get('sources') or ():
        if 'serviceAccountToken' in part:
            _set(part['serviceAccountToken'], 'expirationSeconds', 3600)
        if 'downwardAPI' in part:
            _field_files(part['downwardAPI'].get('items') or ())


def _field_files(files: Iterable[dict[str, Any]]) -> None:
    for file in files:
        if 'fieldRef' in file:
            _set(file['fieldRef'], 'apiVersion', 'v1')
