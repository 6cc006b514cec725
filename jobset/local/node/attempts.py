"""One run of a container: from its command to its exit code, with hooks and probes on the way."""

import asyncio
import contextlib
import errno
import os
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jobset.local.node import (
    asking,
    commands,
    leftovers,
    logfiles,
    mounts,
    probing,
    processes,
    scratch,
    specs,
    terminations,
)
from jobset.local.node.model import Ended, Pod, Spec, Step
from jobset.local.node.world import World

_LEAST_GRACE: Final = 2
"""Seconds between SIGTERM and SIGKILL at least, unless there is no grace at all."""

_DRAIN_SECONDS: Final = 5
"""How long output is waited for when all processes have ended. It is there already, but for a full machine."""

_HOOK_SECONDS: Final = 3600
"""How long a start hook may take. The API has no bound; a hook that hangs must not hang for ever."""

OnChange = Callable[..., None]
"""Called with changed fields of :class:`jobset.local.node.model.Container`."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a run needs to know, made by :mod:`jobset.local.node.lives`."""

    pod: Pod
    container: Spec
    run: int
    """Counts the restarts."""

    env: Mapping[str, str]
    mounts: list[mounts.Mount]
    folder: Path
    """Of this container, within that of its pod."""

    ip: str
    default_cwd: Path


