# SPDX-License-Identifier: BSD-2-Clause
"""Figures of matplotlib as SVG that belongs to the page: its text is text, in the page's own colour."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from deploy.results.figure import pyplot

WIDTH = 4.6  # inches: a phone shows it whole, a desk shows several side by side
_INK = "#010203"  # becomes currentColor
_PALE = "#040506"  # becomes currentColor, faint
COLOURS = ("#4477aa", "#d5782a", "#228b5b", "#aa4a8f", "#8a8a2a", "#3f9fb8")
HATCHES = ("", "///", "\\\\\\", "xx", "--", "||")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")

_STYLE: dict[Any, Any] = {  # matplotlib's type lists each key that it knows
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar in a file is a dollar
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _PALE,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


@dataclass
class Drawing:
    figure: Any
    axes: Any
    svg: Markup = Markup()


@contextmanager
def drawing(name: str, title: str, description: str, height: float) -> Iterator[Drawing]:
    """`name` is unique on the page. On leaving, `svg` is the figure; a reader's software says title and description."""
    drawn_by = pyplot()
    with drawn_by.rc_context(_STYLE | {"svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of letters that its font lacks: the reader's has them
        figure, axes = drawn_by.subplots(figsize=(WIDTH, height), layout="constrained")
        made = Drawing(figure, axes)
        try:
            yield made
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", transparent=True,
                           metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
            made.svg = _inline(buffer.getvalue(), name, title, description)
        finally:
            drawn_by.close(figure)


def _inline(text: str, name: str, title: str, description: str) -> Markup:
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    head, _, rest = body.partition(">")
    box = re.search(r'viewBox="[^"]*"', head)
    rest = re.sub(r'\bid="', f'id="{name}-', rest)
    rest = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", rest)
    rest = rest.replace(_INK, "currentColor").replace(_PALE, "currentColor; stroke-opacity: 0.25")
    return Markup(open_svg(name, box[0] if box else "", title, description)) + Markup(rest)


def open_svg(name: str, box: str, title: str, description: str) -> Markup:
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {box} role="img" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
    )
