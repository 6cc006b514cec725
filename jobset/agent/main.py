"""The agent in a pod: holds the worker back until all pods are there, and restarts the pod in place with the others.

    jobset-agent.pyz                     beside the worker: answers GET /barrier-is-down on port 8081
    WORKER_COMMAND=... jobset-agent.pyz  runs the worker itself, by a shell
    jobset-agent.pyz -- train --fast     the same without a shell

Source: JobSet, KEP-467, as the Go agent does it. Every start of a pod announces a number; the controller publishes
which numbers are over and which one runs; whoever is over ends with an exit code that makes the kubelet start its
containers again. ``docs/agent.md`` is for users.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

# What only some pods need is imported where they need it: to compile a module takes milliseconds at each start.
from jobset.agent import api, following, rounds, settings, telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

    from jobset.agent import barrier, door, worker

TELL_SECONDS = 60
"""How often it is told that the barrier is still closed."""

ASKED_SECONDS = 2
"""How long the first probe is waited for, that asks each second in the samples, before others are told to go ahead.

The worker of a pod whose probe does not wait yet starts with the next one, later than those of all others.
"""

PASSED_ON = (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT)
"""Signals that mean something to the worker only."""


class Agent:
    """The agent of one pod. Ends the process by itself.

    The main thread runs the worker and takes signals; another one follows the JobSet; one more answers probes.
    """

    def __init__(self, pod: settings.Settings) -> None:
        self._pod = pod
        self._server = api.Api(pod)
        self._worker = _worker(pod) if pod.command else None
        self._door = None if pod.command else _door(pod)
        self._barrier: barrier.StartBarrier | None = None
        self._attempt: int | None = None
        self._jobset_uid = ''
        """That of the JobSet which this pod is of, once it is known: another one may have the same name later."""
        self._sees_neighbours = False
        """Whether the processes of the other containers can be ended from here."""
        self._lifted = threading.Event()
        self._waits_for = f'JobSet {pod.namespace}/{pod.jobset}'
        self._ending = 0
        """The signal that has asked to end."""
        self._leaving = threading.Lock()
        """Held by whoever ends the process, up to the end."""

    def run(self) -> NoReturn:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)
        self.beside(following.Follower(self._server, self._path(), told=self._seen).run)
        if self._door:
            self.beside(self._door.serve)
        while not self._lifted.wait(TELL_SECONDS):
            telling.tell(f'still waiting for {self._waits_for}')
        if self._worker:
            code = self._worker.run(self._leaving)
            if self._ending:
                self._worker.wait_for_the_rest()
            self.leave(128 + self._ending if self._ending else code, f'the worker has ended with {code}')
        while True:
            signal.pause()

    def beside(self, act: Callable[[], object]) -> None:
        """Do something in a thread of its own; what goes wrong there ends the agent."""

        def guarded() -> None:
            try:
                act()
            except settings.Misused as error:
                self.leave(1, str(error))
            except BaseException:
                sys.excepthook(*sys.exc_info())
                self.leave(1, 'a defect of the agent')

        threading.Thread(target=guarded, daemon=True).start()

    def leave(self, code: int, why: str) -> NoReturn:
        """End the process, and whatever is left of the worker."""
        self._leaving.acquire()
        telling.tell(f'{why}; exit code {code}')
        if self._worker:
            self._worker.kill()
        os._exit(code)

    def _end(self, number: int, frame: FrameType | None) -> None:
        # No lock here: this may interrupt whoever holds it.
        self._ending = number
        if self._worker and self._worker.has_begun:
            self._worker.pass_on(number)
        else:
            os._exit(128 + number)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if self._worker and self._worker.has_begun:
            self._worker.pass_on(number)

    def _path(self) -> str:
        pod = self._pod
        jobsets = f'/apis/jobset.x-k8s.io/v1alpha2/namespaces/{pod.namespace}/jobsets'
        return f'{jobsets}?fieldSelector=metadata.name={pod.jobset}'

    def _seen(self, found: dict[str, Any]) -> bool:
        for uid, jobset in found.items():
            if self._jobset_uid in ('', uid):
                self._follow(jobset)
        return False

    def _follow(self, jobset: Any) -> None:
        status = jobset.get('status') or {}
        if rounds.bypasses(jobset):
            if self._pod.has_barrier and not self._lifted.is_set():
                self._gather(jobset)
            else:
                self._lift('pods of this JobSet are not restarted in place')
            return
        if self._attempt is None:
            self._be_asked()
            attempt = rounds.next_attempt(status)
            self._announce(attempt)
            self._attempt = attempt
        if rounds.is_over(self._attempt, status):
            self._restart()
        if rounds.runs(self._attempt, status):
            self._lift(f'attempt {self._attempt} runs')

    def _announce(self, attempt: int) -> None:
        own = self._server.annotate(rounds.ATTEMPT, str(attempt), manager='in-place-restart-agent')
        telling.tell(f'attempt {attempt} is announced')
        self._waits_for = f'all pods of the JobSet to announce attempt {attempt}'
        self._jobset_uid = own['metadata'].get('labels', {}).get(f'{rounds.LABELS}jobset-uid', '')
        if not self._door:
            return
        from jobset.agent import neighbours  # noqa: PLC0415 - see above

        self._sees_neighbours = bool(own['spec'].get('shareProcessNamespace'))
        if not neighbours.restart_with(own, self._pod.exit_code):
            telling.tell(
                f'this pod cannot be restarted in place: no rule RestartAllContainers of the container fits '
                f'exit code {self._pod.exit_code}, or the API server does not know such rules'
            )

    def _restart(self) -> None:
        if self._sees_neighbours:
            from jobset.agent import neighbours  # noqa: PLC0415 - see above

            neighbours.kill()
        self.leave(self._pod.exit_code, f'attempt {self._attempt} is over, the pod is restarted in place')

    def _be_asked(self) -> None:
        if self._door:
            self._door.asked.wait(ASKED_SECONDS)

    def _gather(self, jobset: Any) -> None:
        if self._barrier is None:
            from jobset.agent import barrier  # noqa: PLC0415 - see above

            self._be_asked()
            self._barrier = barrier.StartBarrier(self._pod, jobset, opened=lambda: self._lift('all pods are there'))
            self._waits_for = 'all pods that start together to be there'
            self.beside(self._barrier.run)
        else:
            self._barrier.update(jobset, self._server)

    def _lift(self, why: str) -> None:
        if not self._lifted.is_set():
            telling.tell(f'{why}: the barrier is down')
            if self._door:
                self._door.open()
            self._lifted.set()


def _worker(pod: settings.Settings) -> worker.Worker:
    from jobset.agent import worker  # noqa: PLC0415 - see above

    return worker.Worker(pod.command)


def _door(pod: settings.Settings) -> door.Door:
    from jobset.agent import door  # noqa: PLC0415 - see above

    return door.Door(pod.probe_port, pod.probe_path)


def main() -> NoReturn:
    """Run the agent of this pod."""
    try:
        agent = Agent(settings.Settings(os.environ, sys.argv[1:]))
    except (settings.Misused, OSError) as error:
        telling.tell(str(error))
        sys.exit(1)
    agent.run()


if __name__ == '__main__':
    main()
