"""Runs the processes of one container, and nothing else. Started as a process of its own by :mod:`..processes`.

It stands between the node and the container for four reasons. It can enter namespaces, which a process with threads
cannot. It adopts all that the container leaves behind, so that nothing survives its main process. It answers when the
kernel asks about the container's ports, see :mod:`.ports`. And it notices the end of the node, however that ends, by
the end of its control socket: then it kills all it has started, and ends.

It talks over file descriptor 3, in frames: four bytes of length, and a tuple as :mod:`marshal` writes it. It gets first
a dictionary (see ``_Launcher.__init__``), then ``('signal', number)``, ``('kill',)``, ``('run', id, argv, file)`` and
``('cancel', id)``. It tells ``('ready', text)`` or ``('failed', number, text)``, where the text of the first is about
ports, then ``('started', pid)`` or ``failed`` again, ``('done', id, code)`` for each further command, and at last
``('exited', code)``.

It starts once for each container, so it imports only what is cheap; of this package nothing but what lies beside it.
"""

# Paths are text here: to import pathlib takes longer than all that is done with them.
# ruff: noqa: PTH101, PTH102, PTH103, PTH116, PTH120, PTH123, PTH208, PTH211

import ctypes
import errno
import itertools
import marshal
import os
import select
import sys
from typing import Any, Final

from . import ports

_CONTROL: Final = 3
_STDOUT: Final = 1
_STDERR: Final = 2
_SIGKILL: Final = 9

