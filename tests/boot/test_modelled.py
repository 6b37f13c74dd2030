# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines: figures, locks, parked loops and transactions."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from deploy.base import parallel
from deploy.base.paths import BUILD
from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, events
from deploy.bench.ipc import measure as ipc
from deploy.bench.lines.measure import Lines, measure_lines
from deploy.bench.mach import measure as mach
from deploy.bench.redis import measure as redis
from deploy.bench.scale.measure import Point, Request, case as scale_case, machine as scale_machine, measure
from deploy.bench.validate import caches, validation
from deploy.cli.main import main
from deploy.compare import runs
from deploy.deployment import Program
from deploy.deployment.planner import Plan, plan
from deploy.emulator import run
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import MACHINES, ModelledMachine, load
from deploy.load.case import case, cases
from deploy.load.comparison import Comparison, with_common_switch, with_room
from deploy.load.measure import accelerators, measure_once
from deploy.machine import qemu
from deploy.results.result import Result
from deploy.setup.build import ensure_built
from deploy.setup.needs import Needs
from tests.boot.machine import PATIENCE, deployment, machine
from topology.machines.machine import default_memory

# ---- The emulator with a price list, against the points that the papers publish. Small runs; ----

needs_new = pytest.mark.skipif(qemu.version() < run.SINCE, reason="QEMU before 9.2")
XEON = load("xeon-e5-2683v3")


def points(lock: str, cores: list[int], delay: float, factor: float = 1.0, rounds: int = 512,
           **plugin: str) -> list[Point]:
    request = Request(lock, cores, [delay], rounds, modelled=XEON, line_factor=factor, plugin=plugin)
    return measure(scale_case(request), Bench(run.mode(XEON), Patience(PATIENCE), stepped=True))


@needs_new
@pytest.mark.limit(300)
def test_one_core() -> None:
    """modelled machine: one core alone moves no lines, so that their costs change nothing"""
    (plain,), (dear,) = points("clh", [1], 500.0), points("clh", [1], 500.0, factor=2.0)
    assert dear.throughput == pytest.approx(plain.throughput, rel=0.01)
    assert 1000 * plain.throughput == pytest.approx(0.718, rel=0.03)  # docs/modelled.md


@needs_new
@pytest.mark.limit(300)
def test_queue() -> None:
    """modelled machine: where one lock is full, half and double line costs bracket what it serves"""
    cheap, plain, dear = (points("clh", [8], 500.0, factor)[0].throughput for factor in (0.5, 1.0, 2.0))
    assert dear < 0.8 * plain < 0.8 * cheap
    # Elphinstone 2016, 5.1.4: about 300 cycles a section within a socket, 323 the least that was seen.
    assert 300 < 1 / plain < 400


@needs_new
@pytest.mark.limit(300)
def test_many_cores() -> None:
    """modelled machine: on 72 cores, more than a word of sharers has, each gets the lock, from farther away than 8"""
    ensure_built(Output(quiet=True), Needs(frozenset({"apps/pingpong/pingpong-many.elf"})))  # only for such machines
    epyc = load("epyc-9654")
    request = Request("clh", [8, 72], [500.0], 512, modelled=epyc)
    few, many = measure(scale_case(request), Bench(run.mode(epyc), Patience(PATIENCE), stepped=True))
    rounds = [core["rounds"] for core in many.per_core]
    assert len(rounds) == 72 and min(rounds) >= 126 and max(rounds) - min(rounds) <= 4
    # what a hand-over takes more: most of a lock's lines come from another complex
    far, near = (epyc.prices[f"transfer_{where}"].cycles for where in ("socket", "cluster"))
    assert 0.5 * (far - near) < 1 / many.throughput - 1 / few.throughput < 4 * (far - near)


@needs_new
@pytest.mark.limit(300)
def test_collapse() -> None:
    """modelled machine: under contention a ticket lock does less than a CLH lock, and fine-grained locks more"""
    ticket, clh, fine = (points(lock, [12], 500.0)[0].throughput for lock in ("ticket", "clh", "fine"))
    assert ticket < 0.7 * clh < 0.35 * fine


