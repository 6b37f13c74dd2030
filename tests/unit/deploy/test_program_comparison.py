# SPDX-License-Identifier: BSD-2-Clause
"""`compare FILE.toml` and `--program`: deployments as cases, ratios, words, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.terminal import Output
from deploy.cli.main import main
from deploy.compare import program_plot, programs as comparison, runs
from deploy.compare.prices import design, groups, own_positions
from deploy.compare.programs import Beside, Layout
from deploy.deployment import Deployment, Redis, parse
from deploy.deployment.planner import plan
from deploy.emulator.entries import Entries
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import load
from deploy.load import programs
from deploy.load.programs import Measured, Programs, cases, of_file, on_each_core
from deploy.machine.program_output import Combined
from deploy.machine.qemu import Accel
from deploy.results.result import Result, check
from tests.unit.deploy.synthetic import stream
from topology.errors import InputError
from topology.machines.machine import Shape

XEON = load("xeon-e5-2683v3")

# ---- Deployments as cases ----

SLEEPS = "[[program]]\nprogram = 'sleep'\ncpu = 1\nargs = ['1', '1']\n"


def file_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return path


def test_file(tmp_path: Path) -> None:
    """a file's programs run under each layout; its own layout, counting kernels and ports of the host are left out"""
    text = (f"[machine]\nsockets = 2\ncores = 4\n[clusters]\nlayout = 'spanning'\nlock = 'ticket'\nstatistics = true\n"
            f"[redis]\nhost-port = 7000\n{SLEEPS}network = true\nports = ['7001:7', 8]\n")
    read = of_file(file_of(tmp_path, text), None)
    made = cases(Programs(read, ["per-socket", "spanning", "homed"]))
    assert [(case.name, len(case.plan.cluster_map.clusters), case.lock) for case in made] == [
        ("per-socket", 2, "ticket"), ("spanning", 1, "ticket"), ("homed", 1, "dynamic"),
    ]
    for case in made:
        assert all(cluster.kernel == case.lock for cluster in case.plan.cluster_map.clusters)
        assert not case.plan.host_ports and len(case.plan.forwards) > 1
        assert [app.cpu for app in case.plan.cluster_map.applications if app.base_name == "sleep"] == [1]
    switches = {len([a for a in case.plan.cluster_map.applications if a.role == "switch"]) for case in made}
    assert len(switches) == 1
    assert of_file(file_of(tmp_path, text), "mcs").lock == "mcs"


@pytest.mark.parametrize("text, wrong", [
    (f"shutdown = 'never'\n{SLEEPS}", "own: would never end"),
    (f"{SLEEPS}barrier = false\n", "own: would never end"),
    (f"[clusters]\nlock = ['clh', 'mcs']\n{SLEEPS}", "has a lock for each cluster"),
    ("[[program]]\nprogram = 'sleep'\ncpu = 9\n", "cpu 9 is not on a machine of"),
])  # fmt: skip
def test_unfit_file(text: str, wrong: str, tmp_path: Path) -> None:
    """a deployment that cannot be compared is refused before anything is built"""
    with pytest.raises(InputError) as error:
        cases(Programs(of_file(file_of(tmp_path, text), None), ["per-socket", "spanning"]))
    assert wrong in str(error.value)


def test_each_core() -> None:
    """a program is on each core but the sockets' first, or on all if there are no other"""
    made = on_each_core("sleep 4 '3 0'", Deployment(shape=Shape(2, 3), lock="mcs"))
    assert [program.cpu for program in made.programs] == [1, 2, 4, 5] and not made.network
    assert made.programs[0].args == ("4", "3 0") and (made.name, made.lock) == ("sleep", "mcs")
    assert [program.cpu for program in on_each_core("sleep", Deployment(shape=Shape(2, 1))).programs] == [0, 1]
    for words in ("nothing", "switch", "'open", "", "./none.elf"):
        with pytest.raises(InputError) as error:
            on_each_core(words, Deployment())
        assert str(error.value).startswith(f"--program {words}".rstrip()) and "\n" not in str(error.value)