_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUTS: Final = 0x04000000
_CLONE_NEWUSER: Final = 0x10000000
_MS_RDONLY: Final = 1
_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MS_REMOUNT: Final = 32
_MS_BIND: Final = 4096
_MS_REC: Final = 16384
_MS_PRIVATE: Final = 1 << 18
_MNT_DETACH: Final = 2
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PIVOT_ROOT: Final = {'x86_64': 155, 'aarch64': 41, 'riscv64': 41, 'ppc64le': 203, 's390x': 217}
_KEPT_FLAGS: Final = 2 | 4 | 8 | 1024  # nosuid, nodev, noexec, noatime: a namespace may not take them back

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _Failed(Exception):  # noqa: N818
    """A step that could not be done."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number
        self.text = text


def main() -> None:
    """Does what the node says, until all is over."""
    control = int(sys.argv[-1])
    if control != _CONTROL:
        os.dup2(control, _CONTROL)
        os.close(control)
    os.set_inheritable(_CONTROL, False)
    header = _read(4)
    config = marshal.loads(_read(int.from_bytes(header, 'big')))  # noqa: S302 - written by our own parent
    try:
        launcher = _Launcher(config)
        launcher.enter()
    except OSError as error:
        _tell('failed', error.errno or 0, f'{error.strerror}: {error.filename}')
        return
    _tell('ready', '' if config['argv'] else launcher.look_at_ports())
    if config['argv']:
        launcher.run()


class _Launcher:
    def __init__(self, config: dict[str, Any]) -> None:
        self._namespaces: str = config['namespaces']
        """``user`` for a user namespace, ``plain`` without one, empty for none at all."""

        self._root: str = config['root']
        """An empty folder at which the new root is made."""

        self._steps: list[tuple[str, ...]] = config['steps']
        self._hostname: str = config['hostname']
        self._argv: list[str] = config['argv']
        self._env: dict[str, str] = config['env']
        self._folder: str = config['cwd']
        # Opened before anything is mounted: the container may have something else at that path.
        self._outputs = os.open(config['outputs'], os.O_PATH | os.O_DIRECTORY)
        self._address: str = config['address']
        """Of the pod, whose ports are its own; empty when they are those of the machine."""

        self._ports = ports.Ports(self._address) if self._address and self._argv else None
        self._listeners: set[int] = set()
        self._poll = select.poll()
        self._main = 0
        self._children: dict[int, int] = {}  # pid of a further command -> its id
        self._handles: dict[int, int] = {}  # descriptor of a process -> its pid

    # Namespaces.

    def enter(self) -> None:
        """Makes this process see what the container is to see."""
        _check(_LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 'prctl')
        if not self._namespaces:
            return
        self._unshare()
        _mount('none', '/', '', _MS_REC | _MS_PRIVATE)
        _mount('tmpfs', self._root, 'tmpfs', 0, 'mode=755')
        for step in self._steps:
            self._make(step)
        os.chdir(self._root)
        number = _PIVOT_ROOT.get(os.uname().machine)
        if number is None:
            raise OSError(errno.ENOSYS, 'pivot_root is not known for this architecture', os.uname().machine)
        _check(_LIBC.syscall(number, b'.', b'.'), 'pivot_root')
        _check(_LIBC.umount2(b'.', _MNT_DETACH), 'umount')
        os.chdir('/')
        if self._hostname:
            name = self._hostname.encode()
            _check(_LIBC.sethostname(name, len(name)), 'sethostname')

    def _unshare(self) -> None:
        flags = _CLONE_NEWNS | _CLONE_NEWUTS
        user, group = os.geteuid(), os.getegid()
        if self._namespaces == 'plain':
            _check(_LIBC.unshare(flags), 'unshare')
            return
        _check(_LIBC.unshare(flags | _CLONE_NEWUSER), 'unshare')
        # The user stays who they are: files that they own on the machine are theirs here, and the other way round.
        _write('/proc/self/setgroups', 'deny')
        _write('/proc/self/uid_map', f'{user} {user} 1')
        _write('/proc/self/gid_map', f'{group} {group} 1')

    def _make(self, step: tuple[str, ...]) -> None:
        match step:
            case ('folder', path, model):
                os.mkdir(self._root + path)
                os.chmod(self._root + path, os.stat(model).st_mode & 0o7777)
            case ('link', target, path):
                os.symlink(target, self._root + path)
            case ('place', path, kind):
                self._place(self._root + path, kind)
            case ('bind', source, path, optional):
                try:
                    _mount(source, self._root + path, '', _MS_BIND | _MS_REC)
                except OSError:
                    if not optional:
                        raise
            case ('memory', path):
                _mount('tmpfs', self._root + path, 'tmpfs', _MS_NOSUID | _MS_NODEV, 'mode=1777')
            case ('lock', path):
                kept = os.statvfs(self._root + path).f_flag & _KEPT_FLAGS
                _mount('none', self._root + path, '', _MS_BIND | _MS_REMOUNT | _MS_RDONLY | kept)

    def _place(self, path: str, kind: str) -> None:
        if kind == 'folder':
            os.makedirs(path, exist_ok=True)
        elif not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))

    # Processes.

    def look_at_ports(self) -> str:
        """Why the pod cannot have ports of its own."""
        return ports.problem(self._address, is_privileged=bool(self._namespaces)) if self._address else ''

    def run(self) -> None:
        """Starts the main process, and serves the node until it has ended."""
        try:
            self._main = self._start(self._argv, None)
        except _Failed as failure:
            _tell('failed', failure.number, failure.text)
            return
        os.close(_STDOUT)
        os.close(_STDERR)
        self._poll.register(_CONTROL, select.POLLIN)
        _tell('started', self._main)
        for answered in itertools.count():
            ready = self._poll.poll(30_000)
            others = [(descriptor, events) for descriptor, events in ready if not self._answer(descriptor, events)]
            if ready and not others and answered % 100:
                continue
            for descriptor, _ in others:
                if descriptor == _CONTROL and not self._obey():
                    _kill_all()
                    return
                pid = self._handles.get(descriptor)
                if pid is not None and self._has_ended(descriptor, pid):
                    return
            self._reap_orphans()

    def _answer(self, descriptor: int, events: int) -> bool:
        """Whether it was about ports."""
        if descriptor not in self._listeners or self._ports is None:
            return False
        if events & select.POLLIN:
            self._ports.answer(descriptor)
        else:
            # All that could ask have ended.
            self._poll.unregister(descriptor)
            self._listeners.remove(descriptor)
            os.close(descriptor)
        return True

    def _obey(self) -> bool:
        """One command; False at the end of the node."""
        try:
            frame = marshal.loads(_read(int.from_bytes(_read(4), 'big')))  # noqa: S302
        except EOFError:
            return False
        match frame:
            case ('signal', number):
                _signal_group(self._main, number)
            case ('kill',):
                _signal_group(self._main, _SIGKILL)
                _kill(self._main, _SIGKILL)
            case ('run', key, argv, file):
                self._run_more(key, argv, file)
            case ('cancel', key):
                for pid, one in self._children.items():
                    if one == key:
                        _signal_group(pid, _SIGKILL)
        return True

    def _run_more(self, key: int, argv: list[str], file: str) -> None:
        try:
            self._children[self._start(argv, file)] = key
        except _Failed as failure:
            self._write_safely(file, failure.text)
            _tell('done', key, 126 if failure.number == errno.EACCES else 127)

    def _has_ended(self, descriptor: int, pid: int) -> bool:
        """Takes the end of a process; True when it was the main one and nothing is left."""
        _, status = os.waitpid(pid, 0)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        del self._handles[descriptor]
        code = os.waitstatus_to_exitcode(status)
        if pid != self._main:
            _tell('done', self._children.pop(pid), code if code >= 0 else 128 - code)
            return False
        _kill_all()
        _tell('exited', code if code >= 0 else 128 - code)
        return True

    def _start(self, argv: list[str], file: str | None) -> int:
        """Starts a process in a session of its own; its output goes to the output ``file``, or where ours goes."""
        reader, writer = os.pipe2(os.O_CLOEXEC)
        handover = None if self._ports is None else ports.Handover()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become(argv, file, writer, parent, handover)
        os.close(writer)
        listener = None if handover is None else handover.take()
        if listener is not None:
            self._listeners.add(listener)
            ports.watch(listener, self._poll)
        with open(reader, 'rb') as pipe:
            problem = pipe.read()
        if problem:
            os.waitpid(pid, 0)
            number, text = marshal.loads(problem)  # noqa: S302
            raise _Failed(number, text)
        handle = os.pidfd_open(pid)
        self._handles[handle] = pid
        self._poll.register(handle, select.POLLIN)
        return pid

    def _become(
        self, argv: list[str], file: str | None, writer: int, parent: int, handover: ports.Handover | None
    ) -> None:
        """In the new process: turns into ``argv``, or tells through ``writer`` why not. Does not come back."""
        where = ''
        try:
            os.setsid()
            os.close(_CONTROL)
            if file is not None:
                output = self._open(file)
                os.dup2(output, _STDOUT)
                os.dup2(output, _STDERR)
            for number in (13, 25):  # SIGPIPE and SIGXFSZ, which Python ignores and its children must not
                _LIBC.signal(number, None)
            where = f'chdir {self._folder}'
            os.chdir(self._folder)
            if self._ports is not None and handover is not None:
                where = 'ports'
                handover.give(self._ports.install(is_privileged=bool(self._namespaces)))
            where = f'exec {argv[0]}'
            _LIBC.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(137)
            os.execvpe(argv[0], argv, self._env)  # noqa: S606
        except OSError as error:
            os.write(writer, marshal.dumps((error.errno or 0, f'{where}: {error.strerror}')))
        except BaseException as error:
            os.write(writer, marshal.dumps((0, f'{where}: {error}')))
        finally:
            os._exit(127)

    def _open(self, file: str) -> int:
        return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600, dir_fd=self._outputs)

    def _write_safely(self, file: str, text: str) -> None:
        try:
            with open(self._open(file), 'w', encoding='utf-8', errors='replace') as output:
                output.write(text)
        except OSError:
            return

    def _reap_orphans(self) -> None:
        """Takes the ends of processes that others have left to us."""
        for pid in _children_of(os.getpid()):
            if pid not in self._handles.values():
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    continue


def _kill_all() -> None:
    """Kills all descendants. Those of a killed one become ours, so it takes as many rounds as they are deep."""
    for _ in range(1000):
        for pid in _children_of(os.getpid()):
            _kill(pid, _SIGKILL)
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _children_of(pid: int) -> list[int]:
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        # Not every kernel has that file.
        return [int(name) for name in os.listdir('/proc') if name.isdigit() and _parent_of(name) == pid]


def _parent_of(name: str) -> int:
    try:
        with open(f'/proc/{name}/stat', 'rb') as file:
            return int(file.read().rpartition(b')')[2].split()[1])
    except (OSError, IndexError):
        return 0


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _mount(source: str, target: str, kind: str, flags: int, data: str = '') -> None:
    result = _LIBC.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _check(result, f'mount {target}')


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _write(path: str, text: str) -> None:
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def _read(size: int) -> bytes:
    """That many bytes from the node. Raises EOFError at its end."""
    data = b''
    while len(data) < size:
        try:
            part = os.read(_CONTROL, size - len(data))
        except ConnectionResetError:
            part = b''
        if not part:
            raise EOFError
        data += part
    return data


def _tell(*frame: str | int) -> None:
    data = marshal.dumps(frame)
    try:
        os.write(_CONTROL, len(data).to_bytes(4, 'big') + data)
    except BrokenPipeError:
        # The node is gone; the next read says so too.
        return
