"""The serving certificate of the webhooks and its own authority: how they are made, and when they are due.

Names, lifetimes and encodings are those of the Go controller, so that either takes over what the other has made.
Nothing here reads a clock or a file.
"""

import dataclasses
import datetime
import enum
from typing import TYPE_CHECKING, Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

Extension = TypeVar('Extension', bound=x509.ExtensionType)

AUTHORITY_NAME: Final = 'jobset-ca'
ORGANISATION: Final = 'jobset'

AUTHORITY_LIFETIME: Final = datetime.timedelta(days=3650)
SERVER_LIFETIME: Final = datetime.timedelta(days=365)

AHEAD: Final = datetime.timedelta(days=90)
"""How long before its expiry a certificate is made anew. Replicas and API servers have that time to learn of it."""

SKEW: Final = datetime.timedelta(hours=1)
"""How far a certificate is dated back: an API server whose clock is behind ours must take it at once."""

KEY_BITS: Final = 2048
"""RSA, not a curve: a configured list of cipher suites may hold none that work with another kind of key."""


class UnusableError(ValueError):
    """A certificate or a key cannot be served; the message says which and why, and holds no part of a key."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """What a TLS server presents: a certificate (perhaps a chain) and its key, PEM."""

    certificate: bytes
    key: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bundle:
    """Server pair and the authority that signed it, PEM."""

    authority: bytes
    """The certificate of the authority, then those of earlier ones that are still trusted."""

    authority_key: bytes = dataclasses.field(repr=False)
    server: Pair


class Due(enum.Enum):
    """What has to be made anew."""

    NOTHING = 'nothing'
    SERVER = 'the serving certificate'
    ALL = 'the authority and the serving certificate'


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What is due, and the reason in words for the log."""

    due: Due
    why: str = ''


def judge(bundle: Bundle | None, *, server_name: str, now: datetime.datetime) -> Verdict:
    """Whether ``bundle`` may be served under ``server_name`` for longer than :data:`AHEAD` from ``now`` (aware)."""
    if bundle is None:
        return Verdict(Due.ALL, 'there is none yet')
    try:
        authority = _good_authority(bundle, now)
    except UnusableError as error:
        return Verdict(Due.ALL, str(error))
    try:
        _demand_good_server(bundle.server, authority, server_name, now)
    except UnusableError as error:
        return Verdict(Due.SERVER, str(error))
    return Verdict(Due.NOTHING)


def renew(bundle: Bundle | None, due: Due, *, server_name: str, now: datetime.datetime) -> Bundle:
    """``bundle`` with new certificates where ``due`` says so; with a new authority, the old one stays trusted."""
    if due is Due.NOTHING and bundle is not None:
        return bundle
    if due is Due.SERVER and bundle is not None:
        key = _rsa_key(bundle.authority_key, 'the authority')
        server = _server(_first(bundle.authority, 'the authority'), key, server_name, now)
        return dataclasses.replace(bundle, server=server)
    authority, key = _authority(now)
    return Bundle(
        # Replicas serve what the old one signed until they have read the new Secret.
        authority=_pem(authority) + (_still_valid(bundle.authority, now) if bundle is not None else b''),
        authority_key=_key_pem(key),
        server=_server(authority, key, server_name, now),
    )


def check(pair: Pair) -> datetime.datetime:
    """When the certificate of ``pair`` expires. Raises :class:`UnusableError` where it cannot be served."""
    return _checked(pair).not_valid_after_utc


def _good_authority(bundle: Bundle, now: datetime.datetime) -> x509.Certificate:
    authority = _first(bundle.authority, 'the authority')
    _demand_match(authority, _rsa_key(bundle.authority_key, 'the authority'), 'the authority')
    constraints = _extension(authority, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        raise UnusableError('the authority may not sign certificates')
    _demand_time(authority, now, 'the authority')
    return authority


def _demand_good_server(pair: Pair, authority: x509.Certificate, server_name: str, now: datetime.datetime) -> None:
    server = _checked(pair)
    try:
        server.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        raise UnusableError('the serving certificate is not signed by the authority') from None
    names = _extension(server, x509.SubjectAlternativeName)
    if names is None or server_name not in names.get_values_for_type(x509.DNSName):
        raise UnusableError(f'the serving certificate is not for {server_name}')
    _demand_time(server, now, 'the serving certificate')


def _demand_time(certificate: x509.Certificate, now: datetime.datetime, what: str) -> None:
    if certificate.not_valid_before_utc > now:
        raise UnusableError(f'{what} holds only from {certificate.not_valid_before_utc:%Y-%m-%d} on')
    if certificate.not_valid_after_utc - AHEAD <= now:
        raise UnusableError(f'{what} expires on {certificate.not_valid_after_utc:%Y-%m-%d}')


def _checked(pair: Pair) -> x509.Certificate:
    what = 'the serving certificate'
    certificate = _first(pair.certificate, what)
    _demand_match(certificate, _any_key(pair.key, what), what)
    return certificate


def _authority(now: datetime.datetime) -> tuple[x509.Certificate, rsa.RSAPrivateKey]:
    key = _new_key()
    name = _name(AUTHORITY_NAME)
    certificate = (
        _builder(name, key.public_key(), now, AUTHORITY_LIFETIME)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate, key


def _server(
    authority: x509.Certificate,
    authority_key: rsa.RSAPrivateKey,
    server_name: str,
    now: datetime.datetime,
) -> Pair:
    key = _new_key()
    public = authority_key.public_key()
    certificate = (
        # The common name may have 64 characters only; clients read the alternative name.
        _builder(_name(server_name[:64]), key.public_key(), now, SERVER_LIFETIME)
        .issuer_name(authority.subject)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(server_name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Pair(certificate=_pem(certificate), key=_key_pem(key))


def _builder(
    subject: x509.Name,
    key: rsa.RSAPublicKey,
    now: datetime.datetime,
    lifetime: datetime.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANISATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, ValueError):
        return None


def _first(pem: bytes, what: str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificates(pem)[0]
    except ValueError:
        raise UnusableError(f'{what} is not a PEM certificate') from None


def _still_valid(pem: bytes, now: datetime.datetime) -> bytes:
    try:
        earlier = x509.load_pem_x509_certificates(pem)
    except ValueError:
        return b''
    # One is enough, and keeps the bundle from growing where something renews again and again.
    return b''.join(_pem(one) for one in earlier[:1] if one.not_valid_after_utc > now)


def _demand_match(certificate: x509.Certificate, key: 'PrivateKeyTypes', what: str) -> None:
    try:
        public = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise UnusableError(f'{what} has a public key that cannot be read') from None
    if public != key.public_key():
        raise UnusableError(f'{what} and its key do not belong together')


def _any_key(pem: bytes, what: str) -> 'PrivateKeyTypes':
    try:
        return serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The text of the cause is left out: it could quote the key.
        raise UnusableError(f'{what} has a key that cannot be read: it must be PEM and not encrypted') from None


def _rsa_key(pem: bytes, what: str) -> rsa.RSAPrivateKey:
    key = _any_key(pem, what)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UnusableError(f'{what} has a key that is not RSA')
    return key


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: rsa.RSAPrivateKey) -> bytes:
    # PKCS #1, which is all that the Go controller reads.
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
