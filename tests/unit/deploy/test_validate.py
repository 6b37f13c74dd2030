# SPDX-License-Identifier: BSD-2-Clause
"""The rows of the validation, over curves that are known; tests/boot runs the model itself."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import pytest

from deploy.base.errors import Failure
from deploy.bench.redis.measure import Core, Point as RedisPoint
from deploy.bench.scale.measure import Point, Request, case, machine
from deploy.bench.validate import caches, rows as row_groups, validation
from deploy.bench.validate.basis import CALIBRATION, FROZEN, VALIDATION, prices_hash
from deploy.bench.validate.caches import Latency
from deploy.bench.validate.validation import HOST_DELAYS, HOST_LOCKS, NOT_HOSTED, Native, Row, spanning_delay
from deploy.cli.commands.bench.validate import closing, table
from deploy.cli.main import main
from deploy.emulator.machine_file import ModelledMachine, load
from deploy.machine.events import Event
from deploy.results.result import Result
from topology.errors import InputError
from topology.model import repairman, ticket
from topology.model.papers import TABLE_1

XEON = load("xeon-e5-2683v3")


def repairman_points(service: float, far: float = 0.0, slower: float = 1.0) -> validation.Measure:
    """Measures a lock with this service time; `far` on more cores than a socket has."""
    def measured(request: Request) -> list[Point]:
        made = []
        for n in request.cores:
            for delay in request.delays:
                rate = repairman.steady(far if far and n > 14 else service, delay, n).throughput / slower
                rounds = 1_000_000
                made.append(Point(request.lock, "spanning", 1, n, delay, round(2 * rounds / rate), "modelled",
                                  [{"rounds": rounds}], True))
        return made

    return measured


def test_paper() -> None:
    """validate: a lock of the paper's own service time meets the paper's rows, and one that is twice as slow does
    not"""
    rows = {row.name: row for row in validation.paper_rows(XEON, 128, repairman_points(358, 480))}
    service = rows["service time of the lock, one socket, delay 2,000"]
    assert service.reference == 358 and service.error == pytest.approx(0, abs=0.001) and service.met
    near, far = (rows[f"saturated: cycles for each entry, {where}, delay 500"]
                 for where in ("one socket", "two sockets"))
    assert near.modelled == pytest.approx(358, rel=0.01) and far.modelled == pytest.approx(480, rel=0.01)
    assert near.met and far.met and near.bounds == (323, 613)
    slow = {row.name: row for row in validation.paper_rows(XEON, 128, repairman_points(716, 900))}
    assert not slow[service.name].met and slow[service.name].error == pytest.approx(1, abs=0.01)
    assert not slow[near.name].met


def test_spanning_delay() -> None:
    """validate: a lock that costs the same everywhere spans 28 cores at twice the delay that fills 14"""
    def at(service: float, *delays: float) -> dict[tuple[int, float], float]:
        return {(n, delay): repairman.steady(service, delay, n).throughput for n in (1, 28) for delay in delays}

    assert spanning_delay(at(358, 4000.0, 8000.0, 16000.0), 28) == pytest.approx(8500, rel=0.1)
    assert 11_000 < spanning_delay(at(600, 4000.0, 8000.0, 16000.0, 32000.0), 28) < 16_000
    assert spanning_delay(at(10, 500.0, 4000.0), 28) == 500
    assert math.isinf(spanning_delay(at(5000, 500.0, 4000.0), 28))


def test_host() -> None:
    """validate: of this host's cores the model says what the second adds, without what the hosted port does not do"""
    seen: list[Request] = []

    def scale(request: Request) -> list[Point]:
        seen.append(request)
        return repairman_points(200)(request)

    native = {(lock, delay): Native(150.0, 150.0 + 2 / _of(2, delay) - 1 / _of(1, delay)) for lock in HOST_LOCKS
              for delay in HOST_DELAYS}
    rows = list(validation.host_rows(XEON, native, 128, scale))
    assert len(rows) == len(HOST_LOCKS) * len(HOST_DELAYS) + 3
    for row in rows[:-3]:
        assert row.met and row.error == pytest.approx(0, abs=0.001)
    assert [row.modelled for row in rows[-3:-1]] == pytest.approx([0, 0], abs=0.001)
    for request in seen:
        assert request.modelled and all(request.modelled.prices[name].cycles == 0 for name in NOT_HOSTED)
        assert request.modelled.prices["atomic"] == XEON.prices["atomic"]
    wrong = native | {("fine", 500.0): Native(150.0, 400.0, noisy=True)}
    worst = next(row for row in validation.host_rows(XEON, wrong, 128, scale) if "worst" in row.name)
    assert not worst.met and worst.noisy


