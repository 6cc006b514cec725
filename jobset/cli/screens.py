"""How a JobSet is doing, on one screen."""

import datetime
import enum
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Final

from jobset.cli import output, trees
from jobset.client import summaries, waits
from jobset.client.summaries import Phase, Summary

if TYPE_CHECKING:
    from rich.text import Text

_TRIED: Final = frozenset({waits.Kind.IMAGE, waits.Kind.CONFIG, waits.Kind.TROUBLE, waits.Kind.UNSCHEDULABLE})
"""What does not pass by itself."""


def lines(summary: Summary, *, log: Sequence[str] = (), now: datetime.datetime) -> Iterator['Text']:
    """The screen, line by line; ``log`` are the last lines of the container that failed."""
    from rich.text import Text  # noqa: PLC0415 - not needed for json

    head = Text.assemble((summary.name, 'bold'), '  ', (summary.phase.value, trees.STYLES.get(summary.phase, '')))
    head.append(f'  {summary.namespace}', trees.DIM)
    yield head
    if summary.message:
        yield Text(f'  {summary.message}', trees.BAD if summary.phase is Phase.FAILED else '')
    yield Text(f'  {_times(summary, now)}', trees.DIM)
    yield Text(f'  {_restarts(summary)}', trees.HELD if summary.restarts else trees.DIM)
    yield Text()
    for place, row in enumerate(_counts(summary)):
        yield Text(f'  {row}', trees.DIM if place == 0 else '')
    if summary.waits:
        yield Text()
        yield Text('Waits', 'bold')
        for wait in summary.waits:
            yield Text(f'  {wait}', trees.BAD if wait.kind in _TRIED else trees.HELD)
    if summary.failure is not None:
        yield Text()
        yield Text('Last failure', 'bold')
        for said in _failure(summary.failure, now):
            yield Text(f'  {said}', trees.BAD)
        for logged in log:
            yield Text(f'    | {logged}', trees.DIM)


def line(summary: Summary) -> str:
    """The same in one line, without anything that changes by itself."""
    parts = [summary.phase.value]
    if summary.restarts:
        parts.append(_restarts(summary))
    for group in summary.groups:
        counts = {'ready': group.ready, 'succeeded': group.succeeded, 'failed': group.failed}
        said = ', '.join(f'{number} {word}' for word, number in counts.items() if number)
        parts.append(f'{group.name} {said or "0"} of {group.jobs}')
    parts += [str(wait) for wait in summary.waits]
    if summary.message:
        parts.append(summary.message)
    return f'{summary.name}: {"; ".join(parts)}'


def _times(summary: Summary, now: datetime.datetime) -> str:
    parts = [f'age {output.age(summary.created, now)}']
    if summary.ended is not None:
        parts.append(f'ended {output.age(summary.ended, now)} ago')
        if summary.created is not None:
            parts.append(f'took {output.age(summary.created, summary.ended)}')
    elif summary.started is not None:
        parts.append(f'this attempt started {output.age(summary.started, now)} ago')
    return ', '.join(parts)


def _restarts(summary: Summary) -> str:
    text = f'restarts {summary.counted} of {summary.max_restarts}'
    free = summary.restarts - summary.counted
    return f'{text}, and {free} that {"does" if free == 1 else "do"} not count' if free > 0 else text


def _counts(summary: Summary) -> list[str]:
    header = ('REPLICATED JOB', 'JOBS', 'READY', 'SUCCEEDED', 'FAILED', 'ACTIVE', 'SUSPENDED', 'PODS RUNNING')
    rows = [
        (
            group.name,
            group.jobs,
            group.ready,
            group.succeeded,
            group.failed,
            group.active,
            group.suspended,
            f'{group.running}/{group.pods}',
        )
        for group in summary.groups
    ]
    return output.table(header, rows)


def _failure(failure: summaries.Failure, now: datetime.datetime) -> Iterator[str]:
    where = [f'Job {failure.job}'] if failure.job else []
    if failure.pod:
        where.append(f'pod {failure.pod} (rank {failure.rank})')
    if failure.node:
        where.append(f'node {failure.node}')
    if where:
        yield f'{", ".join(where)}, attempt {failure.attempt}'
    what = []
    if failure.exit_code is not None:
        container = f'container {failure.container}: ' if failure.container else ''
        signal = f', signal {failure.signal}' if failure.signal else ''
        what.append(f'{container}exit code {failure.exit_code}{signal}')
    if failure.reason and failure.reason != 'Error':
        what.append(failure.reason)
    if failure.message:
        what.append(failure.message.strip())
    ago = f' ({output.age(failure.at, now)} ago)' if failure.at else ''
    yield f'{": ".join(what) or "failed"}{ago}'


def document(summary: Summary, *, log: Sequence[str] = ()) -> dict[str, Any]:
    """The same for programs."""
    made: dict[str, Any] = _plain(summary)
    made['conditions'] = [{'type': one.type, 'status': one.status, 'reason': one.reason} for one in summary.conditions]
    if made['failure'] is not None:
        made['failure']['log'] = list(log)
    return made


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    if is_dataclass(value) and not isinstance(value, type):
        return {_camel(name): _plain(part) for name, part in vars(value).items() if name != 'conditions'}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _camel(name: str) -> str:
    first, *rest = name.split('_')
    return first + ''.join(part.capitalize() for part in rest)
