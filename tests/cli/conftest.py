"""Commands in this process, on a cluster in memory, at a fixed time."""

from collections.abc import Callable

import pytest

from jobset.cli import main, output
from tests.client import facts, fakes


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the terminal of whoever runs the tests is like must make no difference."""
    for name in ('FORCE_COLOR', 'COLUMNS', 'JOBSET_TRACEBACK', 'TTY_COMPATIBLE'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(output, 'now', lambda: facts.moment(100))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> fakes.Cluster:
    """The cluster that commands find."""
    made = fakes.Cluster()
    monkeypatch.setattr('jobset.client.connections.connect', made.connect)
    return made


Jobset = Callable[..., tuple[int, str, str]]


@pytest.fixture
def jobset(capsys: pytest.CaptureFixture[str]) -> Jobset:
    """Runs ``jobset`` with some words; gives the exit code, standard output and standard error."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main.main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run
