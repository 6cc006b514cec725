"""Which certificates are made, and when they are made anew."""

import contextlib
import datetime
import ssl
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from jobset.admission import certificates, handshake
from jobset.admission.certificates import Bundle, Due, Pair, Verdict

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
NAME = 'jobset-webhook-service.jobset-system.svc'
DAY = datetime.timedelta(days=1)


def make(*, at: datetime.datetime = NOW, name: str = NAME) -> Bundle:
    return certificates.renew(None, Due.ALL, server_name=name, now=at)


@pytest.fixture(scope='module')
def bundle() -> Bundle:
    return make()


@pytest.fixture(scope='module')
def other() -> Bundle:
    return make()


def authority_of(bundle: Bundle) -> x509.Certificate:
    return x509.load_pem_x509_certificates(bundle.authority)[0]


def server_of(bundle: Bundle) -> x509.Certificate:
    return x509.load_pem_x509_certificate(bundle.server.certificate)


def test_authority(bundle: Bundle) -> None:
    made = authority_of(bundle)
    assert made.subject.rfc4514_string() == 'CN=jobset-ca,O=jobset'
    assert made.issuer == made.subject
    assert made.not_valid_before_utc == NOW - datetime.timedelta(hours=1)
    assert made.not_valid_after_utc == NOW + 3650 * DAY
    constraints = made.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca) == (True, True)
    usage = made.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.crl_sign, usage.key_encipherment) == (True, True, False)
    made.verify_directly_issued_by(made)


def test_serving_certificate(bundle: Bundle) -> None:
    made = server_of(bundle)
    assert made.issuer == authority_of(bundle).subject
    assert made.not_valid_before_utc == NOW - datetime.timedelta(hours=1)
    assert made.not_valid_after_utc == NOW + 365 * DAY
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [x509.DNSName(NAME)]
    purposes = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    made.verify_directly_issued_by(authority_of(bundle))


def test_a_long_service_name_does_not_fit_the_common_name() -> None:
    name = f'{"s" * 63}.{"n" * 63}.svc'
    made = server_of(make(name=name))
    assert made.subject.rfc4514_string() == f'CN={name[:64]},O=jobset'
    assert list(made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value) == [x509.DNSName(name)]


@pytest.mark.parametrize('which', ['authority_key', 'server'])
def test_keys_are_readable_by_the_go_controller(bundle: Bundle, which: str) -> None:
    pem = bundle.authority_key if which == 'authority_key' else bundle.server.key
    assert pem.startswith(b'-----BEGIN RSA PRIVATE KEY-----\n')
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, rsa.RSAPrivateKey)
    assert key.key_size == 2048