def test_salts() -> None:
    """layouts have the same images; one that stands beside itself has others"""
    one, again = cases(Programs(parse(SLEEPS), ["spanning", "spanning"]))
    other = cases(Programs(parse(SLEEPS), ["per-socket", "spanning"]))
    assert (one.name, again.name) == ("spanning", "spanning again")
    assert [[runs.salt(case, draw, 3) for draw in range(3)] for case in (one, again)] == [[1, 2, 3], [4, 5, 6]]
    assert [[runs.salt(case, draw, 2) for draw in range(2)] for case in other] == [[1, 2], [1, 2]]
    assert one.salted(0).job.plugin == {} and one.salted(4).job.plugin == {"salt": "4"}


def mark(number: int, clock: int, busy: int = 0) -> Mark:
    return Mark(number, clock, 0, [busy, 2 * busy], [0, 0], (busy, busy))


@pytest.mark.parametrize("marks, cycles", [
    ([mark(0, 10), mark(1, 100), mark(2, 300)], 200), ([mark(0, 10), mark(9, 300)], 290),
])  # fmt: skip
def test_interval(marks: list[Mark], cycles: int) -> None:
    """programs are measured between their barriers, or from start to end"""
    assert programs._cycles(programs._interval("spanning", marks)) == cycles


@pytest.mark.parametrize("numbers", [[], [0], [0, 1], [0, 1, 9], [0, 1, 1, 2, 2], [0, 2]])
def test_odd_marks(numbers: list[int]) -> None:
    """marks that are no interval are an error, which names them"""
    with pytest.raises(Failure, match="spanning: the emulator saw the marks"):
        programs._interval("spanning", [mark(number, 1) for number in numbers])


# ---- Ratios and words ----


def layout(name: str, values: Mapping[str, Sequence[float]], programs_of_each: int = 1,
           acquisitions: int = 1000) -> Layout:
    """Returns a layout's runs: of each metric a value for each image."""
    draws = []
    for place in range(len(next(iter(values.values())))):
        metrics = tuple(Combined(metric, *(("us", "lower") if metric == "time" else ("ops/s", "higher")),
                                 (of[place],) * programs_of_each) for metric, of in values.items())
        draws.append(Measured(Result(
            layout=name, lock="clh", workload="own", clusters=1 + (name == "per-socket"), cores=2, emulated=True,
            metrics={metric.name: metric.value for metric in metrics},
            per_core=[{"cluster": 0, "core": core, "cpu_utilisation": 0.5} for core in range(2)],
            observed=Entries(0, entries=2000, acquisitions=acquisitions, conflicts=250, wait=4000, hold=6000, moves=10,
                             handover=500, cycles=2_000_000), modelled=XEON.to_json(),
        ), metrics))
    return Layout(name, draws)


def test_oriented() -> None:
    """a ratio says how many times as good the first layout is, whichever values are better"""
    pair = Beside(layout("per-socket", {"ops": [120, 130], "time": [10, 10], "none": [0, 0]}),
                  layout("spanning", {"ops": [100, 100], "time": [20, 25], "none": [0, 1]}), XEON)
    assert pair.ratios("ops") == pytest.approx([1.2, 1.3]) and pair.ratios("time") == pytest.approx([2, 2.5])
    assert pair.spread("none") is None
    document = pair.to_json()
    assert document["metrics"] == pytest.approx({"ops": 1.25, "time": 2.25})
    assert document["images"]["ops"]["low"] < 1.2 and document["images"]["count"] == 2
    assert "none: no ratio, since a value is 0." in document["answer"]
    json.dumps(document)


def test_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """the verdict has each metric's ratio with its interval, and says where that includes 1"""
    pair = Beside(layout("per-socket", {"ops": [120, 121, 119], "time": [10, 20, 10]}),
                  layout("spanning", {"ops": [100, 100, 100], "time": [11, 12, 10]}), XEON)
    ops, time, first, second, trust = pair.sentences()
    assert ops.startswith("ops (ops/s): 2 kernels (per-socket) are 1.20 times as good as one kernel for the machine "
                          "(spanning); another image's ratio is 1.1") and "(3 images)" in ops
    assert "The interval over images includes 1" in time and "includes 1" not in ops
    assert "time (us: less is better)" in time
    assert first == ("per-socket: 1,000,000 kernel entries a second on each core; 25% of acquisitions find the lock "
                     "taken, it is waited for 4 cycles and held 6 on average.")
    assert second.startswith("spanning: ") and "over images, not over prices" in trust
    Output().table(pair.table())
    printed = capsys.readouterr().out
    assert "time, us (less is better)" in printed and "50.0%" in printed and "1.200 (1.1" in printed
    unlocked = Beside(pair.first, layout("homed", {"ops": [100, 100, 100], "time": [1, 2, 3]}, acquisitions=0), XEON)
    assert unlocked.sentences()[3].endswith("on each core; none takes a lock of the whole kernel.")
    Output().table(unlocked.table())
    assert re.search(r"lock mean hold, cycles +. +6 . +- ", capsys.readouterr().out)
    alone = comparison.alone(pair.first)
    assert alone == ["per-socket: ops 120 ops/s, time 10 us. Nothing stands beside it, so there is no ratio: --layout "
                     "takes several."]


