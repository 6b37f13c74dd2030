# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench dynamic` without a machine: rounds out of moments, tables beside the paper, results, and what is
refused."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deploy.base.errors import Failure
from deploy.bench import destination
from deploy.bench.dynamic import forkjoin, measure as dynamic
from deploy.bench.dynamic.measure import (
    FORK_JOIN,
    INTER,
    INTRA,
    IPC,
    LOAD,
    UNMAP,
    WAKE,
    ForkJoin,
    Ipc,
    Load,
    Series,
)
from deploy.bench.dynamic.present import fork_join_table, ipc_table, load_table, plot_dynamic, sentences
from deploy.bench.ipc import measure as ipc
from deploy.bench.paper import page as reading
from deploy.bench.scale import measure as scale
from deploy.cli import main
from deploy.cli.commands.bench.dynamic import Found, Wanted
from deploy.deployment.modules import REGIMES
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import PAPERS, load
from deploy.machine.events import Event
from tests.unit.deploy.test_unmap import UNMAPS
from topology.model.papers import UHLIG_FIGURE_6, UHLIG_FIGURE_7

XEON = load(PAPERS)
command = sys.modules[Wanted.__module__]  # its package has the command by that name
BY_NAME = {one.name: one for one in dynamic.SERIES}


def text_of(*tables: Any) -> str:
    console = Console(width=260)
    with console.capture() as capture:
        for table in tables:
            console.print(table)
    return capture.get()


# ---- series ----


def test_series() -> None:
    """bench dynamic: a series is a row; each has a name of its own, a kernel that is built, and figures that there
    are"""
    assert len(BY_NAME) == len(dynamic.SERIES)
    for one in dynamic.SERIES:
        assert one.kernel in REGIMES and set(one.figures) <= set(dynamic.TITLES) and one.granularity in (None, "coarse",
            "fine")
        assert (one.granularity is not None) == (one.kernel == "dynamic")  # other regimes have one granularity
    assert {one.paper for one in dynamic.SERIES} - {""} == {"UP", "msg", "lock"}
    assert {paper for _, paper in UHLIG_FIGURE_6} == {"msg", "lock"}


def test_messages() -> None:
    """bench dynamic: messages are the locks' kernel with objects at home; Figure 7 has the paper's ratio of both"""
    messages, locks = BY_NAME["messages"], BY_NAME["dynamic fine"]
    assert (messages.kernel, messages.granularity, messages.local) == (locks.kernel, locks.granularity,
                                                                       True) and not locks.local
    assert all(messages in dynamic.of(figure) for figure in (IPC, FORK_JOIN, LOAD))
    ordered = [scale.machine(scale.case(dynamic.request(series, [2], 2048, XEON, 1.0)), emulated=True)
               for series in (messages, locks)]
    assert [target.cluster_map.applications[0].args[-1] == "local" for target in ordered] == [True, False]
    rows = [join(messages, 2, 5000), join(messages, 3, 6000), join(BY_NAME["dynamic fine"], 2, 2000),
            join(BY_NAME["dynamic fine"], 3, 2000)]
    assert [(pair.locks.cores, pair.ours, pair.published)
            for pair in dynamic.pairs(rows)] == [(2, 2.5, UHLIG_FIGURE_7[2].value), (3, 3.0, None)]
    text = text_of(fork_join_table(rows))
    assert "messages/locks" in text and "2.50" in text and "2.5" in text
    (said,) = sentences([], rows, [])
    assert "2.50 on 2 cores, 3.00 on 3 cores" in said and "3.6 on 16 cores" in said
    assert rows[0].to_json()["local"] and "local" not in rows[2].to_json()
    pair = dynamic.pairs(rows)[0].to_json()
    (point,) = reading.of_documents([{"results": [], "ratios": [pair]}])
    assert (point.ours, point.published) == ((2.5,), 2.5)


# ---- Figure 6 ----


