"""A drawing as PNG, by Pillow: it brings a font along, so that a machine without any can draw, too.

Pillow is not needed for anything else, and so is installed by those who want it.
"""

import importlib
import io
from typing import Any, Final

from jobset.cli.timelines import shapes

SCALE: Final = 2
"""Pixels for each one of the drawing: screens have that many, and paper more."""


class Missing(Exception):  # noqa: N818 - says what is wrong
    """Pillow is not installed. The text says what to do."""


def image(drawing: shapes.Drawing) -> bytes:
    """The contents of the file. Raises :class:`Missing`."""
    try:
        images: Any = importlib.import_module('PIL.Image')
        drawing_: Any = importlib.import_module('PIL.ImageDraw')
        fonts: Any = importlib.import_module('PIL.ImageFont')
    except ImportError:
        raise Missing('a PNG needs Pillow: pip install pillow; or write a .svg, which any browser shows') from None
    canvas = images.new('RGB', (drawing.width * SCALE, drawing.height * SCALE), '#ffffff')
    pen = drawing_.Draw(canvas)
    font = fonts.load_default(shapes.FONT * SCALE)
    for shape in drawing.shapes:
        _draw(pen, font, shape)
    written = io.BytesIO()
    canvas.save(written, 'PNG', optimize=True)
    return written.getvalue()


def _draw(pen: Any, font: Any, shape: shapes.Shape) -> None:  # noqa: ANN401 - Pillow is not there for the type checker
    match shape:
        case shapes.Box(x, y, width, height, colour):
            corners = [x * SCALE, y * SCALE, (x + width) * SCALE, (y + height) * SCALE]
            pen.rounded_rectangle(corners, radius=2 * SCALE, fill=colour)
        case shapes.Line(x1, y1, x2, y2, colour):
            pen.line([x1 * SCALE, y1 * SCALE, x2 * SCALE, y2 * SCALE], fill=colour, width=SCALE)
        case shapes.Label(x, y, said, colour):
            pen.text((x * SCALE, y * SCALE), said, fill=colour, font=font, anchor='lm')
