# SPDX-License-Identifier: BSD-2-Clause
"""What all plots do at the end."""

from pathlib import Path
from typing import Any

from topology import demand
from topology.errors import InputError


def save(figure: Any, output: Path) -> None:
    """In the format that the file's name tells; the figure is gone then."""
    demand.module("matplotlib", "plots")
    from matplotlib import pyplot

    try:
        figure.savefig(output, dpi=130)
    except (OSError, ValueError) as error:  # ValueError: a format that matplotlib does not know
        raise InputError(f"--plot {output}", getattr(error, "strerror", None) or str(error)) from None
    finally:
        pyplot.close(figure)
