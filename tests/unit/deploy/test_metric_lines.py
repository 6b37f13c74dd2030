# SPDX-License-Identifier: BSD-2-Clause
"""Programs' output, and the metrics in it."""

import random

import pytest

from deploy.base.errors import Failure
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import plan
from deploy.machine.console_lines import seal
from deploy.machine.program_output import (
    KEPT_CHARACTERS,
    KEPT_LINES,
    MOST_METRICS,
    Metric,
    ProgramText,
    collect,
    combined,
    parse as parse_metric,
    to_json,
)


@pytest.mark.parametrize("line, metric", [
    ("skerry-metric: ops 12.5 ops/s", Metric("ops", 12.5, "ops/s", "higher")),
    ("skerry-metric:  p99_us\t1e-3  µs better=lower", Metric("p99_us", 0.001, "µs", "lower")),
    ("skerry-metric: Errors 0 1 better=higher", Metric("Errors", 0.0, "1", "higher")),
    ("skerry-metric: x .5 %", Metric("x", 0.5, "%")),
])  # fmt: skip
def test_line(line: str, metric: Metric) -> None:
    """a metric's line is its name, value and unit, and which values are better"""
    assert parse_metric(line) == metric


@pytest.mark.parametrize("line, wrong", [
    ("skerry-metric:", "has 0 words"),
    ("skerry-metric: ops 1", "has 2 words"),
    ("skerry-metric: ops 1 ops/s better=lower really", "has 5 words"),
    pytest.param(f"skerry-metric: {'n' * 41} 1 s", "is no name", id="a long name"),
    ("skerry-metric: ops.all 1 s", "is no name"),
    ("skerry-metric: [bold] 1 s", "is no name"),
    ("skerry-metric: 1st 1 s", "is no name"),
    *((f"skerry-metric: ops {value} s", "neither 0 nor a number") for value in (
        "nan", "inf", "-1", "1_0", "1e999", f"{'9' * 400}", "0x10", "1,5", "1e-200", "٣",
    )),
    ("skerry-metric: ops 1 [red]", "is no unit"),
    pytest.param(f"skerry-metric: ops 1 {'u' * 17}", "is no unit", id="a long unit"),
    ("skerry-metric: ops 1 s better=faster", "'better=faster' is neither"),
])  # fmt: skip
def test_broken_line(line: str, wrong: str) -> None:
    """a line that begins like a metric and is none is one line of error that names the program and the line"""
    text = ProgramText()
    for written in ("hello", "skerry-metric: good 1 s", line, "skerry-metric: ops 1 ops/s"):
        text.add(written)
    with pytest.raises(Failure) as error:
        combined({"own@3": text})
    assert str(error.value).startswith("own@3: line 3 of its output, '") and wrong in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_output() -> None:
    """each program's output is its own lines, whatever others write, and its last ones where there are many"""
    apps = plan(Deployment(network=False, programs=(Program("crash", 0), Program("sleep", 1)))).cluster_map.applications
    one, other = (app.name for app in apps)
    console = "".join(f"[{one}] line {number}\n" for number in range(KEPT_LINES + 5))
    console += (f"[{other}] [{one}] skerry-metric: forged 1 s\nskerry-metric: forged 1 s\n"
                f"[nobody@9] skerry-metric: x 1 s\n[{other}] skerry-metric: true 2 s\n[{other}] {'x' * 5000}\n")
    texts = collect(apps, console)
    assert [(metric.name, metric.value) for metric in combined(texts)] == [("true", 2.0)]
    document = {entry["app"]: entry for entry in to_json(texts)}
    assert document[one]["omitted"] == 5 and document[one]["lines"][0] == "line 5"
    assert len(document[one]["lines"]) == KEPT_LINES
    assert [len(line) for line in document[other]["lines"]][-1] == KEPT_CHARACTERS
    assert collect(apps, "") == {}


def test_cut() -> None:
    """wherever the machine stops within the last line, a metric in it is an error and not another value"""
    apps = plan(Deployment(network=False, programs=(Program("crash", 0), Program("sleep", 1)))).cluster_map.applications
    one, other = (app.name for app in apps)
    first, last = f"[{one}] skerry-metric: ops 5 ops/s\n", f"[{other}] skerry-metric: ops 12 ops/s better=higher\n"
    for size in range(1, len(last)):
        with pytest.raises(Failure, match="is not whole: "):
            combined(collect(apps, first + last[:size]))
    assert [combined(collect(apps, text))[0].value for text in (first, first + last)] == [5, 17]
    assert combined(collect(apps, f"{first}[{one}] bye"))[0].value == 5


@pytest.mark.parametrize("seed", range(200))
def test_mixed(seed: int) -> None:
    """a kernel's line whose bytes come among those of a metric's: the metric is read as it was written, or an error"""
    (app,) = plan(Deployment(network=False, programs=(Program("sleep", 0),))).cluster_map.applications
    draw, written = random.Random(seed), f"[{app.name}] skerry-metric: ops 123456 ops/s\n"
    kernel = f"\x02kernel: all cores are here{seal(chr(2) + 'kernel: all cores are here')}\n"
    begun, console, left = draw.randrange(len(written)), "", list(kernel)
    for place, byte in enumerate(written):
        while left and place >= begun and draw.random() < 0.5:
            console += left.pop(0)
        console += byte
    console += "".join(left)
    try:
        metrics = [(metric.unit, metric.value) for metric in combined(collect([app], console))]
    except Failure:
        return
    assert metrics in ([("ops/s", 123456)], []), console


def text_of(*lines: str) -> ProgramText:
    text = ProgramText()
    for line in lines:
        text.add(f"skerry-metric: {line}")
    return text


def test_combined() -> None:
    """rates of several programs are summed, other values are their median; of one program the last line counts"""
    texts = {name: text_of("ops 1 ops/s", f"ops {value} ops/s", f"p99 {value} us better=lower")
             for name, value in (("a@1", 10), ("b@2", 20), ("c@3", 60))}
    ops, p99 = combined(texts)
    assert (ops.name, ops.value, ops.how) == ("ops", 90.0, "sum of 3")
    assert (p99.name, p99.value, p99.how, p99.better) == ("p99", 20.0, "median of 3", "lower")
    assert combined({"a@1": text_of("ops 3 s")})[0].how == ""


@pytest.mark.parametrize("other", ["ops 1 ops", "ops 1 ops/s better=lower"])
def test_disagreement(other: str) -> None:
    """two programs that print one metric in different units, or better in different directions, are an error"""
    with pytest.raises(Failure, match="metric ops: a@1 prints it in ops/s, better=higher, and b@2 in"):
        combined({"a@1": text_of("ops 1 ops/s"), "b@2": text_of(other)})


def test_too_many() -> None:
    """a program, and all of them together, have a bounded number of metrics"""
    many = text_of(*(f"m{number} 1 s" for number in range(MOST_METRICS + 5)))
    assert len(many.metrics) == MOST_METRICS
    with pytest.raises(Failure, match=f"a@1: line {MOST_METRICS + 1} of its output"):
        combined({"a@1": many})
    most = text_of(*(f"m{number} 1 s" for number in range(MOST_METRICS)))
    with pytest.raises(Failure, match=f"b@2: the programs have {MOST_METRICS + 1} metrics"):
        combined({"a@1": most, "b@2": text_of("another 1 s")})
