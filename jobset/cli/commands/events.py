"""``jobset events NAME``: what was said about a JobSet and all that belongs to it."""

import contextlib
import datetime
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
import typer

from jobset.cli import failures, options, output
from jobset.client import observed
from jobset.client.jobsets import Jobsets

HEADER: Final = ('LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE')
_WIDTHS: Final = (9, 7, 22, 36)
"""Of the columns while rows come one by one: the widest cell is not known then."""


@options.on_cluster
async def command(
    target: options.Target,
    *,
    name: options.Name,
    watch: Annotated[bool, typer.Option('--watch', '-w', help='Go on with those to come.')] = False,
    only: Annotated[str, typer.Option('--type', help='Only Normal or Warning.', show_default=False)] = '',
    form: options.Output = 'table',
) -> None:
    """Show the events of a JobSet, its Jobs, pods, volume claims and groups, of all attempts, oldest first."""
    options.one_of(form, 'table', 'json', 'yaml', 'name')
    async with target.connect() as jobsets:
        if watch:
            await _watch(jobsets, name, only, form)
            return
        found = [event for event in await jobsets.events(name) if only in ('', event.type)]
        if not found:
            # Distinguishes a mistyped name from a quiet JobSet.
            await jobsets.get(name)
            output.warn(f'No events found for jobset {name}; servers keep them for about an hour.')
    if form == 'table':
        for line in table(found, now=output.now()):
            output.write(line)
    elif form == 'name':
        for event in found:
            output.write(f'event/{event.metadata.name}')
    else:
        output.write(output.document({'items': [document(event) for event in found]}, form))


def table(events: Sequence[observed.Event], *, now: datetime.datetime) -> list[str]:
    """The events for people; nothing at all where there are none."""
    return output.table(HEADER, [_row(event, now) for event in events]) if events else []


def _row(event: observed.Event, now: datetime.datetime) -> tuple[str, ...]:
    return (
        _seen(event, now),
        event.type,
        event.reason,
        f'{event.regarding.kind.lower()}/{event.regarding.name}',
        ' '.join(event.note.split()),
    )


def _seen(event: observed.Event, now: datetime.datetime) -> str:
    last = output.age(event.last, now)
    return last if event.count == 1 else f'{last} (x{event.count} over {output.age(event.first, now)})'


def document(event: observed.Event) -> dict[str, Any]:
    """An event for programs."""
    return {
        'name': event.metadata.name,
        'type': event.type,
        'reason': event.reason,
        'object': {'kind': event.regarding.kind, 'name': event.regarding.name, 'uid': event.regarding.uid},
        'count': event.count,
        'firstSeen': _time(event.first),
        'lastSeen': _time(event.last),
        'source': event.source,
        'message': event.note,
    }


def _time(moment: datetime.datetime | None) -> str | None:
    return moment.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ') if moment else None


async def _watch(jobsets: Jobsets, name: str, only: str, form: str) -> None:
    """Prints each event when it comes, and again when it comes again; ends when the JobSet is deleted."""
    if form not in ('table', 'json'):
        raise failures.Failure('--watch: with -o table or json only', code=failures.USAGE)
    if form == 'table':
        output.write(_line(HEADER))
    told: dict[str, int] = {}
    async with contextlib.aclosing(jobsets.follow(name)) as states:
        async for family in states:
            for event in family.events:
                if only in ('', event.type) and told.get(event.metadata.name) != event.count:
                    told[event.metadata.name] = event.count
                    row = _row(event, output.now())
                    output.write(_line(row) if form == 'table' else _compact(event))
            sys.stdout.flush()


def _compact(event: observed.Event) -> str:
    """One line of JSON."""
    return msgspec.json.encode(document(event)).decode()


def _line(row: Sequence[str]) -> str:
    return '   '.join([cell.ljust(width) for cell, width in zip(row, _WIDTHS, strict=False)] + [row[-1]])
