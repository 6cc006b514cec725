"""``jobset timeline NAME``: when what ran, and why it waited."""

from pathlib import Path
from typing import Annotated, Final

import typer

from jobset.cli import failures, options, output
from jobset.cli.timelines import layout, png, shapes, svg, terminal
from jobset.client import history

FORMS: Final = ('table', 'json', 'yaml')


@options.on_cluster
async def command(
    target: options.Target,
    *,
    name: options.Name,
    form: Annotated[
        str, typer.Option('--output', '-o', help='A FILE.svg or FILE.png to write, or json or yaml.', metavar='FILE')
    ] = 'table',
    most_rows: Annotated[
        int, typer.Option('--rows', help='Jobs of one replicated job that get a row each.', min=0)
    ] = 20,
    width: Annotated[int, typer.Option('--width', help='Of the picture in a terminal; 0: as wide as that.', min=0)] = 0,
) -> None:
    """Draw when the stages, Jobs and attempts of a JobSet ran, what waited in between, and why."""
    suffix = Path(form).suffix
    if form not in FORMS and suffix not in ('.svg', '.png'):
        raise failures.Failure(f'-o {form}: a file that ends in .svg or .png, or json or yaml', code=failures.USAGE)
    async with target.connect() as jobsets:
        family = await jobsets.family(name)
    now = output.now()
    facts = history.of(family, now)
    if form in ('json', 'yaml'):
        output.write(output.document(facts, form))
        return
    chart = layout.layout(facts, now, most_rows=most_rows)
    if form == 'table':
        output.show(terminal.lines(chart, width=width or output.console().width))
    else:
        _write(Path(form), chart)


def _write(file: Path, chart: layout.Chart) -> None:
    drawing = shapes.drawing(chart)
    try:
        content = svg.text(drawing).encode() if file.suffix == '.svg' else png.image(drawing)
    except png.Missing as error:
        raise failures.Failure(str(error)) from error
    file.write_bytes(content)
    output.warn(f'{file}: written')
