"""A drawing as SVG: text that any browser shows, and that can be searched and scaled."""

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from jobset.cli.timelines import shapes

_FONT: Final = 'system-ui, "Segoe UI", "DejaVu Sans", Arial, sans-serif'


def text(drawing: shapes.Drawing) -> str:
    """The contents of the file."""
    size = f'width="{drawing.width}" height="{drawing.height}" viewBox="0 0 {drawing.width} {drawing.height}"'
    style = f'font-family={quoteattr(_FONT)} font-size="{shapes.FONT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
        f'<title>{escape(drawing.title)}</title>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *map(_element, drawing.shapes),
        '</svg>',
    ]
    return '\n'.join(lines) + '\n'


def _element(shape: shapes.Shape) -> str:
    match shape:
        case shapes.Box(x, y, width, height, colour, said):
            place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{colour}"'
            return f'<rect {place}><title>{_clean(said)}</title></rect>' if said else f'<rect {place}/>'
        case shapes.Line(x1, y1, x2, y2, colour, dashed):
            dashes = ' stroke-dasharray="4 3"' if dashed else ''
            return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashes}/>'
        case shapes.Label(x, y, said, colour, bold):
            weight = ' font-weight="bold"' if bold else ''
            return f'<text x="{x:.1f}" y="{y + 4:.1f}" fill="{colour}"{weight}>{_clean(said)}</text>'


def _clean(said: str) -> str:
    """Texts of events may hold what XML has no form for."""
    return escape(''.join(character if character.isprintable() else ' ' for character in said))
