"""Certificates that somebody else makes, as cert-manager does: two files, read again when they change."""

import asyncio
from pathlib import Path
from typing import Final

from jobset.admission import certificates, handshake, upkeep

CERTIFICATE: Final = 'tls.crt'
KEY: Final = 'tls.key'


class Mounted:
    """Shows the certificate of a folder."""

    def __init__(self, folder: Path, presenter: handshake.Presenter) -> None:
        self._folder = folder
        self._presenter = presenter

    async def keep(self, *, pace: upkeep.Pace, sleep: upkeep.Sleep = asyncio.sleep) -> None:
        """Follow the files until cancelled. A bad pair is reported, and the last good one stays in use."""
        expected = (OSError, certificates.UnusableError)
        what = f'webhook certificate in {self._folder}'
        await upkeep.keep(self.look, what=what, expected=expected, pace=pace, sleep=sleep)

    async def look(self) -> None:
        """Read the files once."""
        self._presenter.show(await asyncio.to_thread(self._read))

    def _read(self) -> certificates.Pair:
        # The kubelet replaces both at once, by a symbolic link; between two reads of ours it may still do so, which
        # gives a pair that does not match and is read again.
        return certificates.Pair(
            certificate=(self._folder / CERTIFICATE).read_bytes(),
            key=(self._folder / KEY).read_bytes(),
        )
