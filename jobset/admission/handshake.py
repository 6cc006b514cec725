"""What the webhook server agrees on with its clients, and which certificate it shows them.

A certificate is replaced while the server runs. Connections that are open keep theirs; new ones see the new one.
"""

import asyncio
import datetime
import logging
import os
import ssl
from collections.abc import Callable, Sequence

from jobset.admission import certificates
from jobset.api import tls

logger = logging.getLogger(__name__)


class BadOptionsError(ValueError):
    """The ``tls`` section of the configuration asks for what cannot be had; the text names the entry."""


def context(*, min_version: str = '', cipher_suites: Sequence[str] = ()) -> ssl.SSLContext:
    """What a server negotiates, with no certificate yet.

    The options are those of :mod:`jobset.api.tls`, checked already. Raises :class:`BadOptionsError` where OpenSSL does
    not have what they ask for.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.set_alpn_protocols(['http/1.1'])
    newest_only = min_version == tls.Version.TLS13
    made.minimum_version = ssl.TLSVersion.TLSv1_3 if newest_only else ssl.TLSVersion.TLSv1_2
    chosen = [tls.OPENSSL[name] for name in cipher_suites if name not in tls.ALWAYS_ON]
    if chosen:
        _choose(made, chosen)
    elif cipher_suites:
        # Nothing is left for TLS 1.2 to agree on.
        made.minimum_version = ssl.TLSVersion.TLSv1_3
    return made


def _choose(made: ssl.SSLContext, chosen: Sequence[str]) -> None:
    try:
        made.set_ciphers(':'.join(chosen))
    except ssl.SSLError:
        raise BadOptionsError(
            f'tls.cipherSuites: {ssl.OPENSSL_VERSION} has none of {", ".join(chosen)}; name others'
        ) from None


OnShow = Callable[[datetime.datetime], None]
"""Called with the expiry of each certificate that is shown."""


class Presenter:
    """Shows one certificate after the other on a context that is in use."""

    def __init__(self, served: ssl.SSLContext, *, on_show: OnShow | None = None) -> None:
        self.context = served
        self._on_show = on_show
        self.shown: certificates.Pair | None = None
        self.ready = asyncio.Event()
        """Set once there is a certificate."""

    def show(self, pair: certificates.Pair) -> None:
        """Use ``pair`` for connections from now on.

        Raises :class:`certificates.UnusableError` where that cannot be, and goes on with the one before.
        """
        if pair == self.shown:
            return
        expiry = certificates.check(pair)
        # OpenSSL takes the certificate before it looks at the key: a bad pair must not get as far as the live context.
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair)
        _load(self.context, pair)
        self.shown = pair
        self.ready.set()
        logger.info('serving a certificate that expires at %s', expiry.isoformat())
        if self._on_show is not None:
            self._on_show(expiry)


def _load(into: ssl.SSLContext, pair: certificates.Pair) -> None:
    # Python takes certificates from files only. This one is in memory, has no name and is gone at the end.
    descriptor = os.memfd_create('certificate', os.MFD_CLOEXEC)
    with os.fdopen(descriptor, 'wb') as file:
        file.write(pair.certificate.rstrip() + b'\n' + pair.key)
        file.flush()
        try:
            into.load_cert_chain(f'/proc/self/fd/{descriptor}', password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise certificates.UnusableError(f'the serving certificate is refused by OpenSSL: {error}') from None


def _no_password() -> str:
    # Without this, OpenSSL would ask for one on the terminal.
    return ''
