# SPDX-License-Identifier: BSD-2-Clause
"""Pictures by matplotlib, which takes long to load: only where something is drawn."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from deploy.base.atomic_files import write_bytes
from topology import demand
from topology.errors import InputError


def pyplot() -> Any:
    """Matplotlib's, which draws into files alone."""
    demand.module("matplotlib", "plots")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def ticker() -> Any:
    """Matplotlib's places and texts of an axis's marks."""
    demand.module("matplotlib", "plots")
    from matplotlib import ticker

    return ticker


def subplots(*arguments: Any, **options: Any) -> tuple[Any, Any]:
    """A new figure and its axes."""
    figure, axes = pyplot().subplots(*arguments, **options)
    return figure, axes


def save(figure: Any, output: Path) -> None:
    """In the format that the file's name tells; the figure is gone then."""
    made = BytesIO()
    try:
        figure.savefig(made, format=output.suffix.removeprefix("."), dpi=130)
    except ValueError as error:  # a format that matplotlib does not know
        raise InputError(f"--plot {output}", str(error)) from None
    finally:
        pyplot().close(figure)
    write_bytes(output, made.getvalue())


MARKERS = "osD^vPX*"
MARGIN = 0.01  # share of a figure's width and height


def plain_axes(axes: Any, cores: Iterable[int] | None = None, label: str | None = None) -> None:
    """From 0 upward, without a frame; `cores`: the places that are marked, `label`: what stands above them."""
    if label:
        axes.set_ylabel(label)
    if cores is not None:
        axes.set_xlabel("cores")
        axes.set_xticks(sorted(set(cores)))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)


def publish(figure: Any, output: Path, title: str, note: str, bottom: float, top: float = 0.98) -> None:
    """With its title above and `note` below, which takes the part `bottom` of the height."""
    figure.suptitle(title, x=MARGIN, ha="left", weight="bold")
    if note:
        figure.text(MARGIN, MARGIN, note, size=6, color="#555555")
    figure.tight_layout(rect=(0, bottom, 1, top))
    save(figure, output)