def one_way(series: Series, inter: float, intra: float, counted: bool = True) -> Ipc:
    def both(value: float) -> ipc.Spread:
        return ipc.Spread(value, value, value)

    spread = dict.fromkeys((*ipc.OPERATIONS, ipc.ONE_WAY), both(1.0))
    spread |= {"call": both(inter - 10), "reply_recv": both(inter + 10), "call_same_vspace": both(intra - 5),
               "reply_recv_same_vspace": both(intra + 5)}
    measured = ipc.Measured(series.kernel, "instructions" if counted else "cycles", True, 200, spread,
                            None if counted else XEON)
    return Ipc(series, measured)


ROWS = [one_way(BY_NAME["none"], 100, 80), one_way(BY_NAME["dynamic coarse"], 110, 90),
        one_way(BY_NAME["dynamic fine"], 130, 120), one_way(BY_NAME["fine"], 200, 180)]
CYCLES = [one_way(BY_NAME["none"], 400, 300, False), one_way(BY_NAME["dynamic fine"], 500, 450, False)]


def test_ipc() -> None:
    """bench dynamic: IPC over none stands beside the paper's, for both kinds of address spaces, in each unit by
    itself"""
    assert (ROWS[2].one_way(INTER), ROWS[2].one_way(INTRA)) == (130, 120)
    text = text_of(ipc_table(ROWS))
    assert (
        "instructions of the kernel (counted, emulated)" in text and "1.300" in text and "1.276" in text
        and "1.812" in text
    )
    assert f"{1.5 / 1.812:.3f}" in text and text.count("1.276") == 1  # beside one row: the others have none there
    assert "cycles of the kernel (modelled: 2 x 14" in text_of(ipc_table(CYCLES))
    assert dynamic.bases([*ROWS, *CYCLES]) == {"instructions": ROWS[0], "cycles": CYCLES[0]}
    said = list(sentences([*ROWS, *CYCLES], [], []))
    assert (
        len(said) == 2 and "in instructions: +30.0%" in said[0] and "paper: +27.6%, cycles" in said[0]
        and "in modelled cycles: +25.0%" in said[1]
    )


@pytest.mark.parametrize(("messages", "locks", "holding"),
                         [(90, 120, (True, True, True)), (150, 140, (False, True, True)),
                          (170, 180, (True, False, False))])
def test_order(messages: float, locks: float, holding: Sequence[bool]) -> None:
    """bench dynamic: whether messages cost less than locks, and these a fifth less than those of fine, is said as it
    is"""
    rows = [ROWS[0], one_way(BY_NAME["messages"], messages, 80), one_way(BY_NAME["dynamic fine"], locks, 80),
            one_way(BY_NAME["fine"], 200, 180)]
    (said,) = (one for one in sentences(rows, [], []) if "0.8 x fine" in one)
    assert [claim.endswith("not hold") for claim in said.removesuffix(".").split("; ")] == [not holds
        for holds in holding]
    assert not [one for one in sentences(rows[:3], [], []) if "0.8 x fine" in one]


def test_ipc_ratios() -> None:
    """bench dynamic: ratios have the paper's beside them by the names of ours, and instructions are not taken for
    cycles"""
    ratios = dynamic.ipc_ratios([*ROWS, *CYCLES])
    assert [ratio["of"] for ratio in ratios] == ["dynamic coarse", "dynamic fine", "fine", "dynamic fine"]
    assert all(set(ratio.get("published", {})) <= set(ratio["metrics"]) for ratio in ratios)
    assert "published" not in ratios[0] and ratios[1]["published"] == {"inter_kernel_instructions": 1.276,
                                                                       "intra_kernel_instructions": 1.812}
    points = reading.of_documents([{"results": [], "ratios": ratios}])
    assert [(p.ours, p.published) for p in points] == [((1.3,), 1.276), ((1.5,), 1.812), ((1.25,), 1.276),
                                                       ((1.5,), 1.812)]


# ---- Figure 7 ----


def mark(number: int, clock: int) -> Mark:
    return Mark(number, clock, 0, [], [])


def event(cores: int, rounds: int, warm_up: int = 1) -> Event:
    return Event("forkjoin", {"cores": cores, "warm_up": warm_up, "rounds": rounds})


def moments(begin: int, workers: Sequence[int], signalled: int) -> list[Mark]:
    return [mark(1, begin), *(mark(2, begin + at) for at in workers), mark(3, begin + signalled)]


