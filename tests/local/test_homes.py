"""Where clusters live."""

import datetime
import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from jobset.local import homes

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(homes.ENVIRONMENT, str(tmp_path / 'home'))
    return tmp_path / 'home'


@pytest.mark.parametrize('name', ['a', '0', 'a-b', 'x' * 40])
def test_names(name: str, home: Path) -> None:
    assert homes.of_cluster(name) == homes.Home(name, home / 'clusters' / name)


@pytest.mark.parametrize('name', ['', 'A', '-a', 'a-', 'a.b', 'a/b', '..', 'x' * 41, 'a\n'])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(homes.UnusableError, match='a name has lower-case letters, digits and "-", 40 at most'):
        homes.of_cluster(name)


def test_clusters_are_those_that_were_started_once(home: Path) -> None:
    assert homes.clusters() == []
    for name in ('b', 'a', 'No'):
        (home / 'clusters' / name).mkdir(parents=True)
    (home / 'clusters' / 'file').touch()

    assert [each.name for each in homes.clusters()] == ['a', 'b']


def test_a_folder_is_for_its_user_only(home: Path) -> None:
    (home / 'clusters' / 'a').mkdir(parents=True, mode=0o755)

    homes.of_cluster('a').prepare()

    assert (home / 'clusters' / 'a').stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made(home: Path) -> None:
    home.write_text('a file')

    with pytest.raises(homes.UnusableError) as refused:
        homes.of_cluster('a').prepare()

    assert (
        str(refused.value)
        == f'{home}/clusters/a: cannot be made: Not a directory; set JOBSET_HOME to a folder of yours'
    )


def test_two_runs_never_share_a_folder(home: Path) -> None:
    first, second = (prepared(homes.of_run('pipeline', NOW)) for _ in range(2))

    assert first.folder == home / 'runs' / '20260102-030405-pipeline'
    assert second.folder == home / 'runs' / '20260102-030405-pipeline-2'


def test_a_run_leaves_its_logs() -> None:
    run = prepared(homes.of_run('pipeline', NOW))
    for name in ('logs/pod/main/0.log', 'pods/uid/hosts', 'kubeconfig'):
        (run.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (run.folder / name).touch()

    homes.strip(run)
    assert [path.name for path in run.folder.iterdir()] == ['logs']

    (run.folder / 'logs/pod/main/0.log').unlink()
    for name in ('logs/pod/main', 'logs/pod'):
        (run.folder / name).rmdir()
    homes.strip(run)
    assert not run.folder.exists()
    homes.strip(run)


def prepared(made: homes.Home) -> homes.Home:
    made.prepare()
    return made


@pytest.mark.parametrize('ask', [homes.clusters, homes.of_runs, lambda: homes.of_run('a', NOW)])
def test_a_home_that_cannot_be_read_is_named_with_what_to_do(
    ask: Callable[[], object], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, 'Permission denied', str(path))

    # Root, who runs many tests, may read everything.
    monkeypatch.setattr(Path, 'is_dir', refuse)
    monkeypatch.setattr(Path, 'exists', refuse)

    with pytest.raises(homes.UnusableError, match=f'{home}.*Permission denied; set JOBSET_HOME to a folder of yours'):
        ask()
