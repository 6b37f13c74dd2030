# SPDX-License-Identifier: BSD-2-Clause
"""Figure 7 of Elphinstone 2016 and Figures 3 and 4 of Peters 2015, Redis on some cores, beside the modelled machine."""

from collections.abc import Callable, Iterator

from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.redis import measure as redis
from deploy.bench.redis.measure import Point, Request
from deploy.bench.validate.validation import Row, against
from deploy.emulator import run
from deploy.emulator.machine_file import ModelledMachine
from topology.model import papers

RECORDS, OPERATIONS = 50, 100
# the clients' pause: some twice what an operation takes on 4 cores, so that they limit the throughput and no core does
PAUSE_US = 200
MORE_CORES = 8  # than one lock is published to keep up with
Measure = Callable[[str, int, str, bool], Point]  # lock, cores, workload, whether the kernel counts


def measure(machine: ModelledMachine, line_factor: float, pause_us: int = 0) -> Measure:
    def one(lock: str, cores: int, workload: str, counting: bool) -> Point:
        request = Request(
            [lock], [cores], workload=workload, records=RECORDS, operations=OPERATIONS, timeout=Patience(1200.0),
            modelled=machine, factors=(line_factor,), think=pause_us,
        )
        (case,) = request.cases(counting)
        return redis.measure(case, Bench(run.mode(machine), request.timeout, stepped=True))

    return one


def redis_rows(measured: Measure) -> Iterator[Row]:
    """lwIP in processes of its own, workload C; plain kernels, but for the delays, for which entries have to be
    counted."""
    n = papers.REDIS_CORES
    at = {lock: measured(lock, n, "c", False).throughput for lock in ("clh", "fine", "rtm")}
    for above, below, published in (
        ("fine", "rtm", papers.REDIS_FINE_OVER_RTM), ("fine", "clh", papers.REDIS_FINE_OVER_CLH),
        ("clh", "rtm", papers.REDIS_CLH_OVER_RTM),
    ):
        yield against("redis", f"Figure 7: {n} cores, {above} / {below}", "ratio", published, at[above] / at[below],
                      0.1)
    more = measured("clh", MORE_CORES, "c", False).throughput
    yield against("redis", f"Figure 7: clh, {MORE_CORES} cores over {n}", "times", papers.REDIS_CLH_MORE_CORES,
                 more / at["clh"])
    delays = measured("clh", n, "c", True).metrics
    yield against("redis", f"Figure 7: delay between entries on core 0, {n} cores", "cycles",
                  papers.REDIS_DELAY_NETWORK, delays["delay_core0_cycles"], 0.25)
    yield against("redis", f"Figure 7: delay between entries on the others, {n} cores", "cycles",
                 papers.REDIS_DELAY_OTHERS, delays["delay_cycles"], 0.25)
    efficient = {lock: measured(lock, papers.PETERS_CORES, "a", False).normalised for lock in ("clh", "fine", "rtm")}
    for lock in ("fine", "rtm"):
        yield against("redis", f"Peters, Figure 4: throughput over utilisation, {papers.PETERS_CORES} cores, workload "
                              f"A: clh / {lock}", "ratio",
                     papers.PETERS_FIGURE_4, efficient["clh"] / efficient[lock], 0.1)


def idle_rows(measured: Measure) -> Iterator[Row]:
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
