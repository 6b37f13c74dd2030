# SPDX-License-Identifier: BSD-2-Clause
"""Two layouts as closed queueing networks: their ratio for other programs and numbers of cores.

A core runs a program for some time, then enters its kernel, whose one lock it waits for and holds. A run on a modelled
machine measures all of these times. Layouts differ in how many cores share a lock and in how long a hand-over takes, so
the same times say what both do where programs run longer between entries, or cores are fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise, takewhile
from math import exp, inf, isinf, log
from statistics import fmean
from typing import Any

from deploy.emulator.machine_file import ModelledMachine
from deploy.results.result import Result
from topology import regimes as known_regimes
from topology.model import pauses, periodic, regimes
from topology.model.roots import root

EVEN = 1.05  # a ratio between this and its inverse is less than images differ in
MOST_CORES = 64  # of a socket that are looked at, or as many as it has
_RANGE = log(64)  # user time is looked at from a 64th to 64 times as long
_STEPS = 96
_LEAST, _WORK = 0.01, 8.0  # of entries and cycles; how many times a core's work for an operation may change
_APART = 1.0  # how many cores more must wait in one layout for its hand-over to say what each of them adds
_BUSIER = 0.03  # how far two layouts are apart in that for a line through both
READERS = "readers"  # the kind of regime whose entries run side by side


@dataclass(frozen=True)
class Coalescing:
    """The extra cost of an operation where a core has less work, and so finds fewer clients whose pause is over each
    time that it looks: slopes over the part of pauses that it is ahead of, 1 - exp(-clients * pause / work)."""

    entries: float
    hold: float  # of all entries
    user: float


@dataclass(frozen=True)
class Side:
    """One layout. Times are cycles."""

    layout: str
    kernels: tuple[int, ...]  # cores with a load, of each kernel
    entries: float  # into the kernel, for an operation
    user: float  # from one entry to the next, without waiting
    hold: float
    handover: float  # while no other core waits
    growth: float = 0.0  # of the hand-over, for each core that waits
    meetings: float = 0.0  # cycles²: what an entry waits for locks of objects, for each other core, times its cycle
    pause: float = 0.0  # the mean of a client's, before an operation
    clients: int = 1  # of each core
    work: float = 0.0  # of a core for an operation, waits with it: at which it has these entries and times
    saved: Coalescing | None = None  # None: an operation always takes the same

    def idle(self, busy: float) -> float:
        """Returns for how long a core is idle between two entries that take it so long."""
        return pauses.idle(self.entries * busy, self.pause, self.clients) / self.entries

    def served(self, cores: int) -> float:
        """Returns for how long an entry keeps the lock of so many cores from the next one."""
        least = self.hold + self.handover

        def error(waiting: float) -> float:
            service = least + self.growth * waiting
            length = self._cycle(service, cores)
            return cores * (busy_in(self, length) - self.user - service) / length - waiting  # by Little's law

        return least + self.growth * (root(error, 0.0, float(cores)) or 0.0) if self.growth else least

    def cycle(self, cores: int) -> float:
        """Returns the time from an entry to the next one of a core."""
        return self._cycle(self.served(cores), cores)

    def _cycle(self, service: float, cores: int) -> float:
        if not self.pause:
            return periodic.cycle(service, self.user, cores, self.meetings)

        def length(idle: float) -> float:
            return cores * (service + pauses.idle(service, self.user + idle, cores))

        most = self.idle(self.user + service)
        idle = root(lambda idle: self.idle(length(idle) - idle) - idle, 0.0, most) if most else 0.0
        return length(idle or 0.0)

    def ahead(self, work: float) -> float:
        """Returns the part of pauses that a core which works so long for an operation is ahead of: from 1 to 0."""
        return 1 - exp(-self.clients * self.pause / work)

    def settled(self, cores: int) -> Side:
        """Returns the layout with what an operation takes where so many cores share a lock."""
        def at(work: float) -> Side:
            assert self.saved
            more = self.ahead(work) - self.ahead(self.work)
            entries, hold, user = (max(_LEAST, known + slope * more) for known, slope in (
                (self.entries, self.saved.entries), (self.entries * self.hold, self.saved.hold),
                (self.entries * self.user, self.saved.user)))
            return replace(self, entries=entries, hold=hold / entries, user=user / entries)

        def error(work: float) -> float:
            side = at(work)
            return side.entries * busy_in(side, side.cycle(cores)) - work

        return at(root(error, self.work / _WORK, self.work * _WORK) or self.work) if self.saved else self

    @property
    def service(self) -> float:
        """Returns that of the fullest lock."""
        return self.served(max(self.kernels))

    @property
    def load(self) -> float:
        """Returns the offered load of the fullest lock: 1 if entries that nobody delays would fill it."""
        busy = self.user + self.service
        return max(self.kernels) * self.service / (busy + self.idle(busy))

    @property
    def most(self) -> float:
        """Returns the operations a cycle that its locks let through; infinite without a lock of the whole kernel."""
        least = self.hold + self.handover
        return sum(1 / (least + self.growth * (cores - 1)) for cores in self.kernels) / self.entries if least else inf

    @property
    def rate(self) -> float:
        """Returns operations a cycle."""
        settled = Counter(self.kernels)
        each = {cores: self.settled(cores) for cores in settled}
        return sum(count * cores / (each[cores].cycle(cores) * each[cores].entries) for cores, count in settled.items())

    def scaled(self, user: float = 1.0, cores: float = 1.0) -> Side:
        """Returns the layout with programs that run so many times as long between entries, on so many times the
        cores."""
        return replace(self, user=self.user * user, kernels=tuple(max(1, round(n * cores)) for n in self.kernels))

    def to_json(self) -> dict[str, Any]:
        grows = {"handover_growth_cycles": self.growth} if self.growth else {}
        return {"user_cycles": self.user, "hold_cycles": self.hold, "handover_cycles": self.handover, **grows,
                "kernel_entries_per_op": self.entries, "lock_load": self.load}


@dataclass(frozen=True)
class Run:
    """The measured times of one layout's run."""

    side: Side
    ops_per_s: float
    lock: str
    waiting: float = 0.0  # cores behind the one that has the lock, the mean of a kernel
    apart: float = 0.0  # price of a hand-over that nobody else disturbs, the mean of a kernel's pairs of cores


