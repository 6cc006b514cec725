"""One JobSet of a run, followed to its end: news, logs, and what is to be said of it afterwards."""

import asyncio
import contextlib
import dataclasses
from dataclasses import dataclass, field
from typing import Final

from jobset.cli import ends, failures, progress, views
from jobset.cli.progress import Line, Tone
from jobset.client import lines, summaries, together
from jobset.client.families import Family
from jobset.client.jobsets import Jobsets
from jobset.core import conditions
from jobset.kube import errors

QUIET_SECONDS: Final = 5
"""Silence after which the rest of the logs is no longer waited for, once the JobSet has ended."""


@dataclass
class Ending:
    """How one JobSet ended."""

    name: str
    state: str = ''
    """``Completed`` or ``Failed``; empty when it did not come to an end."""

    text: str = ''
    restarts: int = 0
    failures: list[ends.Failure] = field(default_factory=list)
    cause: ends.Failure | None = None
    """The one that ended the JobSet."""

    @property
    def exit_code(self) -> int:
        """That of the run: of the container whose failure ended the JobSet, where it has failed."""
        if self.state == conditions.COMPLETED:
            return 0
        code = self.cause.exit_code if self.cause is not None else 0
        return code if 0 < code < 256 else failures.FAILED


class Follower:
    """Follows one JobSet, and fills in its ``ending``."""

    def __init__(self, jobsets: Jobsets, view: views.View, *, namespace: str, name: str, is_alone: bool = True) -> None:
        self.ending = Ending(name)
        self._jobsets = jobsets
        self._view = view
        self._namespace = namespace
        # Ranks and stages of several JobSets have to be told apart.
        self._prefix = '' if is_alone else f'{name}/'
        self._seen = progress.Progress()
        self.ending.failures = self._seen.failures
        self._last: Family | None = None
        self._logs_ended = asyncio.Event()
        self._has_logged = False

    async def run(self) -> None:
        """Follow it to its end, and its logs to theirs; the end is told after the last line."""
        self._view.tell(Line(self.ending.name, 'created', Tone.NOTE))
        async with together.beside([self._logs(), self._look_again()]):
            await self._until_end()
            await self._drain()
        # Statuses of pods, and events about them, may be told later than the end that they have brought about.
        with contextlib.suppress(errors.ApiError):
            self._last = await self._jobsets.family(self.ending.name, namespace=self._namespace)
        self._tell()
        if self._last is not None:
            self.ending.cause = ends.deciding(self._last, self.ending.failures)

    def give_up(self) -> None:
        """The time is over: say what it still waits for."""
        if not self.ending.state and not self.ending.text:
            waits = summaries.of(self._last).waits if self._last is not None else ()
            self.ending.text = '; '.join(map(str, waits)) or 'it still runs'

    async def _until_end(self) -> None:
        states = self._jobsets.follow(
            self.ending.name,
            namespace=self._namespace,
            on_pod=self._seen.see_pod,
            on_job=self._seen.see_job,
        )
        async with contextlib.aclosing(states):
            async for family in states:
                self._last = family
                self.ending.restarts = family.jobset.status.restarts
                final = conditions.terminal(family.jobset.status)
                if final is not None:
                    self.ending.state, self.ending.text = final.type, final.message
                    return
                self._tell()
        self.ending.text = 'was deleted'

    def _tell(self) -> None:
        if self._last is None:
            return
        for line in self._seen.look(self._last, at=asyncio.get_running_loop().time()):
            subject = line.subject if line.subject == self.ending.name else self._prefix + line.subject
            self._view.tell(dataclasses.replace(line, subject=subject))
        self._view.stages(self.ending.name, progress.stages(self._last))

    async def _look_again(self) -> None:
        """What has lasted long by now is news without a change."""
        while not self.ending.state:
            await asyncio.sleep(progress.PATIENCE / 2)
            if not self.ending.state:
                self._tell()

    async def _logs(self) -> None:
        everything = lines.Wanted(initial=True, earlier=True)
        told = self._jobsets.log_lines(self.ending.name, follow=True, wanted=everything, namespace=self._namespace)
        async with contextlib.aclosing(told):
            async for line in told:
                self._has_logged = True
                if isinstance(line, lines.Note):
                    self._view.tell(Line(self._prefix + line.rank, line.text, Tone.NOTE))
                else:
                    self._view.log(self._prefix + line.rank, line.text)
        self._logs_ended.set()

    async def _drain(self) -> None:
        """Wait for the logs for as long as they go on coming."""
        while not self._logs_ended.is_set():
            self._has_logged = False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._logs_ended.wait(), QUIET_SECONDS)
            if not self._has_logged:
                return
