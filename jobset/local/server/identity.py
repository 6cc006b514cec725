"""What makes a server ours: its authority, its certificate, and the token that a client has to bring.

Made anew for each cluster and kept in its folder, so that a kubeconfig goes on working after a restart. Keys are on the
curve P-256: made in a millisecond, and read by every client that a laptop has.
"""

import base64
import contextlib
import datetime
import ipaddress
import json
import secrets
import ssl
import tempfile
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ADDRESS: Final = '127.0.0.1'

_LIFETIME: Final = datetime.timedelta(days=365)
_AHEAD: Final = datetime.timedelta(days=7)
_SKEW: Final = datetime.timedelta(hours=1)

_AUTHORITY: Final = 'ca.crt'
_CERTIFICATE: Final = 'server.crt'
_KEY: Final = 'server.key'
_TOKEN: Final = 'token'  # noqa: S105


@dataclass(frozen=True, kw_only=True)
class Identity:
    """PEM, and the token."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)
    token: str = field(repr=False)

    def context(self) -> ssl.SSLContext:
        """For the server's side of TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(['http/1.1'])
        # OpenSSL reads the pair from a file only; this one has no name, so that no kill leaves the key behind.
        with tempfile.TemporaryFile() as file:
            file.write(self.certificate + self.key)
            file.seek(0)
            context.load_cert_chain(f'/dev/fd/{file.fileno()}')
        return context

    def kubeconfig(self, server: str, name: str, namespace: str = 'default') -> str:
        """A configuration file for kubectl and every other client; JSON, which is YAML too."""
        config = {
            'apiVersion': 'v1',
            'kind': 'Config',
            'clusters': [
                {
                    'name': name,
                    'cluster': {
                        'server': server,
                        'certificate-authority-data': base64.b64encode(self.authority).decode(),
                    },
                }
            ],
            'users': [{'name': name, 'user': {'token': self.token}}],
            'contexts': [{'name': name, 'context': {'cluster': name, 'user': name, 'namespace': namespace}}],
            'current-context': name,
        }
        return json.dumps(config, indent=2) + '\n'


def make(now: datetime.datetime) -> Identity:
    """A new identity; the key of its authority is thrown away, so that nothing else can be signed with it."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority_name = _name('jobset local authority')
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    names: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(ADDRESS)), x509.DNSName('localhost')]
    certificate = (
        _builder(_name('jobset local server'), authority_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Identity(
        authority=authority.public_bytes(pem),
        certificate=certificate.public_bytes(pem),
        key=key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        token=secrets.token_urlsafe(32),
    )


def kept_in(folder: Path, now: datetime.datetime) -> Identity:
    """The identity in a folder of the user's own; made when there is none, or when it expires soon. Raises OSError."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        found = Identity(
            authority=(folder / _AUTHORITY).read_bytes(),
            certificate=(folder / _CERTIFICATE).read_bytes(),
            key=(folder / _KEY).read_bytes(),
            token=(folder / _TOKEN).read_text().strip(),
        )
        if found.token and _expiry(found.certificate) - _AHEAD > now:
            return found
    new = make(now)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    parts = (
        (_AUTHORITY, new.authority),
        (_KEY, new.key),
        (_TOKEN, new.token.encode()),
        (_CERTIFICATE, new.certificate),
    )
    for name, content in parts:
        write_private(folder / name, content)
    return new


def port_in(kubeconfig: Path) -> int:
    """The port of the server in a file made by :meth:`Identity.kubeconfig`; 0 when there is none."""
    try:
        config = json.loads(kubeconfig.read_bytes())
        return urllib.parse.urlsplit(config['clusters'][0]['cluster']['server']).port or 0
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return 0


def write_private(path: Path, content: bytes) -> None:
    """Puts a file in place that only the user may read: as a whole, or not at all. Raises OSError."""
    # Always the same name, so that a process that is killed here leaves nothing behind for good.
    aside = path.with_name(f'.{path.name}.new')
    aside.unlink(missing_ok=True)
    try:
        aside.touch(mode=0o600, exist_ok=False)
        aside.write_bytes(content)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _expiry(pem: bytes) -> datetime.datetime:
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
