"""The status of a simulated pod, as a kubelet would write it."""

from typing import Any, Final

import msgspec

from jobset.api import meta
from jobset.local import objects
from jobset.local.simulated import outcomes


class Container(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A container, as far as its status tells of it."""

    name: str = ''
    image: str = ''
    restart_policy: str | None = None


class Spec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """What of a pod is simulated."""

    node_name: str = ''
    restart_policy: str = 'Always'
    termination_grace_period_seconds: int | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None


class Status(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """How far it has come."""

    phase: str = ''
    start_time: str | None = None


class Metadata(meta.ObjectMeta, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Metadata with the time that an end is given."""

    deletion_grace_period_seconds: int | None = None


class Pod(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A pod of a simulated node."""

    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status.phase in {'Succeeded', 'Failed'}


Body = dict[str, Any]

_COMPLETED: Final = 'PodCompleted'
_FAILED: Final = 'PodFailed'


def running(pod: Pod, *, address: str, host: str, started: str, restarts: int, is_ready: bool, now: str) -> Body:
    """Its containers run."""
    state = {'running': {'startedAt': now}}
    reason = '' if is_ready else 'ContainersNotReady'
    return {
        'phase': 'Running',
        'startTime': started,
        'hostIP': host,
        'hostIPs': [{'ip': host}],
        'podIP': address,
        'podIPs': [{'ip': address}],
        'conditions': [
            _condition('PodReadyToStartContainers', now),
            _condition('Initialized', now),
            _condition('Ready', now, is_true=is_ready, reason=reason),
            _condition('ContainersReady', now, is_true=is_ready, reason=reason),
        ],
        'containerStatuses': [
            _container(pod, one, state, restarts, is_ready=is_ready, started=True) for one in pod.spec.containers or ()
        ],
        **_inits(pod, now),
    }


def ready(now: str) -> Body:
    """It is ready, from now on; the rest stays."""
    return {'conditions': [_condition('Ready', now), _condition('ContainersReady', now)]}


def ended(pod: Pod, outcome: outcomes.Outcome, code: int, *, began: str | None, restarts: int, now: str) -> Body:
    """All of it has ended for good."""
    is_success = code == 0
    reason = _COMPLETED if is_success else _FAILED
    terminated = terminated_state(outcome, code, began=began, now=now)
    return {
        'phase': 'Succeeded' if is_success else 'Failed',
        'conditions': [
            _condition('PodReadyToStartContainers', now, is_true=False),
            _condition('Initialized', now, reason=_COMPLETED if is_success else ''),
            _condition('Ready', now, is_true=False, reason=reason),
            _condition('ContainersReady', now, is_true=False, reason=reason),
        ],
        'containerStatuses': [
            _container(pod, one, terminated, restarts, is_ready=False, started=False)
            for one in pod.spec.containers or ()
        ],
    }


def waiting(pod: Pod, outcome: outcomes.Outcome, *, began: str | None, restarts: int, now: str) -> Body:
    """Its containers have ended and will be started again later."""
    state = {'waiting': {'reason': 'CrashLoopBackOff', 'message': 'back-off restarting failed container'}}
    last = terminated_state(outcome, outcome.exit_code, began=began, now=now)
    return {
        'conditions': [
            _condition('Ready', now, is_true=False, reason='ContainersNotReady'),
            _condition('ContainersReady', now, is_true=False, reason='ContainersNotReady'),
        ],
        'containerStatuses': [
            _container(pod, one, state, restarts, is_ready=False, started=False) | {'lastState': last}
            for one in pod.spec.containers or ()
        ],
    }


def lost(reason: str, message: str, now: str) -> Body:
    """Its node is gone, and it with it."""
    disruption = _condition('DisruptionTarget', now, reason=reason) | {'message': message}
    return {'phase': 'Failed', 'conditions': [disruption, _condition('Ready', now, is_true=False)]}


def terminated_state(outcome: outcomes.Outcome, code: int, *, began: str | None, now: str) -> Body:
    """The state of a container that has ended."""
    state = {
        'exitCode': code,
        'reason': outcome.reason or ('Completed' if code == 0 else 'Error'),
        'startedAt': began,
        'finishedAt': now,
    }
    if outcome.message:
        state['message'] = outcome.message
    return {'terminated': state}


def stamp_of(pod: Pod, now: str) -> str:
    """When the pod came to its node: as it stands in its status, or now."""
    return pod.status.start_time or now


def _inits(pod: Pod, now: str) -> Body:
    if not pod.spec.init_containers:
        return {}
    done = {'terminated': {'exitCode': 0, 'reason': 'Completed', 'startedAt': now, 'finishedAt': now}}
    return {
        'initContainerStatuses': [
            _container(pod, one, {'running': {'startedAt': now}}, 0, is_ready=True, started=True)
            if one.restart_policy == 'Always'
            else _container(pod, one, done, 0, is_ready=True, started=False)
            for one in pod.spec.init_containers
        ]
    }


def _container(
    pod: Pod, container: Container, state: Body, restarts: int, *, is_ready: bool, started: bool
) -> objects.Object:
    return {
        'name': container.name,
        'image': container.image,
        'imageID': '',
        'containerID': f'simulated://{pod.metadata.uid}/{container.name}/{restarts}',
        'ready': is_ready,
        'started': started,
        'restartCount': restarts,
        'state': state,
        'lastState': {},
    }


def _condition(type_: str, now: str, *, is_true: bool = True, reason: str = '') -> objects.Object:
    condition: objects.Object = {
        'type': type_,
        'status': 'True' if is_true else 'False',
        'lastProbeTime': None,
        'lastTransitionTime': now,
    }
    if reason:
        condition['reason'] = reason
    return condition
