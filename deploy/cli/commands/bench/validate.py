# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench validate`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from rich.table import Table

from deploy.base import process
from deploy.base.choices import files, option
from deploy.base.errors import Failure
from deploy.base.partial import Parts
from deploy.base.paths import RESULTS
from deploy.base.terminal import Json, Output, Quiet
from deploy.bench.native import host as native_host, scale as native_scale
from deploy.bench.validate import rows as row_groups, validation
from deploy.bench.validate.calibrate import DEFAULT, measured
from deploy.bench.validate.validation import Row, ranged
from deploy.cli.options import Quick, takes
from deploy.deployment import modules
from deploy.emulator import run
from deploy.emulator.machine_file import PAPERS, RANGE, ModelledMachine, load
from deploy.machine import qemu
from deploy.results.result import document, host_description, without_machine
from deploy.results.tables import plain_table
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError

USUAL = ("paper", "host", "speed", "compare")
GROUPS = (*USUAL, "lines", "figures", "table1", "peters", "collapse", "redis", "idle")
TAKEN = {"table1": "Table 1", "redis": "Figure 7's delays"}  # by group: rows of which a price or its interval is
RANGED = (1.0, *(factor for factor in RANGE if factor != 1.0))  # factors of line costs
ROUNDS, IPC_ROUNDS, SPEED_ROUNDS, NATIVE_RUNS = 2048, 200, 128, 7


@dataclass(frozen=True)
class ValidateOptions:
    rows: Annotated[str, option("--rows LIST", f"Which: {','.join(GROUPS)}; else the "
                                f"first {len(USUAL)}.")] = ",".join(USUAL)
    host_file: Annotated[str | None, option("--host FILE.toml", "This machine's prices; else they are measured now.",
                                            shell_complete=files())] = None
    rounds: Annotated[int, option("--rounds N", "Round trips of a modelled point.", 128, 1_000_000)] = ROUNDS
    quick: Quick = False
    quiet: Quiet = False
    json: Json = None


@takes(ValidateOptions)
def validate(args: ValidateOptions) -> None:
    """The modelled machine against what is published and what this machine's own cores do, with goals and errors.

    Rows: paper (Elphinstone 2016, on the papers' Xeon), host (locks on two cores of this machine, from prices that
    bench calibrate measures), speed, compare; lines (line costs of other machines beside what others measured), figures
    (Elphinstone's 4 and 5), table1 (that paper's latencies, measured back by a program on the modelled machine), peters
    (Peters 2015, Figure 2), collapse (of a ticket lock: Boyd-Wickizer 2012), redis (Elphinstone's Figure 7, Peters' 4),
    idle (Peters' 3: Redis whose clients pause). Published rows have ranges under half and double line costs, but for
    --quick. It prints what comes out; the exit status says only whether it ran.
    """
    process.heed_signals()
    groups = _groups(args.rows)
    if args.host_file and "host" not in groups:
        raise InputError("--host", "is for the rows of this host, and --rows leaves them out")
    xeon = load(PAPERS)
    mine = load(args.host_file) if args.host_file else None
    boots = set(groups) != {"lines"}  # the lines' rows are read from files
    if boots:
        run.check_installed()
    if args.json is None:
        RESULTS.mkdir(parents=True, exist_ok=True)
    json = args.json or str(RESULTS / "bench-validate.json")
    output = Output(args.quiet, json)
    if boots:
        ensure_built(output, _needed("host" in groups))
    _introduce(xeon, groups, output)
    judged: list[tuple[Row, ModelledMachine]] = []
    factors = (1.0,) if args.quick else RANGED
    for group in groups:
        judged += _measured(group, *_rows(group, xeon, mine, args.rounds, factors, output), output)
    only_rows = [row for row, _ in judged]
    output.table(table(only_rows))
    output.line("\n".join(closing(only_rows)))
    on = host_description(run.mode(xeon), qemu.BINARY) if boots else without_machine(row_groups.MODE)
    output.results(document("bench validate", on, [], [row.to_json(machine) for row, machine in judged]))
    if json != "-":
        output.line(f"Results: {json}.")


def _groups(rows: str) -> list[str]:
    groups = [word.strip() for word in rows.split(",")]
    if odd := [word for word in groups if word not in GROUPS]:
        raise InputError("--rows", f"'{odd[0]}' is not one of {', '.join(GROUPS)}")
    return groups


def _measured(group: str, rows: Iterator[Row], machine: ModelledMachine,
              output: Output) -> list[tuple[Row, ModelledMachine]]:
    measured = []
    with output.progress(f"Rows: {group}") as update:
        for row in rows:
            measured.append((row, machine))
            update(description=f"Rows: {group}: {row.name}")
    return measured


def _needed(host: bool) -> needs.Needs:
    kernels = needs.kernels(modules.REGIMES, "pingpong", "root", transactions=True) | needs.MODELLED
    return kernels | (needs.natively(validation.HOST_LOCKS) | needs.PRICES if host else needs.NOTHING)


