"""Gives the processes of a pod all ports for themselves, though they share the network of the machine.

The kernel asks us (seccomp, user notification) before it binds or connects a socket of the container. Who wants a port
on all addresses, or on localhost, gets it on the address of the pod. Who connects to localhost reaches the pod itself,
if anybody listens there, and the machine otherwise. All else goes on as if we were not there.

What we change we do ourselves, on a copy of the socket, so it does not matter what the container does with the address
while we look at it. We wait for nothing: a connection that is not made at once is begun by us, and waited for by the
call that asked for it.
"""

# This runs in the launcher, which must start fast: hence the small module below the usual one for sockets.
# ruff: noqa: PTH123

import _socket
import ctypes
import errno
import fcntl
import os
import select
import struct
import sys
from typing import Final, NamedTuple


class _Machine(NamedTuple):
    audit: int
    seccomp: int
    bind: int
    connect: int
    sendto: int


_MACHINES: Final = {
    'x86_64': _Machine(audit=0xC000003E, seccomp=317, bind=49, connect=42, sendto=44),
    'aarch64': _Machine(audit=0xC00000B7, seccomp=277, bind=200, connect=203, sendto=206),
}
_PIDFD_GETFD: Final = 438
_PIDFD_THREAD: Final = os.O_EXCL

_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 8
_SPEC_ALLOW: Final = 4
"""Not to be slowed down by what the kernel does against spying: we keep nobody from anything."""

_WAIT_KILLABLE: Final = 32
_RET_ALLOW: Final = 0x7FFF0000
_RET_USER_NOTIF: Final = 0x7FC00000
_PR_SET_NO_NEW_PRIVS: Final = 38

_RECV: Final = 0xC0502100
_SEND: Final = 0xC0182101
_ID_VALID: Final = 0x40082102
_SET_FLAGS: Final = 0x40082104
_NOTICE: Final = struct.Struct('=QIIiIQ6Q')
_ANSWER: Final = struct.Struct('=QqiI')
_CONTINUE: Final = 1

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K

_MAPPED: Final = bytes(10) + b'\xff\xff'
_CHANGED: Final = frozenset(
    {
        *(prefix + host for prefix in (b'', _MAPPED) for host in (bytes(4), b'\x7f\0\0\x01')),
        bytes(16),
        bytes(15) + b'\x01',
    }
)
"""All addresses at once, and localhost: in version 4, in version 6, and in version 6 for version 4."""

_LONGEST_DATAGRAM: Final = 65536
_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST: Final = 1
_PROTOCOLS: Final = {6: 6, 262: 6, 17: 17}
"""TCP, several paths of TCP, UDP; and what the kernel is to look among for a listener."""

_NOT_OWN: Final = 255
_TRY_MILLISECONDS: Final = 5000

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _Vector(ctypes.Structure):
    _fields_ = (('base', ctypes.c_void_p), ('size', ctypes.c_size_t))


class _Program(ctypes.Structure):
    _fields_ = (('size', ctypes.c_ushort), ('filter', ctypes.c_char_p))


class _Call(NamedTuple):
    """A call that a process of the container waits in."""

    pid: int
    number: int
    arguments: tuple[int, ...]


class Target(NamedTuple):
    """A port on all addresses, or on localhost."""

    family: int
    port: int


class _Answer(NamedTuple):
    """What a call comes back with."""

    value: int = 0
    error: int = 0


class Handover:
    """Carries the descriptor from the process that is watched to the one that watches."""

    def __init__(self) -> None:
        self._ours, self._theirs = _socket.socketpair()

    def give(self, descriptor: int) -> None:
        """In the one process."""
        content = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack('i', descriptor))
        self._theirs.sendmsg([b'.'], [content])

    def take(self) -> int | None:
        """In the other one; None when the first has ended without."""
        self._theirs.close()
        _, content, _, _ = self._ours.recvmsg(1, _socket.CMSG_SPACE(4))
        self._ours.close()
        return struct.unpack('i', content[0][2])[0] if content else None


