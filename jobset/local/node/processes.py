"""The processes of one container, from the node's side: started, signalled, waited for.

The other side is :mod:`jobset.local.node.launching.launcher`, a small process for each container.
"""

import asyncio
import contextlib
import itertools
import marshal
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from jobset.local.node import mounts

_FOLDER: Final = str(Path(__file__).parent)
_CODE: Final = 'import sys; sys.path.append(sys.argv[1]); from launching import launcher; launcher.main()'
_START_TIMEOUT: Final = 60
"""Seconds that a start may take: ten thousands of mounts on a slow disk, but not for ever."""


class CannotStart(Exception):  # noqa: N818
    """A container could not be started; ``number`` is the error's, ``text`` says what was tried."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number
        self.text = text


@dataclass(frozen=True, kw_only=True)
class Launch:
    """All that a launcher is told."""

    argv: Sequence[str]
    """Empty: only see whether the namespaces can be made."""

    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = '/'
    outputs: str = '/'
    """The folder for what further commands print; the container need not see it."""

    namespaces: str = ''
    root: str = ''
    steps: Sequence[mounts.Step] = ()
    hostname: str = ''
    address: str = ''
    """The pod's address, when its ports are its own."""

    def frame(self) -> bytes:
        """As it is sent."""
        return _frame(
            {
                'argv': list(self.argv),
                'env': dict(self.env),
                'cwd': self.cwd,
                'outputs': self.outputs,
                'namespaces': self.namespaces,
                'root': self.root,
                'steps': list(self.steps),
                'hostname': self.hostname,
                'address': self.address,
            }
        )


class Process:
    """A container's processes. Made by :meth:`start`; ``stdout`` and ``stderr`` are the caller's to read and close."""

    def __init__(
        self, popen: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = 0
        """Of the main process, and of its group and session."""

        self.remark = ''
        """Why a pod cannot have ports of its own, where it was only to be seen whether it can."""

        self.launcher = popen.pid
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """The exit code, when the main process and all it has left have ended; 128 and more for signals."""

        self._popen = popen
        self._reader = reader
        self._writer = writer
        self._keys = itertools.count(1)
        self._runs: dict[int, asyncio.Future[int]] = {}
        self._listener: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, launch: Launch, *, stdout: int, stderr: int) -> Self:
        """Starts a container whose output goes to those descriptors. Raises :class:`CannotStart`."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                popen = _spawn(theirs.fileno(), stdout, stderr)
            except OSError as error:
                ours.close()
                raise CannotStart(error.errno or 0, f'the launcher cannot be started: {error}') from error
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        made = cls(popen, reader, writer)
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                await made._begin(launch)
        except BaseException as error:
            await made.close()
            if isinstance(error, TimeoutError):
                raise CannotStart(0, f'not started within {_START_TIMEOUT} s') from error
            raise
        return made

    def signal(self, number: int) -> None:
        """Sends a signal to the main process' group."""
        self._send('signal', number)

    def kill(self) -> None:
        """Kills the main process, and with it all the others."""
        self._send('kill')

    async def run(self, argv: Sequence[str], *, output: Path, seconds: float | None) -> int | None:
        """Runs a further command in the container; its exit code, None when it took too long and was killed.

        ``output`` is a file in the folder that was given for those.
        """
        key = next(self._keys)
        done = self._runs[key] = asyncio.get_running_loop().create_future()
        self._send('run', key, list(argv), output.name)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(done)
        except TimeoutError:
            self._send('cancel', key)
            return None
        except asyncio.CancelledError:
            self._send('cancel', key)
            raise
        finally:
            del self._runs[key]

    async def close(self) -> None:
        """Ends whatever still runs, and forgets it."""
        self._writer.close()
        if self._listener is not None:
            self._listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener
        if not self.exited.done():
            self.exited.set_result(137)
        await _wait_for(self._popen)

    async def _begin(self, launch: Launch) -> None:
        self._writer.write(launch.frame())
        await self._writer.drain()
        self.remark = str((await self._expect('ready'))[1])
        if launch.argv:
            self.pid = (await self._expect('started'))[1]
            self._listener = asyncio.create_task(self._listen())

    async def _expect(self, what: str) -> tuple[Any, ...]:
        try:
            frame = await self._receive()
        except (asyncio.IncompleteReadError, ConnectionError):
            raise CannotStart(0, 'the launcher ended unexpectedly') from None
        if frame[0] == 'failed':
            raise CannotStart(frame[1], frame[2])
        if frame[0] != what:
            raise CannotStart(0, f'the launcher answered {frame!r}')
        return frame

    async def _listen(self) -> None:
        try:
            while True:
                match await self._receive():
                    case ('done', key, code):
                        waiting = self._runs.get(key)
                        if waiting is not None and not waiting.done():
                            waiting.set_result(code)
                    case ('exited', code):
                        self._end(code)
                        return
        except (asyncio.IncompleteReadError, ConnectionError):
            # Somebody has killed the launcher; the kernel has killed the main process after it.
            self._end(137)

    def _end(self, result: int) -> None:
        for waiting in self._runs.values():
            if not waiting.done():
                waiting.set_result(137)
        if not self.exited.done():
            self.exited.set_result(result)

    async def _receive(self) -> tuple[Any, ...]:
        size = int.from_bytes(await self._reader.readexactly(4), 'big')
        frame: tuple[Any, ...] = marshal.loads(await self._reader.readexactly(size))  # noqa: S302 - our own child
        return frame

    def _send(self, *frame: object) -> None:
        if not self._writer.is_closing():
            self._writer.write(_frame(frame))


async def look(kind: str, root: Path, *, address: str) -> tuple[str, str]:
    """Whether namespaces of that kind can be made, and pods have ports of their own: each empty, or why not.

    No ``address``: ports are not asked about.
    """
    steps = [('place', '/proc', 'folder'), ('bind', '/proc', '/proc', '')]
    launch = Launch(argv=(), namespaces=kind, root=str(root), steps=steps, address=address)
    with open(os.devnull, 'wb') as nowhere:  # noqa: ASYNC230, PTH123
        try:
            process = await Process.start(launch, stdout=nowhere.fileno(), stderr=nowhere.fileno())
        except CannotStart as error:
            return error.text, ''
    await process.close()
    return '', process.remark


def _spawn(control: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, '-I', '-S', '-c', _CODE, _FOLDER, str(control)],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        pass_fds=(control,),
        start_new_session=True,
        cwd='/',
    )


def _frame(value: Any) -> bytes:
    data = marshal.dumps(value)
    return len(data).to_bytes(4, 'big') + data


async def _wait_for(popen: subprocess.Popen[bytes]) -> None:
    """Waits for the end of the launcher, without a thread where the kernel can tell."""
    try:
        descriptor = os.pidfd_open(popen.pid)
    except (AttributeError, OSError):
        await asyncio.to_thread(popen.wait)
        return
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, _finish, ended)
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    popen.wait()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
