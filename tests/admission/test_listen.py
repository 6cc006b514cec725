"""Which address a flag or a line of the configuration means."""

import socket

import pytest

from jobset.admission import listen
from jobset.admission.listen import Address


@pytest.mark.parametrize(
    ('text', 'pod', 'expected'),
    [
        pytest.param(':8081', False, Address('127.0.0.1', 8081), id='no host outside a pod is loopback'),
        pytest.param(':8081', True, Address(None, 8081), id='no host in a pod is every interface'),
        pytest.param('10.0.0.1:8081', False, Address('10.0.0.1', 8081), id='a host that is given is taken'),
        pytest.param('localhost:0', True, Address('localhost', 0), id='any free port'),
        pytest.param('[::1]:8081', True, Address('::1', 8081), id='IPv6'),
        pytest.param('0', True, None, id='switched off'),
    ],
)
def test_addresses(text: str, pod: bool, expected: Address | None) -> None:
    assert listen.parse(text, pod=pod) == expected


FORM = 'write HOST:PORT or :PORT, or 0 for none'


@pytest.mark.parametrize(
    ('text', 'says'),
    [
        pytest.param('', f'address "": {FORM}', id='empty'),
        pytest.param('8081', f'address "8081": {FORM}', id='port without colon'),
        pytest.param('host:', f'address "host:": {FORM}', id='no port'),
        pytest.param('host:http', f'address "host:http": {FORM}', id='port by name'),
        pytest.param('host:65536', f'address "host:65536": {FORM}', id='port too large'),
        pytest.param('host:²', f'address "host:²": {FORM}', id='a digit of another kind'),
        pytest.param(
            '::1:8081', 'address "::1:8081": put an IPv6 host into brackets, as in [::1]:8081', id='bare IPv6'
        ),
    ],
)
def test_bad_addresses(text: str, says: str) -> None:
    with pytest.raises(listen.BadAddressError) as raised:
        listen.parse(text, pod=False)
    assert str(raised.value) == says


@pytest.mark.parametrize(
    ('host', 'reached_at'),
    [
        pytest.param('127.0.0.1', '127.0.0.1', id='one address'),
        pytest.param(None, '127.0.0.1', id='every interface, IPv4'),
        pytest.param('localhost', 'localhost', id='a name'),
    ],
)
def test_bound_sockets(host: str | None, reached_at: str) -> None:
    with listen.bind(Address(host, 0)) as bound:
        port = bound.getsockname()[1]
        # Nobody is left waiting before there is a server.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((reached_at, port))
        bound.listen()
        socket.create_connection((reached_at, port)).close()


def test_a_taken_port_is_named() -> None:
    with listen.bind(Address('127.0.0.1', 0)) as bound:
        bound.listen()
        taken = Address('127.0.0.1', bound.getsockname()[1])
        with pytest.raises(OSError, match=f'cannot listen on {taken}: Address already in use'):
            listen.bind(taken)


@pytest.mark.parametrize(
    ('address', 'text'),
    [
        pytest.param(Address(None, 1), '*:1', id='every interface'),
        pytest.param(Address('::1', 1), '[::1]:1', id='IPv6'),
        pytest.param(Address('a', 1), 'a:1', id='a host'),
    ],
)
def test_addresses_in_words(address: Address, text: str) -> None:
    assert str(address) == text


@pytest.mark.parametrize(
    ('environment', 'expected'),
    [
        pytest.param({'KUBERNETES_SERVICE_HOST': '10.0.0.1'}, True, id='told where the API server is'),
        pytest.param({}, False, id='not told'),
    ],
)
def test_in_pod(environment: dict[str, str], expected: bool) -> None:
    assert listen.in_pod(environment) is expected