def run(result: Result, machine: ModelledMachine, pause: float = 0.0) -> Run | None:
    """Returns the parameters; None for locks that are none of the model's, or if no time is left for programs. `pause`:
    seconds that each client pauses before an operation, the mean."""
    seen, rate, kind = result.observed, result.metrics["ops_per_s"], known_regimes.every()[result.lock].kind
    if not seen or not seen.acquisitions or (result.lock not in regimes.NAMES and kind != READERS):
        return None
    hertz = 1e9 * machine.ghz
    loaded = [core for core in result.per_core if core["ops_per_s"]]
    kernels = tuple(Counter(core["cluster"] for core in loaded).values())
    side = Side(result.layout, kernels, seen.acquisitions / seen.operations, 0.0, seen.hold / seen.acquisitions,
                seen.handover / seen.acquisitions, pause=pause * hertz, clients=_clients(result, len(loaded)))
    wait = (seen.wait - seen.handover) / seen.acquisitions
    if kind == READERS:  # an entry holds a core's own side of the kernel's lock, and locks of objects
        side = replace(side, entries=seen.entries / seen.operations, hold=0.0, handover=0.0)
        wait = (seen.wait - seen.handover) / seen.entries
    busy = busy_of(side, rate, hertz)
    side = replace(side, user=busy - wait - side.hold - side.handover)
    length, others = busy + side.idle(busy), max(kernels) - 1
    if kind == READERS and others:
        side = replace(side, meetings=max(0.0, wait) * length / others)
    if side.user <= 0:
        return None
    return Run(side, rate, result.lock, max(kernels) * wait / length, _apart(result, machine))


def _clients(result: Result, cores: int) -> int:
    """Returns how many clients there are for each core with a load; one where the result does not say."""
    programs = [app["program"] for app in result.machine["applications"]] if result.machine else []
    return max(1, round(programs.count("ycsb") / max(1, cores)))


def busy_of(side: Side, ops_per_s: float, hertz: float) -> float:
    """Returns for how long a core works between two entries; without pauses it is never idle."""
    return busy_in(side, sum(side.kernels) * hertz / ops_per_s / side.entries)


def busy_in(side: Side, length: float) -> float:
    """Returns for how long a core works of the time from one entry to the next."""
    return root(lambda busy: busy + side.idle(busy) - length, 0.0, length) or length


