# SPDX-License-Identifier: BSD-2-Clause
"""Tests the words of a comparison: the answer, its model, layouts that are alike, the plot."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import pytest
from matplotlib import colors  # noqa: E402

from deploy.base.errors import Failure
from deploy.cli.commands.measure.compare import alike
from deploy.cli.main import command_module, main
from deploy.compare import plot, unpriced
from deploy.compare.images import RANGED, Draw, Images, Spread
from deploy.compare.interval import Interval, of_mean, prediction
from deploy.compare.prices import RUNS, Bar, Positions, Study, design, groups, own_positions
from deploy.compare.verdict import APART, Answer, alone, answers
from deploy.emulator import run
from deploy.emulator.entries import Entries
from deploy.emulator.machine_file import load
from deploy.load.case import cases
from deploy.load.comparison import Comparison, with_common_switch
from deploy.results.counting import Counting
from deploy.results.result import DISTORTED, Result, with_work
from topology import demand
from topology.machines.machine import Shape
from topology.units import GIB

from .test_closed import FIRST, SECOND, measured
from .test_results import both

# ---- The sentences that a comparison on a modelled machine ends with ----

MACHINE = load("xeon-e5-2683v3")


def result(layout: str, clusters: int, ops: float, busy: tuple[float, ...] = (0.4, 0.3),
           mean_us: float = 100.0) -> Result:
    metrics = {"ops_per_s": ops, "p50_us": 1e6 / ops, "p99_us": 2e6 / ops, "mean_us": mean_us,
               "channel_hops_per_op": 2.0 * (clusters > 1)}
    cores = [{"core": 14 * i, "cluster": 0, "ops_per_s": 0.0, "cpu_utilisation": share} for i, share in enumerate(busy)]
    cores.append({"core": 1, "cluster": 0, "ops_per_s": ops, "cpu_utilisation": 0.99})
    apps = [{"program": name} for name in ("switch", "redis-server", "ycsb", "ycsb")]
    seen = Entries(operations=1000, entries=11_200, acquisitions=11_200, conflicts=4480, wait=11_200 * 770,
                   hold=11_200 * 180, moves=33_600, handover=11_200 * 90)
    return Result(layout, "clh", "c", clusters, 28, True, metrics, cores, machine={"applications": apps}, observed=seen)


def answer(first: float, second: float, study: Study | None = None) -> Answer:
    return answers(MACHINE, [(result("per-socket", 2, first), result("spanning", 1, second))], studies=[study])[0]


def study(middle: float, effect: float) -> Study:
    """A study in which the price of programs' instructions alone moves the ratios."""
    def moved(positions: Positions) -> dict[str, float]:
        return dict.fromkeys(RANGED, middle * exp(effect * positions["cpi_user"]))

    own = moved(own_positions(MACHINE))
    return Study(MACHINE, [moved(one) for one in design(groups(MACHINE))], own, own)


def images(*rates: tuple[float, float], control: bool = False) -> Images:
    """Images with these operations per second of either side."""
    return Images(tuple(Draw((salt, salt + len(rates) * control), result("per-socket", 2, first),
                             result("spanning", 1, second)) for salt, (first, second) in enumerate(rates)))


def test_verdict() -> None:
    """which layout, by how much, how surely, on which machine"""
    said = replace(answer(340.0, 250.0, study(1.5, -0.3)),
                   images=images((340.0, 250.0), (345.0, 250.0), (350.0, 250.0)))
    verdict = said.sentences()[0]
    assert verdict.startswith("2 kernels (per-socket) do 1.38 times the operations per second of one kernel for the "
                              "machine (spanning): 1.28 to 1.48 on another image (95 %, from 3); 1.13 to 1.99 at ")
    assert MACHINE.name in verdict and "undecided" not in verdict
    assert "YCSB C (1 Redis, 2 clients, 1,000 operations)" in verdict
    assert said.to_json()["prices"]["ops_per_s"]["low"] == pytest.approx(1.5 * exp(-0.3 * 0.95), rel=0.01)
    assert "depends most on the prices cpi_user from 0.25 to 1.5 cycles (x 1.35 to x 0.74)" in said.sentences()[1]
    assert said.to_json()["modelled"]["machine"] == MACHINE.name


