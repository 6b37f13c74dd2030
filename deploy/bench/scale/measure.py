# SPDX-License-Identifier: BSD-2-Clause
"""Independent ping-pong on every core with exponential delays, by apps/pingpong in the place of the root task."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from deploy.base.errors import Failure
from deploy.bench.boot import Bench, program_plan
from deploy.bench.ipc import pingpong
from deploy.bench.ipc.pingpong import AT_HOME
from deploy.deployment import Program
from deploy.deployment.planner import Plan
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import ModelledMachine, whole_ranges
from deploy.emulator.run import POINTS, clocks
from deploy.load.case import Case
from deploy.machine.events import Event
from deploy.machine.qemu import Accel
from deploy.machine.run import Options, boot
from deploy.results.result import Result
from deploy.results.snapshots import ratio
from topology.errors import InputError
from topology.foreign import format_spans
from topology.grouping import check_named
from topology.limits import MAX_CPUS
from topology.machines.machine import Shape, default_memory

DELAYS = "125..32000"  # Figure 4 starts at 500; but a lock that is held for a fifth of the time bends at a fifth
FIGURE_4 = (
    "Figure 4 of Elphinstone et al., 'An Evaluation of Coarse-Grained Locking for Multicore Microkernels' (2016): "
    "all cores' kernel entries over cores and delays, one lock; there in cycles of a Xeon of 28 hardware threads."
)
FIGURE_5 = "Figure 5 there: the same for every lock, at 4,000 cycles (x86) and at 500 (ARM)."
FIGURE_5_DELAYS = (500.0, 4000.0)
MOST_DELAY, MOST_POINTS, MOST_CORES = 1_000_000, 63, MAX_CPUS  # that the program takes, of a list; of a kernel
ENTRIES = 2  # kernel entries of a round trip


def figure_5_delays(delays: Iterable[float]) -> list[float]:
    """Returns the given delays that are nearest to the figure's."""
    there = set(delays)
    return sorted({min(there, key=lambda delay: abs(delay - published)) for published in FIGURE_5_DELAYS if there})


@dataclass(frozen=True)
class Point:
    """One measurement: so many cores in clusters of one size, all under the same lock and the same mean delay."""

    lock: str
    layout: str
    clusters: int
    cores: int
    delay: float  # that was asked for
    time: int  # cycles; instructions where the clock counts those
    clock: str  # the unit of `time`: step (the emulator's, cores in step), modelled (the machine file's cycles) or tsc
    per_core: list[dict[str, Any]]  # as the program reports
    emulated: bool
    late: int = 0
    line_factor: float = 1.0
    transactions: Mapping[str, int] | None = None  # how they ended, on a modelled machine under rtm

    def total(self, name: str) -> int:
        return sum(core[name] for core in self.per_core)

    @property
    def entries(self) -> int:
        """Kernel entries of the pairs themselves."""
        return ENTRIES * self.total("rounds")

    @property
    def throughput(self) -> float:
        return self.entries / self.time

    @property
    def starved(self) -> list[int]:
        """Cores that did not come through one round trip while the others did: the lock or the machine kept them
        out."""
        return [core["cpu"] for core in self.per_core if core["rounds"] <= 0]

    @property
    def counted(self) -> bool:
        """Returns whether a kernel with statistics measured it."""
        return self.total("entries") > 0

    @property
    def conflicts(self) -> float:
        return ratio(self.total("conflicts"), self.total("acquisitions"))

    @property
    def metrics(self) -> dict[str, float]:
        metrics: dict[str, float] = {
            "throughput_per_cycle": self.throughput,
            "delay_cycles": self.delay,
            "drawn_delay_cycles": ratio(self.total("drawn"), self.entries),
            "round_trips": self.total("rounds"),
            "kernel_entries": self.entries,
            "cycles": self.time,
        }
        if self.clock == "modelled":
            metrics["instructions"] = sum(core.get("instructions", 0) for core in self.per_core)
        if self._knows_idle:
            metrics["cpu_utilisation"] = 1 - ratio(sum(self._idle(core) for core in self.per_core), self.cores)
        if self.counted:
            metrics["lock_conflict_ratio"] = self.conflicts
            metrics["fallback_ratio"] = ratio(self.total("fallbacks"), self.total("entries"))
        if ended := self.transactions:
            metrics["fallback_ratio"] = ratio(ended["fallbacks"], ended["fallbacks"] + ended["committed"])
            metrics["abort_ratio"] = ratio(sum(count for name, count in ended.items() if name.startswith("aborted_")),
                                           ended["begun"])
        return metrics

    @property
    def _knows_idle(self) -> bool:
        """The program sees the counters of its own cluster only; the emulator sees all."""
        return self.clock != "tsc" or self.clusters == 1

    def _idle(self, core: dict[str, Any]) -> float:
        """Share of the time; where cores are in step their clocks may be off by a delay at both ends."""
        return min(1.0, max(0.0, ratio(core["idle"], self.time)))

    def _core(self, core: dict[str, Any]) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "cluster": core["cluster"],
            "core": core["cpu"],
            "round_trips": core["rounds"],
            "kernel_entries": ENTRIES * core["rounds"],
            "drawn_delay_cycles": ratio(core["drawn"], ENTRIES * core["rounds"]),
            "throughput_per_cycle": ENTRIES * core["rounds"] / self.time,
        }
        if self._knows_idle:
            entry["cpu_utilisation"] = 1 - self._idle(core)
        if self.counted:
            entry |= {"lock_conflict_ratio": ratio(core["conflicts"], core["acquisitions"])}
        return entry

    def to_json(self) -> dict[str, Any]:
        entry = Result(
            layout=self.layout, lock=self.lock, workload="scale", clusters=self.clusters, cores=self.cores,
            emulated=self.emulated, metrics=self.metrics, per_core=[self._core(core) for core in self.per_core],
        ).to_json()
        factor = {"line_factor": self.line_factor} if self.clock == "modelled" else {}
        ended = {"transactions": dict(self.transactions)} if self.transactions else {}
        starved = {"starved": self.starved} if self.starved else {}
        return entry | {"clock": self.clock} | factor | ended | starved | ({"steps_late": self.late}
                                                                           if self.late else {})


