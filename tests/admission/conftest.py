"""Certificates for servers on loopback: making one takes a moment, and most tests may share it."""

import datetime

import pytest

from jobset.admission import certificates

NAME = 'localhost'


def make() -> certificates.Bundle:
    now = datetime.datetime.now(datetime.UTC)
    return certificates.renew(None, certificates.Due.ALL, server_name=NAME, now=now)


@pytest.fixture(scope='session')
def bundle() -> certificates.Bundle:
    """A certificate for localhost, with its authority."""
    return make()


@pytest.fixture(scope='session')
def other_bundle() -> certificates.Bundle:
    """The same from another authority."""
    return make()
