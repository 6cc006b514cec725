"""Four pods that restart in place together, with a controller that does what the Go controller does."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobset.agent import rounds
from tests.agent.pods import JOBSET, Agent, Pods, jobset, pod
from tests.agent.server import SECONDS, Controller, Fault, Json, Server

NAMES = [f'pod-{number}' for number in range(4)]


class Kubelet:
    """Starts the agents of pods again when they end badly, and keeps what their workers say, in order."""

    def __init__(self, plane: Server, pods: Pods, folder: Path) -> None:
        self._plane = plane
        self._pods = pods
        self._folder = folder
        self._threads: list[threading.Thread] = []
        self.agents: dict[str, Agent] = {}
        self.codes: dict[str, list[int]] = {}
        self.worked: list[str] = []
        """Each pod whose worker has started."""

    def add(self, name: str) -> None:
        self._plane.put('pods', name, pod(jobset_uid='uid-of-set'))
        thread = threading.Thread(target=self._keep, args=(name,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def fail(self, name: str) -> None:
        """Have a worker end with an error."""
        (self._folder / name).touch()

    def kill(self, name: str) -> None:
        """Kill an agent: the container ends with its first process, and all others end with it."""
        process = self.agents[name].process.pid
        workers = Path(f'/proc/{process}/task/{process}/children').read_text().split()
        self.agents[name].signal(signal.SIGKILL)
        for worker in workers:
            os.killpg(int(worker), signal.SIGKILL)

    def lose(self, name: str) -> None:
        """A pod goes away with its node."""
        self._plane.delete('pods', name)
        self.kill(name)

    def until_worked(self, *names: str) -> None:
        """Wait until workers have started that many times each."""
        wanted = {name: names.count(name) for name in names}
        self._plane.until(
            lambda: all(self.worked.count(name) >= count for name, count in wanted.items()),
            f'{wanted}, but {self.worked}; {[agent.lines[-3:] for agent in self.agents.values()]}',
        )

    def close(self) -> None:
        for name in NAMES:
            self._plane.objects.pop(('pods', name), None)
        self._pods.end()
        for thread in self._threads:
            thread.join(SECONDS)

    def _keep(self, name: str) -> None:
        file = self._folder / name
        command = f'echo "worker of {name}"; until [ -e {file} ]; do sleep 0.05; done; rm {file}; exit 3'
        while ('pods', name) in self._plane.objects:
            agent = self._pods.start(name, environment={'WORKER_COMMAND': command, 'SHELL': '/bin/sh'}, said=self._hear)
            with self._plane.changed:
                self.agents[name] = agent
                self._plane.changed.notify_all()
            code = agent.ended()
            with self._plane.changed:
                self.codes.setdefault(name, []).append(code)
                self._plane.changed.notify_all()

    def _hear(self, line: str) -> None:
        if line.startswith('worker of '):
            with self._plane.changed:
                self.worked.append(line.removeprefix('worker of '))
                self._plane.changed.notify_all()


@pytest.fixture
def controller(plane: Server) -> Controller:
    one = jobset()
    one['metadata']['uid'] = 'uid-of-set'
    plane.put('jobsets', JOBSET, one)
    return Controller(plane, JOBSET, pods=len(NAMES))


@pytest.fixture
def kubelet(plane: Server, agents: Pods, controller: Controller, tmp_path: Path) -> Iterator[Kubelet]:
    kubelet = Kubelet(plane, agents, tmp_path)
    with contextlib.closing(kubelet):
        for name in NAMES:
            kubelet.add(name)
        yield kubelet


def current(attempt: int) -> Json:
    return {'currentInPlaceRestartAttempt': attempt}


def previous(attempt: int) -> Json:
    return {'previousInPlaceRestartAttempt': attempt}


def test_one_failure_restarts_all(plane: Server, kubelet: Kubelet, controller: Controller) -> None:
    kubelet.until_worked(*NAMES)
    uids = {name: plane.objects['pods', name]['metadata']['uid'] for name in NAMES}

    kubelet.fail('pod-2')

    kubelet.until_worked(*NAMES * 2)
    assert sorted(kubelet.worked[:4]) == sorted(kubelet.worked[4:]) == NAMES
    assert controller.writes == [current(0), previous(0), current(1)]
    assert kubelet.codes == {'pod-0': [1], 'pod-1': [1], 'pod-2': [3], 'pod-3': [1]}
    assert {name: plane.objects['pods', name]['metadata']['uid'] for name in NAMES} == uids


def test_two_failures_in_one_round(plane: Server, kubelet: Kubelet, controller: Controller) -> None:
    kubelet.until_worked(*NAMES)
    # The second one dies before the first one is back.
    kubelet.fail('pod-1')
    kubelet.fail('pod-2')

    kubelet.until_worked(*NAMES * 2)

    assert sorted(kubelet.worked[4:]) == NAMES
    assert controller.writes == [current(0), previous(0), current(1)]
    assert plane.annotation('pod-0') == '1'


def test_a_failure_while_others_are_on_their_way_back(plane: Server, kubelet: Kubelet, controller: Controller) -> None:
    kubelet.until_worked(*NAMES)
    # One pod cannot announce the next attempt for a while.
    block = Fault(lambda asked: asked.method == 'PATCH' and asked.path.endswith('/pod-3'), 503, times=1 << 20)
    plane.faults.append(block)
    kubelet.fail('pod-1')
    plane.until(lambda: [plane.annotation(name) for name in NAMES] == ['1', '1', '1', '0'], 'three of four are back')
    # One of them dies again, as it waits at the barrier.
    waiting = kubelet.agents['pod-1']
    waiting.signal(signal.SIGKILL)
    assert waiting.ended() == -signal.SIGKILL
    plane.until(lambda: kubelet.agents['pod-1'] is not waiting, 'it is started again')
    # A start that comes only after all others are there would find a round that runs without it, and begin the next.
    kubelet.agents['pod-1'].until_line('attempt 1 is announced')
    assert kubelet.worked[4:] == []

    block.times = 0

    kubelet.until_worked(*NAMES * 2)
    assert sorted(kubelet.worked[4:]) == NAMES
    assert controller.writes == [current(0), previous(0), current(1)]


def test_a_whole_pod_is_lost_inside_a_round(plane: Server, kubelet: Kubelet, controller: Controller) -> None:
    kubelet.until_worked(*NAMES)
    block = Fault(lambda asked: asked.method == 'PATCH' and asked.path.endswith('/pod-3'), 503, times=1 << 20)
    plane.faults.append(block)
    kubelet.fail('pod-1')
    plane.until(lambda: [plane.annotation(name) for name in NAMES] == ['1', '1', '1', '0'], 'three of four are back')

    kubelet.lose('pod-3')
    kubelet.add('pod-4')

    kubelet.until_worked(*NAMES, 'pod-0', 'pod-1', 'pod-2', 'pod-4')
    assert sorted(kubelet.worked[4:]) == ['pod-0', 'pod-1', 'pod-2', 'pod-4']
    assert controller.writes == [current(0), previous(0), current(1)]
    plane.objects.pop(('pods', 'pod-4'))


def test_a_whole_pod_is_lost(plane: Server, kubelet: Kubelet, controller: Controller) -> None:
    kubelet.until_worked(*NAMES)

    kubelet.lose('pod-3')
    kubelet.add('pod-4')

    # Its successor knows only that something has run, and brings the others to where it is.
    kubelet.until_worked(*NAMES, 'pod-0', 'pod-1', 'pod-2', 'pod-4')
    assert controller.writes == [current(0), previous(0), current(1)]
    plane.objects.pop(('pods', 'pod-4'))


def test_an_agent_that_is_killed_takes_the_others_along(
    plane: Server, kubelet: Kubelet, controller: Controller
) -> None:
    kubelet.until_worked(*NAMES)

    kubelet.kill('pod-0')

    kubelet.until_worked(*NAMES * 2)
    assert controller.writes == [current(0), previous(0), current(1)]


def test_nobody_starts_without_an_agent_that_cannot_announce(
    plane: Server, agents: Pods, controller: Controller, tmp_path: Path
) -> None:
    block = Fault(lambda asked: asked.method == 'PATCH' and asked.path.endswith('/pod-3'), 403, times=1 << 20)
    plane.faults.append(block)
    kubelet = Kubelet(plane, agents, tmp_path)
    with contextlib.closing(kubelet):
        for name in NAMES:
            kubelet.add(name)
        plane.until(lambda: [plane.annotation(name) for name in NAMES] == ['0', '0', '0', None], 'three of four')
        plane.until(lambda: 'pod-3' in kubelet.agents, 'the fourth')
        kubelet.agents['pod-3'].until_line('the service account needs the role of config/agent', 2)
        assert (kubelet.worked, controller.writes) == ([], [])

        block.times = 0

        kubelet.until_worked(*NAMES)
        assert controller.writes == [current(0)]


def test_rounds_one_after_another(plane: Server, kubelet: Kubelet, controller: Controller) -> None:
    for number, name in enumerate(['pod-0', 'pod-3', 'pod-0'], 1):
        kubelet.until_worked(*NAMES * number)
        kubelet.fail(name)
    kubelet.until_worked(*NAMES * 4)

    # Nobody starts a round that not all have left the last one for.
    assert [sorted(kubelet.worked[at : at + 4]) for at in range(0, 16, 4)] == [NAMES] * 4
    assert [plane.annotation(name, rounds.ATTEMPT) for name in NAMES] == ['3'] * 4
    assert controller.writes[-1] == current(3)
