"""What the ``tls`` section of the configuration file may say: versions, and cipher suites by their Go names."""

import enum
from collections.abc import Mapping
from typing import Final


class Version(enum.StrEnum):
    """The versions that may be the lowest."""

    TLS12 = 'VersionTLS12'
    TLS13 = 'VersionTLS13'


OUTDATED: Final = frozenset({'VersionTLS10', 'VersionTLS11'})
"""Versions that Go knows and that are refused here."""

ALWAYS_ON: Final = frozenset({'TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'})
"""Suites of TLS 1.3, which cannot be chosen: to name them is allowed and changes nothing."""

OPENSSL: Final[Mapping[str, str]] = {
    'TLS_RSA_WITH_RC4_128_SHA': 'RC4-SHA',
    'TLS_RSA_WITH_3DES_EDE_CBC_SHA': 'DES-CBC3-SHA',
    'TLS_RSA_WITH_AES_128_CBC_SHA': 'AES128-SHA',
    'TLS_RSA_WITH_AES_256_CBC_SHA': 'AES256-SHA',
    'TLS_RSA_WITH_AES_128_CBC_SHA256': 'AES128-SHA256',
    'TLS_RSA_WITH_AES_128_GCM_SHA256': 'AES128-GCM-SHA256',
    'TLS_RSA_WITH_AES_256_GCM_SHA384': 'AES256-GCM-SHA384',
    'TLS_ECDHE_ECDSA_WITH_RC4_128_SHA': 'ECDHE-ECDSA-RC4-SHA',
    'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA': 'ECDHE-ECDSA-AES128-SHA',
    'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA': 'ECDHE-ECDSA-AES256-SHA',
    'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256': 'ECDHE-ECDSA-AES128-SHA256',
    'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256': 'ECDHE-ECDSA-AES128-GCM-SHA256',
    'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384': 'ECDHE-ECDSA-AES256-GCM-SHA384',
    'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256': 'ECDHE-ECDSA-CHACHA20-POLY1305',
    'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305': 'ECDHE-ECDSA-CHACHA20-POLY1305',
    'TLS_ECDHE_RSA_WITH_RC4_128_SHA': 'ECDHE-RSA-RC4-SHA',
    'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA': 'ECDHE-RSA-DES-CBC3-SHA',
    'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA': 'ECDHE-RSA-AES128-SHA',
    'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA': 'ECDHE-RSA-AES256-SHA',
    'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256': 'ECDHE-RSA-AES128-SHA256',
    'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256': 'ECDHE-RSA-AES128-GCM-SHA256',
    'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384': 'ECDHE-RSA-AES256-GCM-SHA384',
    'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256': 'ECDHE-RSA-CHACHA20-POLY1305',
    'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305': 'ECDHE-RSA-CHACHA20-POLY1305',
}
"""What OpenSSL calls the suites up to TLS 1.2."""

CIPHER_SUITES: Final = OPENSSL.keys() | ALWAYS_ON
"""Every name that the file may give."""


def problems(min_version: str, cipher_suites: tuple[str, ...]) -> list[tuple[str, str]]:
    """The mistakes in the section, each as its field and a text."""
    found = []
    lowest = ' or '.join(Version)
    if min_version in OUTDATED:
        text = f'invalid minVersion: {min_version} is not supported. Please use {lowest}'
        found.append(('minVersion', text))
    elif min_version and min_version not in [*Version]:
        found.append(('minVersion', f'invalid minVersion: unknown TLS version "{min_version}". Please use {lowest}'))
    unknown = [name for name in cipher_suites if name not in CIPHER_SUITES]
    if unknown:
        found.append(('cipherSuites', f"invalid cipherSuites: {', '.join(unknown)} not supported or doesn't exist"))
    if cipher_suites and min_version == Version.TLS13:
        found.append(('cipherSuites', f"may not be specified when `minVersion` is '{Version.TLS13}'"))
    return found
