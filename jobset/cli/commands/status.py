"""``jobset status NAME``: how it is doing, and what it waits for."""

import contextlib
import functools
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from jobset.cli import live, options, output, screens
from jobset.client import lines, summaries
from jobset.client.families import Family
from jobset.client.jobsets import Jobsets

LOG_LINES: Final = 8
"""Lines of the log of what failed last: so many that the end of a traceback is among them."""


@options.on_cluster
async def command(
    target: options.Target,
    *,
    name: options.Name,
    watch: Annotated[bool, typer.Option('--watch', '-w', help='Go on showing it until it has ended.')] = False,
    form: options.Output = 'table',
) -> None:
    """Show how a JobSet is doing: its phase, what it waits for, its counts, what failed last."""
    options.one_of(form, 'table', 'json', 'yaml')
    async with target.connect() as jobsets:
        if watch and form == 'table':
            await _watch(jobsets, name)
            return
        family = await jobsets.family(name)
        summary = summaries.of(family)
        log = await _log(jobsets, family, summary)
    if form == 'table':
        output.show(screens.lines(summary, log=log, now=output.now()))
    else:
        output.write(output.document(screens.document(summary, log=log), form))


async def _watch(jobsets: Jobsets, name: str) -> None:
    """Shows it anew each time that something has changed."""
    read: dict[object, Sequence[str]] = {}
    with live.Screen() as screen:
        async with contextlib.aclosing(jobsets.follow(name)) as states:
            async for family in states:
                summary = summaries.of(family)
                if summary.failure not in read:
                    read[summary.failure] = await _log(jobsets, family, summary)
                picture = functools.partial(screens.lines, summary, log=read[summary.failure], now=output.now())
                screen.show(picture, screens.line(summary))
                if summary.ended is not None:
                    return


async def _log(jobsets: Jobsets, family: Family, summary: summaries.Summary) -> Sequence[str]:
    """The last lines of what failed last, as far as they can be had."""
    failure = summary.failure
    if failure is None or not failure.container:
        return ()
    pod = next((pod for pod in family.pods if pod.metadata.name == failure.pod), None)
    if pod is None:
        return ()
    previous = all(one.state.terminated is None for one in pod.containers if one.name == failure.container)
    return await lines.tail(jobsets.source, pod, failure.container, lines=LOG_LINES, previous=previous)