def _of(cores: int, delay: float) -> float:
    return repairman.steady(200, delay, cores).throughput


def test_figures() -> None:
    """validate: Figure 4's points stand beside the paper's fit within a socket and between its bounds beyond"""
    rows = list(validation.figure_rows(XEON, 128, repairman_points(358, 480)))
    four = [row for row in rows if row.name.startswith("Figure 4") and "peak" not in row.name]
    assert len(four) == 7 * 8 and all(row.met for row in four)
    assert {row.bounds is None for row in four} == {True, False}
    fast = [row for row in validation.figure_rows(XEON, 128, repairman_points(100))
            if row.name.startswith("Figure 4: delay 500")]
    assert not all(row.met for row in fast)
    assert [row.met for row in rows[-3:]] == [False, True, True]  # every lock is a queue here


def test_peak() -> None:
    """validate: the cores on which a curve has its maximum stand beside where the paper's peaks"""
    def peaking(at: int) -> validation.Measure:
        def measured(request: Request) -> list[Point]:
            return [replace(point, time=round(point.time * (1 + abs(point.cores - at))))
                    for point in repairman_points(358)(request)]

        return measured

    for best, met in ((7, True), (9, True), (11, False)):
        (row,) = [row for row in validation.figure_rows(XEON, 128, peaking(best)) if "peak" in row.name]
        assert (row.reference, row.modelled, row.met) == (7, best, met)


def ticket_points(reload: float) -> validation.Measure:
    """Measures ticket locks by Boyd-Wickizer's model: round trips of programs where there are sections, else of the
    kernel."""
    def measured(request: Request) -> list[Point]:
        made = []
        for n in request.cores:
            for delay in request.delays:
                rate = ticket.steady(request.section or 358, 0.0 if request.lock == "clh"
                                     and not request.section else reload, delay, n).throughput
                made.append(Point(request.lock, "spanning", 1, n, delay, round(1e6 / rate), "modelled",
                                  [{"rounds": 1_000_000}], True))
        return made

    return measured


def test_collapse() -> None:
    """validate: a ticket lock collapses in short sections, does not in longer ones, and the model's speed-up stands
    beside it"""
    requests: list[Request] = []

    def scale(request: Request) -> list[Point]:
        requests.append(request)
        return ticket_points(150.0)(request)

    rows = {row.name: row for row in row_groups.collapse_rows(XEON, 128, scale)}
    assert len(rows) == 7 and all(row.met for row in rows.values())
    short = rows["ticket lock, sections of 160 cycles, 2 % of the time: 28 cores over 14"]
    long = rows["ticket lock, sections of 800 cycles, 2 % of the time: 28 cores over 14"]
    assert short.modelled and long.modelled and short.modelled < 0.6 and long.modelled > 1.8
    assert [(request.section, request.delays[0]) for request in requests[:2]] == [(160, 7840), (800, 39200)]
    assert all(request.plugin == {"program_quantum": "0"} for request in requests[:2]) and not requests[2].plugin
    scaling = {row.name: row for row in row_groups.collapse_rows(XEON, 128, ticket_points(0.0))}
    assert not scaling[short.name].met and scaling[long.name].met
    assert not scaling["ticket lock, sections of 160 cycles, 2 % of the time: speed-up on 28 cores"].met


def test_peters() -> None:
    """validate: one lock levels off after 3 cores, and others scale"""
    def scale(request: Request) -> list[Point]:
        points = repairman_points(358)(request)
        return [replace(point, time=round(358 * 2_000_000 / point.cores))
                for point in points] if request.lock != "clh" else points

    rows = list(row_groups.peters_rows(XEON, 128, scale))
    assert [row.reference for row in rows] == [1, 4, 1] and all(row.met for row in rows)
    queues = list(row_groups.peters_rows(XEON, 128, repairman_points(358)))
    assert [row.met for row in queues] == [True, False, True]