def test_rounds() -> None:
    """bench dynamic: a round ends when the last worker runs, and those that warm up do not count"""
    seen = [*moments(100, [9000], 7000), *moments(50_000, [2000], 700), *moments(60_000, [4000], 900),
            *moments(90_000, [9000, 9100], 7000), *moments(100_000, [2500, 2400], 1500), *moments(110_000, [2600, 2300], 1600)]  # fmt: skip
    two, three = forkjoin.latencies([2, 3], 2, 1.0, [event(2, 2), event(3, 2)], seen)
    assert (two.running, two.signalled, two.extent) == (3000, 800, (2000, 4000))
    assert (three.cores, three.running, three.signalled, three.extent) == (3, 2550, 1550, (2500, 2600))


BAD_MOMENTS = {
    "a worker is missing": [*moments(0, [100], 50), *moments(1000, [], 50)],
    "one too many": [*moments(0, [100], 50), *moments(1000, [100, 101], 50)],
    "no last signal": [*moments(0, [100], 50), mark(1, 1000), mark(2, 1100)],
    "no first signal": [mark(2, 50), mark(3, 60), *moments(1000, [100], 50)],
    "a round is missing": moments(0, [100], 50),
    "a round too many": [*moments(0, [100], 50), *moments(1000, [100], 50), *moments(2000, [100], 50)],
    "a clock that runs backwards": [*moments(0, [100], 50), *moments(1000, [-100], 50)],
    "nothing": [],
}


@pytest.mark.parametrize("what", BAD_MOMENTS)
def test_moments_that_do_not_match(what: str) -> None:
    """bench dynamic: moments that are not those of the rounds are refused, not averaged"""
    with pytest.raises(Failure, match="fork and join"):
        forkjoin.latencies([2], 1, 1.0, [event(2, 1)], BAD_MOMENTS[what])


@pytest.mark.parametrize("events", [[], [event(2, 2)], [event(3, 1)], [event(2, 1), event(2, 1)]])
def test_events_that_do_not_match(events: list[Event]) -> None:
    """bench dynamic: so are results of other sizes"""
    with pytest.raises(Failure, match="requested"):
        forkjoin.latencies([2], 1, 1.0, events, [*moments(0, [100], 50), *moments(1000, [100], 50)])


def join(series: Series, cores: int, cycles: int, factors: Sequence[float] = (1.0,),
         figure: str = FORK_JOIN) -> ForkJoin:
    made = [
        forkjoin.Latency(cores, factor, tuple(forkjoin.Round(round(cycles * factor) + i, 300) for i in (-10, 0, 10)))
        for factor in factors
    ]  # fmt: skip
    (found,) = dynamic.fork_joins(series, XEON, made, figure)
    return found


def test_fork_join() -> None:
    """bench dynamic: medians with their range at other line costs; nothing is compared where one series of the paper
    was not measured"""
    rows = [join(BY_NAME[name], cores, 1000 * cores, (1.0, 0.5, 2.0)) for name in ("dynamic coarse", "dynamic fine")
            for cores in (2, 16)]
    text = text_of(fork_join_table(rows))
    assert "2,000 [1,000..4,000]" in text and "messages/locks" not in text and "modelled: 2 x 14" in text
    assert not list(sentences([], rows, []))
    entry = rows[0].to_json()
    assert (entry["lock"], entry["kernel"], entry["granularity"], entry["figure"]) == ("dynamic coarse", "dynamic",
        "coarse", "7")
    assert entry["metrics"]["signal_to_last_cycles"] == 2000 and entry["range"] == {"signal_to_last_cycles": [1000,
        4000]}
    assert entry["min_max"] == {"signal_to_last_cycles": [1990,
                                                          2010]} and entry["modelled"]["machine"] and entry["emulated"]


