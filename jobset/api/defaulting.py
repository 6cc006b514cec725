"""What the mutating webhook fills in when a JobSet is created, and keeps when it is changed, as a JSON patch.

It works on the object as it was sent, touches nothing that is there (an explicit null counts as absent, a zero as
given), and steps around what has the wrong type: the schema judges that later, with a better text. Defaults that the
schema has itself (``replicas``, ``groupName``, ``restartStrategy``, ``whenDeleted``) are the API server's business.

One thing is changed: an amount of a resource that is a broken number (``cpu: 0.5`` without quotes) becomes a text, as
it does in a pod. A schema knows only whole numbers and texts.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from jobset.api import equality, features, quantities, types

_CONTAINERS: Final = frozenset({dict, list})

JsonPatchOperation = dict[str, object]
"""An operation of RFC 6902: ``op``, ``path`` and ``value``."""


def patch(obj: Mapping[str, object]) -> list[JsonPatchOperation]:
    """The operations that complete the JobSet ``obj``; none for an object that is complete or is no JobSet at all."""
    spec = obj.get('spec')
    if spec is None:
        return [_add('/spec', _policies())]
    if not isinstance(spec, Mapping):
        return []
    return [
        *(_add(f'/spec/{key}', value) for key, value in _policies().items() if spec.get(key) is None),
        *_jobs(spec),
        *_network(spec),
        *_rules(spec),
        *_claims(spec),
        *_amounts('/spec/replicatedJobs', spec.get('replicatedJobs')),
        *_amounts('/spec/volumeClaimPolicies', spec.get('volumeClaimPolicies')),
    ]


def keep(old: Mapping[str, object], new: Mapping[str, object]) -> list[JsonPatchOperation]:
    """The operations that fill in again what ``new`` lacks and ``old`` has as it was filled in; else nothing changes.

    A client that sends its manifest a second time, as ``kubectl apply`` and ``kubectl replace`` do, sends whole lists
    as they stand there, and lists do not change. A policy that is gone as a whole was taken away, and stays away.
    """
    return [one for one in patch(new) if _is_inside(one['path']) and _at(old, one['path']) == one['value']]


def drop(
    new: Mapping[str, object], old: Mapping[str, object] | None, gates: features.FeatureGates
) -> list[JsonPatchOperation]:
    """The operations that take away fields whose feature gate is off, unless ``old`` has them already."""
    spec, before = new.get('spec'), (old or {}).get('spec')
    known = {'scheduling': gates.workload_aware_scheduling, 'activeDeadlineSeconds': gates.active_deadline}
    off = [key for key, is_on in known.items() if not is_on]
    return [
        {'op': 'remove', 'path': f'/spec/{key}'}
        for key in off
        if isinstance(spec, Mapping) and key in spec and not (isinstance(before, Mapping) and key in before)
    ]


def _is_inside(path: object) -> bool:
    return str(path).count('/') > len(('spec', 'policy'))


def _at(value: object, path: object) -> object:
    """What stands at a place of ``value``; None where nothing does."""
    for part in str(path).split('/')[1:]:
        key = part.replace('~1', '/').replace('~0', '~')
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _policies() -> dict[str, object]:
    return {
        'successPolicy': {'operator': types.Operator.ALL.value},
        'startupPolicy': {'startupPolicyOrder': types.StartupOrder.ANY_ORDER.value},
        'network': {'enableDNSHostnames': True, 'publishNotReadyAddresses': True},
    }


def _jobs(spec: Mapping[str, object]) -> Iterator[JsonPatchOperation]:
    for i, replicated in _items(spec, 'replicatedJobs'):
        template = replicated.get('template')
        if isinstance(template, Mapping):
            yield from _job(f'/spec/replicatedJobs/{i}/template', template)


def _job(path: str, template: Mapping[str, object]) -> Iterator[JsonPatchOperation]:
    job = template.get('spec')
    if job is None:
        yield _add(f'{path}/spec', {'completionMode': 'Indexed'})
        return
    if not isinstance(job, Mapping):
        return
    if job.get('completionMode') is None:
        yield _add(f'{path}/spec/completionMode', 'Indexed')
    pod_template = job.get('template')
    if not isinstance(pod_template, Mapping):
        return
    pod = pod_template.get('spec')
    if pod is None:
        yield _add(f'{path}/spec/template/spec', {'restartPolicy': 'OnFailure'})
    elif isinstance(pod, Mapping) and pod.get('restartPolicy') in (None, ''):
        yield _add(f'{path}/spec/template/spec/restartPolicy', 'OnFailure')


def _network(spec: Mapping[str, object]) -> Iterator[JsonPatchOperation]:
    network = spec.get('network')
    if isinstance(network, Mapping):
        for key in ('enableDNSHostnames', 'publishNotReadyAddresses'):
            if network.get(key) is None:
                yield _add(f'/spec/network/{key}', True)


def _rules(spec: Mapping[str, object]) -> Iterator[JsonPatchOperation]:
    policy = spec.get('failurePolicy')
    if isinstance(policy, Mapping):
        for i, rule in _items(policy, 'rules'):
            if rule.get('name') in (None, ''):
                yield _add(f'/spec/failurePolicy/rules/{i}/name', f'failurePolicyRule{i}')


def _claims(spec: Mapping[str, object]) -> Iterator[JsonPatchOperation]:
    for i, policy in _items(spec, 'volumeClaimPolicies'):
        if policy.get('retentionPolicy') is None:
            delete = {'whenDeleted': types.RetentionPolicy.DELETE.value}
            yield _add(f'/spec/volumeClaimPolicies/{i}/retentionPolicy', delete)


def _amounts(path: str, value: object, field: str = '') -> Iterator[JsonPatchOperation]:
    """Texts for the broken numbers below ``path``, wherever resources are counted."""
    # Most values are neither containers nor numbers, and templates have many: those are passed over at once.
    if type(value) is list:
        for i, entry in enumerate(value):
            if type(entry) in _CONTAINERS:
                yield from _amounts(f'{path}/{i}', entry)
    elif type(value) is dict:
        for key, entry in value.items():
            kind = type(entry)
            if kind not in _CONTAINERS and kind is not float:
                continue
            at = f'{path}/{key.replace("~", "~0").replace("/", "~1")}'
            if kind is not float:
                yield from _amounts(at, entry, key)
            elif field in equality.RESOURCES or key in equality.QUANTITIES:
                yield {'op': 'replace', 'path': at, 'value': quantities.text(entry)}


def _items(parent: Mapping[str, object], key: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """The entries of a list that are objects, with their places."""
    entries = parent.get(key)
    if isinstance(entries, list):
        for i, entry in enumerate(entries):
            if isinstance(entry, Mapping):
                yield i, entry


def _add(path: str, value: object) -> JsonPatchOperation:
    # "add" replaces a member that is already there, a null or an empty name.
    return {'op': 'add', 'path': path, 'value': value}
