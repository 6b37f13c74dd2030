# SPDX-License-Identifier: BSD-2-Clause
"""Latency over offered load, of results that were never measured."""

from pathlib import Path

import pytest

from deploy.cli.main import main
from deploy.compare.open_loop import Curve, OpenLoop, Point
from deploy.compare.open_loop_plot import plot
from deploy.deployment import Load
from deploy.deployment.planner import client_args
from deploy.load.case import case
from deploy.load.comparison import Comparison
from deploy.results import ycsb
from deploy.results.result import Result
from tests.unit.deploy import synthetic
from topology.machines.machine import Shape


def result(layout: str, rate: float, p99: float, pace: float = 1.0) -> Result:
    """One run: half of its operations take 10 us, and one in a hundred takes p99 and more."""
    metrics = {"ops_per_s": rate, "p50_us": 10.0, "p99_us": p99, "p999_us": 2 * p99, "max_us": 3 * p99,
               "pace_ratio": pace}
    return Result(layout, "clh", "c", 1, 4, True, metrics, [], latency_us=[(10.0, 985), (p99, 12), (2 * p99, 3)])


def curve(layout: str, of_images: list[list[float]], capacity: float = 1000.0) -> Curve:
    """`of_images`: each image's p99 at 250, 500, ... operations a second."""
    points = []
    for place, p99 in enumerate(zip(*of_images), 1):
        offered = 250.0 * place
        pace = min(1.0, capacity / offered)
        points.append(Point(offered, tuple(result(layout, pace * offered, one, pace) for one in p99)))
    return Curve(result(layout, capacity, 20.0), tuple(points))


def test_saturated() -> None:
    """Saturated is what keeps less than 98 % of the pace, no matter how high latencies are."""
    made = curve("spanning", [[20.0, 30.0, 40.0, 400.0, 4000.0]])
    assert [point.saturated for point in made.points] == [False, False, False, False, True]
    assert made.points[-1].rate == 1000


def test_crossing() -> None:
    """The load at which p99 passes a bound is between two points, by the logarithm of the latency; with its
    interval."""
    made = curve("spanning", [[20.0, 40.0, 160.0], [20.0, 40.0, 160.0]])
    assert made.crossings(80) == pytest.approx([625, 625])
    assert made.crossings(40) == pytest.approx([500, 500])  # at the bound it is within
    assert made.passes(80) == "up to 625 operations a second (625 to 625 on another image, 95 %)"
    differ = curve("spanning", [[20.0, 40.0, 160.0], [20.0, 80.0, 320.0]])
    assert differ.crossings(80) == pytest.approx([625, 500])


def test_no_crossing() -> None:
    """Without a crossing on every image there is no load, but words."""
    made = curve("spanning", [[20.0, 40.0, 160.0]])
    assert made.crossings(200) is None and "the highest load" in made.passes(200)
    assert made.crossings(10) is None and "the lowest load" in made.passes(10)
    one_does = curve("spanning", [[20.0, 40.0, 160.0], [20.0, 40.0, 70.0]])
    assert one_does.crossings(80) is None and "or beyond" in one_does.passes(80)


def test_document(tmp_path: Path) -> None:
    """Table, sentences, JSON and picture of two layouts."""
    both = OpenLoop((curve("per-socket", [[20.0, 30.0, 40.0, 80.0, 90.0]] * 2, 1300),
                     curve("spanning", [[20.0, 40.0, 160.0, 500.0, 900.0]] * 2)), 70)
    text = " ".join(both.sentences())
    assert both.most == 1300 and "(spanning) from 1,250 on" in text and "(per-socket) from" not in text
    assert both.table().row_count == 10
    first, second = both.to_json()["layouts"]
    assert first["bound_passed_at_ops_per_s"]["median"] > second["bound_passed_at_ops_per_s"]["median"]
    assert second["points"][-1]["saturated"] and second["points"][-1]["p99_us"] == 900
    for name in ("plot.svg", "plot.pdf"):
        plot(both, "modelled", tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000


def test_pace() -> None:
    """The pace is that of all clients: the time of their arrivals over the time of their answers."""
    rates = {"rate": 500, "arrivals_ns": synthetic.HZ}
    events = synthetic.stream(*synthetic.ycsb("a", 1, 100, 10, **rates), *synthetic.ycsb("b", 2, 100, 10, **rates))
    figures = ycsb.figures(ycsb.collect(events), 2.0)
    assert (figures["offered_ops_per_s"], figures["pace_ratio"]) == (1000, 0.5)
    assert "pace_ratio" not in ycsb.figures(ycsb.collect(synthetic.stream(*synthetic.ycsb("a", 1, 100, 10))), 2.0)


def test_same_arrivals() -> None:
    """All layouts have the same clients with the same schedules; each draw has others; a closed loop has none."""
    job = Comparison(Shape(2, 2), clients=1)

    def asked(layout: str, draw: int) -> list[tuple[str, tuple[str, ...]]]:
        drawn = case(job, layout, "c").at_rate(70, draw)
        assert drawn.job.salt == draw
        return [(app.name, tuple(app.args[app.args.index("--rate"):][:4])) for app in
                drawn.plan.cluster_map.applications if app.program == "ycsb"]

    assert asked("per-socket", 3) == asked("spanning", 3)
    assert {words for _, words in asked("spanning", 3)} == {("--rate", "70", "--arrivals", "3")}
    assert "--rate" not in client_args(Load(1), "10.0.0.2", 6379, "redis@1", 0)


@pytest.mark.parametrize(("words", "said"), [
    (["--icount"], "--open-loop: is for a modelled machine (--machine)"),
    (["--program", "wakeups"], "--open-loop: is of Redis at fixed rates; not with --program"),
    (["--map"], "--open-loop: is of Redis at fixed rates; not with --map"),
    (["--layout", "spanning,spanning"], "--layout: an open loop is of two different layouts"),
    (["--layout", "spanning"], "--layout: an open loop is of two different layouts"),
    (["--workload", "a,c"], "--workload: an open loop is of one workload"),
    (["--verify"], "--open-loop: is of Redis at fixed rates; not with --verify"),
])
def test_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that do not fit are refused in one line."""
    assert main(["compare", "--open-loop", *words]) == 2
    assert capsys.readouterr().err.strip().removeprefix("skerry: ") == said


def test_bound_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A bound without an open loop is refused."""
    assert main(["compare", "--p99-bound", "100"]) == 2
    assert capsys.readouterr().err.strip().removeprefix("skerry: ") == "--p99-bound: is of an open loop (--open-loop)"
