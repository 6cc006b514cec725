"""A timeline as rectangles, lines and texts in pixels, for any file format."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jobset.cli.timelines.layout import Chart, Look

WIDTH: Final = 1000
ROW: Final = 22
BAR: Final = 14
MARGIN: Final = 16
FONT: Final = 12
CHARACTER: Final = 7.2
"""Pixels that a character takes at most, near enough to keep texts apart."""

COLOURS: Final = {
    Look.RUNNING: '#0891b2',
    Look.COMPLETE: '#16a34a',
    Look.FAILED: '#dc2626',
    Look.STOPPED: '#9ca3af',
    Look.PENDING: '#f59e0b',
    Look.WAITING: '#fde68a',
    Look.SUSPENDED: '#c4b5fd',
}
INK: Final = '#111827'
GREY: Final = '#6b7280'
LINE: Final = '#e5e7eb'
RESTART: Final = '#b45309'


@dataclass(frozen=True)
class Box:
    """A filled rectangle, with what it says to those who point at it."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    text: str = ''


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str
    dashed: bool = False


@dataclass(frozen=True)
class Label:
    """A text that begins at ``x`` and whose middle is at ``y``."""

    x: float
    y: float
    text: str
    colour: str = INK
    bold: bool = False


Shape = Box | Line | Label


@dataclass(frozen=True)
class Drawing:
    """Shapes in the order of drawing, later ones above earlier ones."""

    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


def drawing(chart: Chart) -> Drawing:
    """The picture of a chart."""
    left = MARGIN + max(len(row.label) + 2 * row.depth for row in chart.rows) * CHARACTER + 8
    scale = (WIDTH - MARGIN - left) / chart.seconds
    top = MARGIN + 2 * ROW
    bottom = top + len(chart.rows) * ROW
    shapes = (*_frame(chart, left, scale, top, bottom), *_rows(chart, left, scale, top), *_below(chart, bottom))
    height = bottom + MARGIN + ROW * (1 + len(chart.notes))
    return Drawing(WIDTH, round(height), chart.title, shapes)


def _frame(chart: Chart, left: float, scale: float, top: float, bottom: float) -> Iterator[Shape]:
    yield Label(MARGIN, MARGIN + ROW / 2, chart.title, bold=True)
    for tick in chart.ticks:
        x = left + tick.at * scale
        yield Line(x, top, x, bottom, LINE)
        yield Label(min(x, WIDTH - MARGIN - len(tick.label) * CHARACTER), top - ROW / 2, tick.label, GREY)


def _rows(chart: Chart, left: float, scale: float, top: float) -> Iterator[Shape]:
    for place, row in enumerate(chart.rows):
        middle = top + (place + 0.5) * ROW
        yield Label(MARGIN + 2 * row.depth * CHARACTER, middle, row.label, bold=row.depth == 0)
        for bar in row.bars:
            width = max((bar.end - bar.start) * scale, 2)
            yield Box(left + bar.start * scale, middle - BAR / 2, width, BAR, COLOURS[bar.look], bar.text)
    bottom = top + len(chart.rows) * ROW
    for mark in chart.restarts:
        x = left + mark.at * scale
        yield Line(x, top, x, bottom, RESTART, dashed=True)


def _below(chart: Chart, bottom: float) -> Iterator[Shape]:
    """The legend, and what was waited for."""
    x, y = float(MARGIN), bottom + MARGIN
    for look in Look:
        yield Box(x, y - 5, 10, 10, COLOURS[look])
        yield Label(x + 14, y, look.value, GREY)
        x += 14 + len(look.value) * CHARACTER + 16
    for place, note in enumerate(chart.notes):
        yield Label(MARGIN, y + (place + 1) * ROW, _cut(note), GREY)


def _cut(text: str) -> str:
    most = int((WIDTH - 2 * MARGIN) / CHARACTER)
    return text if len(text) <= most else f'{text[: most - 1]}…'
