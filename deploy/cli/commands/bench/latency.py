# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench latency`."""

from deploy.base import process
from deploy.base.terminal import Json, Quiet
from deploy.base.timeouts import Patience
from deploy.bench import regimes
from deploy.bench.destination import Destination
from deploy.bench.ipc import latency as stretches
from deploy.cli import options
from deploy.cli.experiments import Locks
from deploy.machine import qemu
from deploy.setup import needs
from deploy.setup.build import ensure_built


def latency(
    lock: Locks = None,
    timeout: options.Timeout = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Measure how long the kernel's longest operations delay an interrupt, on one core, in instructions.

    A thread of the highest priority waits for an interrupt that comes whenever the kernel is entered; the table says
    how much later than at rest it runs, at worst: no stretch with interrupts off is longer.
    """
    process.heed_signals()
    to = Destination.of("latency", json, None, quiet)
    output = to.output
    locks = regimes.chosen(lock)
    ensure_built(output, needs.kernels(locks, "stress", "root"))
    mode = qemu.tcg_for(1, counted=True)
    output.line(f"Mode: {mode.description}.")
    measured = []
    with output.progress("Booting", total=len(locks)) as update:
        for done, name in enumerate(locks):
            update(completed=done, description=f"kernel {name}")
            measured.append(stretches.measure(name, mode, Patience(limit=timeout)))
    output.table(stretches.latency_table(measured))
    to.write("bench latency", mode, [one.to_json() for one in measured])
    to.end(drawn=False)
