# SPDX-License-Identifier: BSD-2-Clause
"""The verdict of a comparison on a modelled machine, in sentences: which layout does more, how surely, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from deploy.compare import closed
from deploy.compare.closed import Model
from deploy.compare.images import Draw, Images, Spread
from deploy.compare.interval import Interval
from deploy.compare.prices import RATE, Bar, Study
from deploy.compare.unpriced import kernels, locks
from deploy.deployment.engines import PROGRAMS
from deploy.emulator.machine_file import PAPERS, ModelledMachine, load
from deploy.results.result import Result

UNEVEN = 0.01  # relative difference from the median core's instructions an operation: other work
BUSY = 0.9  # share of its time from which a core holds the others up
APART = (  # a reader sees both on one screen
    "These locks are of the timed run, in which the emulator watches plain kernels. The tables' * are of kernels that "
    "count: they hold their locks longer, and wait longer for them."
)
# The result of validation of this machine (docs/modelled.md has all rows): bench validate --rows paper,figures.
VALIDATED = (
    "Beside published figures of this machine the model's lock takes 4% too long in one socket, throughputs there are "
    "up to 38% too low, and beyond one socket 17 of 21 are between the published bounds: trust which layout wins, its "
    "factor roughly, and no absolute rate."
)


@dataclass(frozen=True)
class Answer:
    """One layout beside another. `study`: at other prices, where there are runs."""

    machine: ModelledMachine
    first: Result
    second: Result
    images: Images
    study: Study | None = None
    checks: Mapping[float, tuple[Result, Result]] = field(default_factory=dict)  # by the share of each socket's cores

    @property
    def keys(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Returns the keys of both cases."""
        return (self.first.layout, self.first.workload), (self.second.layout, self.second.workload)

    @cached_property
    def model(self) -> Model | None:
        """Returns the closed model of the mean image; None of a control, and of locks that it does not describe."""
        pairs = [(draw.first, draw.second) for draw in self.images.draws]
        return None if self.images.control else closed.model(pairs, self.machine)

    @property
    def prices(self) -> Interval | None:
        """Over price sets."""
        return self.study.intervals[RATE] if self.study else None

    def spreads(self) -> dict[str, Spread]:
        return self.images.spreads()

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"modelled": self.machine.to_json(), "images": self.images.to_json()}
        document |= {"prices": self.study.to_json(RATE)} if self.study else {}
        if self.model:
            checks = [check.to_json() for check in closed.checks(self.model, self.checks.values())]
            document["model"] = self.model.to_json() | ({"checks": checks} if checks else {})
        return document | {"answer": self.sentences()}

    @property
    def bars(self) -> list[Bar]:
        """Returns the groups of prices, first the one that moves the ratio most."""
        return [bar for bar in self.study.tornado(RATE) if bar.size > 1] if self.study else []

    def sentences(self) -> list[str]:
        modelled = closed.sentences(self.model, self.checks.values()) if self.model else []
        tornado = [self.study.sentence(RATE)] if self.study and self.bars else []
        return [self._verdict(), *tornado, *self._why(), *modelled, self._trust()]

    def _verdict(self) -> str:
        does, ratio = f"do{'es' * (self.first.clusters == 1)}", self.images.spread(RATE).median
        text = (
            f"{kernels(self.first)} ({self.first.layout}) {does} {ratio:.2f} times the operations per second of "
            f"{kernels(self.second)} ({self.second.layout}): {self._how_sure()}. On the modelled {self.machine.name}, "
            f"{locks(self.first, self.second)}, YCSB {self.first.workload.upper()} ({_load(self.first)})."
        )
        return text[:1].upper() + text[1:]

    def _how_sure(self) -> str:
        """Returns the intervals, and which of them include 1."""
        spread, count = self.images.spread(RATE), len(self.images.draws)
        if self.images.control:
            mean = f"{spread.mean} for the mean of {count} images (95 %)" if spread.mean else "on one image"
            return f"a control, whose ratio is 1; measured {mean}"
        images, prices = spread.interval, self.prices
        said = [f"{images} on another image (95 %, from {count})" if images else "other images were not measured",
                f"{prices} at other prices (95 % of sets)" if prices else "other prices were not measured"]
        if over := [name for name, one in (("images", images), ("prices", prices)) if one and one.undecided]:
            said.append(f"undecided, for the interval over {' and that over '.join(over)} includes 1")
        return "; ".join(said)

    def _why(self) -> list[str]:
        apart = [APART] if self.first.counting or self.second.counting else []
        return [_lock(self.first), _lock(self.second), *apart,
                *(text for of in (self.first, self.second) for text in (_busy(of), _uneven(of)) if text)]

    def _trust(self) -> str:
        m = self.machine
        return (
            f"How sure: {len(m.assumed)} of the machine's {len(m.prices)} prices are assumed and {len(m.fitted)} "
            f"fitted. The model has no "
            "out-of-order execution, prefetching, hardware threads or limits of bandwidth. "
            f"{VALIDATED if m.sha256 == load(PAPERS).sha256 else 'Nothing published of this machine was put beside it.'} (docs/modelled.md)"
        )