@contextmanager
def busy_host() -> Iterator[None]:
    """More to do than the host has processors."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)
             for _ in range(2)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("lock,cores,plugin", [
    ("clh", 2, {}), ("ticket", 8, {}), ("fine", 8, {}), ("clh", 16, {}), ("clh", 4, {"park": "off"}),
    ("mcs", 4, {"quantum": "100"}),
])
def test_same_digits(lock: str, cores: int, plugin: dict[str, str]) -> None:
    """modelled machine: two runs agree in every digit, however busy the host is"""
    first = points(lock, [cores], 500.0, **plugin)
    with busy_host():
        second = points(lock, [cores], 500.0, **plugin)
    assert first == second
    assert first[0].late == 0


@needs_new
@pytest.mark.limit(300)
def test_quantum() -> None:
    """modelled machine: how far cores in the kernel may be apart changes a point by less than 1 %; usually they are
    not"""
    exact, fine, coarse = (points("clh", [8], 500.0, quantum=cycles)[0].throughput for cycles in ("", "10", "100"))
    assert fine == pytest.approx(exact, rel=0.01)
    assert coarse == pytest.approx(exact, rel=0.01)


@needs_new
@pytest.mark.limit(300)
def test_counter() -> None:
    """modelled machine: the guest's time-stamp counter is the same whether QEMU's answer is set, as it is here, or its
    read trapped"""
    target = scale_machine(scale_case(Request("clh", [4], [500.0], 512, modelled=XEON)), emulated=True)
    runs = []
    for options, way in (({}, "set"), ({"counter": "trap"}, "trapped")):
        with run.marks(XEON, target, options=options) as marks, machine(target, accel=run.mode(XEON),
                                                                        extra=marks.arguments) as booted:
            booted.wait_done()
            lines = [json.loads(line) for line in marks.file.read_text().splitlines()]
        assert [line.pop("counter") for line in lines] == [way, way]
        runs.append(lines)
    assert runs[0] == runs[1]


SLEEPS, SLEEP_US = 4, 3000


def sleep(core: int) -> str:
    """Returns what the console says of a program that sleeps, on a machine that does nothing else, up to its last
    sleep."""
    program = Program("sleep", core, args=(str(SLEEPS), str(SLEEP_US)), barrier=False)
    target = plan(deployment(1, 2, network=False, programs=(program,)))
    with run.marks(XEON, target) as marks, machine(target, accel=run.mode(XEON), extra=marks.arguments) as booted:
        booted.wait_for(lambda: len(slept(booted.console)) == SLEEPS, "the last sleep")
        return (booted.console[: booted.console.rindex("slept:")]
                + booted.console[booted.console.rindex("slept:") :].splitlines()[0])


def slept(console: str) -> list[tuple[int, int]]:
    return [(int(clock), int(counter)) for clock, counter in re.findall(r"slept: clock (\d+) counter (\d+)\n",
                                                                        console + "\n")]


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("core", [0, 1])
def test_sleep(core: int) -> None:
    """modelled machine: timers and idle time go by the model, the counter with them, and take none of the host's time
    into it"""
    first = sleep(core)
    with busy_host():
        assert sleep(core) == first
    for clock, counter in slept(first):
        assert 0 <= clock - 1000 * SLEEP_US < 20_000  # ns; to enter the kernel, the interrupt, and back
        assert counter == pytest.approx(clock * XEON.ghz, rel=0.001)


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("sockets, cores, network", [(1, 1, False), (2, 2, True)])
def test_power_off(sockets: int, cores: int, network: bool) -> None:
    """modelled machine: one whose programs have all ended, the last of them a moment after it slept, switches itself
    off"""
    program = Program("sleep", sockets * cores - 1, args=("2", str(SLEEP_US)))
    target = plan(deployment(sockets, cores, network=network, shutdown="when-done", programs=(program,)))
    with run.marks(XEON, target) as marks, machine(target, accel=run.mode(XEON), extra=marks.arguments) as booted:
        booted.wait_done()
        assert booted.status == qemu.EXIT_SUCCESS and len(slept(booted.console)) == 2


@needs_new
@pytest.mark.limit(600)
def test_validation() -> None:
    """modelled machine: the lock's service time within a socket is the paper's within 10 %, as bench validate finds
    it"""
    row = next(validation.paper_rows(XEON, 256))
    assert row.reference == 358 and row.error is not None and abs(row.error) < 0.1


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_table1(tmp_path: Path, factor: float) -> None:
    """modelled machine: a program that measures latencies finds each price of the machine file, at every distance"""
    rows = caches.measure(small(tmp_path), Patience(PATIENCE), factor)
    assert len(rows) == 12
    for one in rows:
        assert one.cycles == pytest.approx(one.cell.price(XEON, factor), abs=0.02), one.cell


@needs_new
@pytest.mark.limit(300)
def test_section(tmp_path: Path) -> None:
    """modelled machine: programs that share a ticket lock wait for its sections, and for its line"""
    def rounds(section: int, delay: float, cores: int) -> float:
        request = Request("clh", [cores], [delay], 256, modelled=small(tmp_path), section=section,
                          plugin={"program_quantum": "0"})
        (point,) = measure(scale_case(request), Bench(run.mode(XEON), Patience(PATIENCE), stepped=True))
        return point.time / point.total("rounds")

    assert rounds(1600, 16.0, 1) == pytest.approx(1600 + 16 + 40, abs=40)
    line = rounds(1600, 16.0, 4) - 1600  # all wait in turn: the section, and what moves between two of them
    assert 215 < line < 1000


@needs_new
@pytest.mark.limit(300)
def test_speed() -> None:
    """modelled machine: bench validate measures how many instructions a second of the host's time emulates"""
    (row, _) = validation.speed_rows(load("xeon-e5-2683v3"), 128,
                                     lambda request: points("clh", [2], request.delays[0], rounds=request.rounds // 14))
    assert row.not_run or (row.modelled and row.modelled > 1e5)


def small(tmp_path: Path) -> ModelledMachine:
    """The papers' Xeon with two cores a socket."""
    text = (MACHINES / "xeon-e5-2683v3.toml").read_text()
    path = tmp_path / "small.toml"
    path.write_text(text.replace("\ncores_per_cluster = 14\n", "\ncores_per_cluster = 2\n"))
    return load(str(path))


@needs_new
@pytest.mark.limit(300)
def test_ipc() -> None:
    """modelled machine: bench ipc measures its cycles, the same in each run, and a lock costs some"""
    none, clh, again = (ipc.measure(lock, run.mode(XEON), 50, Patience(PATIENCE), XEON)
                        for lock in ("none", "clh", "clh"))
    assert clh == again
    assert clh.unit == "cycles" and clh.to_json()["modelled"]["machine"] == XEON.name
    assert 1.0 < clh.spread[ipc.ONE_WAY].median / none.spread[ipc.ONE_WAY].median < 1.2


@needs_new
@pytest.mark.limit(300)
def test_mach(tmp_path: Path) -> None:
    """modelled machine: the Mach study's messages take longer where lines cost double, and the counts add up"""
    modelled = small(tmp_path)
    plain, dear = (
        mach.measure(mach.Job("clh", 4, mach.Work.messages(4, 50), modelled, factor),
                     Bench(run.mode(modelled), Patience(PATIENCE), stepped=True)) for factor in (1.0, 2.0)
    )
    assert dear.time > plain.time
    assert (plain.clock, plain.operations) == ("modelled", 200)
    assert plain.to_json()["modelled"]["machine"] == modelled.name


@needs_new
@pytest.mark.limit(300)
def test_redis(tmp_path: Path) -> None:
    """modelled machine: bench redis tells kernel, program and idle time of each core apart"""
    request = redis.Request(["clh"], [2], records=20, operations=20, clients=1, timeout=Patience(PATIENCE),
                            modelled=small(tmp_path))
    (one,) = request.cases()
    point = redis.measure(one, Bench(run.mode(request.modelled), request.timeout, stepped=True))
    assert point.clock == "modelled" and point.to_json()["modelled"]["machine"] == XEON.name
    for core in point.cores:
        assert 0 < core.kernel < core.busy < core.cycles


@needs_new
@pytest.mark.limit(300)
def test_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """modelled machine: `run` names it beside what it reports, and says that a client outside is not modelled"""
    small(tmp_path)
    path = tmp_path / "two.toml"
    path.write_text('network = false\n[[program]]\nprogram = "sleep"\ncpu = 0\nargs = ["1", "1000"]\n')
    written = tmp_path / "result.json"
    assert main(["run", str(path), "--machine", str(tmp_path / "small.toml"), "--json", str(written)]) == 0
    printed = capsys.readouterr().out
    assert "prices assumed" in printed and "What comes from outside is not modelled" in printed
    document = json.loads(written.read_text())
    assert document["modelled"]["machine"] == XEON.name
    (output,) = document["output"]
    assert output["app"].startswith("sleep@") and output["omitted"] == 0
    assert [line.partition(":")[0] for line in output["lines"]] == ["slept", "skerry-metric"]


def small_job(tmp_path: Path, **more: Any) -> Comparison:
    modelled = small(tmp_path)
    return with_common_switch(Comparison(
        shape=with_room(modelled.shape(modelled.cores, default_memory(2)), None, 20, 1), records=20, operations=20,
        clients=1,
        timeout=Patience(PATIENCE), modelled=modelled, **more,
    ))


def run_of(job: Comparison) -> Result:
    accel, _ = accelerators(job, "auto", False)
    return measure_once(case(job, "per-socket", "c"), accel, lambda event: None)


@needs_new
@pytest.mark.limit(300)
def test_compare(tmp_path: Path) -> None:
    """Redis under YCSB on a modelled machine: two runs agree in every figure, however busy the host is, and other line
    costs change them"""
    job = small_job(tmp_path)
    first = run_of(job)
    with busy_host():
        second = run_of(job)
    other = run_of(replace(job, line_factor=2.0))
    assert first.metrics == second.metrics and first.per_core == second.per_core
    assert first.modelled and job.modelled and first.modelled["machine"] == job.modelled.name
    assert other.metrics["ops_per_s"] < first.metrics["ops_per_s"]


@needs_new
@pytest.mark.limit(300)
def test_sweep(tmp_path: Path) -> None:
    """modelled machine: runs side by side, on processors of their own, give the digits of runs one after the other"""
    job = small_job(tmp_path)
    accel, _ = accelerators(job, "auto", False)
    calls = [call for key, call in runs.calls(cases(job), accel, quick=True).items() if key[0] is runs.What.TIMED]
    per_socket, spanning = (results[runs.PLAIN] for results in parallel.run(calls, 2))
    alone = run_of(replace(job, salt=1))  # of the first image
    assert (per_socket.metrics, per_socket.per_core, per_socket.modelled) == (alone.metrics, alone.per_core,
                                                                              alone.modelled)
    assert spanning.layout == "spanning" and spanning.metrics["ops_per_s"] > 0
    assert per_socket.observed == alone.observed and per_socket.observed.entries > per_socket.observed.operations


@needs_new
@pytest.mark.limit(300)
def test_functional_boot(tmp_path: Path) -> None:
    """modelled machine: what is measured is the same within 5 %, whether the boot was priced or only executed"""
    # the caches are cold at first: with 20 that alone is 5 %
    job = replace(small_job(tmp_path, plugin={}), operations=200)
    functional, priced = run_of(job), run_of(replace(job, plugin={"priced": ""}))
    for metric in ("ops_per_s", "p50_us"):
        assert functional.metrics[metric] == pytest.approx(priced.metrics[metric], rel=0.05)


@needs_new
@pytest.mark.limit(300)
def test_phases() -> None:
    """modelled machine: memory is modelled between the marks that begin and end the priced phase, and nowhere else"""
    target = scale_machine(scale_case(Request("clh", [2], [500.0, 500.0], 512, modelled=XEON)), emulated=True)
    for priced, expected in (("", (True, True, True, True)), ("0", (True, True, True, True)),
                             ("1-2", (False, True, False, True))):
        with run.marks(XEON, target, priced=priced or None) as marks, machine(target, accel=run.mode(XEON),
                                                                              extra=marks.arguments) as booted:
            booted.wait_done()
            lines = [json.loads(line) for line in marks.file.read_text().splitlines()]
        assert [line["marker"] for line in lines] == [1, 2, 1, 2]
        accesses = [0, *(sum(line["accesses"]) for line in lines)]
        grown = [after - before for before, after in pairwise(accesses)]
        # a phase ends when all cores have left their blocks
        assert tuple(count > 500 for count in grown) == expected, grown


@needs_new
@pytest.mark.limit(300)
def test_fetches() -> None:
    """modelled machine: each line of code is fetched once where the code fits L1, and not outside the priced phase"""
    target = scale_machine(scale_case(Request("clh", [1], [500.0, 500.0], 512, modelled=XEON)), emulated=True)
    with run.marks(XEON, target, priced="1-2") as marks, machine(target, accel=run.mode(XEON),
                                                                 extra=marks.arguments) as booted:
        booted.wait_done()
        before, first, again, second = (json.loads(line)["fetches"][0] for line in marks.file.read_text().splitlines())
    assert before == 0
    assert 30 < first < 300  # of L1's 512 lines: the pair, and the kernel's fast path from and to both
    assert first <= again <= second <= first + 2  # what leads to the second stretch's own ends is new


# ---- Lock statistics of the modelled machine, beside those of kernels that count for themselves ----



@cache
def watched(lock: str, cores: int, statistics: bool = False) -> Lines:
    request = Request(lock, [cores], [500.0], 256, statistics=statistics, modelled=XEON)
    measured, = measure_lines(request, Patience(PATIENCE))
    return measured


@needs_new
@pytest.mark.limit(300)
def test_unreported() -> None:
    """lock statistics, modelled: a point is the same to the digit where accesses of XSAVE are reported one by one, and
    made by the plugin"""
    assert points("clh", [4], 500.0, rounds=256) == [watched("clh", 4).point]


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("lock", ["clh", "mcs", "ticket"])
def test_beside_counting(lock: str) -> None:
    """lock statistics, modelled: acquisitions are what a counting kernel counts, conflicts but for waits without a
    turn; counting prolongs the hold"""
    counting, plain = watched(lock, 4, statistics=True), watched(lock, 4)
    big, = counting.locks
    # The program reads the kernel's counters of each core a little before and after the marks.
    assert big.acquisitions == pytest.approx(counting.point.total("acquisitions"), abs=12)
    counted = counting.point.total("conflicts")  # those that took a turn of the waiting loop
    assert counted - 12 <= big.conflicts <= 1.05 * counted + 12
    bare, = plain.locks
    assert bare.name == "kernel"
    assert bare.acquisitions == pytest.approx(plain.point.entries, rel=0.03)
    assert bare.hold / bare.acquisitions < big.hold / big.acquisitions
    assert bare.handovers <= bare.acquisitions and bare.conflicts > 0.2 * bare.acquisitions


@needs_new
@pytest.mark.limit(300)
def test_hold() -> None:
    """lock statistics, modelled: how long one core holds the lock, by kind of entry"""
    lock, = watched("clh", 1).locks
    assert lock.hold / lock.acquisitions == pytest.approx(180, rel=0.03)
    assert lock.conflicts == lock.handovers == lock.lock_moves == 0
    kinds = {kind.name: kind for kind in watched("clh", 1).kinds}
    assert {"CALL", "REPLY_RECV"} <= kinds.keys()
    assert kinds["CALL"].hold / kinds["CALL"].acquisitions == pytest.approx(161, rel=0.03)
    assert kinds["CALL"].entries == pytest.approx(kinds["REPLY_RECV"].entries, abs=2)
    assert sum(kind.acquisitions for kind in kinds.values()) == lock.acquisitions


@needs_new
@pytest.mark.limit(300)
def test_fine() -> None:
    """lock statistics, modelled: an entry under fine takes five locks, its core's side among them, and meets nobody"""
    measured = watched("fine", 4)
    call = next(kind for kind in measured.kinds if kind.name == "CALL")
    assert call.acquisitions == pytest.approx(5 * call.entries, abs=20)  # some have begun before the mark
    assert call.conflicts == 0
    sides = [lock for lock in measured.locks if "struct cpu" in lock.name]
    assert len(sides) >= 4


# ---- Modelled machines: cores that wait are parked, which is the same as spinning ----

@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("lock,cores", [("clh", 8), ("ticket", 12)])
def test_parking(lock: str, cores: int) -> None:
    """modelled machine: cores that wait do so as if they went on spinning, to the cycle"""
    parked, spinning = (points(lock, [cores], 500.0, park=park)[0] for park in ("on", "off"))
    assert parked.time == spinning.time
    # Programs count their own round trips, and may be 2,000 cycles apart.
    assert abs(parked.total("rounds") - spinning.total("rounds")) <= cores
    assert sum(core["instructions"] for core in parked.per_core) < sum(core["instructions"]
                                                                       for core in spinning.per_core)


WAITS = BUILD / "tests/programs/waits.elf"
WAYS = ["semaphore", "mutex", "barrier", "register", "vector", "stored", "time", "places"]
MESSAGE_NS = 2000
BEGIN, END = 800_000_000, 900_000_000  # ns: the boot is over, and what is measured, too


def waits(cpu: int, what: str, *args: int, barrier: bool = True) -> Program:
    return Program(f"waits-{cpu}", cpu, elf=WAITS, args=(what, *map(str, args)), barrier=barrier)


def waited(target: Plan, **plugin: str) -> dict[str, int]:
    """Nanoseconds that the measuring program has waited in each way."""
    with run.marks(XEON, target, options=plugin) as marks, machine(target, accel=run.mode(XEON),
                                                                   extra=marks.arguments) as booted:
        booted.wait_done()
        assert booted.status == qemu.EXIT_SUCCESS, booted.console
        times = {way: int(ns) for way, ns in re.findall(r"waited: (\w+) (\d+) ns", booted.console)}
    assert list(times) == WAYS
    return times


@needs_new
@pytest.mark.limit(600)
def test_parking_counted() -> None:
    """modelled machine: a program whose loops go on by a count waits beside a core that executes as long as if it were
    not parked"""
    target = plan(deployment(1, 2, network=False, shutdown="when-done", programs=(
        waits(0, "works", BEGIN, END), waits(1, "measure", 20, BEGIN, END),
    )))
    assert waited(target, park="on") == waited(target, park="off")


@needs_new
@pytest.mark.limit(900)
def test_clusters_apart() -> None:
    """modelled machine: what a cluster measures is the same to the digit whether a program of another one executes or
    sleeps; one that ends costs a message"""
    moment = BEGIN + 200_000  # while the other cluster measures
    works, exits, rests = (waited(plan(deployment(2, 2, network=False, shutdown="when-done", programs=(
                               waits(1, what, moment, END), waits(3, "measure", 100, BEGIN, END),
                           )))) for what in ("works", "exits", "rests"))
    assert sum(works.values()) > 2_000_000  # so long that most of it is after the moment
    assert works == rests
    # An end is told to the other cluster's manager: its core works for that once, and the one that measures may wait
    # for the kernel, after which its own caches and clock are a little off for the rest.
    assert sum(abs(exits[way] - works[way]) for way in WAYS) < MESSAGE_NS


# ---- Regime rtm on a modelled machine: transactions that the emulator's plugin executes ----



def ended(program: str, *numbers: int) -> dict[str, int]:
    """Returns how the transactions of the Mach study's program ended, on 4 cores."""
    target = mach.stress_plan("rtm", 4, program, *numbers, modelled=XEON)
    with run.marks(XEON, target) as marks:
        assert events(target, Bench(run.mode(XEON), Patience(PATIENCE)), marks.arguments).of("stress")
        _, end = marks.read()
    assert isinstance(end, Mark) and end.transactions and end.late == 0
    counts = end.transactions
    assert counts["begun"] == counts["committed"] + sum(n for name, n in counts.items() if name.startswith("aborted_"))
    return counts


@needs_new
@pytest.mark.limit(300)
def test_scales() -> None:
    """rtm, modelled: pairs that have nothing in common scale to all cores, several points in one boot"""
    one, eight, all_ = points("rtm", [1, 8, 28], 4000.0)
    assert eight.throughput == pytest.approx(8 * one.throughput, rel=0.02)
    assert all_.throughput == pytest.approx(28 * one.throughput, rel=0.02)
    assert all_.metrics["abort_ratio"] < 0.01 and all_.metrics["fallback_ratio"] < 0.01
    assert all_.late == 0


@needs_new
@pytest.mark.limit(300)
def test_same_digits_modelled_transactions() -> None:
    """rtm, modelled: two runs agree in every digit, conflicts included"""
    first, second = ended("messages", 3, 50), ended("messages", 3, 50)
    assert first == second
    assert first["aborted_conflict"] > 10
    assert first["lost"] > first["aborted_conflict"] * XEON.prices["transaction_abort"].cycles


@needs_new
@pytest.mark.limit(300)
def test_fallback() -> None:
    """rtm, modelled: what cannot be taken back takes the lock, and others are aborted by it"""
    counts = ended("memory", 4, 16, 4, 4)
    assert counts["fallbacks"] >= counts["aborted_irrevocable"] > 100
    assert counts["aborted_lock"] > 100


@needs_new
@pytest.mark.limit(300)
def test_one_core_modelled_transactions() -> None:
    """rtm, modelled: on one core a message costs within 8 points of the papers' 17 % more than without a lock"""
    none, rtm = (ipc.measure(lock, run.mode(XEON), 10, Patience(PATIENCE), XEON).to_json()["metrics"]
                 for lock in ("none", "rtm"))
    assert 1.09 < rtm["one_way_kernel_cycles"] / none["one_way_kernel_cycles"] < 1.25
