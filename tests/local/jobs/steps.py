"""What is done in a story: to the Job by its owner, and to its pods by a kubelet that the story plays itself."""

import datetime
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from tests.local.jobs.narration import Narrator, Object

NODE: Final = 'story-node'
"""A node that is not there: pods that are bound to it end only when the story says so."""


class Stage(Protocol):
    """Where a story is played: a server, or something that behaves like one."""

    narrator: Narrator

    def now(self) -> datetime.datetime:
        """The time of day there."""

    async def patch_job(self, patch: Object) -> None:
        """Changes the Job with a merge patch."""

    async def delete_job(self, propagation: str) -> None:
        """Deletes the Job."""

    async def patch_pod(self, name: str, patch: Object, subresource: str = '') -> None:
        """Changes a pod, or its status, with a merge patch."""

    async def bind(self, name: str, node: str) -> None:
        """Gives a pod to a node."""

    async def delete_pod(self, name: str, *, grace: int | None) -> None:
        """Deletes a pod; at once with a grace of 0."""

    async def wait(self, seconds: float) -> None:
        """Lets time pass."""


@dataclass(frozen=True)
class Step:
    """Something that is done, to several pods perhaps."""

    verb: str
    pods: tuple[str, ...] = ()
    options: Object = field(default_factory=dict)

    async def do(self, stage: Stage) -> None:
        """Does it."""
        action = _ACTIONS[self.verb]
        for called in self.pods or ('',):
            await action(stage, called, **self.options)

    def __str__(self) -> str:
        options = [f'{key}={value}' for key, value in self.options.items()]
        return ' '.join([self.verb, *self.pods, *options])


def bind(*pods: str) -> Step:
    """They get a node: from now on they end only when somebody on the node says so."""
    return Step('bind', pods)


def run(*pods: str, ready: bool = True, restarts: int = 0) -> Step:
    """They run."""
    return Step('run', pods, {'ready': ready, 'restarts': restarts})


def succeed(*pods: str) -> Step:
    """They end with success."""
    return Step('end', pods, {'codes': [0]})


def fail(*pods: str, codes: Sequence[int] = (1,), condition: str = '') -> Step:
    """They end with these exit codes, one for each container, and perhaps a condition that says why."""
    return Step('end', pods, {'codes': list(codes)} | ({'condition': condition} if condition else {}))


def kill(*pods: str) -> Step:
    """Somebody deletes them."""
    return Step('kill', pods)


def gone(*pods: str, codes: Sequence[int] | None = None) -> Step:
    """Those who were deleted have ended, with exit codes where they got as far as that."""
    return Step('gone', pods, {'codes': list(codes)} if codes else {})


def relabel(*pods: str, **labels: str | None) -> Step:
    """Somebody changes their labels."""
    return Step('relabel', pods, {'labels': labels})


def change(**spec: Any) -> Step:
    """The owner changes the Job."""
    return Step('change', (), {'spec': spec})


def delete(propagation: str) -> Step:
    """The owner deletes the Job."""
    return Step('delete', (), {'propagation': propagation})


def wait(seconds: float) -> Step:
    """Time passes."""
    return Step('wait', (), {'seconds': seconds})


async def _bind(stage: Stage, called: str) -> None:
    await stage.bind(_name(stage, called), NODE)


async def _run(stage: Stage, called: str, *, ready: bool, restarts: int) -> None:
    state = {'running': {'startedAt': _stamp(stage)}}
    status: Object = {'phase': 'Running', 'startTime': _stamp(stage)}
    status['conditions'] = [_condition(stage, 'Ready', ready)]
    status['containerStatuses'] = [
        _container(container, ready=ready, restarts=restarts, state=state) for container in _containers(stage, called)
    ]
    await stage.patch_pod(_name(stage, called), {'status': status}, 'status')


async def _end(stage: Stage, called: str, *, codes: Sequence[int], condition: str = '') -> None:
    await stage.patch_pod(_name(stage, called), {'status': _ended(stage, called, codes, condition)}, 'status')


async def _kill(stage: Stage, called: str) -> None:
    await stage.delete_pod(_name(stage, called), grace=None)


async def _gone(stage: Stage, called: str, *, codes: Sequence[int] | None = None) -> None:
    name = _name(stage, called)
    if codes:
        await stage.patch_pod(name, {'status': _ended(stage, called, codes, '')}, 'status')
    await stage.delete_pod(name, grace=0)


async def _relabel(stage: Stage, called: str, *, labels: Object) -> None:
    await stage.patch_pod(_name(stage, called), {'metadata': {'labels': labels}})


async def _change(stage: Stage, _: str, *, spec: Object) -> None:
    await stage.patch_job({'spec': spec})


async def _delete(stage: Stage, _: str, *, propagation: str) -> None:
    await stage.delete_job(propagation)


async def _wait(stage: Stage, _: str, *, seconds: float) -> None:
    await stage.wait(seconds)


_ACTIONS: Final[dict[str, Callable[..., Awaitable[None]]]] = {
    'bind': _bind,
    'run': _run,
    'end': _end,
    'kill': _kill,
    'gone': _gone,
    'relabel': _relabel,
    'change': _change,
    'delete': _delete,
    'wait': _wait,
}


def _ended(stage: Stage, called: str, codes: Sequence[int], condition: str) -> Object:
    conditions = [_condition(stage, 'Ready', False)]
    if condition:
        conditions.append(_condition(stage, condition, True))
    statuses = [
        _container(
            container,
            ready=False,
            restarts=0,
            state={
                'terminated': {
                    'exitCode': code,
                    'reason': 'Error' if code else 'Completed',
                    'startedAt': _stamp(stage),
                    'finishedAt': _stamp(stage),
                }
            },
        )
        for container, code in zip(_containers(stage, called), codes, strict=True)
    ]
    return {
        'phase': 'Failed' if any(codes) else 'Succeeded',
        'conditions': conditions,
        'containerStatuses': statuses,
    }


def _container(name: str, *, ready: bool, restarts: int, state: Object) -> Object:
    return {
        'name': name,
        'image': 'busybox',
        'imageID': '',
        'ready': ready,
        'restartCount': restarts,
        'state': state,
    }


def _condition(stage: Stage, kind: str, holds: bool) -> Object:
    return {'type': kind, 'status': str(holds), 'lastTransitionTime': _stamp(stage)}


def _containers(stage: Stage, called: str) -> list[str]:
    return [each['name'] for each in stage.narrator.pod(called)['spec']['containers']]


def _name(stage: Stage, called: str) -> str:
    return str(stage.narrator.pod(called)['metadata']['name'])


def _stamp(stage: Stage) -> str:
    return stage.now().strftime('%Y-%m-%dT%H:%M:%SZ')
