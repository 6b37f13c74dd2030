# SPDX-License-Identifier: BSD-2-Clause
"""The cases of the published comparison: the papers' machine, YCSB C, both layouts."""

from typing import Any

from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.cli.commands.measure.compare import (
    MODELLED_OPERATIONS,
    MODELLED_RECORDS,
    MODELLED_SILENCE,
    MODELLED_WARM,
)
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.case import RedisCase, needed
from deploy.load.comparison import LAYOUTS
from deploy.load.request import prepared
from deploy.setup.build import ensure_built
from topology.machines.machine import default_memory


def cases(machine: ModelledMachine, output: Output, **more: Any) -> list[RedisCase]:
    """Returns a case for each layout on `machine`, built; `more`: what is otherwise, of a Comparison."""
    made = prepared(machine.shape(machine.cores, default_memory(machine.cores_per_socket)), ",".join(LAYOUTS), "c",
                    records=MODELLED_RECORDS, operations=MODELLED_OPERATIONS, warm=MODELLED_WARM,
                    timeout=Patience(MODELLED_SILENCE, None), modelled=machine, **more)
    ensure_built(output, needed(made))
    return made