def connect(bundle: Bundle, trusted: bytes, name: str) -> str | None:
    """Both ends of a TLS connection in memory, with OpenSSL's strictest checks; the version agreed on."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    handshake.Presenter(server_side).show(bundle.server)
    client_side = ssl.create_default_context(cadata=trusted.decode())
    client_side.verify_flags |= ssl.VERIFY_X509_STRICT
    a, b, c, d = (ssl.MemoryBIO() for _ in range(4))
    client = client_side.wrap_bio(a, b, server_hostname=name)
    server = server_side.wrap_bio(c, d, server_side=True)
    for _ in range(5):
        for side in (client, server):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
            c.write(b.read())
            a.write(d.read())
    return client.version()


def test_a_client_that_trusts_the_authority_connects() -> None:
    bundle = make(at=datetime.datetime.now(datetime.UTC))
    assert connect(bundle, bundle.authority, NAME) == 'TLSv1.3'


def test_a_client_refuses_another_name_or_authority(other: Bundle) -> None:
    bundle = make(at=datetime.datetime.now(datetime.UTC))
    with pytest.raises(ssl.SSLCertVerificationError, match='Hostname mismatch'):
        connect(bundle, bundle.authority, 'elsewhere.jobset-system.svc')
    with pytest.raises(ssl.SSLCertVerificationError, match='certificate verify failed'):
        connect(bundle, other.authority, NAME)


def test_nothing_secret_is_shown(bundle: Bundle) -> None:
    assert 'PRIVATE' not in repr(bundle)


SERVER_EXPIRY = NOW + 365 * DAY
AUTHORITY_EXPIRY = NOW + 3650 * DAY
SECOND = datetime.timedelta(seconds=1)


@pytest.mark.parametrize(
    ('now', 'verdict'),
    [
        pytest.param(NOW, Verdict(Due.NOTHING), id='just made'),
        pytest.param(SERVER_EXPIRY - 90 * DAY - SECOND, Verdict(Due.NOTHING), id='a second more than 90 days left'),
        pytest.param(
            SERVER_EXPIRY - 90 * DAY,
            Verdict(Due.SERVER, 'the serving certificate expires on 2027-03-01'),
            id='90 days left',
        ),
        pytest.param(
            SERVER_EXPIRY + DAY,
            Verdict(Due.SERVER, 'the serving certificate expires on 2027-03-01'),
            id='over',
        ),
        pytest.param(
            AUTHORITY_EXPIRY - 90 * DAY,
            Verdict(Due.ALL, 'the authority expires on 2036-02-27'),
            id='90 days left of the authority',
        ),
        pytest.param(
            NOW - DAY,
            Verdict(Due.ALL, 'the authority holds only from 2026-03-01 on'),
            id='the clock was wrong when it was made',
        ),
    ],
)
def test_time_of_renewal(bundle: Bundle, now: datetime.datetime, verdict: Verdict) -> None:
    assert certificates.judge(bundle, server_name=NAME, now=now) == verdict


def key_on_a_curve() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_no_bundle_is_made_anew() -> None:
    assert certificates.judge(None, server_name=NAME, now=NOW) == Verdict(Due.ALL, 'there is none yet')


Change = Callable[[Bundle, Bundle], Bundle]


@pytest.mark.parametrize(
    ('change', 'due', 'why'),
    [
        pytest.param(
            lambda good, _: replace(good, authority=b''),
            Due.ALL,
            'the authority is not a PEM certificate',
            id='empty authority',
        ),
        pytest.param(
            lambda good, _: replace(good, authority=b'-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n'),
            Due.ALL,
            'the authority is not a PEM certificate',
            id='PEM around something else',
        ),
        pytest.param(
            lambda good, other: replace(good, authority_key=other.authority_key),
            Due.ALL,
            'the authority and its key do not belong together',
            id='key of another authority',
        ),
        pytest.param(
            lambda good, _: replace(good, authority_key=b'no key'),
            Due.ALL,
            'the authority has a key that cannot be read: it must be PEM and not encrypted',
            id='unreadable key',
        ),
        pytest.param(
            lambda good, _: replace(good, authority_key=key_on_a_curve()),
            Due.ALL,
            'the authority has a key that is not RSA',
            id='key of another kind',
        ),
        pytest.param(
            lambda good, _: replace(good, authority=good.server.certificate, authority_key=good.server.key),
            Due.ALL,
            'the authority may not sign certificates',
            id='authority that is none',
        ),
        pytest.param(
            lambda good, other: replace(good, server=other.server),
            Due.SERVER,
            'the serving certificate is not signed by the authority',
            id='signed by somebody else of the same name',
        ),
        pytest.param(
            lambda good, other: replace(good, server=Pair(certificate=good.server.certificate, key=other.server.key)),
            Due.SERVER,
            'the serving certificate and its key do not belong together',
            id='key of another server',
        ),
        pytest.param(
            lambda good, _: replace(good, server=Pair(certificate=b'x', key=good.server.key)),
            Due.SERVER,
            'the serving certificate is not a PEM certificate',
            id='unreadable serving certificate',
        ),
        pytest.param(
            lambda _, __: make(name='other.jobset-system.svc'),
            Due.SERVER,
            f'the serving certificate is not for {NAME}',
            id='another name',
        ),
    ],
)
def test_what_cannot_be_served_is_made_anew(bundle: Bundle, other: Bundle, change: Change, due: Due, why: str) -> None:
    broken = change(bundle, other)
    assert certificates.judge(broken, server_name=NAME, now=NOW) == Verdict(due, why)
    repaired = certificates.renew(broken, due, server_name=NAME, now=NOW)
    assert certificates.judge(repaired, server_name=NAME, now=NOW) == Verdict(Due.NOTHING)


def test_renewal_of_the_server_keeps_the_authority(bundle: Bundle) -> None:
    later = NOW + 300 * DAY
    made = certificates.renew(bundle, Due.SERVER, server_name=NAME, now=later)
    assert (made.authority, made.authority_key) == (bundle.authority, bundle.authority_key)
    assert server_of(made).not_valid_after_utc == later + 365 * DAY
    assert certificates.judge(made, server_name=NAME, now=later) == Verdict(Due.NOTHING)


def test_renewal_of_the_authority_keeps_trust_in_the_last_one(bundle: Bundle) -> None:
    later = NOW + 3600 * DAY
    second = certificates.renew(bundle, Due.ALL, server_name=NAME, now=later)
    assert second.authority == second.authority.replace(bundle.authority, b'') + bundle.authority
    assert certificates.judge(second, server_name=NAME, now=later) == Verdict(Due.NOTHING)
    # The one before the last is dropped.
    third = certificates.renew(second, Due.ALL, server_name=NAME, now=later)
    trusted = x509.load_pem_x509_certificates(third.authority)
    assert trusted[1:] == [authority_of(second)]


def test_an_expired_or_unreadable_authority_is_not_kept(bundle: Bundle) -> None:
    late = certificates.renew(bundle, Due.ALL, server_name=NAME, now=AUTHORITY_EXPIRY)
    assert len(x509.load_pem_x509_certificates(late.authority)) == 1
    broken = replace(bundle, authority=b'nothing')
    made = certificates.renew(broken, Due.ALL, server_name=NAME, now=NOW)
    assert len(x509.load_pem_x509_certificates(made.authority)) == 1


def test_nothing_due_changes_nothing(bundle: Bundle) -> None:
    assert certificates.renew(bundle, Due.NOTHING, server_name=NAME, now=NOW) is bundle
