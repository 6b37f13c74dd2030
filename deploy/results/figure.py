# SPDX-License-Identifier: BSD-2-Clause
"""Pictures by matplotlib, which takes long to load: only where something is drawn."""

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