def at_prices(one: Layout, values: Mapping[str, Sequence[float]]) -> Layout:
    """Returns the layout with a run at each price set of the design, with these values."""
    return replace(one, priced=layout(one.name, values).draws)


def test_prices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a metric's ratio has its interval over price sets, says what moves it, and both are drawn"""
    sets = design(groups(XEON))
    own = own_positions(XEON)["cpi_user"]
    usual = 100 * exp(0.3 * own)  # at the machine's own prices
    faster = [100 * exp(0.3 * positions["cpi_user"]) for positions in sets]
    pair = Beside(at_prices(layout("per-socket", {"ops": [usual, usual], "time": [10, 11], "none": [1, 1]}),
                            {"ops": faster, "time": [10.0] * len(sets), "none": [0.0] * len(sets)}),
                  at_prices(layout("spanning", {"ops": [100, 101], "time": [20, 20], "none": [1, 2]}),
                            {"ops": [100.0] * len(sets), "time": [20.0] * len(sets), "none": [1.0] * len(sets)}), XEON)
    assert list(pair.studies) == ["ops", "time"]  # the third is 0 at some prices
    ops, time = pair.prices("ops"), pair.prices("time")
    assert ops and time and (time.low, time.high) == pytest.approx((1.9, 1.9), rel=0.05)
    ends = [pair.spreads["ops"].median * exp(0.3 * (0.95 * end - own)) for end in (-1, 1)]
    assert (ops.low, ops.high) == pytest.approx(ends, rel=0.1)
    said = pair.sentences()
    assert f"; at other prices it is {ops} (95 % of sets)" in said[0] and "at other prices" not in said[2]
    assert said[3].startswith("ops: the ratio depends most on the price") and "cpi_user" in said[3].split(",")[0]
    assert said[-1].endswith("intervals are over images and over these prices.")
    assert pair.bars[0].group == "cpi_user"
    known = pair.to_json()["prices"]
    assert known["level"] == 0.95 and known["ops"]["low"] == ops.low and len(known["ops"]["runs"]) == len(sets)
    assert known["ops"]["tornado"][0]["group"] == "cpi_user" and "none" not in known
    assert pair.first.to_json()["priced"][0]["ops"] == faster[0]
    Output().table(pair.table())
    assert str(ops) in capsys.readouterr().out
    picture = tmp_path / "a.svg"
    program_plot.plot([pair.first, pair.second], [pair], "Modelled", picture)
    drawn = picture.read_text()
    assert drawn.startswith("<?xml") and len(drawn) > 10_000


