# SPDX-License-Identifier: BSD-2-Clause
"""Two layouts as closed queueing networks: their ratio for other programs and numbers of cores.

A core runs a program for some time, then enters its kernel, whose one lock it waits for and holds. A run on a modelled
machine measures all of these times. Layouts differ in how many cores share a lock and in how long a hand-over takes, so
the same times say what both do where programs run longer between entries, or cores are fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, takewhile
from math import exp, log
from statistics import fmean
from typing import Any

from deploy.emulator.machine_file import ModelledMachine
from deploy.results.result import Result
from topology.model import periodic, regimes
from topology.model.roots import root

EVEN = 1.05  # a ratio between this and its inverse is less than images differ in
MOST_CORES = 64  # of a socket that are looked at
_RANGE = log(64)  # user time is looked at from a 64th to 64 times as long
_STEPS = 96


@dataclass(frozen=True)
class Side:
    """One layout. Times are cycles."""

    layout: str
    kernels: tuple[int, ...]  # cores with a load, of each kernel
    entries: float  # into the kernel, for an operation
    user: float  # from one entry to the next, without waiting
    hold: float
    handover: float

    @property
    def service(self) -> float:
        return self.hold + self.handover

    @property
    def load(self) -> float:
        """Returns the offered load of the fullest lock: 1 if entries that nobody delays would fill it."""
        return max(self.kernels) * self.service / (self.user + self.service)

    @property
    def most(self) -> float:
        """Returns the operations a cycle that its locks let through."""
        return len(self.kernels) / (self.entries * self.service)

    @property
    def rate(self) -> float:
        """Returns operations a cycle."""
        cycles = (cores / periodic.cycle(self.service, self.user, cores) for cores in self.kernels)
        return sum(cycles) / self.entries

    def scaled(self, user: float = 1.0, cores: float = 1.0) -> Side:
        """Returns the layout with programs that run so many times as long between entries, on so many times the
        cores."""
        return replace(self, user=self.user * user, kernels=tuple(max(1, round(n * cores)) for n in self.kernels))

    def to_json(self) -> dict[str, Any]:
        return {"user_cycles": self.user, "hold_cycles": self.hold, "handover_cycles": self.handover,
                "kernel_entries_per_op": self.entries, "lock_load": self.load}


@dataclass(frozen=True)
class Run:
    """The measured times of one layout's run."""

    side: Side
    ops_per_s: float


def run(result: Result, hertz: float) -> Run | None:
    """Returns the parameters; None if not all entries queue at its lock, or no time is left for programs."""
    seen, rate = result.observed, result.metrics["ops_per_s"]
    if not seen or not seen.acquisitions or result.lock not in regimes.NAMES or regimes.collapses(result.lock):
        return None
    kernels = Counter(core["cluster"] for core in result.per_core if core["ops_per_s"])
    entries, held = seen.acquisitions / seen.operations, (seen.wait + seen.hold) / seen.acquisitions
    user = kernels.total() * hertz / rate / entries - held  # a core is never idle
    if user <= 0:
        return None
    return Run(Side(result.layout, tuple(kernels.values()), entries, user, seen.hold / seen.acquisitions,
                    seen.handover / seen.acquisitions), rate)


def sides(first: Run, second: Run, hertz: float) -> tuple[Side, Side]:
    """Returns both layouts of one image.

    Entries are counted from the first client's begin to the last one's end, with those that only begin and end; rates
    are of the interval between. A lock is held for all of the time at most, so a full one says how many are of
    operations. What its cores do meanwhile is mostly waiting: the other layout knows better for how long they run.
    """
    full = [one.ops_per_s / (hertz * one.side.most) for one in (first, second)]
    share = 1 / max(1.0, *full)

    def corrected(one: Run) -> Side:
        busy = sum(one.side.kernels) * hertz / one.ops_per_s / one.side.entries
        return replace(one.side, entries=share * one.side.entries, user=busy / share - (busy - one.side.user))

    one, other = corrected(first), corrected(second)
    if share == 1:
        return one, other
    user = min(one, other, key=lambda side: side.load).user
    return replace(one, user=user), replace(other, user=user)


def mean(sides: Sequence[Side]) -> Side:
    """Returns one layout with the mean times of some runs."""
    return replace(
        sides[0], entries=fmean(one.entries for one in sides), user=fmean(one.user for one in sides),
        hold=fmean(one.hold for one in sides), handover=fmean(one.handover for one in sides),
    )


@dataclass(frozen=True)
class Even:
    """Programs with which two layouts come to differ by EVEN."""

    load: float  # of the fullest lock of either layout
    user: float  # cycles between entries
    entries_per_s: float  # of a core, under the first layout

    def to_json(self) -> dict[str, float]:
        return {"lock_load": self.load, "user_cycles": self.user, "kernel_entries_per_s_per_core": self.entries_per_s}