class Ports:
    """The ports of one pod, as seen by the processes of one container. Raises OSError where that cannot be."""

    def __init__(self, address: str) -> None:
        machine = _MACHINES.get(os.uname().machine)
        if machine is None:
            raise OSError(errno.ENOSYS, 'not known for this architecture', os.uname().machine)
        self._address = address
        self._machine = machine
        self._diagnosis = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, _SOCK_DIAG)

    def install(self, *, is_privileged: bool) -> int:
        """Puts the calling process, and all that it starts, under the eyes of who has the descriptor."""
        if not is_privileged and _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise _error('prctl')
        code = _filter(self._machine)
        program = _Program(len(code) // 8, code)
        for flags in (_NEW_LISTENER | _SPEC_ALLOW | _WAIT_KILLABLE, _NEW_LISTENER | _SPEC_ALLOW):
            listener: int = _LIBC.syscall(self._machine.seccomp, _SET_MODE_FILTER, flags, ctypes.byref(program))
            if listener >= 0:
                return listener
        raise _error('seccomp')

    def answer(self, listener: int) -> None:
        """Lets one call go on, changed or not. There has to be one, else this waits."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(listener, _RECV, notice, True)
        except OSError:
            # Whoever called is gone.
            return
        key, pid, _, number, _, _, *arguments = _NOTICE.unpack(notice)
        try:
            answer = self._do(listener, key, _Call(pid, number, tuple(arguments)))
        except Exception:
            # Whatever this was, the call must go on.
            answer = None
        packed = _ANSWER.pack(key, 0, 0, _CONTINUE) if answer is None else _ANSWER.pack(key, *answer, 0)
        try:
            fcntl.ioctl(listener, _SEND, packed)
        except OSError:
            return

    def _do(self, listener: int, key: int, call: _Call) -> _Answer | None:
        """What to come back with; None to let the call go on as it is, which is also what an OSError says."""
        where = 4 if call.number == self._machine.sendto else 1
        at, size = call.arguments[where], call.arguments[where + 1] & 0xFFFFFFFF
        wanted = target(_memory(call.pid, at, min(size, 28)))
        if wanted is None or wanted.port == 0:
            # Port 0 stays: the kernel finds one that is free, and clients that bind so want to go anywhere.
            return None
        copy = _copy(call.pid, call.arguments[0] & 0xFFFFFFFF)
        try:
            # From here on it is certain that we have looked at the caller, and not at one that got its number.
            fcntl.ioctl(listener, _ID_VALID, struct.pack('=Q', key))
            return self._change(copy, wanted, call)
        finally:
            copy.close()

    def _change(self, copy: _socket.socket, target: Target, call: _Call) -> _Answer | None:
        if copy.family != target.family or copy.proto not in _PROTOCOLS:
            return None
        if call.number == self._machine.bind:
            return self._bind(copy, target)
        if not self._has_listener(_PROTOCOLS[copy.proto], target.port):
            return None
        if call.number == self._machine.connect:
            return self._connect(copy, target)
        return self._send(copy, target, call)

    def _bind(self, copy: _socket.socket, target: Target) -> _Answer:
        wanted = self._pods(target)
        if target.family == _socket.AF_INET6 and copy.getsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY):
            # Pods have no such addresses. It must not fail, and it must be in nobody's way.
            wanted = ('::1', 0)
        try:
            copy.bind(wanted)
        except OSError as error:
            is_bound = error.errno == errno.EINVAL and copy.getsockname()[:2] == wanted
            # Where a signal has cut the call off and it is made again, we have done it already.
            return _Answer() if is_bound else _failed(error)
        return _Answer()

    def _connect(self, copy: _socket.socket, target: Target) -> _Answer | None:
        flags = fcntl.fcntl(copy.fileno(), fcntl.F_GETFL)
        is_blocking = not flags & os.O_NONBLOCK
        if is_blocking:
            fcntl.fcntl(copy.fileno(), fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            error = copy.connect_ex(self._pods(target))
        finally:
            if is_blocking:
                fcntl.fcntl(copy.fileno(), fcntl.F_SETFL, flags)
        if is_blocking and error in (errno.EINPROGRESS, errno.EALREADY):
            # A socket that is being connected takes no other address; the call just waits for its end.
            return None
        return _Answer(error=-error)

    def _send(self, copy: _socket.socket, target: Target, call: _Call) -> _Answer | None:
        _, at, size, flags, *_ = call.arguments
        if copy.type != _socket.SOCK_DGRAM or size > _LONGEST_DATAGRAM:
            return None
        try:
            data = _memory(call.pid, at, size)
            return _Answer(value=copy.sendto(data, flags & 0x7FFFFFFF | _socket.MSG_DONTWAIT, self._pods(target)))
        except OSError as error:
            return _failed(error)

    def _pods(self, target: Target) -> tuple[str, int]:
        """The port at the address of the pod."""
        return (self._address if target.family == _socket.AF_INET else f'::ffff:{self._address}', target.port)

    def _has_listener(self, protocol: int, port: int) -> bool:
        """Whether anybody listens at that port of the pod's address, as the kernel would find them."""
        address = _socket.inet_aton(self._address) + bytes(12)
        # Source and destination are the same, because TCP and UDP disagree about which is which.
        ends = struct.pack('!HH', port, port) + address + address + bytes(4) + b'\xff' * 8
        query = struct.pack('=BBBBI', _socket.AF_INET, protocol, 0, 0, 0xFFFFFFFF) + ends
        header = struct.pack('=IHHII', 16 + len(query), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
        self._diagnosis.send(header + query)
        reply = self._diagnosis.recv(4096, _socket.MSG_DONTWAIT)
        return bool(struct.unpack_from('=H', reply, 4)[0] == _SOCK_DIAG_BY_FAMILY)


def watch(listener: int, poll: select.poll) -> None:
    """Asks to be told of calls."""
    poll.register(listener, select.POLLIN)
    try:
        fcntl.ioctl(listener, _SET_FLAGS, 1)
    except OSError:
        # It only makes answers faster.
        return


def problem(address: str, *, is_privileged: bool) -> str:
    """Why the pod with that address cannot have ports of its own; empty when it can. Tries it."""
    try:
        return _try(Ports(address), address, is_privileged=is_privileged)
    except OSError as error:
        return f'{error.filename}: {error.strerror}' if error.filename else str(error.strerror)


def _try(ports: Ports, address: str, *, is_privileged: bool) -> str:
    free = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    free.bind((address, 0))
    port = free.getsockname()[1]
    free.close()
    handover = Handover()
    pid = os.fork()
    if pid == 0:
        try:
            handover.give(ports.install(is_privileged=is_privileged))
            os._exit(0 if _is_own(address, port) else _NOT_OWN)
        except OSError as error:
            os._exit(error.errno or _NOT_OWN)
        finally:
            os._exit(_NOT_OWN)
    listener = handover.take()
    if listener is not None:
        poll = select.poll()
        watch(listener, poll)
        while any(events & select.POLLIN for _, events in poll.poll(_TRY_MILLISECONDS)):
            ports.answer(listener)
        os.close(listener)
    # The kernel fails its calls when nobody answers any more; so it ends in any case.
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == 0:
        return ''
    return 'seccomp: the kernel lets nobody answer for others' if code == _NOT_OWN else f'seccomp: {os.strerror(code)}'


def _is_own(address: str, port: int) -> bool:
    server = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    server.bind(('0.0.0.0', port))  # noqa: S104 - the point of it
    server.listen(1)
    client = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    client.connect(('127.0.0.1', port))
    return bool(server.getsockname()[0] == address == client.getpeername()[0])


def _filter(machine: _Machine) -> bytes:
    """The program that the kernel asks about each call: ours are ``bind``, ``connect``, and ``sendto`` somewhere."""
    ours, others = 10, 11
    steps = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUAL, 0, others - 2, machine.audit),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_EQUAL, ours - 4, 0, machine.bind),
        (_EQUAL, ours - 5, 0, machine.connect),
        (_EQUAL, 0, others - 6, machine.sendto),
        (_LOAD, 0, 0, 48),  # the fifth argument, the address: nothing when the socket is connected
        (_EQUAL, 0, ours - 8, 0),
        (_LOAD, 0, 0, 52),
        (_EQUAL, others - 10, 0, 0),
        (_RETURN, 0, 0, _RET_USER_NOTIF),
        (_RETURN, 0, 0, _RET_ALLOW),
    ]
    return b''.join(struct.pack('=HBBI', *step) for step in steps)


