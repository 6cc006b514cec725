"""Volumes of a pod. The sources that this plane can mount are judged in full, of the others only that there is one."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from jobset.local.kinds import amounts, checks, claimspec, containers, faults, paths, variables
from jobset.local.objects import Object
from jobset.local.problems import Cause

_MODE_TEXT: Final = 'must be a number between 0 and 0777 (octal), both inclusive'
_PULL_POLICIES: Final = ('Always', 'IfNotPresent', 'Never')
_ORDER: Final = (
    *('emptyDir', 'hostPath', 'gitRepo', 'gcePersistentDisk', 'awsElasticBlockStore', 'secret', 'nfs', 'iscsi'),
    *('glusterfs', 'flocker', 'persistentVolumeClaim', 'rbd', 'cinder', 'cephfs', 'quobyte', 'downwardAPI', 'fc'),
    *('flexVolume', 'configMap', 'azureFile', 'vsphereVolume', 'photonPersistentDisk', 'portworxVolume', 'azureDisk'),
    *('storageos', 'projected', 'scaleIO', 'csi', 'ephemeral', 'image'),
)
"""In which the server looks for sources: the second one found is one too many."""


def check(path: str, volumes: Sequence[Object], pod_name: str) -> tuple[dict[str, Object], list[Cause]]:
    """The volumes that are right, by name, and the mistakes. ``pod_name`` is empty for a template."""
    causes: list[Cause] = []
    right: dict[str, Object] = {}
    made = {f'{pod_name}-{volume.get("name", "")}' for volume in volumes if pod_name and 'ephemeral' in volume}
    for i, volume in enumerate(volumes):
        at = f'{path}[{i}]'
        name = volume.get('name', '')
        found = _source(at, volume, pod_name)
        if not name:
            found.append(faults.required(f'{at}.name'))
        elif reasons := checks.dns_label(name):
            found += faults.each_invalid(f'{at}.name', name, reasons)
        if name in right:
            found.append(faults.duplicate(f'{at}.name', name))
        if found:
            causes += found
        else:
            right[name] = volume
        claim = volume.get('persistentVolumeClaim')
        if made and claim and claim.get('claimName') in made:
            text = 'must not reference a PVC that gets created for an ephemeral volume'
            causes.append(faults.invalid(f'{at}.persistentVolumeClaim.claimName', claim['claimName'], text))
    return right, causes


def source(at: str, sources: Object) -> list[Cause]:
    """Mistakes in the source of a volume that is not of a pod."""
    return _source(at, sources, '')


def _source(at: str, volume: Object, pod_name: str) -> list[Cause]:
    given = [key for key in volume if key != 'name']
    if len(given) > 1:
        given = [key for key in _ORDER if key in given]
    if not given:
        return [faults.required(at, 'must specify a volume type')]
    causes = []
    judge = _JUDGES.get(given[0])
    if judge is not None:
        causes += judge(f'{at}.{given[0]}', volume[given[0]])
    causes += [faults.forbidden(f'{at}.{key}', 'may not specify more than 1 volume type') for key in given[1:]]
    if given[0] == 'ephemeral' and pod_name and (name := volume.get('name')):
        claim = f'{pod_name}-{name}'
        causes += [
            faults.invalid(f'{at}.name', name, f'PVC name "{claim}": {reason}')
            for reason in checks.dns_subdomain(claim)
        ]
    return causes


def _mode(path: str, mode: int | None) -> list[Cause]:
    if mode is None or 0 <= mode <= 0o777:
        return []
    return [faults.invalid(path, mode, _MODE_TEXT)]


def _empty(path: str, source: Object) -> list[Cause]:
    causes = []
    limit = source.get('sizeLimit')
    if limit is not None and amounts.exact(limit) < 0:
        causes.append(faults.forbidden(f'{path}.sizeLimit', 'SizeLimit field must be a valid resource quantity'))
    return causes


def _host(path: str, source: Object) -> list[Cause]:
    if not source.get('path'):
        return [faults.required(f'{path}.path')]
    causes = paths.no_backsteps(f'{path}.path', source['path'])
    known = ('', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket')
    if source.get('type', '') not in known:
        causes.append(faults.unsupported(f'{path}.type', source['type'], known))
    return causes


def _secret(path: str, source: Object) -> list[Cause]:
    causes = [] if source.get('secretName') else [faults.required(f'{path}.secretName')]
    return causes + _keys(path, source)


def _config(path: str, source: Object) -> list[Cause]:
    causes = [] if source.get('name') else [faults.required(f'{path}.name')]
    return causes + _keys(path, source)


def _keys(path: str, source: Object) -> list[Cause]:
    causes = _mode(f'{path}.defaultMode', source.get('defaultMode'))
    causes += containers.ids(path, source, ('defaultUser',))
    for i, item in enumerate(source.get('items') or ()):
        causes += _key(f'{path}.items[{i}]', item)
    return causes


def _key(at: str, item: Object) -> list[Cause]:
    causes = [faults.required(f'{at}.{key}') for key in ('key', 'path') if not item.get(key)]
    causes += paths.not_reserved(f'{at}.path', item.get('path', ''))
    causes += _mode(f'{at}.mode', item.get('mode'))
    return causes + containers.ids(at, item, ('user',))


def _claim(path: str, source: Object) -> list[Cause]:
    return [] if source.get('claimName') else [faults.required(f'{path}.claimName')]


def _network(path: str, source: Object) -> list[Cause]:
    causes = [faults.required(f'{path}.{key}') for key in ('server', 'path') if not source.get(key)]
    if not source.get('path', '').startswith('/'):
        causes.append(faults.invalid(f'{path}.path', source.get('path', ''), 'must be an absolute path'))
    return causes


def _downward(path: str, source: Object) -> list[Cause]:
    causes = _mode(f'{path}.defaultMode', source.get('defaultMode'))
    causes += containers.ids(path, source, ('defaultUser',))
    for item in source.get('items') or ():
        causes += _field_file(path, item)
    return causes


def _field_file(path: str, item: Object) -> list[Cause]:
    causes = [] if item.get('path') else [faults.required(f'{path}.path')]
    causes += paths.not_reserved(f'{path}.path', item.get('path', ''))
    field, resource = item.get('fieldRef'), item.get('resourceFieldRef')
    if field is not None:
        causes += variables.field(f'{path}.fieldRef', field, variables.FILE_FIELDS)
        if resource is not None:
            text = 'fieldRef and resourceFieldRef can not be specified simultaneously'
            causes.append(faults.invalid(path, 'resource', text))
    elif resource is not None:
        causes += variables.resource(f'{path}.resourceFieldRef', resource, of_file=True)
    else:
        causes.append(faults.required(path, 'one of fieldRef and resourceFieldRef is required'))
    causes += _mode(f'{path}.mode', item.get('mode'))
    return causes + containers.ids(path, item, ('user',))


def _projected(path: str, source: Object) -> list[Cause]:
    causes = _mode(f'{path}.defaultMode', source.get('defaultMode'))
    causes += containers.ids(path, source, ('defaultUser',))
    seen: set[str] = set()
    for i, part in enumerate(source.get('sources') or ()):
        at = f'{path}.sources[{i}]'
        for key in ('secret', 'configMap'):
            if (found := part.get(key)) is not None:
                causes += _projected_keys(path, f'{at}.{key}', found, seen)
        if (found := part.get('downwardAPI')) is not None:
            for item in found.get('items') or ():
                causes += _field_file(f'{at}.downwardAPI', item)
                causes += _once(path, item.get('path'), item.get('path'), seen)
        if (found := part.get('serviceAccountToken')) is not None:
            causes += _token(path, f'{at}.serviceAccountToken', found)
        if len(part) > 1:
            causes.append(faults.forbidden(at, 'may not specify more than 1 volume type'))
    return causes


def _projected_keys(path: str, at: str, found: Object, seen: set[str]) -> list[Cause]:
    causes = [] if found.get('name') else [faults.required(f'{at}.name')]
    for j, item in enumerate(found.get('items') or ()):
        causes += _key(f'{at}.items[{j}]', item)
        causes += _once(path, item.get('path'), found.get('name', ''), seen)
    return causes


def _once(path: str, target: str | None, shown: object, seen: set[str]) -> list[Cause]:
    if not target:
        return []
    if target in seen:
        return [faults.invalid(path, shown, 'conflicting duplicate paths')]
    seen.add(target)
    return []


def _token(path: str, at: str, found: Object) -> list[Cause]:
    causes = []
    seconds = found.get('expirationSeconds')
    if seconds is not None and seconds < 600:
        text = 'may not specify a duration less than 10 minutes'
        causes.append(faults.invalid(f'{at}.expirationSeconds', seconds, text))
    if seconds is not None and seconds > 1 << 32:
        text = 'may not specify a duration larger than 2^32 seconds'
        causes.append(faults.invalid(f'{at}.expirationSeconds', seconds, text))
    if not found.get('path'):
        causes.append(faults.required(f'{path}.path'))
    else:
        causes += paths.not_reserved(f'{path}.path', found['path'])
    return causes


def _ephemeral(path: str, source: Object) -> list[Cause]:
    template = source.get('volumeClaimTemplate')
    if template is None:
        return [faults.required(f'{path}.volumeClaimTemplate')]
    metadata = template.get('metadata') or {}
    causes = checks.annotations(f'{path}.volumeClaimTemplate.metadata.annotations', metadata.get('annotations'))
    causes += checks.labels(f'{path}.volumeClaimTemplate.metadata.labels', metadata.get('labels'))
    return causes + claimspec.check(f'{path}.volumeClaimTemplate.spec', template.get('spec') or {})


def _image(path: str, source: Object) -> list[Cause]:
    causes = [] if source.get('reference') else [faults.required(f'{path}.reference')]
    policy = source.get('pullPolicy')
    if policy not in _PULL_POLICIES:
        causes.append(faults.unsupported(f'{path}.pullPolicy', policy, _PULL_POLICIES))
    return causes


Judge = Callable[[str, Any], list[Cause]]

_JUDGES: Final[dict[str, Judge]] = {
    'emptyDir': _empty,
    'hostPath': _host,
    'secret': _secret,
    'configMap': _config,
    'persistentVolumeClaim': _claim,
    'nfs': _network,
    'downwardAPI': _downward,
    'projected': _projected,
    'ephemeral': _ephemeral,
    'image': _image,
}