@dataclass(frozen=True)
class Model:
    """Two layouts beside each other, on the same cores."""

    first: Side
    second: Side
    sockets: int
    hertz: float

    def scaled(self, user: float = 1.0, cores: float = 1.0) -> Model:
        return replace(self, first=self.first.scaled(user, cores), second=self.second.scaled(user, cores))

    @property
    def ratio(self) -> float:
        """Returns the operations per second of the first over those of the second."""
        return self.first.rate / self.second.rate

    @property
    def load(self) -> float:
        return max(self.first.load, self.second.load)

    @property
    def cores(self) -> int:
        """Returns the cores of a socket that have a load, the mean of all."""
        return round(sum(self.first.kernels) / self.sockets)

    def on(self, cores: int) -> Model:
        """Returns the model of so many cores of each socket."""
        return self.scaled(cores=cores * self.sockets / sum(self.first.kernels))

    @property
    def most(self) -> float:
        """Returns the ratio of programs that do nothing but enter the kernel."""
        return self.first.most / self.second.most

    @cached_property
    def even(self) -> Even | None:
        """Returns the programs from which on it makes no difference, seen from busy ones; None: there are none."""
        steps = [_RANGE * (2 * step / _STEPS - 1) for step in range(_STEPS + 1)]
        for low, high in reversed(list(pairwise(steps))):
            at = root(lambda x: self.scaled(user=exp(x)).difference - EVEN, low, high)
            if at is not None:
                model = self.scaled(user=exp(at))
                entries = model.first.rate * model.first.entries / sum(model.first.kernels)
                return Even(model.load, model.first.user, self.hertz * entries)
        return None

    @cached_property
    def even_cores(self) -> int | None:
        """Returns the most cores of a socket up to which it makes no difference; None: none, or all that there can
        be."""
        even = list(takewhile(lambda cores: self.on(cores).difference < EVEN, range(1, MOST_CORES + 1)))
        return even[-1] if even and even[-1] < MOST_CORES else None

    @property
    def difference(self) -> float:
        """Returns the ratio of the better layout over the other."""
        ratio = self.ratio
        return max(ratio, 1 / ratio)

    def to_json(self) -> dict[str, Any]:
        return {
            "ratio": self.ratio, "most": self.most, "lock_load": self.load, "even": EVEN,
            "layouts": {one.layout: one.to_json() for one in (self.first, self.second)},
            **({"break_even": self.even.to_json()} if self.even else {}),
            **({"break_even_cores_per_socket": self.even_cores} if self.even_cores else {}),
        }


@dataclass(frozen=True)
class Check:
    """A ratio that was measured, and what the model says of so many cores."""

    cores: int  # of each socket, with a load
    load: float  # of the fullest lock
    measured: float
    modelled: float

    @property
    def error(self) -> float:
        return self.modelled / self.measured - 1

    def to_json(self) -> dict[str, float]:
        return vars(self) | {"error": self.error}


Pairs = Iterable[tuple[Result, Result]]


def model(pairs: Pairs, machine: ModelledMachine) -> Model | None:
    """Returns the model of the mean of some runs of two layouts; None if it is not one of their locks."""
    hertz = 1e9 * machine.ghz
    measured = [(run(first, hertz), run(second, hertz)) for first, second in pairs]
    known = [sides(first, second, hertz) for first, second in measured if first and second]
    if len(known) < len(measured):
        return None
    firsts, seconds = zip(*known)
    return Model(mean(firsts), mean(seconds), machine.sockets, hertz)


def checks(model: Model, pairs: Pairs) -> list[Check]:
    """Returns measured pairs beside the model."""
    made = []
    for first, second in pairs:
        cores = round(sum(1 for core in first.per_core if core["ops_per_s"]) / model.sockets)
        here = model.on(cores)
        made.append(Check(cores, here.load, first.metrics["ops_per_s"] / second.metrics["ops_per_s"], here.ratio))
    return made


def sentences(model: Model, pairs: Pairs) -> list[str]:
    """Returns where it makes no difference which of the layouts runs, and how far the model is off."""
    less = f"less than {EVEN - 1:.0%}"
    where = []
    if even := model.even:
        where.append(
            f"from {even.user:,.0f} cycles between kernel entries on (here {model.first.user:,.0f}), that is up to a "
            f"load of {even.load:.2f} of the fullest lock (here {model.load:.2f}) and {even.entries_per_s:,.0f} "
            "entries a second of each core")
    if model.even_cores:
        where.append(f"with this program up to {model.even_cores} loaded cores of each socket (here {model.cores})")
    if where:
        text = f"they differ by {less} {'; and '.join(where)}"
    elif model.difference < EVEN:
        text = f"they differ by {less} with any program and on any number of cores up to {MOST_CORES} of a socket"
    else:
        text = f"no other program makes it {less}"
    checked = "; ".join(f"with {check.cores} measured {check.measured:.2f}, modelled {check.modelled:.2f} "
                        f"({check.error:+.1%})" for check in checks(model, pairs))
    return [f"Where it makes no difference, by a queueing model of these runs: {text}. The most that the ratio can be "
            f"is {model.most:.2f}.", *([f"The model beside runs on other numbers of cores: {checked}."]
                                       if checked else [])]
