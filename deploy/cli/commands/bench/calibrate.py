# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench calibrate`."""

from pathlib import Path
from typing import Annotated, Any

from rich.table import Table

from deploy.base import process
from deploy.base.choices import option
from deploy.base.paths import ROOT
from deploy.base.terminal import Json, Output, Quiet
from deploy.bench.native import host as native_host
from deploy.bench.validate import calibrate as calibration
from deploy.emulator.machine_file import ModelledMachine
from deploy.results.result import document
from deploy.results.tables import plain_table
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError


def calibrate(
    output_file: Annotated[Path, option("--output -o FILE.toml", "Where the machine file goes.",
                                        show_default=str(calibration.DEFAULT.relative_to(ROOT)))] = calibration.DEFAULT,
    runs: Annotated[int, option("--runs N", "Repetitions; medians of all are taken.", 1, 100)] = calibration.RUNS,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Measure this machine's own cores and write a machine file of them, for --machine.

    Latencies of caches and memory, what a line costs that moves between two cores, locked and other instructions. What
    a program cannot measure is assumed, and the file says which.
    """
    process.heed_signals()
    if output_file.suffix != ".toml":
        raise InputError(f"--output {output_file}", "is no .toml file, which --machine takes")
    if not output_file.resolve().parent.is_dir():
        raise InputError(f"--output {output_file}", "no such folder")
    output = Output(quiet, json)
    calibration.places()  # fails before anything is built
    ensure_built(output, needs.PRICES)
    calibrated, machine, look = calibration.measured(output_file, output, runs)
    output.table(price_table(machine))
    output.line(look.verdict)
    if calibrated.noisy:
        output.line(f"Noisy: {', '.join(calibrated.noisy)}: the middle 80 % of samples are more than a quarter of the "
                    f"median apart.")
    on = native_host.describe(native_host.processors(), look, None)
    output.results(document("bench calibrate", on, [], [_entry(calibrated, machine)]))
    output.line(f"Machine file: {output_file}. {machine.header.partition('; ')[2].partition('.')[0]}.")


def price_table(machine: ModelledMachine) -> Table:
    table = plain_table(f"{machine.name}: cycles of {machine.ghz:g} GHz", ("", "cycles", "source"), ("", "source"))
    for name, price in machine.prices.items():
        table.add_row(name, f"{price.cycles:,.2f}", price.source)
    return table


def _entry(calibrated: calibration.Calibration, machine: ModelledMachine) -> dict[str, Any]:
    prices = {name: price.cycles for name, price in machine.prices.items()}
    return {
        "workload": "calibrate", "system": "skerry", "metrics": prices, "modelled": machine.to_json(),
        "noisy": calibrated.noisy,
        "spread": {name: [figure.low, figure.high] for name, figure in calibrated.alone.items()},
    }