def redis_point(lock: str, cores: int, rate: float) -> RedisPoint:
    """So many operations in a million cycles; core 0 has a delay of 800, the others of 1,600."""
    metrics = {"operations": 1000.0, "ops_per_s": 1.0}
    result = Result(layout="spanning", lock=lock, workload="c", clusters=1, cores=cores, emulated=True, metrics=metrics,
                    per_core=[])
    time = round(1e9 / rate)
    each = tuple(Core(0, n, time, busy=1_000_000 if n else 900_000, kernel=200_000 if n else 100_000,
                      entries=500 if n else 1000) for n in range(cores))
    return RedisPoint("process", "modelled", result, each)


def test_redis() -> None:
    """validate: Figure 7's ratios and delays, of plain kernels but for the delays"""
    asked: list[tuple[str, int, str, bool]] = []

    def measured(lock: str, cores: int, workload: str, counting: bool) -> RedisPoint:
        asked.append((lock, cores, workload, counting))
        rate = {"clh": 98.0, "fine": 72.0, "rtm": 100.0}[lock]
        return redis_point(lock, cores, rate if cores <= 5 else 0.9 * rate)

    rows = {row.name: row for row in row_groups.redis_rows(measured)}
    assert len(rows) == 8 and all(row.met for row in rows.values() if row.group == "redis" and "Peters" not in row.name)
    assert rows["Figure 7: 5 cores, fine / rtm"].bounds == (0.6, 0.75)
    assert rows["Figure 7: clh, 8 cores over 5"].modelled == pytest.approx(0.9, rel=0.001)
    assert rows["Figure 7: delay between entries on core 0, 5 cores"].modelled == 800
    assert rows["Figure 7: delay between entries on the others, 5 cores"].modelled == 1600
    peters = rows["Peters, Figure 4: throughput over utilisation, 4 cores, workload A: clh / rtm"]
    assert peters.reference == 1 and peters.modelled is not None
    assert [ask for ask in asked if ask[3]] == [("clh", 5, "c", True)]
    assert {ask[1:] for ask in asked if ask[2] == "a"} == {(4, "a", False)}


def paper_rows() -> list[Row]:
    """All rows of the papers, but for those of IPC on one core."""
    def redis(lock: str, cores: int, workload: str, counting: bool) -> RedisPoint:
        return redis_point(lock, cores, 100.0)

    def table1(machine: ModelledMachine, factor: float) -> list[Latency]:
        return [Latency(cell, cell.price(machine, factor)) for cell in caches.cells(machine)]

    scale = repairman_points(358, 480)
    return [*validation.paper_rows(XEON, 128, scale), *validation.figure_rows(XEON, 128, scale),
            *row_groups.peters_rows(XEON, 128, scale), *row_groups.collapse_rows(XEON, 128, ticket_points(0.0)),
            *row_groups.redis_rows(redis), *row_groups.idle_rows(redis), *row_groups.table1_rows(XEON, 1.0, table1)]


def test_basis() -> None:
    """validate: a row is one that prices were taken from or a prediction, never both; prices are those that the
    predictions were measured with"""
    rows = paper_rows()
    for row in rows:
        assert row.name.startswith(VALIDATION) != row.name.startswith(tuple(CALIBRATION)), row.name
        assert row.name.startswith(VALIDATION) == (row.kind == "predicted"), row.name
    for start in (*VALIDATION, *CALIBRATION):
        assert start.startswith("one core, ") or any(row.name.startswith(start) for row in rows), start
    table = {name for name, price in XEON.prices.items() if "Table 1" in price.source}
    assert table == set(CALIBRATION["Table 1: "])
    assert prices_hash(XEON) == FROZEN, "a price has changed: measure VALIDATION anew, then freeze the prices"
    cpi = XEON.prices["cpi_user"]
    assert prices_hash(replace(XEON, prices=XEON.prices | {"cpi_user": replace(cpi, high=2.0)})) != FROZEN


