# SPDX-License-Identifier: BSD-2-Clause
"""Rows of `skerry bench validate`: what papers published, beside modelled machines and the prices in their files."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.redis import measure as redis
from deploy.bench.redis.measure import Point, Request
from deploy.bench.scale import measure as experiment
from deploy.bench.validate import caches
from deploy.bench.validate.caches import Latency
from deploy.bench.validate.validation import Measure, Row, against, measure
from deploy.emulator import run
from deploy.emulator.machine_file import ModelledMachine, load
from topology.model import papers, published, ticket
from topology.model.papers import TABLE_1, Between, Published

LINES_GOAL = 0.2  # processors, clocks and methods differ
PLACES = {"cluster": "same L3", "socket": "other L3 of the socket", "machine": "other socket"}
MODE = "Machine files: their prices, nothing was run"


def machines() -> list[ModelledMachine]:
    return [load(name) for name in dict.fromkeys(name for name, _, _ in papers.LINE_COSTS)]


def one_way_ns(machine: ModelledMachine, place: str) -> float:
    """A line goes from core to core by compare-and-swap: a transfer and a locked instruction."""
    return (machine.prices[f"transfer_{place}"].cycles + machine.prices["atomic"].cycles) / machine.ghz


def line_rows() -> Iterator[Row]:
    for name, place, reference in papers.LINE_COSTS:
        machine = load(name)
        ours = one_way_ns(machine, place)
        yield Row(
            "lines", f"{machine.name}, {PLACES[place]}; {reference.source.rpartition(': ')[2]}", "ns", reference.value,
            reference.source, ours, None,
            f"<= {LINES_GOAL:.0%}", abs(ours / reference.value - 1) <= LINES_GOAL, kind="compared", machine=machine,
        )


TABLE_GOAL = 0.05
KIND = "measured back"  # prices come from the table: the rows show that the machine charges them, and predict nothing
CALIBRATION_KIND = "calibration"  # a price's interval comes from the rows (basis.py)
MeasureCaches = Callable[[ModelledMachine, float], Sequence[Latency]]


def measure_caches(machine: ModelledMachine, line_factor: float) -> list[Latency]:
    return caches.measure(machine, Patience(1200.0), line_factor)


def table1_rows(machine: ModelledMachine, line_factor: float,
                measured: MeasureCaches = measure_caches) -> Iterator[Row]:
    """The rows of the paper's table; of distances that it does not have, without a reference."""
    for one in measured(machine, line_factor):
        cell = one.cell
        reference = TABLE_1.get((cell.level, cell.where))
        met = abs(one.cycles / reference.value - 1) <= TABLE_GOAL if reference else None
        yield Row(
            "table1", f"Table 1: {cell.level}, {cell.where}", "cycles", reference.value if reference else None,
            reference.source if reference else "", one.cycles, None, f"<= {TABLE_GOAL:.0%}" if reference else "", met,
            price=cell.price(machine, line_factor), kind=KIND,
        )


LEAST_DELAY = 1.0  # no delay at all: the program waits in turns of 16 instructions
SECTIONS = (160, 800)  # cycles; the slides do not say which they took
IN_STEP = {"program_quantum": "0"}  # programs share a lock here, and are to be as close in time as kernels


def peters_rows(machine: ModelledMachine, rounds: int, scale: Measure = measure) -> Iterator[Row]:
    """Figure 2: a pair on each core that does nothing but IPC."""
    at = {}
    for lock in ("clh", "fine", "rtm"):
        for point in scale(experiment.Request(lock, [1, 3, 4], [LEAST_DELAY], rounds, modelled=machine)):
            at[lock, point.cores] = point.throughput
    yield against("peters", "Figure 2: clh without delay, 4 cores over 3", "times", papers.PETERS_FIGURE_2_CLH,
                 at["clh", 4] / at["clh", 3], 0.1)
    yield against("peters", "Figure 2: fine without delay, 4 cores over one", "times", papers.PETERS_FIGURE_2_FINE,
                 at["fine", 4] / at["fine", 1], 0.1)
    yield against("peters", "Figure 2: rtm over fine without delay, each over its own core, 4 cores", "times",
                 papers.PETERS_FIGURE_2_RTM,
                 at["rtm", 4] / at["rtm", 1] * at["fine", 1] / at["fine", 4], 0.1)