def test_one_call() -> None:
    """bench dynamic: the same kernels wake all workers by a call for each and by one call, in a table of its own"""
    assert [(one.kernel, one.at_once) for one in dynamic.of(WAKE)] == [("clh", False), ("clh", True), ("fine", False),
                                                                       ("fine", True)]
    rows = [join(one, 14, 1000 + place, figure=WAKE) for place, one in enumerate(dynamic.of(WAKE))]
    text = text_of(fork_join_table(rows))
    assert dynamic.TITLES[WAKE] in text and "clh, one call" in text and "1,003" in text
    assert dynamic.TITLES[FORK_JOIN] not in text
    assert {one.to_json()["figure"] for one in rows} == {WAKE} and not list(sentences([], rows, []))


# ---- load ----


def loaded(name: str, cores: int, throughput: float, factors: Sequence[float] = (1.0,)) -> Load:
    core = {"rounds": 1000, "drawn": 1, "idle": 0, "entries": 0, "acquisitions": 0, "conflicts": 0, "fallbacks": 0,
            "cluster": 0}
    series = BY_NAME[name]
    made = [
        scale.Point(series.kernel, "spanning", 1, cores, dynamic.DELAY, round(2000 * cores / throughput / factor),
                    "modelled",
                    [core | {"cpu": n} for n in range(cores)], True, line_factor=factor) for factor in factors
    ]  # fmt: skip
    (found,) = dynamic.loads(series, XEON, made)
    return found


LOADS = [loaded(name, cores, rate) for name, rates in {"dynamic coarse": (0.001, 0.002, 0.002),
                                                       "dynamic fine": (0.0009, 0.0019, 0.004),
                                                       "clh": (0.001, 0.002, 0.002),
                                                       "fine": (0.0008, 0.0015, 0.0016)}.items()
         for cores, rate in zip((1, 2, 4), rates)]  # fmt: skip


def test_load() -> None:
    """bench dynamic: both granularities of one image stand beside clh and fine, and the first size at which locks of
    objects win is said"""
    assert dynamic.crossing(LOADS, "dynamic coarse", "dynamic fine") == 4 and dynamic.crossing(LOADS, "clh",
        "fine") is None
    (said,) = sentences([], [], LOADS)
    assert (
        said == "dynamic fine does more than dynamic coarse from 4 cores on; fine does more than clh on no number of "
        "cores measured."
    )
    assert "4.000" in text_of(load_table(LOADS)) and "modelled: 2 x 14" in text_of(load_table(LOADS))
    one = loaded("dynamic fine", 2, 0.002, (1.0, 0.5, 2.0))
    entry = one.to_json()
    assert (entry["lock"], entry["granularity"], entry["figure"], entry["cores"]) == ("dynamic fine", "fine", "load", 2)
    assert entry["range"]["throughput_per_cycle"] == pytest.approx([0.001, 0.004], rel=0.01)


def test_granularity() -> None:
    """bench dynamic: the map says what a series' kernel is to be"""
    for name, kernel, granularity in (("dynamic fine", "dynamic", "fine"), ("dynamic coarse", "dynamic", "coarse"),
                                      ("clh", "clh", "coarse")):
        (cluster,) = scale.case(dynamic.request(BY_NAME[name], [1, 2], 2048, XEON, 1.0)).plan.cluster_map.clusters
        assert (cluster.kernel, cluster.granularity, cluster.root) == (kernel, granularity, "pingpong")


# ---- the command ----


