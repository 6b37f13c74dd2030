# SPDX-License-Identifier: BSD-2-Clause
"""Options of commands that end clusters, and why one of them is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from deploy.base.choices import option, words
from deploy.bench.failure.scene import cluster_of, servers
from deploy.deployment.modules import REGIMES
from deploy.deployment.planner import Plan
from deploy.emulator.machine_file import chosen
from topology.errors import InputError

MODELLED = (
    "its clock moves only as its cores do, and neither the order to fail nor a client's next answer are theirs but the "
    "host's: measure it emulated, or under KVM"
)
Seed = Annotated[int | None, option("--seed N", "Seed of the drawn kills; it is printed (default: random).", 0)]
Lock = Annotated[str, option("--lock REGIME", "Lock regime of the kernels.", autocompletion=words(*REGIMES))]


def check_machine(machine: str | None) -> None:
    """No modelled machine: what is measured happens on the host's clock, too."""
    if machine is not None:
        modelled = chosen(machine, False, {})
        raise InputError(f"--machine {machine}", MODELLED if modelled else "is no modelled machine")


def check_lock(lock: str) -> str:
    if lock not in REGIMES:
        raise InputError("--lock", f"'{lock}' is not one of {', '.join(REGIMES)}")
    return lock


def check_survivors(plan: Plan, clusters: Iterable[int], cores: int) -> None:
    """Checks that each of these clusters' ends can be seen from another: by the client of another cluster's Redis."""
    places = {cluster_of(plan, name) for name in servers(plan)}
    for cluster in clusters:
        if not places - {cluster}:
            raise InputError(f"--cores {cores}",
                             f"no cluster but {cluster} has a Redis: no client would notice that others go on")