class Attempt:
    """One run. :meth:`run` goes from start to end; :meth:`stop` may be called meanwhile, more than once."""

    def __init__(self, world: World, setting: Setting, on_change: OnChange) -> None:
        self.container_id = f'local://{uuid.uuid4().hex}{uuid.uuid4().hex}'
        self._world = world
        self._setting = setting
        self._on_change = on_change
        self._process: processes.Process | None = None
        self._is_launched = asyncio.Event()
        self._deadline: float | None = None
        self._hurry = asyncio.Event()
        self._commands = 0

    async def run(self) -> Ended:
        """Runs the container to its end."""
        world, setting = self._world, self._setting
        name = setting.container['name']
        self._message_file.parent.mkdir(parents=True, exist_ok=True)
        self._message_file.write_bytes(b'')
        where = logfiles.folder(
            world.folder / 'logs',
            namespace=setting.pod.metadata.namespace,
            pod=setting.pod.metadata.name,
            uid=setting.pod.metadata.uid,
        )
        writer = logfiles.Writer(
            logfiles.path(where, name, setting.run),
            now=world.now,
            most_bytes=world.settings.log_bytes,
            most_files=world.settings.log_files,
            on_loss=lambda text: self._warn('OutputLost', f'Container {name}: {text}'),
        )
        world.logs.add(writer)
        try:
            return await self._run(writer)
        finally:
            self._is_launched.set()
            writer.close()
            world.logs.remove(writer)

    async def stop(self, *, grace: float, hook: bool) -> None:
        """Ends the run: the stop hook, SIGTERM to all of its group, SIGKILL when ``grace`` seconds are over."""
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + grace
        await self._is_launched.wait()
        process = self._process
        if process is None or process.exited.done():
            return
        if grace > 0:
            action = (self._setting.container.get('lifecycle') or {}).get('preStop')
            if hook and action:
                await self._hook(process, action, 'PreStop', seconds=grace)
            process.signal(_stop_signal(self._setting.container))
            self._deadline = max(self._deadline, loop.time() + _LEAST_GRACE)
            while not process.exited.done() and (left := self._deadline - loop.time()) > 0:
                self._hurry.clear()
                await _any(process.exited, self._hurry, seconds=left)
        if not process.exited.done():
            process.kill()

    async def execute(self, command: Sequence[str]) -> tuple[int, str]:
        """Runs a command beside the main process; its exit code and output. Raises LookupError when that has ended."""
        process = self._process
        if process is None or process.exited.done():
            raise LookupError(f'container {self._setting.container["name"]} does not run')
        self._commands += 1
        return await asking.execute(command, process, self._setting.folder / f'command-{self._commands}')

    def hurry(self, *, grace: float) -> None:
        """Leaves a run that is being ended only so many seconds more."""
        deadline = asyncio.get_running_loop().time() + grace
        if self._deadline is not None and deadline < self._deadline:
            self._deadline = deadline
            self._hurry.set()

    # Start and end.

    async def _run(self, writer: logfiles.Writer) -> Ended:
        world, setting = self._world, self._setting
        try:
            argv, env, cwd = commands.build(
                setting.container,
                setting.env,
                world.settings.images,
                default_cwd=str(setting.default_cwd),
            )
            if world.settings.private_tmp:
                await asyncio.to_thread(scratch.fresh, self._tmp)
            launch = self._launch(argv, env, cwd)
            async with _pipes(writer) as (stdout, stderr):
                process = await processes.Process.start(launch, stdout=stdout, stderr=stderr)
        except commands.Missing as error:
            return self._never_ran(reason='ContainerCannotRun', message=str(error))
        except processes.CannotStart as error:
            return self._never_ran(reason='StartError', message=_explain(error))
        self._process = process
        started_at = world.now()
        try:
            note = setting.folder.parent.parent / 'pids' / setting.container['name']
            leftovers.note(note, process.launcher, process.pid)
            self._on_change(step=Step.RUNNING, started_at=started_at, container_id=self.container_id)
            world.record(setting.pod, 'Started', 'Container started', container=setting.container['name'])
            self._is_launched.set()
            code = await self._attend(process)
            await writer.finish(within=_DRAIN_SECONDS)
        finally:
            await process.close()
        return Ended(
            exit_code=code,
            reason='Completed' if code == 0 else 'Error',
            message=terminations.message(setting.container, code, self._message_file, writer.file),
            started_at=started_at,
            finished_at=world.now(),
            container_id=self.container_id,
        )

    def _launch(self, argv: list[str], env: dict[str, str], cwd: str) -> processes.Launch:
        world, setting = self._world, self._setting
        address = setting.ip if world.has_ports and not setting.pod.spec.get('hostNetwork') else ''
        if not world.namespaces:
            cwd = cwd if Path(cwd).is_dir() else str(setting.default_cwd)
            if world.settings.private_tmp:
                env.setdefault('TMPDIR', str(self._tmp))
            return processes.Launch(argv=argv, env=env, cwd=cwd, outputs=str(setting.folder), address=address)
        root = setting.folder / 'root'
        root.mkdir(parents=True, exist_ok=True)
        message_path = setting.container.get('terminationMessagePath') or terminations.DEFAULT_PATH
        wanted = [
            *setting.mounts,
            mounts.Mount(source=str(self._message_file), target=message_path, is_file=True),
            mounts.Mount(source='', target=cwd),
        ]
        if world.settings.private_tmp:
            kept = [*world.shown, str(setting.default_cwd)]
            wanted += scratch.mounts(setting.mounts, commands.MACHINE, tmp=self._tmp, kept=kept)
        return processes.Launch(
            argv=argv,
            env=env,
            cwd=cwd,
            outputs=str(setting.folder),
            namespaces=world.namespaces,
            root=str(root),
            steps=mounts.plan(wanted, commands.MACHINE),
            hostname=specs.hostname(setting.pod.metadata.name, setting.pod.spec),
            address=address,
        )

    def _warn(self, reason: str, note: str) -> None:
        setting = self._setting
        self._world.record(setting.pod, reason, note, container=setting.container['name'], is_warning=True)

    def _never_ran(self, *, reason: str, message: str) -> Ended:
        self._warn('Failed', f'Error: {message}')
        return Ended(
            exit_code=128,
            reason=reason,
            message=message,
            finished_at=self._world.now(),
            container_id=self.container_id,
        )

    async def _attend(self, process: processes.Process) -> int:
        """Sees to hooks and probes until the container has ended."""
        tending = asyncio.create_task(self._tend(process))
        try:
            return await asyncio.shield(process.exited)
        finally:
            tending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await tending

    async def _tend(self, process: processes.Process) -> None:
        container = self._setting.container
        action = (container.get('lifecycle') or {}).get('postStart')
        if action and not await self._hook(process, action, 'PostStart', seconds=None):
            self._on_change(failing='FailedPostStartHook')
            return
        startup = container.get('startupProbe')
        if startup:
            await self._probe(process, probing.Use.STARTUP, startup)
        readiness, liveness = container.get('readinessProbe'), container.get('livenessProbe')
        self._on_change(is_started=True, is_ready=not readiness)
        async with asyncio.TaskGroup() as tasks:
            if readiness:
                tasks.create_task(self._probe(process, probing.Use.READINESS, readiness))
            if liveness:
                tasks.create_task(self._probe(process, probing.Use.LIVENESS, liveness))

    # Hooks and probes.

    async def _hook(self, process: processes.Process, action: Spec, kind: str, *, seconds: float | None) -> bool:
        if action.get('sleep'):
            pause = float(action['sleep'].get('seconds') or 0)
            await _any(process.exited, self._hurry, seconds=min(pause, seconds or pause))
            return True
        is_good, text = await asking.ask(
            action,
            self._setting.container,
            process,
            ip=self._setting.ip,
            output=self._setting.folder / f'hook-{kind}',
            seconds=_HOOK_SECONDS if seconds is None else seconds,
        )
        if not is_good and not process.exited.done():
            self._warn(f'Failed{kind}Hook', f'{kind}Hook failed: {text}')
        return is_good

    async def _probe(self, process: processes.Process, use: probing.Use, probe: Spec) -> None:
        """Makes a probe again and again; a startup probe until it is good."""
        timing, state = probing.timing(probe), probing.first(use)
        loop = asyncio.get_running_loop()
        await asyncio.sleep(timing.initial_delay)
        while True:
            begun = loop.time()
            is_good, text = await asking.ask(
                probe,
                self._setting.container,
                process,
                ip=self._setting.ip,
                output=self._setting.folder / f'probe-{use}',
                seconds=timing.timeout,
            )
            before, state = state, probing.after(state, is_good=is_good, timing=timing)
            if not is_good:
                self._warn('Unhealthy', f'{use} probe failed: {text}')
            if state.verdict is not before.verdict and self._judge(use, probe, is_good=bool(state.verdict)):
                return
            await asyncio.sleep(max(0.0, begun + timing.period - loop.time()))

    def _judge(self, use: probing.Use, probe: Spec, *, is_good: bool) -> bool:
        """Takes a new verdict; True when there is no need to ask again."""
        if use is probing.Use.READINESS:
            self._on_change(is_ready=is_good)
            return False
        if not is_good:
            name = self._setting.container['name']
            why = f'Container {name} failed {use.lower()} probe'
            self._on_change(failing=why, failing_grace=probe.get('terminationGracePeriodSeconds'))
        return use is probing.Use.STARTUP and is_good

    @property
    def _tmp(self) -> Path:
        return self._setting.folder / 'tmp'

    @property
    def _message_file(self) -> Path:
        return self._setting.folder / 'termination-log'


