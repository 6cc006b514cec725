"""Which cluster is meant."""

from pathlib import Path

import pytest

from jobset.client import connections, homes
from jobset.kube import auth


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has nothing yet."""
    monkeypatch.setenv('HOME', str(tmp_path))
    for name in ('KUBECONFIG', 'KUBERNETES_SERVICE_HOST', homes.ENVIRONMENT):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / 'clusters' / name).mkdir(parents=True)
        (folder / 'clusters' / name / 'kubeconfig').write_text('')


def test_none(home: Path) -> None:
    del home
    assert (homes.clusters(), homes.only()) == ({}, None)
    with pytest.raises(homes.UnknownCluster, match='no local cluster "a"; there is none; start one with'):
        homes.named('a')


def test_one(home: Path) -> None:
    make(home / '.jobset', 'a')
    (home / '.jobset' / 'clusters' / 'down').mkdir()
    assert homes.only() == homes.named('a') == home / '.jobset/clusters/a/kubeconfig'


def test_several(home: Path) -> None:
    make(home / '.jobset', 'b', 'a')
    with pytest.raises(homes.UnknownCluster, match='several local clusters: a, b; choose one with --cluster'):
        homes.only()
    make(home / '.jobset', homes.DEFAULT)
    assert homes.only() == homes.named(homes.DEFAULT)


def test_another_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(homes.ENVIRONMENT, str(home / 'else'))
    make(home / 'else', 'a')
    assert list(homes.clusters()) == ['a']


@pytest.mark.parametrize(
    ('variables', 'arguments', 'expected'),
    [
        pytest.param({}, {}, 'local', id='nothing is said'),
        pytest.param({}, {'cluster': 'a'}, 'local', id='named'),
        pytest.param({}, {'kubeconfig': 'file'}, 'file', id='a file'),
        pytest.param({'KUBECONFIG': 'other'}, {}, None, id='KUBECONFIG'),
        pytest.param({'KUBECONFIG': 'other'}, {'cluster': 'a'}, 'local', id='named, in spite of KUBECONFIG'),
        pytest.param({}, {'context': 'c'}, None, id='a context is of ~/.kube/config'),
        pytest.param({'KUBERNETES_SERVICE_HOST': 'host'}, {}, None, id='in a pod'),
    ],
)
async def test_which_file_is_read(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    arguments: dict[str, str],
    expected: str | None,
) -> None:
    make(home / '.jobset', 'a')
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    asked: list[str | None] = []

    async def load(kubeconfig: str | None = None, *, context: str | None = None) -> auth.Credentials:
        asked.append(kubeconfig)
        del context
        return auth.Plain('http://127.0.0.1:1')

    monkeypatch.setattr(auth, 'load', load)
    async with connections.connect(**arguments) as connection:
        assert connection.namespace == 'default'
    local = str(home / '.jobset/clusters/a/kubeconfig')
    assert asked == [local if expected == 'local' else expected]


async def test_a_kubeconfig_of_the_user_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(home / '.jobset', 'a')
    (home / '.kube').mkdir()
    (home / '.kube/config').write_text('')
    asked: list[str | None] = []

    async def load(kubeconfig: str | None = None, *, context: str | None = None) -> auth.Credentials:
        del context
        asked.append(kubeconfig)
        return auth.Plain('http://127.0.0.1:1')

    monkeypatch.setattr(auth, 'load', load)
    async with connections.connect():
        pass
    assert asked == [None]