Key = tuple[str, str, int, float]  # lock, layout, cores, delay


def key_of(point: Point) -> Key:
    return point.lock, point.layout, point.cores, point.delay


def ranges_of(points: Iterable[Point]) -> dict[Key, tuple[float, float]]:
    """Least and most throughput of each point that was measured at all line costs of RANGE."""
    rates: dict[Key, dict[float, float]] = {}
    for point in points:
        rates.setdefault(key_of(point), {})[point.line_factor] = point.throughput
    return whole_ranges(rates)


@dataclass(frozen=True)
class Request:
    """Every delay on each number of cores, under one kernel image, in one boot."""

    lock: str
    cores: Sequence[int]
    delays: Sequence[float]
    rounds: int  # all pairs together
    layout: str = "spanning"
    sockets: int = 1
    statistics: bool = False
    modelled: ModelledMachine | None = None
    line_factor: float = 1.0  # factor of the costs of lines that move between the modelled machine's cores
    # cycles in a ticket lock of the programs' own, which they take in the place of the kernel's; 0: IPC
    section: int = 0
    granularity: str | None = None  # for kernels that have a choice
    local: bool = False  # a pair's objects are at home on its core
    # options of the modelled machine's (emulator/modelled/plugin.c)
    plugin: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> int:
        return len(self.cores) * len(self.delays)

    def lock_of(self, layout: str) -> str:
        return self.lock


def _shape(request: Request) -> Shape:
    most = max(request.cores)
    if request.modelled:
        return request.modelled.shape(most, default_memory(request.modelled.cores_per_socket))
    if most % request.sockets:
        raise InputError("--sockets", f"{most} cores do not divide into {request.sockets} sockets")
    each = most // request.sockets
    return Shape(request.sockets, each, default_memory(each))


def case(request: Request) -> Case[Request]:
    """Returns the request with the plan of its boot; raises InputError for what the machine cannot be."""
    check_named(request.layout)
    kernel = f"{request.lock}{'+stat' * request.statistics}"
    shape = _shape(request)
    target = program_plan("bench-scale", kernel, shape, Program(pingpong.name(shape.cpus), barrier=False),
                          layout=request.layout, granularity=request.granularity)
    clusters = target.cluster_map.clusters
    if len({len(cluster.cpus) for cluster in clusters}) > 1:
        raise InputError(f"--layout {request.layout}", "its clusters are not of one size")
    if request.statistics and len(clusters) > 1:
        raise InputError("--stat", f"is for one cluster, and {request.layout} makes {len(clusters)}")
    for n in request.cores:
        if n % len(clusters):
            raise InputError("--cores", f"{n} cores do not divide into {len(clusters)} clusters ({request.layout})")
    return Case(request, request.layout, "scale", target, request.statistics)