def test_cores_with_other_work() -> None:
    """a core that executes 1 % more or less for an operation than the median core is named, with how much"""
    first, second = result("per-socket", 2, 340.0), result("spanning", 1, 250.0)
    marks = [1000] * 6, [1000 + 100 * work for work in (7, 215, 216, 217, 210, 232)]
    cores = [{"core": core, "cluster": 0, "operations": 100.0 * (core > 0), "ops_per_s": 50.0, "cpu_utilisation": 0.5}
             for core in range(6)]
    first = with_work(replace(first, per_core=cores), *marks)
    assert [core["instructions_per_op"] for core in first.per_core] == [None, 215, 216, 217, 210, 232]
    (verdict,) = answers(MACHINE, [(first, second)])
    (said,) = [sentence for sentence in verdict.sentences() if "the same work" in sentence]
    assert said.startswith("per-socket: ") and "of 5 with a load, 2 (cores 4, 5)" in said and "+7.4% at most" in said


def test_homed() -> None:
    """a kernel whose objects have homes is named so, and each layout's lock where they differ"""
    first, second = result("per-socket", 2, 340.0), replace(result("homed", 1, 250.0), lock="dynamic")
    (said,) = answers(MACHINE, [(first, second)])
    headline = said.sentences()[0]
    assert "one kernel for the machine with objects at home on their node (homed): " in headline
    assert ", lock clh against dynamic, " in headline
    unlocked = replace(second, observed=Entries(1000, 11_200, acquisitions=0, conflicts=0, wait=0, hold=0, moves=0,
                                                handover=0))
    why = answers(MACHINE, [(first, unlocked)])[0].sentences()[2]
    assert why.startswith("homed: 11.2 kernel entries an operation, none of which takes a lock of the whole kernel")
    assert "lines move" not in why and why.endswith("go through no channel between kernels.")


def test_undecided() -> None:
    """an interval that includes 1 decides nothing, and the headline says which"""
    def headline(prices: Study, *rates: tuple[float, float]) -> str:
        return replace(answer(*rates[0], prices), images=images(*rates)).sentences()[0]

    near, far = study(1.1, -0.2), study(1.4, -0.1)
    apart, mixed = ((100.0, 79.0), (100.0, 80.0)), ((100.0, 99.0), (100.0, 101.0))
    assert "undecided" not in headline(far, *apart)
    assert "undecided, for the interval over prices includes 1." in headline(near, *apart)
    assert "undecided, for the interval over images includes 1." in headline(far, *mixed)
    assert "undecided, for the interval over images and that over prices includes 1." in headline(near, *mixed)


def test_intervals() -> None:
    """Student's t on logarithms: of one more image, and of the mean; none of a single one"""
    ratios = [1.2, 1.25, 1.3, 1.28]
    more, mean = prediction(ratios), of_mean(ratios)
    assert more and mean
    assert (more.low, more.high) == (pytest.approx(1.1103, abs=2e-4), pytest.approx(1.4229, abs=2e-4))
    assert (mean.low, mean.high) == (pytest.approx(1.1891, abs=2e-4), pytest.approx(1.3286, abs=2e-4))
    assert prediction([1.2]) is None and of_mean([1.2]) is None
    assert Interval(0.9, 1.1).undecided and not Interval(1.01, 1.1).undecided and not Interval(0.8, 0.99).undecided
    many = prediction([1.0, 1.1] * 30)
    assert many and many.low == pytest.approx(0.9519, abs=1e-3)


@pytest.mark.parametrize("images", [4, 8])
@pytest.mark.parametrize("kernel, salt", [(0.0035, 0.0109), (0.0109, 0.0035), (0.0, 0.01)])
def test_coverage(images: int, kernel: float, salt: float) -> None:
    """the interval holds another kernel's ratio as often as it says, however large the parts of kernel and salt are"""
    draw = Random(1)

    def ratio() -> float:
        return 1.42 * exp(draw.gauss(0, kernel) + draw.gauss(0, salt))

    inside = 0
    for _ in range(2000):
        interval = prediction([ratio() for _ in range(images)])
        inside += bool(interval) and interval.low <= ratio() <= interval.high
    assert 0.935 < inside / 2000 < 0.965


