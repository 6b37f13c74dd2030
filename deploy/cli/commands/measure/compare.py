# SPDX-License-Identifier: BSD-2-Clause
"""`skerry compare`."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

import typer

from deploy.base import process
from deploy.base.choices import words
from deploy.base.errors import Failure
from deploy.base.partial import Parts
from deploy.base.paths import RESULTS, ROOT
from deploy.base.terminal import Json, Output, Plot, Quiet, check_plot
from deploy.base.timeouts import Patience
from deploy.cli import open_loop_comparison, options, program_comparison, suite_comparison
from deploy.cli.experiments import check_baseline
from deploy.cli.options import takes
from deploy.compare import map as maps, map_plot, open_loop, plot, runs, unpriced
from deploy.compare.images import CONTROL_IMAGES, IMAGES, QUICK_IMAGES
from deploy.compare.suite import IMAGES as SUITE_IMAGES
from deploy.compare.suite_rows import On
from deploy.compare.tables import comparison_table, layout_table, linux_table, pairs, ratio_json
from deploy.compare.verdict import Answer, alone, answers
from deploy.deployment import WORKLOADS, Deployment
from deploy.deployment.engines import ENGINES, REDIS
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import (
    PAPERS,
    ModelledMachine,
    chosen as chosen_machine,
    load as load_machine,
    names as machine_names,
)
from deploy.load import comparison, measure
from deploy.load.case import RedisCase, needed
from deploy.load.comparison import Comparison
from deploy.load.programs import Programs
from deploy.load.request import layouts_of, prepared, split
from deploy.machine import kvm, qemu
from deploy.machine.events import Event
from deploy.machine.qemu import Accel
from deploy.profile.run import profile
from deploy.results.result import Result, document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology import headers
from topology.errors import InputError
from topology.machines.machine import Machine, Shape, default_memory
from topology.maps.dts import write_dts
from topology.maps.shares import distant

MOST_IMAGES = 1000
RECORDS, MODELLED_RECORDS = 10_000, 50
MODELLED_OPERATIONS, MODELLED_WARM = 30, 10
# with more operations a client reports no ends: the window would be nearly all of the run
MOST_WINDOWED = headers.constant(ROOT / "apps" / "ycsb" / "client.h", "MAX_ENDS")
MODELLED_SILENCE = 1200.0  # seconds in which a run on a modelled machine must come to its end
Operations = Annotated[int | None, typer.Option(
    "--operations", metavar="N", min=1,
    help=f"Operations of each client ({comparison.OPERATIONS:,}; {MODELLED_OPERATIONS} on a modelled machine).")]


@dataclass(frozen=True)
class CompareOptions:
    path: Annotated[Path | None, typer.Argument(
        metavar="[FILE.toml]", help="A deployment with programs that print metrics, in the place of Redis.")] = None
    program: Annotated[str | None, typer.Option(
        "--program", metavar="'NAME ARGUMENTS'",
        help="A program that prints metrics, of the build or FILE.elf, on every core but the sockets' first.")] = None
    workload: Annotated[str, typer.Option("--workload", metavar="A,C", help="YCSB core workloads: a to f.")] = "c"
    layout: Annotated[str, typer.Option("--layout", metavar="L1,L2", help="The layouts to compare.",
                                        autocompletion=words(*options.LAYOUTS))] = ",".join(comparison.LAYOUTS)
    lock: options.Lock = None
    switch: options.Switch = None
    machine: options.ModelledMachine = None
    quick: Annotated[bool, typer.Option(
        "--quick", help=f"Fewer images of a modelled machine ({QUICK_IMAGES}), and only its own prices.")] = False
    images: Annotated[int | None, typer.Option(
        "--images", metavar="K", min=1, max=MOST_IMAGES,
        help=f"On a modelled machine: draw so many images, the ratio's interval is over them ({IMAGES}; "
        f"{CONTROL_IMAGES} of one layout beside itself).")] = None
    verify: Annotated[bool, typer.Option(
        "--verify", help="With --quick, too: run both layouts on fewer and on more cores, beside the queueing "
        "model.")] = False
    map: Annotated[bool, typer.Option(
        "--map", help=f"Draw the ratio over the load of the lock and the cores, for locks {', '.join(maps.LOCKS)} (or "
        "--lock), each workload and all machine files (or --machine).")] = False
    scheduler: options.Scheduler = None
    arrivals: open_loop_comparison.OpenLoopOptions = open_loop_comparison.OpenLoopOptions()
    suite: Annotated[bool, typer.Option(
        "--suite", help="Run a table of workloads: YCSB, servers that clients of other cores ask, system calls, and "
        f"controls, which must have the ratio 1. {SUITE_IMAGES} images each, or --images.")] = False
    rows: Annotated[str | None, typer.Option("--rows", metavar="NAME,...", help="With --suite: these rows.")] = None
    emulated: options.MachineOptions = options.MachineOptions()
    records: Annotated[int | None, typer.Option(
        "--records", metavar="N", min=1, max=1 << 22,
        help=f"Records of 1 kB in each Redis ({RECORDS:,}; {MODELLED_RECORDS} on a modelled machine).")] = None
    relink: Annotated[int | None, typer.Option(
        "--relink", metavar="SEED", min=1,
        help="On a modelled machine: all images have one kernel, linked anew with its objects in an order that SEED "
        "draws.")] = None
    operations: Operations = None
    clients: options.Clients = None
    server: options.Server = REDIS.name
    baseline: Annotated[str | None, typer.Option("--baseline", metavar="linux", help="Also run the same load on Linux.",
                                                 autocompletion=words("linux"))] = None
    accel: options.Accel = "auto"
    icount: options.Icount = False
    medium: options.Boot = "iso"
    timeout: options.Timeout = None
    plot: Plot = None
    quiet: Quiet = False
    json: Json = None

    @property
    def drawn(self) -> int:
        """Returns the number of images of a modelled machine."""
        return self.images or (QUICK_IMAGES if self.quick else IMAGES)

    def drawn_of(self, cases: Sequence[RedisCase]) -> int:
        """Returns the number of images for these cases: a control has more."""
        control = any(case.again for case in cases) and not self.quick
        return self.images or (CONTROL_IMAGES if control else self.drawn)


@takes(CompareOptions)
def compare(args: CompareOptions) -> None:
    """Run one kernel per socket beside one kernel spanning the machine: Redis under YCSB.

    Prints a table for each and their ratio, writes JSON and a plot (build/results, or beside --json FILE). Fails if one
    operation is lost or wrong. Plain kernels are timed; kernel entries and locks are counted in a shorter run beside
    it. The machine is the papers' 2 x 14 Xeon, modelled (--machine for another): the comparison ends with what follows,
    in sentences, and the ratio has its interval over images, which differ in addresses alone, and over prices that are
    uncertain. Two layouts that are the same are a control, whose ratio is 1. With --icount, --accel, --baseline or a
    machine by --sockets, --cores or --topology it is emulated without prices, or runs under KVM.
    FILE.toml or --program compares metrics that programs print: `skerry-metric: NAME VALUE UNIT [better=lower]`.
    """
    process.heed_signals()
    modelled = _modelled(args)
    started = time.strftime("%Y%m%d-%H%M%S")
    check_plot(args.plot)
    if args.json is None:
        _check_results()
    output = Output(args.quiet, args.json or str(RESULTS / f"compare-{started}.json"))
    if args.scheduler is not None and not args.map:
        raise InputError("--scheduler", "is for --map")
    if args.arrivals.open_loop or args.arrivals.p99_bound:
        _open_loop(args, modelled, output, _picture(args.plot, output, started))
        return
    if args.map:
        _map(args, modelled, output, _picture(args.plot, output, started))
        return
    timeout = Patience(MODELLED_SILENCE, args.timeout) if modelled else Patience(limit=args.timeout)
    if args.suite:
        on = On(_of_suite(args, modelled), args.lock or "clh")
        picture = _picture(args.plot, output, started)
        suite_comparison.compare(on, args.rows, args.images or SUITE_IMAGES, timeout, output, picture)
        return
    check_baseline(args.baseline)
    kvm.check_choice(args.accel, args.icount)
    if args.path or args.program:
        _compare_programs(args, modelled, timeout, output, _picture(args.plot, output, started))
        return
    _compare_layouts(args, modelled, timeout, output, _picture(args.plot, output, started))


def _compare_layouts(args: CompareOptions, modelled: ModelledMachine | None, timeout: Patience, output: Output,
                     picture: Path) -> None:
    """Compares Redis under YCSB."""
    cases = _cases(args, modelled, timeout)
    job = cases[0].job
    if modelled:
        modelled_run.check_installed()
    ensure_built(output, needed(cases) | (needs.beside_linux(job.server) if args.baseline else needs.NOTHING))
    load, outside = measure.accelerators(job, args.accel, args.icount)
    if modelled:
        runs.link(runs.drawn(cases, args.drawn_of(cases)))
    _say_mode(cases, load, outside, output)
    parts = Parts(output)
    results, verdicts = _run_modelled(cases, load, parts, args) if modelled else (_run(cases, load, outside, parts), [])
    linux = [one for workload in parts.of(job.workloads) if args.baseline
             and (one := _linux(job, workload, load, outside, parts))]
    parts.require(results)
    _publish(results, linux, verdicts, host_description(load, job.binary), parts, picture)
    parts.finish()


def _open_loop(args: CompareOptions, modelled: ModelledMachine | None, output: Output, picture: Path) -> None:
    open_loop_comparison.check_options(args.arrivals, layouts_of(args.layout, control=True), args.workload, modelled, {
        "a deployment file": args.path, "--program": args.program, "--map": args.map, "--verify": args.verify,
        "--relink": args.relink,
    })
    asked = replace(args, operations=args.operations or open_loop.OPERATIONS)
    cases = _cases(asked, modelled, Patience(MODELLED_SILENCE, args.timeout))
    shown = runs.Follower(output, _follow, _milestones(cases[0].job) // 2)
    open_loop_comparison.compare(cases, args.arrivals, args.quick, args.images, shown, picture)


def _cases(args: CompareOptions, modelled: ModelledMachine | None, timeout: Patience) -> list[RedisCase]:
    return prepared(
        _shape(args, modelled), args.layout, args.workload, memory=args.emulated.memory, switch=args.switch,
        clients=args.clients, server=options.check_server(args.server), lock=args.lock or "clh",
        records=args.records or (MODELLED_RECORDS if modelled else RECORDS),
        operations=args.operations or (MODELLED_OPERATIONS if modelled else comparison.OPERATIONS),
        warm=MODELLED_WARM if modelled and (args.operations or 0) <= MOST_WINDOWED else 0, relink=args.relink,
        timeout=timeout, medium=options.check_boot(args.medium), modelled=modelled,
    )


def _compare_programs(args: CompareOptions, modelled: ModelledMachine | None, timeout: Patience, output: Output,
                      picture: Path) -> None:
    program_comparison.check_options(args.path or f"--program {args.program}", {
        "--workload": args.workload != CompareOptions.workload, "--records": args.records,
        "--operations": args.operations, "--clients": args.clients, "--server": args.server != REDIS.name,
        "--baseline": args.baseline,
        "--verify": args.verify, "--switch": args.switch, "--relink": args.relink,
    })
    job = Programs(
        program_comparison.deployment(args.path, args.program, args.emulated, args.lock, modelled),
        layouts_of(args.layout, control=modelled is not None), timeout, options.check_boot(args.medium), modelled,
    )
    program_comparison.compare(job, args.accel, args.icount, args.drawn, args.quick, output, picture)


def _of_suite(args: CompareOptions, modelled: ModelledMachine | None) -> ModelledMachine:
    """Returns the machine of --suite, unless an option is not for it."""
    return suite_comparison.machine(modelled, args.images, {
        "a deployment file": args.path, "--program": args.program, "--workload": args.workload != "c",
        "--layout": args.layout != CompareOptions.layout, "--switch": args.switch, "--quick": args.quick,
        "--verify": args.verify, "--relink": args.relink, "--records": args.records, "--operations": args.operations,
        "--clients": args.clients, "--server": args.server != REDIS.name, "--memory": args.emulated.memory,
    })


def _shape(args: CompareOptions, modelled: ModelledMachine | None) -> Shape | Machine:
    machine = replace(args.emulated, memory=None) if modelled else args.emulated
    adapted = options.adapt(Deployment(), machine, lock=args.lock)
    return modelled.shape(modelled.cores, default_memory(modelled.cores_per_socket)) if modelled else adapted.shape


def _picture(plot: Path | None, output: Output, started: str) -> Path:
    """Returns the plot's path: beside the results where no option says more."""
    if plot:
        return plot
    written = Path(output.json_to) if output.json_to not in (None, "-") else None
    if written and not written.parent.is_relative_to("/dev"):
        return written.with_suffix(".png")
    RESULTS.mkdir(parents=True, exist_ok=True)
    return RESULTS / f"compare-{started}.png"


