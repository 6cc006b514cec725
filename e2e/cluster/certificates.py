"""The cluster's own authority and the certificates of its parts, made anew with each cluster."""

import base64
import datetime
import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=365)

# Clocks of one machine agree, but a clock may be set back between two runs.
_BEFORE = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """Signs the certificates of one cluster; all files lie in ``folder``."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def files(self) -> Pair:
        return Pair(self.folder / 'ca.crt', self.folder / 'ca.key')

    @classmethod
    def create(cls, folder: Path) -> 'Authority':
        """A new authority whose files are written to ``folder``."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name('kubernetes')
        certificate = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        authority = cls(folder, certificate, key)
        _write(authority.files, certificate, key)
        return authority

    def issue(self, file: str, *, user: str, groups: Sequence[str] = (), hosts: Sequence[str] = ()) -> Pair:
        """A certificate for ``user`` in ``groups``, good as a client, and as a server where ``hosts`` are named."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else [])]
        builder = (
            _builder(_name(user, groups), self.certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(one) for one in hosts]), critical=False)
        pair = Pair(self.folder / f'{file}.crt', self.folder / f'{file}.key')
        _write(pair, builder.sign(self.key, hashes.SHA256()), key)
        return pair


def signing_key(folder: Path) -> Pair:
    """The key that signs service account tokens; its public half stands in for a certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Pair(folder / 'service-accounts.pub', folder / 'service-accounts.key')
    _write_key(pair.key, key)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    pair.certificate.write_bytes(public)
    return pair


def kubeconfig(path: Path, *, server: str, authority: Pair, client: Pair) -> Path:
    """Write a kubeconfig that holds its certificates, so that it may be copied anywhere. JSON is YAML too."""

    def data(file: Path) -> str:
        return base64.b64encode(file.read_bytes()).decode()

    name = 'jobset'
    body = {
        'apiVersion': 'v1',
        'kind': 'Config',
        'clusters': [
            {
                'name': name,
                'cluster': {'server': server, 'certificate-authority-data': data(authority.certificate)},
            }
        ],
        'users': [
            {
                'name': name,
                'user': {
                    'client-certificate-data': data(client.certificate),
                    'client-key-data': data(client.key),
                },
            }
        ],
        'contexts': [{'name': name, 'context': {'cluster': name, 'user': name}}],
        'current-context': name,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps(body, indent=1))
    return path


def _name(user: str, groups: Sequence[str] = ()) -> x509.Name:
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            x509.NameAttribute(NameOID.COMMON_NAME, user),
        ]
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        key_encipherment=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    _write_key(pair.key, key)
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
