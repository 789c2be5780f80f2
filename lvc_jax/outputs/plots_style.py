"""What all pictures share: colours, font, axes, and text from files as a picture can show it."""

import functools
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font

INK, FAINT, GREY = "#1f2937", "#e5e7eb", "#6b7280"
_FAMILY = "DejaVu Sans"
FONT: Any = {"font.family": _FAMILY, "font.size": 9, "text.color": INK, "axes.labelcolor": INK}
"""For `matplotlib.rc_context`."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, sizes in inches; made without pyplot, so that nothing is global and nothing has to be closed."""
    return Figure(figsize=(width, height), dpi=130, layout="constrained")


def bare(axes: Axes, *hidden: str) -> None:
    """Takes the frame away: its upper and right sides, and further ones by name."""
    axes.spines[["top", "right", *hidden]].set_visible(False)


def plain(text: str) -> str:
    """Text from a file as a picture can show it: no mathematics, and escapes for what the font has no glyph for."""
    shown = (c if c.isascii() or ord(c) in _glyphs() else c.encode("ascii", "backslashreplace").decode() for c in text)
    return "".join(shown).replace("$", r"\$")


@functools.cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont(_FAMILY)).get_charmap())