def _apart(result: Result, machine: ModelledMachine) -> float:
    """Returns what it costs to write a line that another core of the kernel reads, and to fetch it there."""
    loaded = [core for core in result.per_core if core["ops_per_s"]]
    sockets, caches = machine.sockets, machine.sockets * machine.clusters_per_socket

    def cost(one: int, other: int) -> float:
        near = [one * parts // result.cores == other * parts // result.cores for parts in (caches, sockets)]
        name = "cluster" if near[0] else "socket" if near[1] else "machine"
        return machine.prices[f"upgrade_{name}"].cycles + machine.prices[f"transfer_{name}"].cycles

    costs = [cost(one["core"], other["core"]) for one, other in combinations(loaded, 2)
             if one["cluster"] == other["cluster"]]
    return fmean(costs) if costs else 0.0


def sides(first: Run, second: Run, hertz: float) -> tuple[Side, Side]:
    """Returns both layouts of one image.

    Entries are counted from the first client's begin to the last one's end, with those that only begin and end; rates
    are of the interval between. A lock is held for all of the time at most, so a full one says how many are of
    operations. What its cores do meanwhile is mostly waiting: the other layout knows better for how long they run.
    """
    full = [one.ops_per_s / (hertz * one.side.most) for one in (first, second)]
    share = 1 / max(1.0, *full)

    def corrected(one: Run) -> Side:
        busy = busy_of(one.side, one.ops_per_s, hertz)
        entries = share * one.side.entries
        return replace(one.side, entries=entries, user=busy / share - (busy - one.side.user))

    one, other = corrected(first), corrected(second)
    if first.side.pause:
        one, other = _coalescing(one, other, *(run.side.entries * busy_of(run.side, run.ops_per_s, hertz)
                                               for run in (first, second)))
    elif share < 1:
        user = min(one, other, key=lambda side: side.load).user
        one, other = replace(one, user=user), replace(other, user=user)
    return _growing(one, other, first, second) if regimes.collapses(first.lock) else (one, other)


def _coalescing(one: Side, other: Side, work: float, other_work: float) -> tuple[Side, Side]:
    """Returns the layouts with what an operation takes where cores have more or less to do, on lines through both."""
    more = other.ahead(other_work) - one.ahead(work)
    if abs(more) < _BUSIER:
        return replace(one, work=work), replace(other, work=other_work)

    def slope(of: Callable[[Side], float]) -> float:
        return (of(other) - of(one)) / more

    saved = Coalescing(slope(lambda side: side.entries), slope(lambda side: side.entries * side.hold),
                       slope(lambda side: side.entries * side.user))
    return replace(one, work=work, saved=saved), replace(other, work=other_work, saved=saved)


def _growing(one: Side, other: Side, first: Run, second: Run) -> tuple[Side, Side]:
    """Returns the layouts with hand-overs that each core that waits makes longer.

    Two layouts have two hand-overs, h = h0 + growth * waiting, and the prices of lines say by how much h0 differs.
    """
    more = second.waiting - first.waiting
    if abs(more) < _APART:
        return one, other
    growth = max(0.0, (other.handover - one.handover - (second.apart - first.apart)) / more)

    def alone(side: Side, run: Run) -> Side:
        return replace(side, growth=growth, handover=max(0.0, side.handover - growth * run.waiting))

    return alone(one, first), alone(other, second)


def mean(sides: Sequence[Side]) -> Side:
    """Returns one layout with the mean times of some runs."""
    return replace(
        sides[0], work=fmean(one.work for one in sides),
        entries=fmean(one.entries for one in sides), user=fmean(one.user for one in sides),
        hold=fmean(one.hold for one in sides), handover=fmean(one.handover for one in sides),
        growth=fmean(one.growth for one in sides), meetings=fmean(one.meetings for one in sides),
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
    def most(self) -> float | None:
        """Returns the ratio of programs that do nothing but enter the kernel; None without a lock of the whole
        kernel."""
        return None if isinf(self.first.most) or isinf(self.second.most) else self.first.most / self.second.most

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
        even = list(takewhile(lambda cores: self.on(cores).difference < EVEN, range(1, self.most_cores + 1)))
        return even[-1] if even and even[-1] < self.most_cores else None

    @property
    def most_cores(self) -> int:
        return max(MOST_CORES, self.cores)

    @property
    def difference(self) -> float:
        """Returns the ratio of the better layout over the other."""
        ratio = self.ratio
        return max(ratio, 1 / ratio)

    def to_json(self) -> dict[str, Any]:
        return {
            "ratio": self.ratio, **({"most": self.most} if self.most else {}), "lock_load": self.load, "even": EVEN,
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


def model(pairs: Pairs, machine: ModelledMachine, pause: float = 0.0) -> Model | None:
    """Returns the model of the mean of some runs of two layouts; None if it is not one of their locks. `pause`: as in
    run()."""
    hertz = 1e9 * machine.ghz
    measured = [(run(first, machine, pause), run(second, machine, pause)) for first, second in pairs]
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
        load = (f"a load of {even.load:.2f} of the fullest lock (here {model.load:.2f}) and " if model.most else "")
        where.append(
            f"from {even.user:,.0f} cycles between kernel entries on (here {model.first.user:,.0f}), that is up to "
            f"{load}{even.entries_per_s:,.0f} entries a second of each core")
    if model.even_cores:
        where.append(f"with this program up to {model.even_cores} loaded cores of each socket (here {model.cores})")
    if where:
        text = f"they differ by {less} {'; and '.join(where)}"
    elif model.difference < EVEN:
        text = f"they differ by {less} with any program and on any number of cores up to {model.most_cores} of a socket"
    else:
        text = f"no other program makes it {less}"
    checked = "; ".join(f"with {check.cores} measured {check.measured:.2f}, modelled {check.modelled:.2f} "
                        f"({check.error:+.1%})" for check in checks(model, pairs))
    most = f" The most that the ratio can be is {model.most:.2f}." if model.most else ""
    beside = [f"The model beside runs on other numbers of cores: {checked}."] if checked else []
    return [f"Where it makes no difference, by a queueing model of these runs: {text}.{most}", *beside]
