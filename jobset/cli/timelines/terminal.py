"""A timeline in characters, readable without colours, too."""

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from jobset.cli.timelines.layout import Bar, Chart, Look, Row

GLYPHS: Final = {
    Look.RUNNING: '█',
    Look.COMPLETE: '█',
    Look.FAILED: '█',
    Look.STOPPED: '▓',
    Look.PENDING: '▒',
    Look.WAITING: '░',
    Look.SUSPENDED: '-',
}
ENDS: Final = {Look.COMPLETE: '✓', Look.FAILED: '✗', Look.RUNNING: '…'}
"""What stands in the last cell of a bar."""

STYLES: Final = {
    Look.RUNNING: 'cyan',
    Look.COMPLETE: 'green',
    Look.FAILED: 'red',
    Look.STOPPED: 'bright_black',
    Look.PENDING: 'yellow',
    Look.WAITING: 'yellow',
    Look.SUSPENDED: 'magenta',
}
RESTART: Final = '↻'

_LEAST: Final = 20
"""Cells that the scale has at least, however narrow the terminal is."""

_LEGEND: Final = '░ waits  ▒ pods start  █ runs  ▓ stopped  - suspended  ✓ complete  ✗ failed  ↻ restart'


def lines(chart: Chart, *, width: int) -> Iterator[Text]:
    """The picture for a terminal of that width."""
    labels = [f'{"  " * row.depth}{row.label}' for row in chart.rows]
    margin = max(map(len, labels)) + 1
    cells = max(width - margin - 1, _LEAST)
    yield Text(chart.title, 'bold')
    yield Text(' ' * margin + _scale(chart, cells), 'dim')
    for label, row in zip(labels, chart.rows, strict=True):
        line = Text(label.ljust(margin), 'bold' if row.depth == 0 else '')
        yield line.append(_drawn(row, chart, cells))
    if chart.restarts:
        marks = [' '] * cells
        for mark in chart.restarts:
            marks[_cell(mark.at, chart, cells)] = RESTART
        yield Text('restarts'.ljust(margin) + ''.join(marks).rstrip(), 'yellow')
    yield Text(_LEGEND, 'dim')
    for note in chart.notes:
        yield Text(note)


def _scale(chart: Chart, cells: int) -> str:
    text = ''
    for tick in chart.ticks:
        place = _cell(tick.at, chart, cells)
        if place >= len(text) and place + len(tick.label) <= cells + 1:
            text = text.ljust(place) + tick.label + ' '
    return text.rstrip()


def _drawn(row: Row, chart: Chart, cells: int) -> Text:
    glyphs = [' '] * cells
    looks: list[Look | None] = [None] * cells
    for bar in row.bars:
        first, last = _cells(bar, chart, cells)
        glyphs[first:last] = GLYPHS[bar.look] * (last - first)
        looks[first:last] = [bar.look] * (last - first)
        if bar.look in ENDS:
            glyphs[last - 1] = ENDS[bar.look]
    drawn = Text()
    for glyph, look in zip(glyphs, looks, strict=True):
        drawn.append(glyph, STYLES[look] if look else '')
    drawn.rstrip()
    return drawn


def _cells(bar: Bar, chart: Chart, cells: int) -> tuple[int, int]:
    """The cells of a bar: at least one, or what is short would not be seen."""
    first = min(round(bar.start / chart.seconds * cells), cells - 1)
    return first, max(first + 1, round(bar.end / chart.seconds * cells))


def _cell(at: float, chart: Chart, cells: int) -> int:
    return min(round(at / chart.seconds * cells), cells - 1)
