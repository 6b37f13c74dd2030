# SPDX-License-Identifier: BSD-2-Clause
"""What the experiments' commands have in common: the options that mean the same, where results go."""

import time
from pathlib import Path
from typing import Annotated

import typer

from deploy.base.paths import BUILD
from deploy.base.terminal import Plot as Plot, check_plot
from deploy.deployment.modules import REGIMES

RESULTS = BUILD / "results"

Locks = Annotated[str | None, typer.Option("--lock", metavar="LIST",
                                           help=f"Lock regimes: {','.join(REGIMES)}; else every one.")]
Native = Annotated[bool, typer.Option("--native",
                                      help="On this machine's own cores: the kernel as a library, pinned threads.")]
Runs = Annotated[int, typer.Option("--runs", metavar="N", min=1, max=1000,
                                   help="Natively: repetitions; medians are shown.")]


def places(kind: str, json: str | None, plot: Path | None) -> tuple[str, Path]:
    """Where results and plot go: the plot beside the results, both in build/results by default."""
    check_plot(plot)
    RESULTS.mkdir(parents=True, exist_ok=True)
    base = RESULTS / f"bench-{kind}-{time.strftime('%Y%m%d-%H%M%S')}"
    beside = Path(json).with_suffix(".png") if json not in (None,
                                                            "-") and Path(json).suffix != ".png" else base.with_suffix(
                                                                ".png")
    if beside.parent.is_dir() and beside.parent.is_relative_to("/dev"):  # /dev/null, /dev/stdout
        beside = base.with_suffix(".png")
    return json or str(base.with_suffix(".json")), plot or beside
