"""Addresses for pods, on the loopback device of this machine.

Every cluster has a range 127.x.0.0/16 of its own, so that pods of two clusters never meet. It is claimed by a socket
with a name: the kernel keeps such names apart in exactly the places where addresses are, in network namespaces, and
forgets them with the process, however that ends.
"""

import socket
from collections.abc import Iterator
from typing import Final, Self

_FIRST: Final = 64
_RANGES: Final = 190
"""127.64 to 127.253: low ones are taken by resolvers and the like."""


class NoneLeft(Exception):  # noqa: N818
    """All ranges, or all addresses of one, are taken."""


class Addresses:
    """The addresses of one cluster. Several nodes of it share them."""

    def __init__(self, prefix: str, claim: socket.socket | None) -> None:
        self.prefix = prefix
        """The first two numbers, with a dot at the end."""

        self._claim = claim
        self._taken: set[str] = set()
        self._next = 0

    @classmethod
    def claim(cls, seed: int = 0) -> Self:
        """The first free range, looked for from one that depends on ``seed``. Raises :class:`NoneLeft`."""
        for offset in range(_RANGES):
            number = _FIRST + (seed + offset) % _RANGES
            claim = _claimed(number)
            if claim is not None:
                return cls(f'127.{number}.', claim)
        raise NoneLeft(f'all {_RANGES} address ranges of this machine are taken by other clusters; end one of them')

    def take(self) -> str:
        """An address that nobody has, and nobody had for as long as possible. Raises :class:`NoneLeft`."""
        for ip in self._candidates():
            if ip not in self._taken:
                self._taken.add(ip)
                return ip
        raise NoneLeft(f'all addresses below {self.prefix}0.0 are taken')

    def give_back(self, ip: str) -> None:
        """The address may be given to another pod."""
        self._taken.discard(ip)

    def close(self) -> None:
        """Another cluster may have the range."""
        if self._claim is not None:
            self._claim.close()

    def _candidates(self) -> Iterator[str]:
        for _ in range(254 * 254):
            high, low = divmod(self._next, 254)
            self._next = (self._next + 1) % (254 * 254)
            yield f'{self.prefix}{high}.{low + 1}'


def _claimed(number: int) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f'\0jobset/127.{number}')
    except OSError:
        claim.close()
        return None
    return claim