def machine(case: Case[Request], emulated: bool) -> Plan:
    """Returns the case's plan with the program's arguments: an emulator's clock counts instructions."""
    request, cluster_map = case.job, case.plan.cluster_map
    each_cluster = ",".join(str(n // len(cluster_map.clusters)) for n in request.cores)
    delays = ",".join(f"{delay:.0f}" for delay in request.delays)
    section = [str(request.section)] if request.section else []
    arguments = ["scale", "instructions" if emulated else "cycles", str(request.rounds), each_cluster, delays,
                 *section, *AT_HOME[request.local]]
    program = replace(cluster_map.applications[0], args=arguments)
    return replace(case.plan, cluster_map=replace(cluster_map, applications=[program]))


def measure(
    case: Case[Request], bench: Bench, on_point: Callable[[], None] = lambda: None,
    finished: list[Point] | None = None, starving: bool = False,
) -> list[Point]:
    """Returns all points of one boot.

    A boot that ends early raises. `finished` has the points before its end even then. `starving`: points in which a
    core did nothing are results; else they are a failure.
    """
    request, accel = case.job, bench.accel
    target = machine(case, accel.emulated)
    points: list[Point] = [] if finished is None else finished
    with ExitStack() as stack:
        marks = stack.enter_context(clocks(
            request.modelled, bench.stepped, target, request.line_factor, bench.build, request.plugin, POINTS
        ))
        options = Options(
            accel, bench.timeout, "kernel", build=bench.build, extra=marks.arguments if marks else (),
            on_event=lambda event: on_point() if event.kind == "scale" else None,
        )
        run = stack.enter_context(boot(target, options))
        try:
            run.wait_done()
        except (Failure, KeyboardInterrupt):
            with suppress(Failure):  # the cause of the boot's end is reported, not what is missing because of it
                points += _points(case, accel, run.events.events, marks.read() if marks else None, whole=False)
            raise
        points += _points(case, accel, run.events.events, marks.read() if marks else None)
    if not starving and (odd := [point for point in points if point.starved]):
        raise Failure(f"kernel {request.lock}, {odd[0].cores} cores, delay {odd[0].delay:g}: {starved_words(odd[0])}")
    return points


def starved_words(point: Point) -> str:
    cores = format_spans(point.starved)
    return f"core{'s' * (len(point.starved) > 1)} {cores} came through no round trip while the others did"


def _points(
    case: Case[Request], accel: Accel, events: Sequence[Event], moments: Sequence[Mark] | None, whole: bool = True
) -> list[Point]:
    """`moments`: of an emulator whose clock is the points' time. `whole`: all points must be there."""
    request, clusters = case.job, len(case.plan.cluster_map.clusters)
    groups = _groups(events)
    requested = [(n, delay) for n in request.cores for delay in request.delays]
    sizes = [(len(cores), float(end["delay"])) for cores, end in groups]
    expected = [(n, round(delay)) for n, delay in requested]
    if sizes != expected[: len(expected) if whole else len(sizes)]:
        raise Failure(f"kernel {request.lock}: the results do not have the requested points")
    numbers = [mark.number for mark in moments or ()]
    if moments is not None and numbers[: None if whole else 2 * len(groups)] != [1, 2] * len(groups):
        raise Failure(f"kernel {request.lock}: the emulator did not see each point's begin and end")
    points = []
    for place, ((n, delay), (cores, end)) in enumerate(zip(requested, groups)):
        time, late, transactions = end["cycles"], 0, None
        per_core = [dict(core.data) for core in cores]
        if moments is not None:
            before, after = moments[2 * place : 2 * place + 2]
            time, late = after.clock - before.clock, after.late - before.late
            transactions = after.transactions
            for core in per_core:
                core["idle"] = time - (after.executed[core["cpu"]] - before.executed[core["cpu"]])
                if after.instructions:
                    core["instructions"] = after.instructions[core["cpu"]] - before.instructions[core["cpu"]]
        if time <= 0 or all(core["rounds"] <= 0 for core in per_core):
            raise Failure(f"kernel {request.lock}, {n} cores, delay {delay:g}: no time passed, or no core did anything")
        clock = "modelled" if request.modelled else "step" if moments is not None else "tsc"
        points.append(
            Point(
                request.lock, request.layout, clusters, n, delay, time, clock, per_core, accel.emulated, late,
                request.line_factor, transactions,
            )
        )
    return points


def _groups(events: Sequence[Event]) -> list[tuple[list[Event], Event]]:
    """Each point: its cores' events, then its own."""
    groups, cores = [], []
    for event in events:
        if event.kind == "scale-core":
            cores.append(event)
        elif event.kind == "scale":
            groups.append((cores, event))
            cores = []
    return groups