def test_lines() -> None:
    """validate: line costs of other machines stand beside measurements that no price was taken from, each row with its
    machine"""
    xeon, other, near, far = row_groups.line_rows()
    assert (xeon.reference, other.reference, near.reference, far.reference) == (48, 47, 24, 94)
    assert xeon.modelled == pytest.approx((134 + 18) / 2.8) and xeon.met and near.met
    assert far.modelled == pytest.approx((351 + 18) / 2.8) and not far.met
    assert xeon.to_json(XEON)["modelled"]["machine"] == load("xeon-gold-6242").name
    for row in (xeon, other, near, far):  # independent: the source of no price
        assert row.machine and not any(row.source in price.source for price in row.machine.prices.values())


def test_ranged() -> None:
    """validate: a row is that of the machine file's line costs, with what comes out under others as its range"""
    def make(factor: float) -> list[Row]:
        return [Row("paper", "x", "", 10.0, modelled=10 * factor, met=True), Row("paper", "y", "", not_run="no")]

    first, second = validation.ranged(make, (1.0, 0.5, 2.0))
    assert (first.modelled, first.spread) == (10, (5, 20)) and second.spread is None
    assert first.to_json(XEON)["range"] == {"modelled": (5, 20)}
    assert next(validation.ranged(make)).spread is None
    costs: list[float] = []

    def scale(request: Request) -> list[Point]:
        costs.append(request.line_factor)
        return repairman_points(358 * request.line_factor)(request)

    rows = list(validation.ranged(lambda factor: validation.paper_rows(XEON, 128,
                                                                       validation.at_line_cost(scale, factor)),
                                                                       (1.0, 2.0)))
    assert set(costs) == {1.0, 2.0} and rows[0].spread == pytest.approx((358, 716), rel=0.001)


def test_section() -> None:
    """validate: the program is told of a section only where there is one"""
    request = Request("clh", [1], [7840.0], 128, modelled=XEON)
    (program,) = machine(case(request), emulated=True).cluster_map.applications
    assert program.args[1:] == ["instructions", "128", "1", "7840"]
    assert machine(case(replace(request, section=160)), emulated=True).cluster_map.applications[0].args[-1] == "160"


def test_table1() -> None:
    """validate: Table 1 stands beside what a load takes by the machine file, in which L1's latency and L2's of others
    are missing"""
    seen: list[float] = []

    def measured(machine: ModelledMachine, factor: float) -> list[Latency]:
        seen.append(factor)
        return [Latency(cell, cell.price(machine, factor)) for cell in caches.cells(machine)]

    rows = {row.name: row for row in validation.ranged(lambda factor: row_groups.table1_rows(XEON, factor, measured),
                                                       (1.0, 0.5, 2.0))}
    assert seen == [1.0, 0.5, 2.0] and len(rows) == 12 == len(TABLE_1)
    assert all(row.price == row.modelled for row in rows.values())
    near = rows["Table 1: L1, intra-socket"]
    assert (near.reference, near.modelled, near.spread) == (115, 112, (56.5, 223)) and near.met
    assert near.source == "Elphinstone 2016, Table 1: L1, intra-socket"
    assert near.to_json(XEON)["basis"] == "measured back" and near.to_json(XEON)["metrics"]["price"] == 112
    assert rows["Table 1: memory, local"].spread == (182, 182)
    assert not rows["Table 1: L1, local"].met and not rows["Table 1: L2, intra-socket"].met
    made = table(list(rows.values()))
    assert [column.header for column in made.columns][4:6] == ["line costs x 0.5 to x 2", "price"]


def test_cells() -> None:
    """validate: of a line's latencies there are as many as the machine has distances, and memory is the first
    socket's"""
    assert {(cell.where, cell.writer, cell.reader) for cell in caches.cells(XEON) if cell.level == "memory"} == {
        ("local", 0, 0), ("intra-socket", 1, 0), ("inter-socket", 0, 14)}
    many = load("epyc-7402")
    assert {cell.where for cell in caches.cells(many)} == {"local", "intra-socket", "intra-socket, other L3",
                                                           "inter-socket"}
    assert caches.pages(XEON) == {"L1": 4, "L2": 32, "L3": 128, "memory": 11264}
    with pytest.raises(InputError, match="too small"):
        caches.pages(replace(XEON, caches=XEON.caches | {"l3": (64, 4)}))


