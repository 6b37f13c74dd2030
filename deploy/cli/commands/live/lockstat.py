# SPDX-License-Identifier: BSD-2-Clause
"""`skerry lockstat`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

from deploy.base.choices import argument, option
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.domains.options import RunsUnder
from deploy.live.lockstat import live, source
from deploy.live.lockstat.check import Check, checks
from deploy.live.lockstat.snapshot import Snapshot
from deploy.live.lockstat.table import COLUMNS, tables
from topology.errors import InputError


def lockstat(
    what: Annotated[str | None, argument("RUN", "Results of a run, its events or its log; or the process id of a "
                                         "skerry that runs one. Default: the running one.")] = None,
    connect: RunsUnder = None,
    since: Annotated[str | None, option("--since WHEN", "First snapshot of a finished run, as barrier-1.")] = None,
    until: Annotated[str | None, option("--until WHEN", "Last snapshot (default: the run's last).")] = None,
    histogram: Annotated[bool, option("--histogram", "Also print histograms of wait and hold times.")] = False,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Show lock statistics of a deployment: acquisitions, conflicts, spins, waits and holds by class of lock.

    Needs counting kernels: `statistics = true` in the deployment file. The memory of a running machine is read from
    outside, without its involvement.
    """
    output = Output(quiet, json)
    snapshots, emulated = _snapshots(what, connect, since, until)
    results: list[dict[str, Any]] = []
    wrong: list[Check] = []
    for snapshot in snapshots:
        for part in tables(snapshot, histogram):
            if isinstance(part, str):
                output.line(part)
            else:
                output.table(part, COLUMNS)
        made = checks(snapshot)
        wrong += [check for check in made if not check.holds]
        results.append(snapshot.to_json() | {"emulated": emulated, "checks": [check.to_json() for check in made]})
    if emulated:
        output.line("Emulated: times, and how often locks are met taken, are the emulator's; counts are the kernel's.")
    output.results({"skerry": version(), "command": "lockstat", "results": results})
    if wrong:
        raise Failure(f"the statistics do not add up: {wrong[0]}")


def _snapshots(
    what: str | None, connect: str | None, since: str | None, until: str | None
) -> tuple[list[Snapshot], bool | None]:
    """And whether the machine is, or was, emulated; None where the run does not say."""
    if what is not None and not connect and not what.isdecimal():
        events, emulated = source.read_file(Path(what))
        return source.between(events, since, until), emulated
    if since or until:
        raise InputError("--since, --until", "name snapshots of a run that is over; its results must be given")
    with ExitStack() as stack:
        machine = stack.enter_context(live.of_libvirt(connect, what)) if connect else live.local(live.find(what))
        snapshots = machine.snapshots()
    counting = [snapshot for snapshot in snapshots if snapshot.counted]
    if not counting:
        kernels = ", ".join(sorted({snapshot.kernel for snapshot in snapshots}))
        raise Failure(f"the kernels that run do not count: {kernels}; `statistics = true` in the deployment file "
                      f"makes them")
    return counting, machine.emulated
