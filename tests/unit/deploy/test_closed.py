# SPDX-License-Identifier: BSD-2-Clause
"""Tests the closed model of two layouts: against runs that were measured, against a simulation, at its limits."""

import heapq
from dataclasses import replace
from random import Random

import pytest

from deploy.compare import closed
from deploy.compare.closed import EVEN, MOST_CORES, Model, Run, Side, run, sides
from deploy.emulator.entries import Entries
from deploy.emulator.machine_file import PAPERS, load
from deploy.results.result import Result
from topology.model import pauses, periodic
from topology.model.roots import root

XEON = load(PAPERS)
HERTZ = 1e9 * XEON.ghz
# Redis under YCSB C on the papers' Xeon, 13 of 14 cores of a socket; hand-overs of 170 cycles in a socket, else 260
FIRST = Side("per-socket", (13, 13), 2.06, 17_900, 660, 170)
SECOND = Side("spanning", (26,), 2.06, 17_900, 671, 260)
REDIS = Model(FIRST, SECOND, 2, HERTZ)
# images that differ in the order of functions and data: the ratio of a run's steady rates; a core's busy cycles of an
# operation, and the hold, of per-socket; the hold of spanning
IMAGES = (
    (1.265, 39_337, 661, 659), (1.288, 39_427, 695, 672), (1.253, 40_855, 647, 682), (1.286, 38_985, 641, 668),
    (1.262, 40_075, 646, 670), (1.262, 40_485, 671, 694), (1.275, 40_472, 672, 691), (1.303, 38_382, 643, 667),
    (1.321, 38_832, 708, 682), (1.263, 38_998, 654, 646), (1.224, 40_305, 637, 655), (1.237, 41_203, 668, 679),
    (1.272, 38_786, 636, 654),
)


@pytest.mark.parametrize("cores, measured", [(3, 1.019), (6, 1.024), (9, 1.061), (13, 1.265)])
def test_smaller_machines(cores: int, measured: float) -> None:
    """from the times of 13 cores a socket alone, the ratios that runs of fewer have given"""
    assert REDIS.on(cores).ratio == pytest.approx(measured, rel=0.01)


@pytest.mark.parametrize("measured, busy, first, second", IMAGES)
def test_images(measured: float, busy: float, first: float, second: float) -> None:
    """the ratio of each image from one core's busy time and the two holds"""
    user = root(lambda user: periodic.cycle(first + FIRST.handover, user, 13) - busy / FIRST.entries, 1e3, 1e5)
    assert user
    model = replace(REDIS, first=replace(FIRST, user=user, hold=first), second=replace(SECOND, user=user, hold=second))
    assert model.ratio == pytest.approx(measured, rel=0.018)


