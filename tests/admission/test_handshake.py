"""What server and client agree on, and that a certificate is replaced as a whole or not at all."""

import contextlib
import datetime
import pathlib
import ssl

import pytest

from jobset.admission import certificates, handshake, mounted
from jobset.api import tls


def connect(server_side: ssl.SSLContext, client_side: ssl.SSLContext) -> ssl.SSLObject:
    """Both ends of a connection, in memory; the client's."""
    to_client, from_client, to_server, from_server = (ssl.MemoryBIO() for _ in range(4))
    client = client_side.wrap_bio(to_client, from_client, server_hostname='localhost')
    server = server_side.wrap_bio(to_server, from_server, server_side=True)
    for _ in range(5):
        for side in (client, server):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
            to_server.write(from_client.read())
            to_client.write(from_server.read())
    return client


def trusting(bundle: certificates.Bundle, *, highest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    made = ssl.create_default_context(cadata=bundle.authority.decode())
    made.maximum_version = highest
    made.set_alpn_protocols(['h2', 'http/1.1'])
    return made


TLS12 = ssl.TLSVersion.TLSv1_2
TLS13 = ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize(
    ('min_version', 'suites', 'highest', 'agreed'),
    [
        pytest.param('', (), TLS13, ('TLSv1.3', None), id='the newest by default'),
        pytest.param('', (), TLS12, ('TLSv1.2', None), id='TLS 1.2 by default too'),
        pytest.param('VersionTLS12', (), TLS12, ('TLSv1.2', None), id='TLS 1.2 by name'),
        pytest.param('VersionTLS13', (), TLS13, ('TLSv1.3', None), id='TLS 1.3 only'),
        pytest.param(
            '',
            ('TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',),
            TLS12,
            ('TLSv1.2', 'ECDHE-RSA-AES256-GCM-SHA384'),
            id='one suite',
        ),
        pytest.param(
            '',
            ('TLS_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305'),
            TLS12,
            ('TLSv1.2', 'ECDHE-RSA-CHACHA20-POLY1305'),
            id='beside one of TLS 1.3',
        ),
        pytest.param('', ('TLS_AES_128_GCM_SHA256',), TLS13, ('TLSv1.3', None), id='suites of TLS 1.3 only'),
    ],
)
def test_agreed(
    bundle: certificates.Bundle,
    min_version: str,
    suites: tuple[str, ...],
    highest: ssl.TLSVersion,
    agreed: tuple[str, str | None],
) -> None:
    context = handshake.context(min_version=min_version, cipher_suites=suites)
    handshake.Presenter(context).show(bundle.server)
    client = connect(context, trusting(bundle, highest=highest))
    version, suite = agreed
    assert client.version() == version
    assert client.selected_alpn_protocol() == 'http/1.1'
    cipher = client.cipher()
    assert cipher is not None
    assert suite in (None, cipher[0])


@pytest.mark.parametrize(
    ('min_version', 'suites'),
    [
        pytest.param('VersionTLS13', (), id='TLS 1.3 is the lowest'),
        pytest.param('', ('TLS_AES_128_GCM_SHA256',), id='no suite is left for TLS 1.2'),
    ],
)
def test_tls_1_2_refused(bundle: certificates.Bundle, min_version: str, suites: tuple[str, ...]) -> None:
    context = handshake.context(min_version=min_version, cipher_suites=suites)
    handshake.Presenter(context).show(bundle.server)
    with pytest.raises(ssl.SSLError, match=r'(?i)protocol'):
        connect(context, trusting(bundle, highest=TLS12))


def test_suites_that_openssl_lacks_are_named() -> None:
    suites = ('TLS_RSA_WITH_RC4_128_SHA',)
    with pytest.raises(handshake.BadOptionsError) as raised:
        handshake.context(cipher_suites=suites)
    assert str(raised.value) == f'tls.cipherSuites: {ssl.OPENSSL_VERSION} has none of RC4-SHA; name others'


USABLE = [name for name in tls.OPENSSL if 'RC4' not in name and '3DES' not in name]


@pytest.mark.parametrize('name', USABLE)
def test_every_modern_suite_of_go_has_the_right_name(name: str) -> None:
    context = handshake.context(cipher_suites=[name])
    offered = [one['name'] for one in context.get_ciphers() if one['protocol'] != 'TLSv1.3']
    assert offered == [tls.OPENSSL[name]]


def test_a_replaced_certificate_is_shown_to_new_connections(
    bundle: certificates.Bundle, other_bundle: certificates.Bundle
) -> None:
    shown: list[datetime.datetime] = []
    presenter = handshake.Presenter(handshake.context(), on_show=shown.append)
    assert not presenter.ready.is_set()
    presenter.show(bundle.server)
    assert presenter.ready.is_set()
    connect(presenter.context, trusting(bundle))

    presenter.show(other_bundle.server)
    presenter.show(other_bundle.server)

    connect(presenter.context, trusting(other_bundle))
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(presenter.context, trusting(bundle))
    assert shown == [certificates.check(bundle.server), certificates.check(other_bundle.server)]


def test_a_bad_pair_leaves_the_last_one_in_use(bundle: certificates.Bundle, other_bundle: certificates.Bundle) -> None:
    presenter = handshake.Presenter(handshake.context())
    presenter.show(bundle.server)
    mixed = certificates.Pair(certificate=other_bundle.server.certificate, key=bundle.server.key)
    with pytest.raises(certificates.UnusableError, match='do not belong together'):
        presenter.show(mixed)
    assert presenter.shown == bundle.server
    connect(presenter.context, trusting(bundle))


def test_a_key_does_not_reach_a_file_system(bundle: certificates.Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    load = ssl.SSLContext.load_cert_chain

    def spy(self: ssl.SSLContext, path: str, **more: object) -> None:
        loaded.append(str(pathlib.Path(path).readlink()))
        load(self, path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ssl.SSLContext, 'load_cert_chain', spy)
    handshake.Presenter(handshake.context()).show(bundle.server)
    assert loaded == ['/memfd:certificate (deleted)'] * 2


def write(folder: pathlib.Path, pair: certificates.Pair) -> None:
    (folder / 'tls.crt').write_bytes(pair.certificate)
    (folder / 'tls.key').write_bytes(pair.key)


async def test_mounted_files_are_followed(
    tmp_path: pathlib.Path, bundle: certificates.Bundle, other_bundle: certificates.Bundle
) -> None:
    presenter = handshake.Presenter(handshake.context())
    files = mounted.Mounted(tmp_path, presenter)
    with pytest.raises(FileNotFoundError):
        await files.look()
    assert not presenter.ready.is_set()

    write(tmp_path, bundle.server)
    await files.look()
    assert presenter.shown == bundle.server

    # Between the two files of a replacement.
    (tmp_path / 'tls.crt').write_bytes(other_bundle.server.certificate)
    with pytest.raises(certificates.UnusableError):
        await files.look()
    assert presenter.shown == bundle.server

    write(tmp_path, other_bundle.server)
    await files.look()
    assert presenter.shown == other_bundle.server