def _modelled(args: CompareOptions) -> ModelledMachine | None:
    """Returns the papers' machine, unless an option says how or what to emulate."""
    fixed = args.emulated.without_memory | {
        "--baseline": args.baseline, "--accel": args.accel != "auto", "--icount": args.icount,
        "--boot": args.medium != "iso",
    }
    machine = chosen_machine(args.machine or (None if any(fixed.values()) else PAPERS), args.quick, fixed)
    for name, given in (("--verify", args.verify), ("--images", args.images), ("--relink", args.relink)):
        if given and not machine:
            raise InputError(name, "is for a modelled machine (--machine)")
    if args.rows and not args.suite:
        raise InputError("--rows", "is for --suite")
    if args.suite and args.map:
        raise InputError("--suite", "is not with --map")
    if args.relink and args.lock == modelled_run.RTM:
        raise InputError("--relink", "is not for lock rtm, whose kernel the emulator replaces")
    return machine


def _check_results() -> None:
    """Checks the default folder of results."""
    try:
        RESULTS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=RESULTS):
            pass
    except OSError as error:
        raise Failure(f"cannot write {RESULTS}: {(error.strerror or '').lower()}; --json FILE puts results "
                      f"elsewhere") from None


def _say_mode(cases: Sequence[RedisCase], load: Accel, outside: Accel, output: Output) -> None:
    job = cases[0].job
    engine = ENGINES[job.server]
    each = f"{job.clients} client{'s' * (job.clients > 1)} of each {engine.named(engine.version())}"
    output.line(f"Machine: {job.shape}; {each}. Mode: {load.description}.")
    for note in job.shape.notes if isinstance(job.shape, Machine) else ():
        output.line(f"Note: {note}.")
    far = [f"layout {case.layout}: {note}" for case in cases for note in distant(case.plan.cluster_map)]
    for note in dict.fromkeys(far):
        output.line(f"Note: {note}.")
    if outside is not load:
        output.line(f"Power-on to +PONG is timed with: {outside.description}.")
    for names in alike(cases):
        output.line(f"{' and '.join(names)} are the same map on this machine: what differs between them is not the "
                    f"layout.")