def test_latencies() -> None:
    """validate: a program that measured something else is refused"""
    wanted = caches.cells(XEON)[:1]
    event = {"event": "latency-of-line", "writer": 0, "reader": 0, "pages": 4, "loads": 252, "cycles": 252}
    assert caches.latencies(wanted, [Event("latency-of-line", event)]) == [Latency(wanted[0], 1.0)]
    with pytest.raises(Failure, match="requested"):
        caches.latencies(wanted, [Event("latency-of-line", event | {"reader": 1})])


def test_order() -> None:
    """validate: the order of the locks counts at each delay"""
    known = {(lock, delay): (100.0 + place, 100.0 + place) for delay in HOST_DELAYS
             for place, lock in enumerate(HOST_LOCKS)}
    assert list(validation.host_summary(known, False))[-1].met
    known["clh", 500.0] = (100.0, 200.0)
    last = list(validation.host_summary(known, False))[-1]
    assert (last.modelled, last.met) == (2, False)


def test_native() -> None:
    """validate: native runs that were disturbed, or on cores that the host moved, are marked"""
    def entry(cores: int, cycles: float, spread: float = 1.0, disturbed: int = 0) -> dict[str, object]:
        metrics = {"kernel_cycles": cycles, "delay_cycles": 500.0}
        return {"lock": "clh", "cores": cores, "metrics": metrics,
                "min_max": {"kernel_cycles": [cycles - spread, cycles + spread]},
                "disturbed_runs": disturbed}

    calm = [entry(1, 100), entry(2, 250)]
    assert validation.native_of(calm, True) == {("clh", 500.0): Native(100, 250, False)}
    assert validation.native_of(calm, False)["clh", 500.0].noisy
    assert validation.native_of([entry(1, 100), entry(2, 250, disturbed=1)], True)["clh", 500.0].noisy
    assert validation.native_of([entry(1, 100), entry(2, 250, spread=100)], True)["clh", 500.0].noisy


def test_json() -> None:
    """validate: a row says what it is compared with, whether it met its goal, and on which machine it was modelled"""
    met = validation.close("paper", "x", "cycles", 100, 104, "a source", 0.05).to_json(XEON)
    assert met["metrics"] == {"reference": 100, "modelled": 104, "error": pytest.approx(0.04)}
    assert (
        met["met"] and met["source"] == "a source" and met["basis"] == "predicted"
        and met["modelled"]["machine"] == XEON.name
    )
    absent = validation.compare_row().to_json(XEON)
    assert absent["not_run"] and absent["metrics"] == {} and absent["met"] is None


def test_table() -> None:
    """validate: rows that were not run are said to be so, and goals that were missed count as missed"""
    rows = [validation.close("paper", "x", "cycles", 100, 200, "", 0.05), validation.compare_row(),
            Row("host", "y", "", modelled=1.0, met=True, noisy=True)]
    assert table(rows).row_count == 3
    assert closing(rows)[0] == "1 of 2 goals met; 1 rows were not run."
    assert "Noisy" in closing(rows)[1]


@pytest.mark.parametrize("words,says", [
    (["--rows", "paper,all"],
     "--rows: 'all' is not one of paper, host, speed, compare, lines, figures, table1, peters, collapse, redis, idle"),
    (["--rows", "paper", "--host", "mine.toml"], "--host: is for the rows of this host"),
    (["--host", "nowhere.toml"], "nowhere.toml: no such file"),
])
def test_command(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    """validate: what cannot be is refused before anything is built"""
    assert main(["bench", "validate", *words]) == 2
    assert says in capsys.readouterr().err


def test_no_build(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """bench validate: rows that are read from files build nothing and need no emulator"""
    def build(*_: object) -> None:
        raise AssertionError("it builds")

    command = sys.modules[table.__module__]
    monkeypatch.setattr(command, "ensure_built", build)
    monkeypatch.setattr("deploy.emulator.run.check_installed", build)
    assert main(["bench", "validate", "--rows", "lines", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert "2 x 16 Xeon Gold 6242" in err and "2 x 24 EPYC 7402" in err and "E5-2683" not in err
    assert "nothing was run" in json.loads(out)["host"]["mode"]
    rows = json.loads(out)["results"]
    assert len(rows) == 4 and all(row["metrics"]["reference"] > 0 for row in rows)
