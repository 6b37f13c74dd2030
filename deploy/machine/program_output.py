# SPDX-License-Identifier: BSD-2-Clause
"""The output of each program of a machine, taken from its console, and the metrics that it holds.

A metric is a line of its own, `skerry-metric: NAME VALUE UNIT [better=lower]`. Programs may write anything: what is
kept of their output is bounded, and a line that begins like a metric and is none is an error that names both.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from deploy.base.errors import Failure
from deploy.machine.console_lines import By, lines
from deploy.machine.crashes import plain
from topology.maps.clustermap import Application

KEPT_LINES, KEPT_CHARACTERS = 200, 1024  # the last lines of a program, and the most of a line
MOST_METRICS = 32  # of a program, and of a run
PREFIX = "skerry-metric:"
FORM = f"{PREFIX} NAME VALUE UNIT [better=lower]"
HIGHER, LOWER = "higher", "lower"
PER_SECOND = "/s"  # how the unit of a rate ends
SHOWN = 80  # characters of a line in an error
LEAST, MOST = 1e-100, 1e100  # values other than 0: sums and ratios of these are finite
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_VALUE = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_UNIT = re.compile(r"[A-Za-z0-9%/µ._*^-]{1,16}")
_LINE = re.compile(r"\[([^\]\s]{1,31})\] (.*)")


@dataclass(frozen=True)
class Metric:
    """A program's figure."""

    name: str
    value: float
    unit: str
    better: str = HIGHER


def parse(line: str) -> Metric:
    """Returns the metric of a line that begins with PREFIX. ValueError says what is wrong with it."""
    words = line.removeprefix(PREFIX).split()
    if not 3 <= len(words) <= 4:
        raise ValueError(f"has {len(words)} words, not 3 or 4")
    name, value, unit, *rest = words
    if not _NAME.fullmatch(name):
        raise ValueError(f"'{name[:SHOWN]}' is no name of up to 40 letters, digits, _ and -")
    if not _VALUE.fullmatch(value) or not (float(value) == 0 or LEAST <= float(value) <= MOST):
        raise ValueError(f"'{value[:SHOWN]}' is neither 0 nor a number from {LEAST:g} to {MOST:g}")
    if not _UNIT.fullmatch(unit):
        raise ValueError(f"'{unit[:SHOWN]}' is no unit of up to 16 characters")
    if rest and rest[0] not in (f"better={HIGHER}", f"better={LOWER}"):
        raise ValueError(f"'{rest[0][:SHOWN]}' is neither better={LOWER} nor better={HIGHER}")
    return Metric(name, float(value), unit, rest[0].partition("=")[2] if rest else HIGHER)


@dataclass
class ProgramText:
    """The output of one program: its last lines, the last metric of each name, and the error of a metric's line."""

    last: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    count: int = 0
    metrics: dict[str, Metric] = field(default_factory=dict)
    wrong: str | None = None  # the first such line

    def add(self, text: str, whole: bool = True) -> None:
        """`whole`: no byte of the line is missing. A metric with fewer digits would be another one."""
        self.count += 1
        self.last.append(text[:KEPT_CHARACTERS])
        if self.wrong or not text.startswith(PREFIX if whole else PREFIX[: len(text)]):
            return
        try:
            if not whole:
                raise ValueError("is not whole: another writer, or the machine's end, has cut it")
            metric = parse(text)
            if metric.name not in self.metrics and len(self.metrics) == MOST_METRICS:
                raise ValueError(f"the program has more than {MOST_METRICS} metrics")
            self.metrics[metric.name] = metric
        except ValueError as error:
            shown = f"{text[:SHOWN]}{'…' * (len(text) > SHOWN)}"
            self.wrong = f"line {self.count} of its output, '{shown}': {error}"

    def to_json(self) -> dict[str, Any]:
        return {"lines": list(self.last), "omitted": self.count - len(self.last)}


def collect(applications: Iterable[Application], console: str) -> dict[str, ProgramText]:
    """Returns the output of each program that wrote something, in the order of the applications."""
    texts = {application.name: ProgramText() for application in applications}
    for line in lines(console):
        match = _LINE.match(line.text) if line.by == By.ANYBODY else None
        if match and match[1] in texts:
            texts[match[1]].add(plain(match[2]), line.whole)
        elif not line.whole and line.text and (names := [n for n in texts if f"[{n}] ".startswith(line.text)]):
            texts[names[0]].add("", whole=False)  # cut within the name: whose line it was is not known
    return {name: text for name, text in texts.items() if text.count}


def to_json(texts: dict[str, ProgramText]) -> list[dict[str, Any]]:
    return [{"app": name} | text.to_json() for name, text in texts.items()]


@dataclass(frozen=True)
class Combined:
    """One metric of all programs that print it: the sum of rates per second, the median of anything else."""

    name: str
    unit: str
    better: str
    each: tuple[float, ...]  # a value for each program

    @property
    def is_sum(self) -> bool:
        return self.unit.endswith(PER_SECOND)

    @property
    def value(self) -> float:
        return sum(self.each) if self.is_sum else median(self.each)

    @property
    def how(self) -> str:
        """Says how the programs' values become one."""
        return "" if len(self.each) == 1 else f"{'sum' if self.is_sum else 'median'} of {len(self.each)}"

    def to_json(self) -> dict[str, Any]:
        return {"unit": self.unit, "better": self.better, "programs": len(self.each),
                "combined": "sum" if self.is_sum else "median"}


def combined(texts: dict[str, ProgramText]) -> list[Combined]:
    """Returns the metrics of a run, in the order in which they were first printed. Of a metric that a program prints
    several times its last line counts."""
    found: dict[str, list[tuple[str, Metric]]] = {}
    for app, text in texts.items():
        if text.wrong:
            raise Failure(f"{app}: {text.wrong}; a metric is '{FORM}'")
        for metric in text.metrics.values():
            found.setdefault(metric.name, []).append((app, metric))
    if len(found) > MOST_METRICS:
        raise Failure(f"{list(found.values())[-1][0][0]}: the programs have {len(found)} metrics together; "
                      f"{MOST_METRICS} are the most")
    return [_combine(name, metrics) for name, metrics in found.items()]


def _combine(name: str, metrics: Sequence[tuple[str, Metric]]) -> Combined:
    first_app, first = metrics[0]
    for app, metric in metrics:
        if (metric.unit, metric.better) != (first.unit, first.better):
            raise Failure(f"metric {name}: {first_app} prints it in {first.unit}, better={first.better}, and {app} in "
                          f"{metric.unit}, better={metric.better}")
    return Combined(name, first.unit, first.better, tuple(metric.value for _, metric in metrics))