def collapse_rows(machine: ModelledMachine, rounds: int, scale: Measure = measure) -> Iterator[Row]:
    """A ticket lock of programs, in which they are for 2 % of the time, in short sections and in longer ones.

    The slides' figure has no points in the text. Their model is evaluated (docs/models.md): within a socket for the
    reload of a line there, on the whole machine for that one and for one from the other socket.
    """
    half, most = machine.cores_per_socket, machine.cores
    for section, statement in zip(SECTIONS, (papers.SHORT_SECTIONS, papers.LONG_SECTIONS)):
        delay = round(section / papers.IN_SECTION.value) - section
        request = experiment.Request("clh", [1, half, most], [float(delay)], rounds, modelled=machine, section=section,
                                     plugin=IN_STEP)
        at = {point.cores: point.total("rounds") / point.time for point in scale(request)}
        name = f"ticket lock, sections of {section} cycles, 2 % of the time"
        yield against("collapse", f"{name}: {most} cores over {half}", "times", statement, at[most] / at[half])
        socket, quickest = (_model(section, delay, cores, published.LINE_SAME_SOCKET) for cores in (half, most))
        slowest = _model(section, delay, most, published.LINE_OTHER_SOCKET)
        yield against("collapse", f"{name}: speed-up on {half} cores", "times", socket, at[half] / at[1], 0.1)
        yield against("collapse", f"{name}: speed-up on {most} cores", "times",
                     Between(slowest.value, quickest.value, f"{slowest.source}; {quickest.source}"),
                     at[most] / at[1])
    kernel_delay = published.HOLD_ALONE / papers.IN_SECTION.value - published.HOLD_ALONE
    at_most = {
        lock: scale(experiment.Request(lock, [most], [float(round(kernel_delay))], rounds,
                                       modelled=machine))[0].throughput for lock in ("ticket", "clh")
    }
    yield against("collapse", f"kernel, 2 % of one core's time in it, {most} cores: ticket over clh", "times",
                 papers.SCALABLE_LOCKS,
                 at_most["ticket"] / at_most["clh"])


def _model(section: float, delay: float, cores: int, reload: float) -> Published:
    speedup = ticket.steady(section, reload, delay, cores).throughput / ticket.steady(section, reload, delay,
        1).throughput
    return Published(speedup, f"{papers.BOYD_WICKIZER}: their Markov model, reloads of {reload:g} cycles")


RECORDS, OPERATIONS = 50, 100
# the clients' pause: some twice what an operation takes on 4 cores, so that they limit the throughput and no core does
PAUSE_US = 200
MORE_CORES = 8  # than one lock is published to keep up with
MeasureRedis = Callable[[str, int, str, bool], Point]  # lock, cores, workload, whether the kernel counts


def measure_redis(machine: ModelledMachine, line_factor: float, pause_us: int = 0) -> MeasureRedis:
    def one(lock: str, cores: int, workload: str, counting: bool) -> Point:
        request = Request(
            [lock], [cores], workload=workload, records=RECORDS, operations=OPERATIONS, timeout=Patience(1200.0),
            modelled=machine, factors=(line_factor,), think=pause_us,
        )
        (case,) = request.cases(counting)
        return redis.measure(case, Bench(run.mode(machine), request.timeout, stepped=True))

    return one


def redis_rows(measured: MeasureRedis) -> Iterator[Row]:
    """lwIP in processes of its own, workload C; plain kernels, but for the delays, for which entries have to be
    counted."""
    n = papers.REDIS_CORES
    at = {lock: measured(lock, n, "c", False).throughput for lock in ("clh", "fine", "rtm")}
    for above, below, ratio in (
        ("fine", "rtm", papers.REDIS_FINE_OVER_RTM), ("fine", "clh", papers.REDIS_FINE_OVER_CLH),
        ("clh", "rtm", papers.REDIS_CLH_OVER_RTM),
    ):
        yield against("redis", f"Figure 7: {n} cores, {above} / {below}", "ratio", ratio, at[above] / at[below],
                      0.1)
    more = measured("clh", MORE_CORES, "c", False).throughput
    yield against("redis", f"Figure 7: clh, {MORE_CORES} cores over {n}", "times", papers.REDIS_CLH_MORE_CORES,
                 more / at["clh"])
    delays = measured("clh", n, "c", True).metrics
    for where, paper, ours in (("core 0", papers.REDIS_DELAY_NETWORK, delays["delay_core0_cycles"]),
                               ("the others", papers.REDIS_DELAY_OTHERS, delays["delay_cycles"])):
        row = against("redis", f"Figure 7: delay between entries on {where}, {n} cores", "cycles", paper, ours, 0.25)
        yield replace(row, kind=CALIBRATION_KIND)
    efficient = {lock: measured(lock, papers.PETERS_CORES, "a", False).normalised for lock in ("clh", "fine", "rtm")}
    for lock in ("fine", "rtm"):
        yield against("redis", f"Peters, Figure 4: throughput over utilisation, {papers.PETERS_CORES} cores, workload "
                              f"A: clh / {lock}", "ratio",
                     papers.PETERS_FIGURE_4, efficient["clh"] / efficient[lock], 0.1)


def idle_rows(measured: MeasureRedis) -> Iterator[Row]:
    """Peters' Figure 3. There the network's bandwidth limits all kernels alike; here clients that pause do. `measured`
    has them pause."""
    n, locks = papers.PETERS_CORES, ("clh", "fine", "rtm")
    at = {lock: measured(lock, n, "a", False) for lock in locks}
    for lock in locks[1:]:
        yield against("idle", f"Peters, Figure 3: throughput, {n} cores, workload A, clients that pause: clh / {lock}",
                     "ratio",
                     papers.PETERS_FIGURE_3, at["clh"].throughput / at[lock].throughput, 0.05)
    for lock in locks:
        yield against("idle", f"Peters, Figure 3: idle time of the busiest core, {lock}", "share", papers.PETERS_IDLE,
                     min(core.idle_ratio for core in at[lock].cores))
