"""The life of one pod on a node: asks :mod:`decisions` what comes next, and does it."""

import asyncio
import contextlib
import datetime
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, assert_never

from jobset.kube import errors, requests
from jobset.local import objects
from jobset.local.node import (
    addresses,
    adoption,
    attempts,
    backoffs,
    decisions,
    environment,
    logfiles,
    phases,
    preparing,
    reports,
    specs,
    statuses,
)
from jobset.local.node.model import Container, Ended, Ending, Facts, Pod, Step, Trouble
from jobset.local.node.world import World

logger = logging.getLogger(__name__)


class Life:
    """One pod, from the moment that it is bound to the node until it is gone from the server."""

    def __init__(self, world: World, pod: Pod) -> None:
        self._world = world
        self._pod = pod
        meta = pod.metadata
        logs = logfiles.folder(world.folder / 'logs', namespace=meta.namespace, pod=meta.name, uid=meta.uid)
        self._facts = adoption.adopt(pod, world.now(), logfiles.begun(logs))
        self._was_cut = adoption.was_cut(self._facts)
        self._is_over = pod.status.get('phase') in ('Succeeded', 'Failed')
        self._is_gone = False
        self._wake = asyncio.Event()
        self._attempts: dict[str, attempts.Attempt] = {}
        self._reporter = reports.Reporter(world.api, pod)
        self._preparation = preparing.Preparation(world)
        self._is_preparing = False
        self._noted: dict[str, Ended | None] = {}

    @property
    def facts(self) -> Facts:
        """What is known of it at the moment."""
        return self._facts

    def update(self, pod: Pod) -> None:
        """Takes the pod as the server has it now."""
        self._pod = pod
        self._take_deletion()
        self._wake.set()

    def gone(self) -> None:
        """The server has no such pod any more: what is left of it ends at once."""
        self._is_gone = True
        self._end(Ending(until=self._world.now(), is_forced=True))
        self._wake.set()

    async def execute(self, command: Sequence[str], container: str) -> tuple[int, str]:
        """Runs a command in a container. Raises LookupError when that does not run."""
        name = container or str(specs.mains(self._pod.spec)[0]['name'])
        attempt = self._attempts.get(name)
        if attempt is None:
            raise LookupError(f'container {name} of pod {self._pod.metadata.name} does not run')
        return await attempt.execute(command)

    async def run(self) -> None:
        """Lives until the pod is gone. Ends all its processes when cancelled."""
        self._take_deletion()
        try:
            async with asyncio.TaskGroup() as tasks:
                reporting = tasks.create_task(self._reporter.run())
                refreshing = tasks.create_task(self._refresh())
                while not self._is_over:
                    await self._step(tasks)
                refreshing.cancel()
                await self._leave()
                reporting.cancel()
        finally:
            self._preparation.leave()

    # One look at the pod.

    async def _step(self, tasks: asyncio.TaskGroup) -> None:
        self._wake.clear()
        world = self._world
        limits = decisions.Limits(crash_cap=world.settings.crash_cap)
        decision = decisions.decide(self._pod.spec, self._facts, world.now(), limits)
        if self._is_preparing and isinstance(next(iter(decision.actions), None), decisions.Prepare):
            decision = decisions.Decision([], decision.look_at)
        for action in decision.actions:
            self._act(action, tasks)
        for name in decision.waiting:
            self._note_wait(name)
        self._tell()
        if not decision.actions:
            await self._sleep_until(decision.look_at)

    async def _sleep_until(self, moment: datetime.datetime | None) -> None:
        timeout = None if moment is None else max(0.0, (moment - self._world.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._wake.wait()

    def _act(self, action: decisions.Action, tasks: asyncio.TaskGroup) -> None:
        match action:
            case decisions.Prepare():
                self._is_preparing = True
                tasks.create_task(self._prepare())
            case decisions.Start(name):
                self._start(name, tasks)
            case decisions.Stop(name=name, grace=grace, why=why, hook=hook):
                self._change(name, is_stopping=True)
                text = f'Stopping container {name}{": " * bool(why)}{why}'
                self._world.record(self._pod, 'Killing', text, container=name)
                if name in self._attempts:
                    tasks.create_task(self._attempts[name].stop(grace=grace, hook=hook))
            case decisions.Restart():
                self._facts = replace(self._facts, is_restarting=True)
            case decisions.Reset():
                self._reset()
            case decisions.End(ending):
                self._end(ending)
            case decisions.Finish():
                self._is_over = True
            case other:
                assert_never(other)

    def _note_wait(self, name: str) -> None:
        held = self._facts.containers[name]
        if self._noted.get(name) is not held.ended:
            self._noted[name] = held.ended
            meta = self._pod.metadata
            text = f'Back-off restarting failed container {name} in pod {meta.name}_{meta.namespace}({meta.uid})'
            self._world.record(self._pod, 'BackOff', text, container=name, is_warning=True)

    def _tell(self) -> None:
        if self._is_gone:
            return
        is_restarting = self._facts.is_restarting
        status = statuses.build(
            self._pod, self._facts, host_ip=self._world.host_ip, is_over=self._is_over, now=self._world.now()
        )
        if self._was_cut and status['phase'] == phases.Phase.FAILED and not is_restarting:
            status['conditions'].append(self._disrupted())
        self._reporter.offer(status)

    def _disrupted(self) -> dict[str, Any]:
        stamp = objects.stamp(self._facts.seen_at)
        return {
            'type': 'DisruptionTarget',
            'status': 'True',
            'reason': 'TerminationByKubelet',
            'message': 'Pod was terminated because its node was restarted.',
            'lastProbeTime': None,
            'lastTransitionTime': stamp,
        }

    # What is done.

    async def _prepare(self) -> None:
        world = self._world
        try:
            await self._preparation.make(self._pod)
        except (environment.Problem, addresses.NoneLeft, errors.ApiError, OSError) as error:
            world.record(self._pod, 'FailedMount', f'MountVolume.SetUp failed: {error}', is_warning=True)
            at = world.now() + datetime.timedelta(seconds=world.settings.retry_seconds)
            self._facts = replace(self._facts, trouble=Trouble(reason='FailedMount', message=str(error), retry_at=at))
        else:
            self._facts = replace(self._facts, is_prepared=True, ip=self._preparation.ip, trouble=None)
        self._is_preparing = False
        self._wake.set()

    def _start(self, name: str, tasks: asyncio.TaskGroup) -> None:
        held = self._facts.containers[name]
        world = self._world
        delay = held.delay
        if held.ended is not None and held.ended.finished_at is not None:
            delay = backoffs.after_start(
                delay, held.ended.finished_at, base=world.settings.crash_base, cap=world.settings.crash_cap
            )
        self._change(
            name,
            step=Step.STARTING,
            delay=delay,
            is_started=False,
            is_ready=False,
            is_stopping=False,
            failing='',
            failing_grace=None,
        )
        tasks.create_task(self._run(name, held))

    async def _run(self, name: str, before: Container) -> None:
        """One run of a container, from what it needs to its end."""
        world = self._world
        container = next(one for one in specs.containers(self._pod.spec) if one['name'] == name)
        restarts = before.restarts + (1 if before.ended is not None else 0)
        try:
            setting = await self._preparation.setting(self._pod, container, restarts)
        except (environment.Problem, errors.ApiError, OSError) as error:
            at = world.now() + datetime.timedelta(seconds=world.settings.retry_seconds)
            trouble = Trouble(reason='CreateContainerConfigError', message=str(error), retry_at=at)
            world.record(self._pod, 'Failed', f'Error: {error}', container=name, is_warning=True)
            self._change(name, step=before.step, ended=before.ended, delay=before.delay, trouble=trouble)
            return
        attempt = attempts.Attempt(world, setting, lambda **fields: self._change(name, **fields))
        held = self._facts.containers[name]
        self._attempts[name] = attempt
        if held.is_stopping:
            # Told to end before there was anything to end.
            del self._attempts[name]
            self._change(name, step=before.step, ended=before.ended, is_stopping=False)
            return
        self._change(name, ended=None, last=before.ended or before.last, restarts=restarts, trouble=None)
        try:
            ended = await attempt.run()
        except OSError as error:
            logger.warning('pod %s, container %s: %s', self._pod.metadata.name, name, error)
            ended = Ended(exit_code=128, reason='StartError', message=str(error), finished_at=world.now())
        finally:
            self._attempts.pop(name, None)
        self._change(
            name, step=Step.ENDED, ended=ended, is_stopping=False, is_ready=False, is_started=False, failing=''
        )

    def _reset(self) -> None:
        self._facts = replace(
            self._facts,
            is_restarting=False,
            containers={name: _fresh(held) for name, held in self._facts.containers.items()},
        )

    def _end(self, ending: Ending) -> None:
        held = self._facts.ending
        if held is not None and held.until <= ending.until:
            return
        reason, message = (held.reason, held.message) if held is not None else (ending.reason, ending.message)
        self._facts = replace(self._facts, ending=replace(ending, reason=reason, message=message))
        left = max(0.0, (ending.until - self._world.now()).total_seconds())
        for attempt in self._attempts.values():
            attempt.hurry(grace=left)

    def _take_deletion(self) -> None:
        meta = self._pod.metadata
        if meta.deletion_timestamp is not None:
            self._end(Ending(until=objects.moment(meta.deletion_timestamp)))

    def _change(self, name: str, **fields: Any) -> None:
        containers = {**self._facts.containers, name: replace(self._facts.containers[name], **fields)}
        self._facts = replace(self._facts, containers=containers)
        self._wake.set()

    # The end.

    async def _leave(self) -> None:
        """What is done when all processes have ended: the last status, and the deletion where it is wanted."""
        await self._preparation.release(self._pod)
        with contextlib.suppress(reports.Gone):
            await self._reporter.settled()
        is_confirmed = False
        while not self._is_gone and not self._reporter.is_gone:
            # Cleared first: what comes while the deletion is sent must wake us.
            self._wake.clear()
            if self._pod.metadata.deletion_timestamp is not None and not is_confirmed:
                # Once is enough: where finalizers hold the object, it goes with the last of them.
                await self._delete()
                is_confirmed = True
            await self._wake.wait()

    async def _delete(self) -> None:
        meta = self._pod.metadata
        request = requests.delete(requests.PODS, meta.namespace, meta.name, uid=meta.uid, grace_seconds=0)
        while not self._is_gone:
            try:
                await self._world.api.send(request)
            except (errors.NotFound, errors.Conflict):
                return
            except errors.ApiError as error:
                logger.warning('pod %s/%s cannot be deleted: %s', meta.namespace, meta.name, error)
                await asyncio.sleep(1)
            else:
                return

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(self._world.settings.refresh_seconds)
            if self._facts.is_prepared and self._preparation.is_made:
                with contextlib.suppress(environment.Problem, errors.ApiError, OSError):
                    await self._preparation.refresh(self._pod)


def _fresh(held: Container) -> Container:
    """A container before its first run, which remembers only how often it has run."""
    if held.ended is None:
        return replace(held, is_stopping=False)
    last = Ended(exit_code=137, reason=phases.RESTARTING, message=_REMOVED)
    trouble = Trouble(reason=phases.RESTARTING, message=_REMOVED)
    return Container(name=held.name, last=last, restarts=held.restarts + 1, trouble=trouble)


_REMOVED = 'The container is removed because RestartAllContainers in place'
