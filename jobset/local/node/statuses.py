"""The status of a pod as a kubelet writes it."""

import datetime
from typing import Any

from jobset.local import objects
from jobset.local.node import backoffs, conditions, phases, restarts, specs
from jobset.local.node.model import Container, Ended, Facts, Pod, Spec, Step

CREATING = {'waiting': {'reason': 'ContainerCreating'}}
INITIALIZING = {'waiting': {'reason': 'PodInitializing'}}


def build(pod: Pod, facts: Facts, *, host_ip: str, is_over: bool, now: datetime.datetime) -> dict[str, Any]:
    """The whole status. Conditions of others in ``pod.status`` are not in it, and stay as they are.

    ``is_over`` says that nothing of the pod runs, or will ever run again.
    """
    spec = pod.spec
    phase = phases.phase(spec, facts, is_over=is_over)
    if phase.is_final and not is_over:
        # The pod ends only when its last process has.
        phase = phases.Phase(pod.status.get('phase') or 'Running')
    if facts.ending is not None and is_over and facts.ending.reason:
        phase = phases.Phase.FAILED
    view = _View(pod, facts, is_over=is_over, now=now)
    inits = [view.container(init) for init in specs.inits(spec)]
    mains = [view.container(main) for main in specs.mains(spec)]
    status: dict[str, Any] = {'observedGeneration': pod.metadata.generation} if pod.metadata.generation else {}
    status |= {'phase': str(phase), 'startTime': objects.stamp(facts.seen_at), 'hostIP': host_ip}
    status['hostIPs'] = [{'ip': host_ip}]
    if facts.ip:
        status |= {'podIP': facts.ip, 'podIPs': [{'ip': facts.ip}]}
    if facts.ending is not None and facts.ending.reason and is_over:
        status |= {'reason': facts.ending.reason, 'message': facts.ending.message}
    status['qosClass'] = pod.status.get('qosClass') or _quality(spec)
    status['containerStatuses'] = mains
    if inits:
        status['initContainerStatuses'] = inits
    status['conditions'] = conditions.build(pod, facts, phase, inits=inits, mains=mains, now=now)
    return status


class _View:
    """Containers of one pod as they are shown."""

    def __init__(self, pod: Pod, facts: Facts, *, is_over: bool, now: datetime.datetime) -> None:
        self._spec = pod.spec
        self._pod = pod
        self._facts = facts
        self._is_over = is_over
        self._now = now

    def container(self, container: Spec) -> dict[str, Any]:
        held = self._facts.containers[str(container['name'])]
        is_init = any(container is init for init in specs.inits(self._spec))
        state, last = self._states(container, held, is_init=is_init)
        is_running = held.step is Step.RUNNING
        is_ready = held.is_ready and is_running
        if is_init and not specs.is_sidecar(container):
            is_ready = held.ended is not None and held.ended.exit_code == 0
        shown: dict[str, Any] = {'name': held.name, 'state': state, 'lastState': last, 'ready': is_ready}
        shown |= {'restartCount': held.restarts, 'image': container.get('image') or '', 'imageID': ''}
        if held.container_id:
            shown['containerID'] = held.container_id
            shown['imageID'] = f'local://{container.get("image") or ""}'
        shown['started'] = is_running and held.is_started
        if container.get('resources'):
            shown['resources'] = container['resources']
            if container['resources'].get('requests'):
                shown['allocatedResources'] = container['resources']['requests']
        mounts = [_mount(mount) for mount in container.get('volumeMounts') or ()]
        if mounts:
            shown['volumeMounts'] = mounts
        return shown

    def _states(self, container: Spec, held: Container, *, is_init: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        last = {'terminated': terminated(held.last)} if held.last else {}
        if held.step is Step.RUNNING:
            return {'running': {'startedAt': _stamp(held.started_at)}}, last
        ended = {'terminated': terminated(held.ended)} if held.ended else {}
        if self._is_over and (ended or (not is_init and self._was_initialized)):
            return ended or {'terminated': terminated(_NEVER)}, last
        if held.ended is not None:
            waiting = self._waiting(container, held, held.ended)
            return (ended, last) if waiting is None else ({'waiting': waiting}, ended)
        if held.trouble is not None:
            return {'waiting': _waiting(held.trouble.reason, held.trouble.message)}, last
        is_waiting_for_inits = not is_init and bool(specs.inits(self._spec))
        if is_init and self._facts.is_prepared and held.step is Step.NEW:
            return INITIALIZING, last
        return (INITIALIZING if is_waiting_for_inits and not self._is_initialized else CREATING), last

    @property
    def _was_initialized(self) -> bool:
        mains = [self._facts.containers[str(main['name'])] for main in specs.mains(self._spec)]
        return not specs.inits(self._spec) or any(main.step is not Step.NEW for main in mains)

    @property
    def _is_initialized(self) -> bool:
        return any(self._facts.containers[str(main['name'])].is_live for main in specs.mains(self._spec))

    def _waiting(self, container: Spec, held: Container, ended: Ended) -> dict[str, str] | None:
        """What a container that has ended waits for; None when it does not come back, or at once."""
        if self._facts.ending is not None or self._facts.is_restarting:
            return None
        if restarts.judge(container, self._spec, ended.exit_code) is restarts.Verdict.STAY:
            return None
        if held.trouble is not None:
            return _waiting(held.trouble.reason, held.trouble.message)
        if held.delay.since is None:
            return None
        meta = self._pod.metadata
        text = f'back-off {backoffs.text(held.delay.seconds)} restarting failed container={held.name}'
        return _waiting('CrashLoopBackOff', f'{text} pod={meta.name}_{meta.namespace}({meta.uid})')


_NEVER = Ended(
    exit_code=137,
    reason='ContainerStatusUnknown',
    message='The container could not be located when the pod was terminated',
)


def terminated(end: Ended) -> dict[str, Any]:
    """An end as the API shows it."""
    shown: dict[str, Any] = {'exitCode': end.exit_code}
    shown['reason'] = end.reason
    if end.message:
        shown['message'] = end.message
    shown |= {'startedAt': _stamp(end.started_at), 'finishedAt': _stamp(end.finished_at)}
    if end.container_id:
        shown['containerID'] = end.container_id
    return shown


def _waiting(reason: str, message: str) -> dict[str, str]:
    return {'reason': reason, 'message': message} if message else {'reason': reason}


def _mount(mount: Spec) -> dict[str, Any]:
    shown: dict[str, Any] = {'name': mount['name'], 'mountPath': mount['mountPath']}
    if mount.get('readOnly'):
        shown |= {'readOnly': True, 'recursiveReadOnly': 'Disabled'}
    return shown


def _stamp(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else objects.stamp(moment)


def _quality(spec: Spec) -> str:
    """The quality of service class, by the requests and limits of all containers."""
    shares = [container.get('resources') or {} for container in specs.containers(spec)]
    kinds = ('cpu', 'memory')
    requests = [(share.get('limits') or {}) | (share.get('requests') or {}) for share in shares]
    if not any(kind in request for request in requests for kind in kinds):
        return 'BestEffort'
    is_guaranteed = all(
        kind in (share.get('limits') or {}) and request.get(kind) == share['limits'][kind]
        for share, request in zip(shares, requests, strict=True)
        for kind in kinds
    )
    return 'Guaranteed' if is_guaranteed else 'Burstable'
