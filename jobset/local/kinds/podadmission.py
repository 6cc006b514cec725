"""What the admission plugins that kube-apiserver switches on by default do with a new pod.

Left out on purpose: the volume with a token of the service account, which nothing here would fill, and the service
account ``default`` need not exist.
"""

from typing import Final, NoReturn

from jobset.local import objects, resources
from jobset.local.objects import Object
from jobset.local.problems import Problem

ACCOUNT: Final = 'default'
UNREACHABLE_SECONDS: Final = 300
SYSTEM_PRIORITIES: Final = {'system-cluster-critical': 2000000000, 'system-node-critical': 2000001000}
"""The classes that are there without anybody making them."""

PREEMPTION: Final = 'PreemptLowerPriority'
_TAINTS: Final = ('node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable')


def admit(pod: Object, context: resources.Context) -> None:
    """Complete a new pod, in place. Raises Problem when it may not be made."""
    spec = pod['spec']
    _account(pod, spec, context)
    _priority(pod, spec, context)
    add_tolerations(spec)


def _refuse(pod: Object, why: str) -> NoReturn:
    raise Problem.forbidden('pods', '', objects.name(pod) or 'Unknown', why)


def _account(pod: Object, spec: Object, context: resources.Context) -> None:
    name = spec.get('serviceAccountName') or ACCOUNT
    spec['serviceAccountName'] = spec['serviceAccount'] = name
    namespace = objects.namespace(pod)
    account = context.look_up('serviceaccounts', namespace, name)
    if account is None:
        if name != ACCOUNT:
            why = f'serviceaccount "{name}" not found'
            if odd := [character for character in '/%' if character in name]:
                why = f'invalid resource name "{name}": [{" ".join(f"may not contain {each!r}" for each in odd)}]'
            _refuse(pod, f'error looking up service account {namespace}/{name}: {why}')
        return
    if account.get('imagePullSecrets') and not spec.get('imagePullSecrets'):
        spec['imagePullSecrets'] = [dict(secret) for secret in account['imagePullSecrets']]


def _priority(pod: Object, spec: Object, context: resources.Context) -> None:
    name, value, policy = _class(pod, spec.get('priorityClassName', ''), context)
    if name:
        spec['priorityClassName'] = name
    given = spec.get('priority')
    if given is not None and given != value:
        why = (
            f'the integer value of priority ({given}) must not be provided in pod spec; priority admission controller '
            f'computed {value} from the given PriorityClass name'
        )
        _refuse(pod, why)
    spec['priority'] = value
    given = spec.get('preemptionPolicy')
    if given is not None and given != policy:
        why = (
            f'the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission '
            f'controller computed {policy} from the given PriorityClass name'
        )
        _refuse(pod, why)
    spec['preemptionPolicy'] = policy


def _class(pod: Object, name: str, context: resources.Context) -> tuple[str, int, str]:
    if not name:
        found = default_class(context)
        if found is None:
            return '', 0, PREEMPTION
        return objects.name(found), int(found.get('value', 0)), found.get('preemptionPolicy', PREEMPTION)
    found = context.look_up('priorityclasses.scheduling.k8s.io', '', name)
    if found is not None:
        return name, int(found.get('value', 0)), found.get('preemptionPolicy', PREEMPTION)
    if name not in SYSTEM_PRIORITIES:
        _refuse(pod, f'no PriorityClass with name {name} was found')
    return name, SYSTEM_PRIORITIES[name], PREEMPTION


def default_class(context: resources.Context) -> Object | None:
    """The class of pods that name none: of several, the lowest."""
    classes = [each for each in context.listed('priorityclasses.scheduling.k8s.io', '') if each.get('globalDefault')]
    return min(classes, key=lambda each: int(each.get('value', 0)), default=None)


def add_tolerations(spec: Object) -> None:
    """Let the pod stay for a while on a node in trouble, unless it says something about that itself."""
    given = spec.get('tolerations') or []
    added = [
        {'key': taint, 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': UNREACHABLE_SECONDS}
        for taint in _TAINTS
        if not any(
            toleration.get('key', taint) in (taint, '') and toleration.get('effect', 'NoExecute') in ('NoExecute', '')
            for toleration in given
        )
    ]
    if added:
        spec['tolerations'] = [*given, *added]