@contextlib.asynccontextmanager
async def _pipes(writer: logfiles.Writer) -> AsyncIterator[tuple[int, int]]:
    """Pipes for a container's output; ours are closed at the end, when the container has its own."""
    stdout, stderr = writer.pipe('stdout'), writer.pipe('stderr')
    try:
        yield stdout, stderr
    finally:
        os.close(stdout)
        os.close(stderr)


async def _any(exited: asyncio.Future[int], event: asyncio.Event, *, seconds: float) -> None:
    """Waits for the first of both."""
    task: asyncio.Future[Any] = asyncio.ensure_future(event.wait())
    either: set[asyncio.Future[Any]] = {exited, task}
    try:
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()


def _stop_signal(container: Spec) -> int:
    name = (container.get('lifecycle') or {}).get('stopSignal') or 'SIGTERM'
    try:
        return int(signal.Signals[name])
    except KeyError:
        return int(signal.SIGTERM)


def _explain(error: processes.CannotStart) -> str:
    """A failed start in the words of container runtimes."""
    what, _, path = error.text.partition(' ')
    if what == 'exec':
        command = path.rpartition(': ')[0]
        match error.number:
            case errno.ENOENT if '/' not in command:
                return f'exec: "{command}": executable file not found in $PATH'
            case errno.ENOENT:
                return f'exec: "{command}": stat {command}: no such file or directory'
            case errno.EACCES:
                return f'exec: "{command}": permission denied'
    return error.text