def alike(cases: Sequence[RedisCase]) -> list[list[str]]:
    """The layouts that divide this machine in the same way, under the same locks."""
    maps: dict[str, list[str]] = {}
    for case in cases:
        if case.workload == cases[0].workload:
            maps.setdefault(write_dts(case.plan.cluster_map), []).append(case.layout)
    return [names for names in maps.values() if len(names) > 1]


def _run(cases: Sequence[RedisCase], load: Accel, outside: Accel, parts: Parts) -> list[Result]:
    results = []
    pongs: dict[str, float] = {}
    output, milestones = parts.output, _milestones(cases[0].job)
    for case in parts.of(cases):
        with parts.part(case.name):
            with output.progress(f"{case.name}: booting", total=milestones) as update:
                result = measure.measure(case, load, _follow(case.name, update))
            if case.layout not in pongs:  # the host measures it
                with output.progress(f"{case.layout}: from power-on to the first +PONG"):
                    pongs[case.layout] = measure.boot_to_pong(case.job, case.layout, outside)
            result = result.with_metrics({"boot_to_pong_s": pongs[case.layout]})
            if load.icount:
                with output.progress(f"{case.name}: counting instructions", total=milestones // 2) as update:
                    counted, _ = profile(case.profiled(), _follow(case.name, update))
                result = result.with_metrics(counted.metrics())
            output.table(layout_table(result))
            results.append(result)
    return results


def _run_modelled(cases: Sequence[RedisCase], accel: Accel, parts: Parts,
                  args: CompareOptions) -> tuple[list[Result], list[Answer]]:
    """The results, and what they and those of other images and price sets say."""
    output, machine = parts.output, cases[0].job.modelled
    assert machine
    output.line("The instructions of each part of an operation are of a run without prices.")
    shown = runs.Follower(output, _follow, _milestones(cases[0].job) // 2)
    measured = runs.measure(cases, accel, args.quick, args.drawn_of(cases), parts, shown)
    for result in measured.results:
        output.table(layout_table(result))
    verdicts = answers(machine, pairs(measured.results), measured.images, measured.studies)
    if parts.complete and (args.verify or not args.quick):
        verdicts = runs.checked(cases, accel, verdicts, parts, shown)
    return measured.results, verdicts


def _map(args: CompareOptions, modelled: ModelledMachine | None, output: Output, picture: Path) -> None:
    """Measures the cells that are not known yet, and draws all."""
    if not modelled:
        raise InputError("--map", "is for modelled machines (--machine)")
    others = {"a deployment file": args.path, "--program": args.program, "--images": args.images,
              "--relink": args.relink, "--verify": args.verify, "--quick": args.quick, "--switch": args.switch,
              "--server": args.server != REDIS.name, "--memory": args.emulated.memory}
    if refused := [name for name, given in others.items() if given]:
        raise InputError("--map", f"is of Redis on one image of each cell; not with {', '.join(refused)}")
    if args.lock not in (None, *maps.LOCKS):
        raise InputError("--lock", f"'{args.lock}' is not one of {', '.join(maps.LOCKS)}, which have a queueing model")
    layouts = split("--layout", args.layout, None)
    if len(layouts) != 2:
        raise InputError("--layout", "a map is of two layouts")
    machines = [modelled] if args.machine else [load_machine(name) for name in machine_names()]
    modelled_run.check_installed()
    cells = [
        maps.asked(machine, lock, workload, args.layout, records=args.records or MODELLED_RECORDS, clients=args.clients,
                   operations=args.operations or MODELLED_OPERATIONS, warm=MODELLED_WARM,
                   timeout=Patience(MODELLED_SILENCE, args.timeout))
        for machine in machines for lock in ([args.lock] if args.lock else maps.LOCKS)
        for workload in split("--workload", args.workload.lower(), WORKLOADS)
    ]
    ensure_built(output, reduce(or_, (needed(cell.pairs[0]) for cell in cells)))
    parts = Parts(output)
    known = maps.measure(cells, output, parts, scheduler=args.scheduler)
    parts.require(known)
    output.table(maps.table(known))
    host = host_description(modelled_run.mode(machines[0]), qemu.BINARY) | {"mode": "Modelled machines"}
    output.results(document("compare", host, []) | parts.to_json() | {"map": [cell.to_json() for cell in known]})
    map_plot.plot(known, picture, (layouts[0], layouts[1]))
    output.written(picture)
    parts.finish()


def _linux(job: Comparison, workload: str, load: Accel, outside: Accel, parts: Parts) -> dict[str, Any]:
    """Nothing where it failed."""
    entry: dict[str, Any] = {}
    name = f"Linux, workload {workload.upper()}"
    with parts.output.progress(name), parts.part(name):
        entry = measure.linux(job, workload, load, outside)
    return entry


def _milestones(job: Comparison) -> int:
    """Events of the two runs, timing and counting: starts, serving instances, results."""
    servers = comparison.servers(job)
    return 2 * (2 + servers * (2 + 2 * job.clients))


def _follow(name: str, update: Callable[..., None]) -> Callable[[Event], None]:
    seen = 0

    def follow(event: Event) -> None:
        nonlocal seen
        summary = event.kind == "result" and event.get("data", {}).get("event") == "ycsb"
        seen += event.kind in ("started", "serving") or summary
        doing = "measured" if summary else "loading and measuring" if event.kind == "started" else None
        update(completed=seen, **({"description": f"{name}: {doing}"} if doing else {}))

    return follow


def _publish(
    results: list[Result], linux: list[dict[str, Any]], verdicts: list[Answer], on: dict[str, Any], parts: Parts,
    picture: Path
) -> None:
    output = parts.output
    compared = pairs(results)
    spreads = [answer.spreads() for answer in verdicts] or [{}] * len(compared)
    for (first, second), known in zip(compared, spreads):
        output.table(comparison_table(first, second, known))
    for other in linux:
        if beside_linux := next((r for r in results if r.workload == other["workload"]), None):
            output.table(linux_table(beside_linux, other))
    data = document("compare", on, results, linux) | parts.to_json()
    data["ratios"] = [ratio_json(first, second) for first, second in compared]
    for ratio, answer in zip(data["ratios"], verdicts):
        ratio |= answer.to_json()
    for ratio, (first, second) in zip(data["ratios"], compared if not verdicts else ()):
        ratio["answer"] = unpriced.sentences(first, second)
    texts = ([answer.sentences() for answer in verdicts]
             or [unpriced.sentences(first, second) for first, second in compared])
    with output.ending(texts or [alone(result) for result in results]):
        output.results(data)
        plot.plot(results, on["mode"], picture, spreads, verdicts[0].bars if verdicts else ())
        output.written(picture)