def target(address: bytes) -> Target | None:
    """What an address means, if it is one of those that we change."""
    family = int.from_bytes(address[:2], sys.byteorder)
    if family == _socket.AF_INET and len(address) >= 16:
        host = address[4:8]
    elif family == _socket.AF_INET6 and len(address) >= 24:
        host = address[8:24]
    else:
        return None
    if host not in _CHANGED:
        return None
    return Target(family, int.from_bytes(address[2:4], 'big'))


def _memory(pid: int, at: int, size: int) -> bytes:
    """A piece of another process' memory."""
    content = ctypes.create_string_buffer(size)
    ours, theirs = _Vector(ctypes.addressof(content), size), _Vector(at, size)
    count = _LIBC.process_vm_readv(pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    if count != size:
        raise _error('process_vm_readv')
    return content.raw


def _copy(pid: int, descriptor: int) -> _socket.socket:
    """A socket of another process."""
    process = _open(pid)
    try:
        copy = _LIBC.syscall(_PIDFD_GETFD, process, descriptor, 0)
    finally:
        os.close(process)
    if copy < 0:
        raise _error('pidfd_getfd')
    try:
        return _socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _open(pid: int) -> int:
    """A descriptor of the process of a thread."""
    for flags in (0, _PIDFD_THREAD):
        try:
            return os.pidfd_open(pid, flags)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise
    # A kernel before 6.9, and not the first thread.
    with open(f'/proc/{pid}/status', 'rb') as file:
        for line in file:
            if line.startswith(b'Tgid:'):
                return os.pidfd_open(int(line.split()[1]))
    raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))


def _failed(error: OSError) -> _Answer:
    return _Answer(error=-(error.errno or errno.EIO))


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)