def _load(result: Result) -> str:
    """Returns how much was done: the reader judges by it how far a ratio may be off."""
    assert result.observed and result.machine
    programs = [app["program"] for app in result.machine["applications"]]
    servers, clients = sum(map(programs.count, PROGRAMS)), programs.count("ycsb")
    return f"{servers} {result.served_by}, {clients} clients, {result.observed.operations:,} operations"


def _lock(result: Result) -> str:
    """Describes the lock as the plugin saw it in the timed run."""
    assert result.observed
    m = result.observed.to_json()
    entries = f"{result.layout}: {m['kernel_entries_per_op']:.1f} kernel entries an operation"
    if not result.observed.acquisitions:
        return (
            f"{entries}, none of which takes a lock of the whole kernel; what they wait for the locks of objects is "
            f"not counted; request and answer go through {_hops(result)}."
        )
    return (
        f"{entries}; {m['lock_conflict_ratio']:.0%} of them find the lock taken, and a lock is waited for "
        f"{m['lock_mean_wait_cycles']:,.0f} cycles and held {m['lock_mean_hold_cycles']:,.0f} on average, in which "
        f"{m['line_moves_per_entry']:.1f} lines move between cores; request and answer go through {_hops(result)}."
    )


def _hops(result: Result) -> str:
    hops = result.metrics["channel_hops_per_op"]
    return f"{hops:.1f} channels between kernels" if hops else "no channel between kernels"


def _busy(result: Result) -> str | None:
    """Cores without clients are the network's."""
    network = [core["core"] for core in result.per_core if not core["ops_per_s"]
               and (core["cpu_utilisation"] or 0) >= BUSY]
    if not network:
        return None
    cores = ", ".join(map(str, network))
    return (
        f"{result.layout}: the network's core{'s' * (len(network) > 1)} {cores} {'are' if len(network) > 1 else 'is'} "
        f"busy more than {BUSY:.0%} of the time and limit{'s' * (len(network) == 1)} the others: the ratio is that of "
        "what the network does, not of the lock alone."
    )


def _uneven(result: Result) -> str | None:
    """Names the cores that execute more or fewer instructions for an operation than most cores of the layout."""
    work = {core["core"]: core["instructions_per_op"] for core in result.per_core if core.get("instructions_per_op")}
    usual = median(work.values()) if work else 0.0
    others = {core: each / usual - 1 for core, each in work.items() if abs(each / usual - 1) > UNEVEN}
    if not others:
        return None
    several, furthest = len(others) > 1, max(others.values(), key=abs)
    return (
        f"{result.layout}: not all cores do the same work: of {len(work)} with a load, {len(others)} (core"
        f"{'s' * several} {', '.join(map(str, sorted(others)))}) {'execute' if several else 'executes'} more than "
        f"{UNEVEN:.0%} more or fewer instructions an operation than the median core"
        f"{', ' if several else ': '}{furthest:+.1%}{' at most' * several}."
    )


def alone(result: Result) -> list[str]:
    """Describes a layout that is compared with nothing."""
    counted = result.round_robin and "instructions_per_op" in result.metrics
    rate = (f"{result.metrics['instructions_per_op']:,.0f} instructions for an operation" if counted
            else f"{result.metrics['ops_per_s']:,.0f} operations per second")
    text = (
        f"{kernels(result)} ({result.layout}), lock {result.lock}: {rate}. Nothing stands beside it, so there is no "
        f"ratio: --layout takes several."
    )
    return [text[:1].upper() + text[1:], *([_lock(result)] if result.observed else [])]


def answers(machine: ModelledMachine, compared: Sequence[tuple[Result, Result]], images: Sequence[Images] = (),
            studies: Sequence[Study | None] = ()) -> list[Answer]:
    """One for each pair of results."""
    return [
        Answer(machine, first, second, images[place] if images else Images((Draw((0, 0), first, second),)),
               studies[place] if studies else None)
        for place, (first, second) in enumerate(compared)
    ]
