# SPDX-License-Identifier: BSD-2-Clause
"""What all plots do at the end."""

from io import BytesIO
from pathlib import Path
from typing import Any

from deploy.base.atomic_files import write_bytes
from topology import demand
from topology.errors import InputError


def save(figure: Any, output: Path) -> None:
    """In the format that the file's name tells; the figure is gone then."""
    demand.module("matplotlib", "plots")
    from matplotlib import pyplot

    made = BytesIO()
    try:
        figure.savefig(made, format=output.suffix.removeprefix("."), dpi=130)
    except ValueError as error:  # a format that matplotlib does not know
        raise InputError(f"--plot {output}", str(error)) from None
    finally:
        pyplot.close(figure)
    write_bytes(output, made.getvalue())