def _introduce(xeon: ModelledMachine, groups: Sequence[str], output: Output) -> None:
    """No modelled figure is printed without its machine."""
    if "lines" in groups:
        for machine in row_groups.machines():
            output.line(f"Line costs, read from the file: {machine.header}.")
    if set(groups) == {"lines"}:
        return
    output.line(f"Published rows: {xeon.header}.")
    taken = " and ".join(text for group, text in TAKEN.items() if group in groups)
    for name, to in xeon.fitted_to.items():
        output.line(f"Fitted: {name}, so that {to}. Every row below is a "
                    f"prediction{f', but for {taken}' if taken else ''}.")
    if "table1" in groups:
        output.line("Prices come from Table 1: its rows show whether a program on the modelled machine finds them "
                    "there.")


def _rows(
    group: str, xeon: ModelledMachine, mine: ModelledMachine | None, rounds: int, factors: Sequence[float],
    output: Output
) -> tuple[Iterator[Row], ModelledMachine]:
    def scale(factor: float) -> validation.Measure:
        return validation.at_line_cost(validation.measure, factor)

    made: dict[str, Callable[[], Iterator[Row]]] = {
        "paper": lambda: _chain(
            ranged(lambda factor: validation.paper_rows(xeon, rounds, scale(factor)), factors),
            validation.ipc_rows(xeon, IPC_ROUNDS)
        ),
        "figures": lambda: ranged(lambda factor: validation.figure_rows(xeon, rounds, scale(factor)), factors),
        "table1": lambda: ranged(lambda factor: row_groups.table1_rows(xeon, factor), factors),
        "peters": lambda: ranged(lambda factor: row_groups.peters_rows(xeon, rounds, scale(factor)), factors),
        "collapse": lambda: ranged(lambda factor: row_groups.collapse_rows(xeon, rounds, scale(factor)), factors),
        "redis": lambda: ranged(lambda factor: row_groups.redis_rows(row_groups.measure_redis(xeon, factor)),
                                factors),
        "idle": lambda: ranged(
            lambda factor: row_groups.idle_rows(row_groups.measure_redis(xeon, factor, row_groups.PAUSE_US)),
            factors
        ),
        "lines": row_groups.line_rows,
        "speed": lambda: validation.speed_rows(xeon, SPEED_ROUNDS),
        "compare": lambda: iter([validation.compare_row()]),
    }
    if group in made:
        return made[group](), xeon
    try:
        host = mine or measured(DEFAULT, output)[1]
        native = _native(rounds, output)
    except Failure as error:  # one core
        return iter([Row("host", "this host, 2 cores", "cycles", not_run=str(error))]), xeon
    output.line(f"This host's rows: {host.header}. Prices of what the hosted port does without are 0: "
                f"{', '.join(validation.NOT_HOSTED)}.")
    return validation.host_rows(host, native, rounds), host


def _chain(*parts: Iterator[Row]) -> Iterator[Row]:
    for part in parts:
        yield from part


def _native(rounds: int, output: Output) -> dict[tuple[str, float], validation.Native]:
    usable = native_host.processors()
    look = native_host.Parallel([native_host.look(usable, 2)], 2)
    delays = {lock: list(validation.HOST_DELAYS) for lock in validation.HOST_LOCKS}
    parts = Parts(output)
    entries = native_scale.measure(delays, [1, 2], rounds, parts, NATIVE_RUNS, usable)
    parts.finish("the rows of this host need all of them")
    look.looks.append(native_host.look(usable, 2))
    output.line(look.verdict)
    return validation.native_of(entries, look.real and not look.moved)


def table(rows: Sequence[Row]) -> Table:
    priced, spread = any(row.price is not None for row in rows), any(row.spread for row in rows)
    columns = ["against", "reference", "modelled", "error", *["line costs x 0.5 to x 2"] * spread, *["price"] * priced,
               "goal", "met"]
    made = plain_table("The model against what is published and measured", columns, ("against", "goal", "met"))
    last = rows[0].group if rows else ""
    for row in rows:
        if row.group != last:
            made.add_section()
        last = row.group
        reference = "" if row.reference is None else _number(row.reference)
        if row.bounds and row.reference is None:
            reference = f"{_number(row.bounds[0])} to {_number(row.bounds[1])}"
        more = [f"{_number(row.spread[0])} to {_number(row.spread[1])}" if row.spread else ""] * spread
        more += ["" if row.price is None else _number(row.price)] * priced
        if row.modelled is None:
            made.add_row(row.name, reference, f"not run: {row.not_run}", "", *more, row.goal, "-")
            continue
        error = "" if row.error is None else f"{row.error:+.1%}"
        verdict = "" if row.met is None else ("yes" if row.met else "no") + (" (noisy)" if row.noisy else "")
        made.add_row(row.name, reference, _number(row.modelled), error, *more, row.goal, verdict)
    return made


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def closing(rows: Sequence[Row]) -> list[str]:
    judged = [row for row in rows if row.met is not None]
    absent = [row for row in rows if row.not_run and row.met is None]
    lines = [f"{sum(bool(row.met) for row in judged)} of {len(judged)} goals met; {len(absent)} rows were not run."]
    if any(row.noisy for row in rows):
        lines.append("Noisy: runs on this host's cores were disturbed or far apart: what those rows say needs a quiet "
                     "host.")
    return lines
