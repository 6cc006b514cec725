"""What commands show: coloured and live on a terminal, plain lines in a pipe."""

import datetime
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def console(*, wrap: bool = False) -> 'Console':
    """What rich draws on: standard output as it is now. NO_COLOR is respected.

    Lines are left to the terminal to wrap, so that they can be copied whole; pictures that are drawn anew cannot.
    """
    from rich.console import Console  # noqa: PLC0415 - not needed for plain text

    return Console(highlight=False, soft_wrap=not wrap, emoji=False, markup=False)


def write(text: str) -> None:
    """A piece of plain text, with a line end."""
    sys.stdout.write(f'{text}\n')


def warn(text: str) -> None:
    """A line for the person, not for the program that reads the output."""
    sys.stderr.write(f'{text}\n')


def show(lines: Iterable['Text']) -> None:
    """Lines, coloured where that is shown."""
    screen = console()
    for line in lines:
        screen.print(line)


def document(value: object, form: str) -> str:
    """A JSON value as json or yaml."""
    if form == 'json':
        return msgspec.json.format(msgspec.json.encode(value), indent=4).decode()
    import yaml  # noqa: PLC0415 - only for this form

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as they are read best."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        style = '|' if '\n' in value else None
        return dumper.represent_scalar('tag:yaml.org,2002:str', value, style=style)

    Dumper.add_representer(str, text)
    plain: Any = msgspec.to_builtins(value)
    return yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000).rstrip('\n')


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Columns as kubectl sets them: three blanks between, nothing after the last."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ['   '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def duration(seconds: float) -> str:
    """A time span as kubectl writes ages: two units at most, the finer one only while it matters."""
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    for applies, large, small in (
        (whole < 120, '', f'{whole}s'),
        (minutes < 10, f'{minutes}m', f'{whole % 60}s'),
        (hours < 3, '', f'{minutes}m'),
        (hours < 8, f'{hours}h', f'{minutes % 60}m'),
        (hours < 48, '', f'{hours}h'),
        (days < 8, f'{days}d', f'{hours % 24}h'),
    ):
        if applies:
            return f'{large}{small}' if not large or small[0] != '0' else large
    return f'{days}d'


def age(then: datetime.datetime | None, now: datetime.datetime) -> str:
    """How long something has been so."""
    return duration((now - then).total_seconds()) if then is not None else '<unknown>'


def now() -> datetime.datetime:
    """The wall clock, for what people read."""
    return datetime.datetime.now(datetime.UTC)