def test_images() -> None:
    """the median, its intervals, and every draw with its kernels and salts are in the JSON"""
    document = images((340.0, 250.0), (345.0, 250.0), (350.0, 250.0)).to_json()
    assert document["count"] == 3 and document["ops_per_s"]["median"] == pytest.approx(1.38)
    low, high = document["ops_per_s"]["low"], document["ops_per_s"]["high"]
    assert low < document["ops_per_s"]["mean_low"] < 1.38 < document["ops_per_s"]["mean_high"] < high
    assert document["draws"][1] == {"kernels": [0, 0], "salts": [1, 1], "ratio": pytest.approx(1.38),
                                    "ops_per_s": [345.0, 250.0], "p50_us": [1e6 / 345, 4000.0],
                                    "p99_us": [2e6 / 345, 8000.0]}


def test_control() -> None:
    """one layout beside itself is a control: its interval is that of the mean, and what it should be is said"""
    of = images((100.0, 100.5), (100.0, 99.5), (100.0, 100.2), control=True)
    said = replace(answer(100.0, 100.0), images=of).sentences()[0]
    assert of.control and "a control, whose ratio is 1; measured 0.99 to 1.01 for the mean of 3 images (95 %)" in said


def test_counted_apart() -> None:
    """where the tables show the locks of kernels that count, a sentence says why those figures are other ones"""
    first, second = result("per-socket", 2, 2.0), result("spanning", 1, 1.0)
    assert APART not in answer(2.0, 1.0).sentences()
    counted = replace(first, counting=Counting("clh+stat", 1000)), replace(second, counting=Counting("clh+stat", 1000))
    sentences = answers(MACHINE, [counted])[0].sentences()
    assert sentences.index(APART) == 3 and "find the lock taken" in sentences[2]


def test_quick() -> None:
    """without other prices or other images there is no interval over them, and that is said"""
    said = answer(340.0, 250.0)
    assert ": other images were not measured; other prices were not measured. On" in said.sentences()[0]
    assert "prices" not in said.to_json() and not said.bars and "low" not in said.to_json()["images"]["ops_per_s"]
    said = replace(said, images=images((340.0, 250.0), (345.0, 250.0)))
    assert "other prices were not measured" in said.sentences()[0]


def test_why() -> None:
    """entries, conflicts and waits of each layout; a network core that limits the others; what is assumed"""
    said = answer(2.0, 1.0)
    text = "\n".join(said.sentences())
    assert text.count("11.2 kernel entries an operation") == 2 and "limits the others" not in text
    assert text.count("40% of them find the lock taken, and a lock is waited for 770 cycles and held 180 on average, "
                      "in which 3.0 lines move") == 2
    assert "go through 2.0 channels between kernels" in text and "go through no channel between kernels" in text
    assert f"{len(MACHINE.assumed)} of the machine's {len(MACHINE.prices)} prices are assumed" in text
    assert "How sure: " in (trust := said.sentences()[-1]) and "trust which layout wins" in trust
    other = replace(said, machine=load("epyc-7402")).sentences()[-1]
    assert "Nothing published of this machine" in other and "38%" not in other
    busy = replace(said, second=result("spanning", 1, 1.0, (0.99, 0.95)))
    assert "spanning: the network's cores 0, 14 are busy" in "\n".join(busy.sentences())
    one = replace(said, second=result("spanning", 1, 1.0, (0.99, 0.5)))
    assert "spanning: the network's core 0 is busy" in "\n".join(one.sentences())


def test_model() -> None:
    """with watched runs the sentences, and the JSON, say where it makes no difference, and how far the model is off"""
    pair = measured(), measured(SECOND)
    drawn = Images((Draw((0, 0), *pair), Draw((1, 1), *(measured(side.scaled(user=1.02)) for side in (FIRST, SECOND)))))
    (said,) = answers(MACHINE, [pair], [drawn])
    assert said.model and said.model.first.user == pytest.approx(1.01 * FIRST.user, rel=1e-3)
    (text,) = [line for line in said.sentences() if "makes no difference" in line]
    assert "up to 8 loaded cores of each socket (here 13)" in text and "can be is 2.24" in text
    data = said.to_json()["model"]
    assert data["break_even_cores_per_socket"] == 8 and "checks" not in data
    checked = replace(said, checks={0.75: pair})
    assert "with 13 measured 1.27, modelled 1.25 (-0.9%)" in checked.sentences()[-2]
    (check,) = checked.to_json()["model"]["checks"]
    assert check["cores"] == 13 and check["measured"] == pytest.approx(1.266, abs=1e-3)
    assert len(checked.sentences()) <= 10


