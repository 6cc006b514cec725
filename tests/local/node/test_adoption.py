"""What a node that comes back makes of its pods: what ran is lost, what ended stays, what was begun is not repeated."""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jobset.local.node import adoption, logfiles
from jobset.local.node.model import Container, Pod, Step

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)

RUNNING: dict[str, Any] = {'running': {'startedAt': '2026-01-02T03:00:00Z'}}
WAITING: dict[str, Any] = {'waiting': {'reason': 'ContainerCreating'}}
DONE: dict[str, Any] = {'terminated': {'exitCode': 0, 'reason': 'Completed'}}
FAILED: dict[str, Any] = {'terminated': {'exitCode': 3, 'reason': 'Error'}}
REMOVED: dict[str, Any] = {'terminated': {'exitCode': 137, 'reason': 'RestartingAllContainers'}}

Shown = Mapping[str, Any]


def shown(state: Shown, *, last: Shown | None = None, restarts: int = 0) -> Shown:
    return {'name': 'main', 'state': state, 'lastState': last or {}, 'restartCount': restarts}


def adopted(status: Shown | None, begun: Mapping[str, int]) -> Container:
    pod = Pod(
        spec={'containers': [{'name': 'main'}]},
        status={} if status is None else {'containerStatuses': [status]},
    )
    return adoption.adopt(pod, NOW, begun).containers['main']


@pytest.mark.parametrize(
    ('status', 'begun', 'step', 'reason', 'restarts'),
    [
        pytest.param(None, {}, Step.NEW, '', 0, id='nothing was ever done'),
        pytest.param(None, {'other': 3}, Step.NEW, '', 0, id='another container was begun'),
        pytest.param(None, {'main': 0}, Step.ENDED, adoption.LOST, 0, id='begun, and never told'),
        pytest.param(shown(WAITING), {}, Step.NEW, '', 0, id='waited for its first run'),
        pytest.param(shown(WAITING), {'main': 0}, Step.ENDED, adoption.LOST, 0, id='its first run was begun'),
        pytest.param(shown(RUNNING), {'main': 0}, Step.ENDED, adoption.LOST, 0, id='ran'),
        pytest.param(shown(DONE), {'main': 0}, Step.ENDED, 'Completed', 0, id='had ended'),
        pytest.param(shown(FAILED), {'main': 1}, Step.ENDED, adoption.LOST, 1, id='was begun again'),
        pytest.param(
            shown(WAITING, last=FAILED, restarts=1), {'main': 1}, Step.ENDED, 'Error', 1, id='waited for another run'
        ),
        pytest.param(
            shown(WAITING, last=FAILED, restarts=1), {'main': 2}, Step.ENDED, adoption.LOST, 2, id='that was begun'
        ),
        pytest.param(
            shown(RUNNING, last=FAILED, restarts=1), {'main': 2}, Step.ENDED, adoption.LOST, 2, id='the next one, too'
        ),
        pytest.param(
            shown(WAITING, last=REMOVED, restarts=1), {'main': 0}, Step.NEW, '', 1, id='all were to start again'
        ),
        pytest.param(
            shown(WAITING, last=REMOVED, restarts=1), {'main': 1}, Step.ENDED, adoption.LOST, 1, id='and had begun to'
        ),
    ],
)
def test_containers(status: Shown | None, begun: Mapping[str, int], step: Step, reason: str, restarts: int) -> None:
    found = adopted(status, begun)

    assert (found.step, found.ended.reason if found.ended else '', found.restarts) == (step, reason, restarts)


def test_what_had_ended_before_a_lost_run_is_remembered() -> None:
    found = adopted(shown(FAILED), {'main': 1})

    assert found.ended is not None
    assert (found.ended.exit_code, found.ended.finished_at) == (137, NOW)
    assert found.last is not None
    assert found.last.exit_code == 3


def test_runs_are_known_by_their_logs(tmp_path: Path) -> None:
    for name in ('main/0.log', 'main/1.log.2', 'main/1.log', 'init/0.log', 'main/notes.log', 'note'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    assert logfiles.begun(tmp_path) == {'main': 1, 'init': 0}
    assert logfiles.begun(tmp_path / 'nothing') == {}
