"""Where a server listens: addresses as flags and the configuration file give them.

A host that is left out means every interface inside a pod, whose network is its own, and loopback anywhere else.
"""

import os
import socket
from collections.abc import Mapping
from typing import Final, NamedTuple

DISABLED: Final = '0'
"""The address that switches a server off."""

LOOPBACK: Final = '127.0.0.1'


class Address(NamedTuple):
    """A host, None for every interface, and a port, 0 for any that is free."""

    host: str | None
    port: int

    def __str__(self) -> str:
        host = '*' if self.host is None else f'[{self.host}]' if ':' in self.host else self.host
        return f'{host}:{self.port}'


class BadAddressError(ValueError):
    """Not an address; the text says of what form one is."""


def in_pod(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process runs in a pod: the kubelet tells every container where the API server is."""
    return bool(environment.get('KUBERNETES_SERVICE_HOST'))


def address(host: str, port: int, *, pod: bool) -> Address:
    """The address of a host, which may be empty, and a port."""
    return Address(host or (None if pod else LOOPBACK), port)


def parse(text: str, *, pod: bool) -> Address | None:
    """The address that ``HOST:PORT`` or ``:PORT`` stands for, None where it is switched off."""
    if text == DISABLED:
        return None
    host, colon, port = text.rpartition(':')
    if host.startswith('[') and host.endswith(']'):
        host = host[1:-1]
    elif ':' in host:
        raise BadAddressError(f'address "{text}": put an IPv6 host into brackets, as in [::1]:8081')
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise BadAddressError(f'address "{text}": write HOST:PORT or :PORT, or {DISABLED} for none')
    return address(host, int(port), pod=pod)


def bind(where: Address) -> socket.socket:
    """A socket that has the address and does not listen yet. Raises OSError, with the address in its text.

    Whoever connects to it is refused until a server listens: better than a connection that nobody answers.
    """
    every = where.host is None and socket.has_dualstack_ipv6()
    host = '::' if every else '0.0.0.0' if where.host is None else where.host  # noqa: S104 - only where asked for
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, where.port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not every)
            made.bind(address)
        except BaseException:
            made.close()
            raise
    except OSError as error:
        raise OSError(error.errno, f'cannot listen on {where}: {error.strerror}') from error
    return made