def test_same_map() -> None:
    """two layouts that are the same map differ with no program, on no number of cores and at no prices"""
    pair = measured(), measured(replace(FIRST, layout="per-l3"))
    images = Images((Draw((1, 1), *pair),))
    same = {metric: 1.0 for metric in RANGED}
    (said,) = answers(MACHINE, [pair], [images], [Study(MACHINE, [same] * RUNS, same, same)])
    text = " ".join(said.sentences())
    assert "they differ by less than 5% with any program" in text and "no other program" not in text
    assert said.bars == [] and "depends most" not in text and "undecided" in text


@pytest.mark.parametrize("lock", ["rtm", "dynamic"])
def test_no_model(lock: str) -> None:
    """of transactions, of locks that change, and of a control, there is no model, and no figure is made up"""
    pair = measured(lock=lock), measured(SECOND, lock=lock)
    (said,) = answers(MACHINE, [pair])
    assert said.model is None and "model" not in said.to_json() and "no difference" not in " ".join(said.sentences())
    control = Images((Draw((0, 1), measured(), measured()),))
    assert answers(MACHINE, [pair], [control])[0].model is None


def test_unpriced() -> None:
    """a comparison without prices ends in sentences: the ratio, its instructions, and what it does not say"""
    first, second = both()
    verdict, trust = unpriced.sentences(first, second)
    assert "2 kernels (per-socket) do 2.00 times" in verdict and "one kernel for the machine (spanning)" in verdict
    assert "Cache lines cost nothing" in trust
    first, second = (one.with_metrics({"instructions_per_op": count, "instructions_per_op_by.kernel": 3000.0})
                     for one, count in ((first, 37_000.0), (second, 38_000.0)))
    counted = unpriced.sentences(first, second)
    assert (
        "2 kernels (per-socket) take 0.974 times the instructions an operation of one kernel for the machine (spanning)"
        in counted[0]
    )
    assert counted[1].startswith("per-socket 37,000, of them 3,000 in the kernel; spanning 38,000")
    assert not [word for word in ("per second", "latency", "µs") if word in " ".join(counted)]
    assert "as many instructions an operation as" in unpriced.sentences(first, first)[0]
    assert "as many operations per second as" in unpriced.sentences(both()[0], both()[0])[0]
    assert "times of one run" in unpriced.sentences(*(replace(r, emulated=False) for r in both()))[-1]


def test_alone() -> None:
    """a layout alone ends in a sentence, too, which says that there is no ratio"""
    said = alone(result("homed", 1, 1_198_898.0))
    assert said[0].startswith("One kernel for the machine with objects at home on their node (homed), lock clh: "
                              "1,198,898 operations per second.")
    assert "there is no ratio" in said[0] and said[1].startswith("homed: 11.2 kernel entries an operation")
    counted = replace(result("per-socket", 2, 2.0), round_robin=True, observed=None)
    counted = counted.with_metrics({"instructions_per_op": 22_440.0})
    assert alone(counted) == ["2 kernels (per-socket), lock clh: 22,440 instructions for an operation. Nothing stands "
                              "beside it, so there is no ratio: "
                              "--layout takes several."]  # fmt: skip


def test_old_qemu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """a QEMU that cannot run a modelled machine is said before anything is built"""
    def build(*rest: object) -> None:
        raise AssertionError("built")

    monkeypatch.setattr(run.qemu, "version", lambda *rest: (8, 2))
    monkeypatch.setattr(run.shutil, "which", lambda *rest: "/usr/bin/qemu")
    for words in (["compare"], ["bench", "scale", "--machine", MACHINE.path.stem],
                  ["bench", "ipc", "--machine", MACHINE.path.stem]):
        module = command_module(".".join(word for word in words[:2] if not word.startswith("-")))
        monkeypatch.setattr(module, "ensure_built", build)
        assert main(words) == 1
        assert capsys.readouterr().err.startswith("skerry: QEMU 8.2 cannot run a modelled machine; 9.2 and later can")


