"""Built-in objects in the form in which a Go server writes them."""

from typing import Any

import pytest

from jobset.local import schemas
from jobset.local.schemas import canonical

_JOBS = schemas.builtin('batch', 'v1', 'Job')


@pytest.mark.parametrize(
    ('given', 'written'),
    [
        # As kube-apiserver 1.37 wrote them back.
        ('1', '1'),
        ('1000', '1k'),
        ('1000m', '1'),
        ('0.5', '500m'),
        ('.5', '500m'),
        ('1.000', '1'),
        ('0.0', '0'),
        ('000', '0'),
        ('1024', '1024'),
        ('1024Ki', '1Mi'),
        ('1025Ki', '1025Ki'),
        ('1.5Ki', '1536'),
        ('0.5Ki', '512'),
        ('0.5Gi', '512Mi'),
        ('1536Mi', '1536Mi'),
        ('100000', '100k'),
        ('12345678', '12345678'),
        ('1000k', '1M'),
        ('1024k', '1024k'),
        ('1e3', '1e3'),
        ('100e3', '100e3'),
        ('12e6', '12e6'),
        ('123e5', '12300e3'),
        ('1e19', '10e18'),
        ('10E', '10E'),
        ('1e-3', '1e-3'),
        ('1000n', '1u'),
        (1, '1'),
        (0.5, '500m'),
        (1000000, '1M'),
    ],
)
def test_quantity(given: str | float, written: str) -> None:
    assert canonical.quantity(given) == written


def _job(**pod: Any) -> dict[str, Any]:
    spec = {'containers': [{'name': 'c', 'resources': {}}], **pod}
    return {'metadata': {}, 'spec': {'template': {'metadata': {}, 'spec': spec}}, 'status': {}}


@pytest.mark.parametrize(
    ('given', 'written'),
    [
        pytest.param({'metadata': {}, 'spec': {'template': {'spec': {'containers': [{}]}}}},
                     _job(containers=[{'name': '', 'resources': {}}]), id='structs that are no pointers'),
        pytest.param(_job(tolerations=[], nodeSelector={}, hostname=None), _job(), id='what is empty'),
        pytest.param(_job(securityContext={}), _job(securityContext={}), id='an empty pointer'),
        pytest.param(_job(volumes=[None]), _job(volumes=[{'name': ''}]), id='null in a list'),
        pytest.param(_job(nodeSelector={'a': None}), _job(nodeSelector={'a': ''}), id='null in a map'),
        pytest.param(_job(overhead={'cpu': 0.5}), _job(overhead={'cpu': '500m'}), id='quantities'),
    ],
)  # fmt: skip
def test_written(given: dict[str, Any], written: dict[str, Any]) -> None:
    _JOBS.default(given)

    assert given == written


def test_times_are_utc() -> None:
    job = _job()
    job['status'] = {'startTime': '2026-01-01T01:00:00.5+02:00'}

    _JOBS.default(job)

    assert job['status'] == {'startTime': '2025-12-31T23:00:00Z'}
