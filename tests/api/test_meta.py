"""Metadata as servers and clients write them."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from jobset.api import meta
from jobset.kube import times

OWNER = meta.OwnerReference(api_version='v1', kind='Pod', name='o', uid='u')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        pytest.param('{}', meta.ObjectMeta(), id='nothing'),
        pytest.param(
            '{"labels":null,"annotations":null,"ownerReferences":null,"finalizers":null,"deletionTimestamp":null}',
            meta.ObjectMeta(),
            id='null is nothing',
        ),
        pytest.param(
            '{"name":"a","namespace":"b","uid":"u","resourceVersion":"7","generation":3,"labels":{"x":"y"},'
            '"creationTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"],"managedFields":[{"manager":"m"}],'
            '"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"o","uid":"u"}]}',
            meta.ObjectMeta(
                name='a',
                namespace='b',
                uid='u',
                resource_version='7',
                generation=3,
                labels={'x': 'y'},
                creation_timestamp='2026-01-02T03:04:05Z',
                finalizers=('f',),
                owner_references=(OWNER,),
            ),
            id='all that is read',
        ),
    ],
)
def test_decoding(text: str, expected: meta.ObjectMeta) -> None:
    read = msgspec.json.decode(text, type=meta.ObjectMeta)

    assert read == expected
    assert (type(read.labels), type(read.annotations), type(read.finalizers)) == (dict, dict, tuple)


def test_what_is_empty_is_not_written() -> None:
    written = msgspec.json.encode(meta.ObjectMeta(name='a', labels={'x': 'y'}, owner_references=(OWNER,)))

    assert msgspec.json.decode(written) == {
        'name': 'a',
        'labels': {'x': 'y'},
        'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'o', 'uid': 'u'}],
    }


def test_the_controller_is_the_owner_that_says_so() -> None:
    controller = msgspec.structs.replace(OWNER, name='c', controller=True)

    assert meta.ObjectMeta(owner_references=(OWNER, controller)).controller == controller
    assert meta.ObjectMeta(owner_references=(OWNER,)).controller is None


@pytest.mark.parametrize(('text', 'number'), [('', 0), ('12', 12), ('18446744073709551616', 1 << 64)])
def test_versions_are_numbers(text: str, number: int) -> None:
    assert meta.ObjectMeta(resource_version=text).version == number


@pytest.mark.parametrize(
    ('moment', 'text'),
    [
        pytest.param(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), '2026-01-02T03:04:05.000000Z', id='a whole second'),
        pytest.param(datetime(2026, 1, 2, 3, 4, 5, 70, tzinfo=UTC), '2026-01-02T03:04:05.000070Z', id='microseconds'),
        pytest.param(
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
            '2026-01-02T01:04:05.000000Z',
            id='another zone',
        ),
    ],
)
def test_micro_time(moment: datetime, text: str) -> None:
    assert times.micro(moment) == text