def simulated(cores: int, user: float, service: float, spread: float, entries: int = 60_000) -> float:
    """Entries a cycle of cores at a first-come-first-served lock; `spread`: of the user's time, relative."""
    random = Random(1)
    wants, free, begin = [(user * random.random(), core) for core in range(cores)], 0.0, 0.0
    heapq.heapify(wants)
    for entry in range(entries):
        now, core = wants[0]
        free = max(now, free) + service
        begin = free if entry == entries // 10 else begin
        heapq.heapreplace(wants, (free + max(0.0, random.gauss(user, spread * user)), core))
    return (entries - entries // 10 - 1) / (free - begin)


@pytest.mark.parametrize("user", [50_000, 24_000, 17_900, 12_500, 5_000, 100])
@pytest.mark.parametrize("cores", [2, 13, 26])
def test_simulation(cores: int, user: float) -> None:
    """delays that vary by a fifth are alike enough, and different enough, for the model"""
    assert cores / periodic.cycle(931, user, cores) == pytest.approx(simulated(cores, user, 931, 0.2), rel=0.015)


def test_limits() -> None:
    """programs that only enter the kernel, and programs that hardly do"""
    assert REDIS.scaled(user=1e-6).ratio == pytest.approx(REDIS.most) == pytest.approx(2 * 931 / 830)
    assert REDIS.scaled(user=1e6).ratio == pytest.approx(1, abs=1e-6)
    alone = Side("spanning", (1,), 2.0, 1000, 100, 10)
    assert alone.rate == pytest.approx(1 / 2 / 1110)


def test_break_even() -> None:
    """the ratio is the one that was looked for at the break-even, and on the right side of it beside that"""
    assert REDIS.even and REDIS.even_cores == 8
    at = REDIS.scaled(user=REDIS.even.user / FIRST.user)
    assert at.ratio == pytest.approx(EVEN) and at.load == pytest.approx(REDIS.even.load)
    assert REDIS.even.load == pytest.approx(0.92, abs=0.01) and 70_000 < REDIS.even.entries_per_s < 80_000
    assert REDIS.on(8).ratio < EVEN < REDIS.on(9).ratio
    (sentence,) = closed.sentences(REDIS, [])
    assert "up to 8 loaded cores of each socket (here 13)" in sentence and sentence.endswith("can be is 2.24.")
    assert REDIS.to_json()["break_even"]["user_cycles"] == REDIS.even.user


def test_no_break_even() -> None:
    """two layouts that are alike differ nowhere, and a layout whose programs take longer loses everywhere"""
    alike = replace(REDIS, first=SECOND)
    assert alike.even is None and alike.even_cores is None and alike.ratio == 1
    slow = replace(REDIS, first=replace(FIRST, user=2 * FIRST.user, entries=4.0))
    assert slow.ratio < 0.7 and slow.on(MOST_CORES).difference > EVEN and slow.even_cores is None


def measured(side: Side = FIRST, lock: str = "clh", acquisitions: int = 2060) -> Result:
    """A result as a run of a layout would give it."""
    rate = side.rate * HERTZ
    wait = closed.busy_of(side, rate, HERTZ) - side.user - side.service
    entries = round(1000 * side.entries)
    seen = Entries(operations=1000, entries=entries, acquisitions=acquisitions and entries, conflicts=800,
                   wait=round(entries * (wait + side.handover)), hold=round(entries * side.hold), moves=4000,
                   handover=round(entries * side.handover))
    total = sum(side.kernels)
    loaded = [{"core": core, "cluster": min(core * len(side.kernels) // total, len(side.kernels) - 1),
               "ops_per_s": rate / total, "cpu_utilisation": 0.99} for core in range(total)]
    idle = [{"core": total + n, "cluster": 0, "ops_per_s": 0.0, "cpu_utilisation": 0.2} for n in range(2)]
    apps = [{"program": name, "cpu": 1} for name in ("switch", *["redis-server"] * total, *["ycsb"] * 2 * total)]
    metrics = {"ops_per_s": rate, "p50_us": 40.0, "p99_us": 50.0, "mean_us": 40.0, "channel_hops_per_op": 0.0}
    return Result(side.layout, lock, "c", len(side.kernels), total + 2, True, metrics, [*loaded, *idle], observed=seen,
                  machine={"applications": apps})


def test_of_a_result() -> None:
    """a run's rate, waits and holds are the model's parameters; the mean of all runs is the model's"""
    one = run(measured(), XEON)
    assert one and one.side.kernels == (13, 13)
    assert (one.side.entries, one.side.user, one.side.hold, one.side.handover) == pytest.approx(
        (2.06, 17_900, 660, 170), rel=1e-3)
    both = [(measured(), measured(SECOND)), (measured(FIRST.scaled(user=1.1)), measured(SECOND.scaled(user=1.1)))]
    model = closed.model(both, XEON)
    assert model and model.hertz == HERTZ and model.first.user == pytest.approx(1.05 * 17_900, rel=1e-3)
    (check,) = closed.checks(model, [(measured(FIRST.scaled(cores=6 / 13)), measured(SECOND.scaled(cores=6 / 13)))])
    assert check.cores == 6 and abs(check.error) < 0.01


# Runs of 30 operations after 10 that warm up: cores of a socket with a load, and both layouts' rates.
RUNS = ((9, 935_324, 888_869), (13, 1_341_970, 1_095_300), (17, 1_731_994, 1_074_032))


def test_full_lock() -> None:
    """entries that are of no operation make a lock fuller than full: without them the model has the ratios that were
    measured, on other numbers of cores, too"""
    first = Run(Side("per-socket", (13, 13), 2.14, 16_995, 655.6, 140.2), 1_341_970, "clh")
    second = Run(Side("spanning", (26,), 2.13, 16_705, 669.8, 283.9), 1_095_300, "clh")
    assert second.ops_per_s > HERTZ * second.side.most
    one, other = sides(first, second, HERTZ)
    assert HERTZ * other.most == pytest.approx(second.ops_per_s) and one.user == other.user
    model = Model(one, other, 2, HERTZ)
    for cores, rate, of_second in RUNS:
        assert model.on(cores).ratio == pytest.approx(rate / of_second, rel=0.025)
    assert sides(replace(first, ops_per_s=1e6), replace(second, ops_per_s=9e5), HERTZ)[0].entries == 2.14


def test_full_locks() -> None:
    """where both layouts' locks are full, that of fewer cores tells for how long programs run, in a run of 0.37 cycles an
    instruction that has given 2.275"""
    first = Run(Side("per-socket", (13, 13), 2.168, 8197, 674, 225), 2_251_480, "clh")
    second = Run(Side("spanning", (26,), 2.141, 8802, 664, 358), 989_547, "clh")
    assert Model(*sides(first, second, HERTZ), 2, HERTZ).ratio == pytest.approx(2.275, rel=0.02)


@pytest.mark.parametrize("result", [
    measured(lock="rtm"), measured(lock="dynamic"), measured(acquisitions=0),
    replace(measured(), metrics={"ops_per_s": 1e8}),
])
def test_other_locks(result: Result) -> None:
    """transactions, and locks that change, are not what the model is of"""
    assert run(result, XEON) is None and closed.model([(measured(), result)], XEON) is None


# Redis with --lock ticket: cores of a socket with a load; of both layouts operations a second, and for each of these
# acquisitions, cycles that they waited and held, and of the waits the hand-overs
TICKET = (
    (13, (1_507_552, 4454, 2_523_287, 3_015_907, 662_127), (773_539, 4426, 69_483_835, 3_120_486, 2_680_145), 2080),
    (17, (1_921_536, 5816, 6_145_699, 3_965_807, 1_117_235), (638_028, 5789, 189_170_877, 4_141_311, 4_796_871), 2720),
)


def observed(side: Side, lock: str, cores: int, seen: tuple[int, ...], operations: int, entries: int = 0) -> Result:
    """A result with what was observed of so many loaded cores of each socket, beside one without a load."""
    rate, acquisitions, wait, hold, handover = seen
    of = replace(measured(side, lock), metrics={"ops_per_s": float(rate)}, cores=2 * cores + 2, per_core=[
        {"core": core, "cluster": core // (cores + 1) % len(side.kernels), "ops_per_s": 1.0 * bool(core % (cores + 1))}
        for core in range(2 * cores + 2)])
    return replace(of, observed=Entries(operations, entries or acquisitions, acquisitions, 0, wait, hold, 0, handover))


def test_longer_handovers() -> None:
    """a ticket lock's hand-over is longer the more cores wait: 17 cores of a socket from the times of 13"""
    (_, first, second, operations), (cores, more_first, more_second, more) = TICKET
    model = closed.model([(observed(FIRST, "ticket", 13, first, operations),
                           observed(SECOND, "ticket", 13, second, operations))], XEON)
    assert model and model.first.growth == model.second.growth == pytest.approx(29, abs=0.5)
    assert model.second.handover - model.first.handover == pytest.approx(105.6, abs=0.1)  # lines from another socket
    (check,) = closed.checks(model, [(observed(FIRST, "ticket", cores, more_first, more),
                                      observed(SECOND, "ticket", cores, more_second, more))])
    assert check.measured == pytest.approx(3.01, abs=0.01) and abs(check.error) < 0.03
    assert model.most and model.most == pytest.approx(2.86, abs=0.02)


def test_readers() -> None:
    """entries that run side by side have no lock to fill; what they wait for locks of objects grows with the cores"""
    model = closed.model([
        (observed(FIRST, "fine", 13, (1_441_570, 30_959, 190_788, 13_801_351, 139_276), 2080, 4468),
         observed(SECOND, "fine", 13, (1_426_650, 31_106, 652_436, 15_996_863, 222_186), 2080, 4442))], XEON)
    assert model and model.ratio == pytest.approx(1.0105, abs=1e-3) and model.most is None and model.load == 0
    assert 1.01 < model.on(MOST_CORES).ratio < 1.04
    (sentence,) = closed.sentences(model, [])
    assert "differ by less than 5% from" in sentence and "load" not in sentence.replace("loaded", "")
    assert "The most" not in sentence


@pytest.mark.parametrize("pause", [20, 100, 1000])
def test_pauses(pause: int) -> None:
    """cores whose clients pause are idle as long as a simulation of them says, and the lock is asked for less often"""
    busy, clients, random = 40.0, 2, Random(1)  # microseconds
    wants, free, unused = [random.expovariate(1 / pause) for _ in range(clients)], 0.0, 0.0
    for _ in range(50_000):
        heapq.heapify(wants)
        unused += max(0.0, wants[0] - free)
        free = max(free, wants[0]) + busy
        wants[0] = free + random.expovariate(1 / pause)
    assert pauses.idle(busy, pause, clients) == pytest.approx(unused / 50_000, rel=0.04)
    side = replace(SECOND, pause=pause * HERTZ / 1e6, clients=clients)
    paused = measured(side)
    one = run(paused, XEON, pause / 1e6)
    assert one and (one.side.user, one.side.clients) == (pytest.approx(17_900, rel=2e-3), clients)
    assert side.rate < SECOND.rate and replace(side, pause=1e9).load < 0.01 < SECOND.load


# Redis whose clients pause for 20 µs, as TICKET
PAUSED = (
    (13, (739_379, 8343, 42_426_330, 9_928_546, 1_586_431), (423_121, 7578, 164_463_308, 8_134_259, 2_247_906), 2080),
    (9, (607_002, 5915, 10_848_882, 7_155_454, 1_027_905), (377_260, 5453, 69_922_203, 6_296_273, 1_617_904), 1440),
    (17, (805_895, 10_569, 101_674_599, 12_121_000, 2_042_650),
     (459_431, 9627, 283_206_559, 9_717_866, 2_807_709), 2720),
)


def test_paused_runs() -> None:
    """from 13 cores of a socket whose clients pause, 9 and 17: an operation has fewer entries where cores are busier"""
    pairs = [(observed(FIRST, "clh", cores, first, operations), observed(SECOND, "clh", cores, second, operations))
             for cores, first, second, operations in PAUSED]
    model = closed.model(pairs[:1], XEON, 20e-6)
    assert model and model.first.saved and model.first.saved.entries > 1
    assert closed.checks(model, pairs[:1])[0].error == pytest.approx(0, abs=0.015)
    assert [round(check.measured, 3) for check in closed.checks(model, pairs[1:])] == [1.609, 1.754]
    assert all(abs(check.error) < 0.035 for check in closed.checks(model, pairs[1:]))
    uneven = closed.model(pairs[:1], XEON)  # as if nobody paused
    assert uneven and max(abs(check.error) for check in closed.checks(uneven, pairs[1:])) > 0.05