def asked_for(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """Returns what compare makes of its options, before it checks and builds."""
    asked: list[Comparison] = []

    def stop(job: Comparison) -> None:
        asked.append(job)
        raise Failure("far enough")

    monkeypatch.setattr("deploy.load.request.checked", stop)
    assert main(["compare", *words]) == 1
    return asked[0]


@pytest.mark.parametrize("words, clients", [
    ([], 2), (["--machine", "epyc-7402"], 1), (["--machine", "epyc-7402", "--layout", "per-l3,spanning"], 1),
    (["--clients", "1"], 1),
    (["--cores", "29"], 1),
])  # fmt: skip
def test_clients(words: list[str], clients: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """two clients of each Redis, or one where the machine has more cores than the network has ports for"""
    assert asked_for(words, monkeypatch).clients == clients


@pytest.mark.parametrize("words, culprit", [
    (["--machine", "nope"], "--machine nope"),
    (["--quick", "--icount"], "--quick"),
    (["--verify", "--icount"], "--verify"),
    (["--map", "--icount"], "--map"),
    (["--map", "--lock", "fine"], "--lock"),
    (["--map", "--layout", "spanning"], "--layout"),
    (["--map", "--switch", "ring"], "--map"),
    (["--program", "wakeups", "--relink", "3"], "--relink"),
    (["--map", "--program", "wakeups"], "--map"),
    (["--map", "--images", "2"], "--map"),
    *((["--machine", "xeon-e5-2683v3", *odd], odd[0]) for odd in (
        ["--cores", "3"], ["--sockets", "2"], ["--icount"], ["--accel", "kvm"], ["--boot", "kernel"],
        ["--baseline", "linux"],
        ["--smt", "on"],
    )),
], ids=" ".join)  # fmt: skip
def test_refused(words: list[str], culprit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """compare --machine: what a modelled machine leaves no choice for is refused in one line"""
    assert main(["compare", *words]) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1 and complaint.startswith(f"skerry: {culprit}")


@pytest.mark.parametrize("words, machine", [
    ([], MACHINE.name), (["--icount"], None), (["--cores", "3"], None), (["--accel", "tcg"], None),
    (["--baseline", "linux"], None),
])  # fmt: skip
def test_default(words: list[str], machine: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """compare: the machine is the papers' Xeon, modelled, unless an option says how or what to emulate"""
    job = asked_for(words, monkeypatch)
    assert (job.modelled and job.modelled.name) == machine
    assert job.records == (10_000 if machine is None else 50)


# ---- Layouts that a machine divides alike: `compare` says so before it runs anything ----

@pytest.mark.parametrize(("shape", "layouts", "expected"), [
    (Shape(2, 2, 4 * GIB), ("per-socket", "spanning"), []),
    (Shape(2, 2, 4 * GIB), ("per-socket", "size=2", "spanning"), [["per-socket", "size=2"]]),
    (Shape(1, 4, 4 * GIB), ("per-socket", "size=2", "spanning"), [["per-socket", "spanning"]]),
    (Shape(2, 2, 4 * GIB), ("per-numa", "spanning", "per-l3", "size=4"),
     [["per-numa", "per-l3"], ["spanning", "size=4"]]),
    (Shape(2, 2, 4 * GIB), ("homed", "spanning"), []),
])  # fmt: skip
def test_alike(shape: Shape, layouts: tuple[str, ...], expected: list[list[str]]) -> None:
    assert alike(cases(with_common_switch(Comparison(shape, layouts)))) == expected


# ---- The picture of a comparison: readable with 28 cores, in print, and in grey ----

demand.module("matplotlib", "plots")

CORES_PLOT = 28
MODELLED = {"machine": "2 x 14 Xeon E5-2683 v3"}


def result_plot(layout: str, ops: float, modelled: bool = True, turns: bool = False) -> Result:
    cores = [{"core": core, "ops_per_s": 0.0 if core % 14 == 0 else ops / 26 * (1 + core / 1000)}
             for core in range(CORES_PLOT)]
    metrics = {"ops_per_s": ops, "p99_us": 40.0, "lock_conflict_ratio": 0.5, "kernel_entries_per_op": 2.06,
               "instructions_per_op": 22_440.0}
    return Result(layout, "clh", "c", 2, CORES_PLOT, True, metrics, cores, round_robin=turns,
                  modelled=MODELLED if modelled else None)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures, in place of files."""
    found: list[Any] = []
    monkeypatch.setattr(plot, "save", lambda figure, output: found.append(figure))
    return found


def words(figure: Any) -> list[Any]:
    """All that is written, with where it is."""
    figure.canvas.draw()
    texts = [text for axes in figure.axes
             for text in (*axes.texts, axes.title, *axes.get_xticklabels(), *axes.get_yticklabels())]
    return [text for text in texts if text.get_text()]


SPREADS = {"ops_per_s": Spread(1.30, Interval(1.16, 1.64), Interval(1.28, 1.32))}


@pytest.mark.parametrize("layouts", [("per-socket", "spanning"), ("per-socket", "homed", "spanning")])
def test_nothing_overlaps(layouts: tuple[str, ...], drawn: list[Any]) -> None:
    """no two texts of a picture of 28 cores overlap, and none has an exponent"""
    results = [result_plot(layout, 1_273_292.0 - 100_000 * n) for n, layout in enumerate(layouts)]
    plot.plot(results, "a mode", Path("x.svg"), [SPREADS] * (len(layouts) - 1))
    texts = words(drawn[0])
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    over = [(a, b) for n, (a, one) in enumerate(boxes) for b, other in boxes[n + 1 :] if one.overlaps(other)]
    assert not over, over
    assert not [text for text, _ in boxes if "e+" in text or "core 12" in text]


def test_tornado(drawn: list[Any]) -> None:
    """what moves the ratio has a bar for each group, from its low prices to its high ones, and no text overlaps"""
    both = [result_plot("per-socket", 1_273_292.0), result_plot("spanning", 977_591.0)]
    bars = [Bar("cpi_user", {}, 1.22, 0.82), Bar("tlb_walk", {}, 1.06, 0.94), Bar("upgrade", {}, 0.97, 1.03)]
    plot.plot(both, "a mode", Path("x.svg"), [SPREADS], bars)
    panel = drawn[0].axes[1]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["cpi_user", "tlb_walk", "upgrade"]
    ends = [bar.get_x() + bar.get_width() for bar in panel.patches]
    assert ends == pytest.approx([1.22, 0.82, 1.06, 0.94, 0.97, 1.03])
    boxes = [text.get_window_extent() for text in words(drawn[0])]
    assert not [1 for n, one in enumerate(boxes) for other in boxes[n + 1 :] if one.overlaps(other)]


def test_range(drawn: list[Any]) -> None:
    """the ratio has a whisker as long as its interval, and that in words; without one there is neither"""
    both = [result_plot("per-socket", 1_273_292.0), result_plot("spanning", 977_591.0)]
    plot.plot(both, "a mode", Path("x.svg"), [SPREADS])
    plot.plot(both, "a mode", Path("x.svg"))
    (ranged, plain) = (figure.axes[0] for figure in drawn)
    ends = [segment[:, 0] for lines in ranged.collections for segment in lines.get_segments()]
    assert [pytest.approx([1.16, 1.64])] == [list(end) for end in ends]
    assert "1.30 (1.16 to 1.64)" in [text.get_text() for text in ranged.texts] and "1.30" in [text.get_text()
        for text in plain.texts]


def test_grey() -> None:
    """the colours of the two layouts are far apart without colour, and a hatch tells others apart"""
    def grey(colour: str) -> float:
        return sum(share * part for share, part in zip((0.299, 0.587, 0.114), colors.to_rgb(colour)))

    assert abs(grey(plot.COLOURS[0]) - grey(plot.COLOURS[1])) > 0.4
    assert len(set(plot.HATCHES)) == len(plot.HATCHES) >= len(plot.COLOURS)


def test_what_it_is_of(drawn: list[Any]) -> None:
    """a picture of modelled figures says so, and not that they are emulated; what turns distort is on none"""
    plot.plot([result_plot("per-socket", 2e6), result_plot("spanning", 1e6)], "a mode", Path("x.svg"))
    plot.plot([result_plot("per-socket", 2e4, False, True), result_plot("spanning", 1e4, False, True)], "a mode",
              Path("x.svg"))
    modelled, counted = (figure._suptitle.get_text() for figure in drawn)
    assert modelled.endswith("(modelled: 2 x 14 Xeon E5-2683 v3)") and counted.endswith("(emulated)")
    titles = [axes.get_title() for axes in drawn[1].axes]
    assert "instructions" in titles and not {"p99 latency", "lock found taken"} & {*titles} and "p99_us" in DISTORTED


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_formats(suffix: str, tmp_path: Path) -> None:
    """the file's name tells the format"""
    path = tmp_path / f"x{suffix}"
    plot.plot([result_plot("per-socket", 2e6), result_plot("spanning", 1e6)], "a mode", path)
    assert path.read_bytes().startswith({".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}[suffix])