def test_without_prices(tmp_path: Path) -> None:
    """without a run at each price set there is no interval over prices, and a picture without it"""
    one, other = layout("per-socket", {"ops": [120, 130]}), layout("spanning", {"ops": [100, 100]})
    pair = Beside(at_prices(one, {"ops": [1.0] * 12}), other, XEON)
    assert not pair.studies and "prices" not in pair.to_json() and pair.prices("ops") is None
    program_plot.plot([one, other], [pair], "Modelled", tmp_path / "a.png")
    program_plot.plot([one], [], "Under KVM", tmp_path / "b.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))


@pytest.mark.filterwarnings("ignore:Tight layout not applied")
def test_any_figures(tmp_path: Path) -> None:
    """figures from the least to the greatest that a program may print have finite intervals, and a picture"""
    ends = [1e100, 1e-100]
    one, other = layout("per-socket", {"ops": ends}), layout("spanning", {"ops": ends[::-1]})
    pair = Beside(at_prices(one, {"ops": ends * 6}), at_prices(other, {"ops": ends[::-1] * 6}), XEON)
    assert json.dumps(pair.to_json(), allow_nan=False) and pair.sentences() and pair.table().row_count
    program_plot.plot([one, other], [pair], "Modelled", tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()


def test_runs() -> None:
    """each layout boots once for the first image and all price sets, and once for each other image; a control and
    --quick have no price sets"""
    made = cases(Programs(parse(SLEEPS), ["per-socket", "spanning"], modelled=XEON))
    sets = runs.price_sets(made, quick=False)
    assert len(sets) == 12 and not runs.price_sets(made, quick=True)
    again = cases(Programs(parse(SLEEPS), ["spanning", "spanning"], modelled=XEON))
    assert not runs.price_sets(again, quick=False)
    priced = runs.priced(made[0], sets)
    assert [case.job.plugin["salt"] for case in priced.values()] == ["1"] * 12
    assert len({case.job.priced.prices["cpi_user"].cycles for case in priced.values() if case.job.priced}) == 2
    drawn = {runs.Setting(draw): runs.on_image(made[0], draw, 3) for draw in range(3)}
    called = runs.timed([(made[0], drawn | priced)], Accel("tcg", (), ""), runs.run_each_program)
    booted = [len(call.arguments[1]) for call in called.values()]
    assert sum(booted) == 15 and booted.count(1) == 2


@pytest.mark.parametrize("other, wrong", [
    ({"ops": [1.0]}, "metric time: printed by 1 program in us, better=lower, in a run under per-socket, printed by no "
                     "program in one under spanning"),
    ({"ops": [1.0], "time": [1.0], "more": [1.0]}, "metric more: printed by no program in a run under per-socket"),
])  # fmt: skip
def test_unlike(other: dict[str, list[float]], wrong: str) -> None:
    """layouts whose runs do not print the same metrics are not compared"""
    with pytest.raises(Failure, match=wrong):
        comparison.check_alike([layout("per-socket", {"ops": [1], "time": [1]}), layout("spanning", other)])
    with pytest.raises(Failure, match="by 2 programs in ops/s"):
        comparison.check_alike([layout("per-socket", {"ops": [1]}), layout("spanning", {"ops": [1]}, 2)])


# ---- The command line ----


@pytest.mark.parametrize("words, culprit", [
    (["own.toml", "--program", "sleep"], "--program"),
    (["own.toml", "--workload", "a"], "--workload"),
    (["--program", "sleep", "--clients", "1"], "--clients"),
    (["--program", "sleep", "--verify"], "--verify"),
    (["--program", "sleep", "--records", "5"], "--records"),
    (["--program", "sleep", "--plot", "a.nothing"], "--plot"),
    (["--program", "nothing"], "--program nothing"),
    (["--program", "sleep", "--layout", "per-socket,map.dts"], "--layout"),
    (["map.dts"], "map.dts"),
    (["--machine", "xeon-e5-2683v3", "--cores", "3", "--program", "sleep"], "--cores"),
])  # fmt: skip
def test_refused(words: list[str], culprit: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                 tmp_path: Path) -> None:
    """compare FILE and --program: what does not fit together is refused in one line, before anything is built"""
    file_of(tmp_path, SLEEPS)
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *words, "--json", str(tmp_path / "a.json")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"skerry: {culprit}") and said.count("\n") == 1, said


def test_redis_as_a_file(tmp_path: Path) -> None:
    """a deployment with a YCSB load is a case like any other"""
    text = "[machine]\nsockets = 2\ncores = 3\n[redis]\nheap = '64M'\n[ycsb]\nclients = 1\n"
    read = of_file(file_of(tmp_path, text), None)
    assert read.redis == Redis(heap=64 << 20)
    assert all(case.plan.load for case in cases(Programs(read, ["per-socket", "spanning"])))


@pytest.mark.parametrize("status, wrong", [(0, []), (1, ["sleep@5: ended before its clients"])])
def test_program_beside_a_load(status: int, wrong: list[str]) -> None:
    """a program of a deployment may end well before the clients of its Redis; Redis may not"""
    text = f"[machine]\nsockets = 1\ncores = 3\n[redis]\ninstances = 1\n[ycsb]\nclients = 1\n{SLEEPS}"
    made = plan(parse(text))
    redis, sleep = (next(app.name for app in made.cluster_map.applications if app.base_name == name)
                    for name in ("redis", "sleep"))
    problems = check(made, stream({"event": "exit", "app": redis, "status": 0},
                                  {"event": "exit", "app": sleep, "status": status}))
    ended = [problem for problem in problems if "before its clients" in problem]
    assert ended == [f"{redis}: ended before its clients", *(text.replace("sleep@5", sleep) for text in wrong)]
