# SPDX-License-Identifier: BSD-2-Clause
"""What the experiments' commands have in common: options that mean the same."""

from collections.abc import Collection
from typing import Annotated

import typer

from deploy.base.choices import words
from deploy.base.terminal import Plot as Plot
from deploy.deployment.modules import REGIMES
from deploy.live.granularity import Granularity
from topology import regimes
from topology.errors import InputError
from topology.maps.clustermap import FINE, GRANULARITIES

Locks = Annotated[str | None, typer.Option("--lock", metavar="LIST",
                                           help=f"Lock regimes: {','.join(REGIMES)}; else every one.")]
Native = Annotated[bool, typer.Option("--native",
                                      help="On this machine's own cores: the kernel as a library, pinned threads.")]
Runs = Annotated[int, typer.Option("--runs", metavar="N", min=1, max=1000,
                                   help="Natively: repetitions; medians are shown.")]
OfKernel = Annotated[
    Granularity | None,
    typer.Option(
        "--granularity", metavar="|".join(GRANULARITIES), autocompletion=words(*GRANULARITIES),
        help=f"Granularity of --lock {','.join(regimes.names(regimes.SWITCHED))} kernels from their start (coarse).",
    ),
]
Local = Annotated[
    bool,
    typer.Option("--local", help="With --granularity fine: all objects have their home on the core that uses them.")
]


def check_granularity(granularity: Granularity | None, local: bool, locks: Collection[str]) -> None:
    if granularity and not set(locks) & set(regimes.names(regimes.SWITCHED)):
        raise InputError("--granularity",
                         f"is for --lock {','.join(regimes.names(regimes.SWITCHED))}, not for {','.join(locks)}")
    if local and (granularity is None or granularity.value != FINE):
        raise InputError("--local", f"needs --granularity {FINE}: otherwise no object has a home")