def test_plot(tmp_path: Path) -> None:
    """bench dynamic: a panel for each unit and figure that there is"""
    joins = [join(BY_NAME[name], cores, 1000 * cores, (1.0, 2.0)) for name in ("dynamic coarse", "dynamic fine")
             for cores in (2, 3)]
    for number, (rows, some, others) in enumerate((([*ROWS, *CYCLES], joins, LOADS), (ROWS, [], []), ([], joins, []))):
        plot_dynamic(rows, some, others, UNMAPS if number != 1 else [], "a mode", tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 1000


def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the boots by figures."""
    def found(wanted: Wanted, *_: Any) -> Found:
        joins = [join(one, n, 1000 * n, figure=figure) for figure in (FORK_JOIN, WAKE) if figure in wanted.figures
                 for one in dynamic.of(figure) for n in wanted.join_cores]
        loads = [load for load in LOADS if load.point.cores in wanted.load_cores]
        unmaps = [row for row in UNMAPS if (row.calls.cores in wanted.unmap_cores if row.machine else wanted.counts
                                            and UNMAP in wanted.figures)]
        return Found(ROWS if wanted.counts and IPC in wanted.figures else [], joins, loads, unmaps)

    monkeypatch.setattr(command, "_measure", found)
    monkeypatch.setattr(command, "ensure_built", lambda *_: None)
    monkeypatch.setattr(command.run, "check_installed", lambda: None)
    monkeypatch.setattr(destination, "host_description", lambda *_: {})
    monkeypatch.setattr(command.run, "check_version", lambda: None)


def test_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """bench dynamic: all figures without words, results and CSV with all of them"""
    measured(monkeypatch)
    words = ["bench", "dynamic", "--cores", "1,2,4", "--json", str(tmp_path / "r.json"), "--csv",
             str(tmp_path / "other.csv"), "--plot", str(tmp_path / "r.svg")]
    assert main.main(words) == 0
    said = capsys.readouterr().out
    assert all(title in said for title in ("Figure 6", "Figure 7", "Figure 8", "Beyond the paper"))
    data = json.loads((tmp_path / "r.json").read_text())
    assert {one["figure"] for one in data["results"]} == {"6", "7", "8", "load",
                                                          "wake"} and data["trends"] and data["bytes"] == {"slot": 64,
                                                              "domain": 128}
    assert {one["cores"] for one in data["results"] if one["figure"] == "7"} == {2, 4} and data["ratios"]
    assert (tmp_path / "r.csv").read_text() == (tmp_path / "other.csv").read_text()
    rows = list(csv.DictReader((tmp_path / "other.csv").open()))
    assert (
        len(rows) == len(data["results"]) and rows[1]["lock"] == "dynamic coarse"
        and rows[1]["inter_kernel_instructions"] == "110.0"
    )


def test_json_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """bench dynamic --json -: standard output has the document and nothing else; CSV goes to its own file"""
    measured(monkeypatch)
    words = ["--figure", "6,7", "--cores", "2,3", "--json", "-", "--csv", str(tmp_path / "x.csv"), "--plot",
             str(tmp_path / "x.png")]
    assert main.main(["bench", "dynamic", *words]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["results"]) == len((tmp_path / "x.csv").read_text().splitlines()) - 1 == 10


def test_counted_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """bench dynamic --icount: Figures 6 and 8 on one core in instructions, and no other"""
    measured(monkeypatch)
    assert main.main(["bench", "dynamic", "--icount", "--json", str(tmp_path / "r.json")]) == 0
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert {one["figure"] for one in results} == {"6", "8"} and {one["cores"] for one in results} == {1}
    assert all("mapping_kernel_instructions" in one["metrics"] for one in results if one["figure"] == "8")


BAD = [
    (["--figure", "5"], "'5'"),
    (["--figure", ""], "--figure"),
    (["--figure", "6,foo"], "'foo'"),
    (["--cores", "0"], "--cores"),
    (["--cores", "two"], "'two'"),
    (["--cores", "29"], "--cores"),
    (["--figure", "7", "--cores", "1"], "--cores"),
    (["--figure", "6", "--cores", "2"], "--cores"),
    (["--icount", "--cores", "2"], "--cores"),
    (["--icount", "--figure", "7"], "--icount"),
    (["--icount", "--figure", "6,8,load"], "--icount"),
    (["--icount", "--machine", PAPERS], "--icount"),
    (["--icount", "--quick"], "--quick"),
    (["--machine", "pdp-11"], "pdp-11"),
    (["--plot", "nowhere/x.png"], "nowhere"),
    (["--csv", "nowhere/x.csv"], "--csv nowhere"),
    (["--csv", "-"], "--csv -"),
    (["--csv", "r.csv", "--json", "./r.csv"], "--csv r.csv"),
    (["--json", "nowhere/x.json"], "nowhere"),
]


@pytest.mark.parametrize(("words", "culprit"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_refused(words: list[str], culprit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """bad input: one line with the culprit, exit status 2"""
    assert main.main(["bench", "dynamic", *words]) == 2
    error = capsys.readouterr().err
    assert culprit in error and len(error.splitlines()) == 1
