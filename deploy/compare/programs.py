# SPDX-License-Identifier: BSD-2-Clause
"""Any deployment under several layouts: its runs, each metric's ratio and its interval over images, table and
verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean, median
from typing import Any

from rich.table import Table

from deploy.base.errors import Failure
from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.compare.images import Spread
from deploy.compare.interval import Interval
from deploy.compare.plot import number
from deploy.compare.prices import RUNS, SHARE, Bar, Positions, Study
from deploy.compare.runs import (
    Follower,
    Setting,
    What,
    at_once,
    on_image,
    price_sets,
    priced,
    run_all,
    run_each_program,
    separate,
    timed,
)
from deploy.compare.unpriced import kernels, locks
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.programs import Measured, ProgramCase, measure_once
from deploy.machine.program_output import LOWER, Combined
from deploy.machine.qemu import Accel
from deploy.results.kinds import bracketed
from deploy.results.result import Result, nested
from deploy.results.tables import plain_table

SAME = 0.005  # a ratio this near to 1 prints as 1.00
LOCK = "lock_"  # how figures of the whole kernel's lock begin: there are none where only objects have locks
OBSERVED = (  # of all kernels between the marks: name of the row, figure of Layout.observed(), format
    ("kernel entries/s of a core", "kernel_entries_per_s_per_core", ",.0f"),
    ("lock found taken", "lock_conflict_ratio", ".1%"),
    ("lock mean wait, cycles", "lock_mean_wait_cycles", ",.0f"),
    ("lock mean hold, cycles", "lock_mean_hold_cycles", ",.0f"),
    ("lines moved an entry", "line_moves_per_entry", ",.1f"),
    ("CPU utilisation", "cpu_utilisation", ".1%"),
)


@dataclass(frozen=True)
class Layout:
    """The runs of one layout, one on each image."""

    name: str  # with a word behind it where a layout stands beside itself
    draws: Sequence[Measured]
    priced: Sequence[Measured] = ()  # at each price set of the design, on the first image

    @property
    def result(self) -> Result:
        return self.draws[0].result

    @property
    def metrics(self) -> Mapping[str, Combined]:
        """Returns what each metric is of; the values are those of the first run."""
        return {metric.name: metric for metric in self.draws[0].metrics}

    @property
    def medians(self) -> Result:
        """Returns the first image's result, with the medians of all metrics over images."""
        return replace(self.result, layout=self.name, metrics={name: median(self.values(name))
                                                               for name in self.metrics})

    def values(self, metric: str) -> list[float]:
        return [draw.result.metrics[metric] for draw in self.draws]

    def observed(self, ghz: float) -> dict[str, float]:
        """Returns the median of each figure of OBSERVED that there is; nothing where no plugin observed."""
        every: list[dict[str, float]] = []
        for draw in self.draws:
            result, entries = draw.result, draw.result.observed
            if entries is None:
                return {}
            seconds = entries.cycles / (1e9 * ghz)
            every.append(entries.to_json() | {
                "kernel_entries_per_s_per_core": entries.entries / seconds / result.cores,
                "cpu_utilisation": mean(core["cpu_utilisation"] for core in result.per_core),
            })
        locked = all(draw.result.observed and draw.result.observed.acquisitions for draw in self.draws)
        return {figure: median(one[figure] for one in every) for _, figure, _ in OBSERVED
                if locked or not figure.startswith(LOCK)}

    def to_json(self) -> dict[str, Any]:
        """Returns one element of "results": the medians of all runs; what is observed is of the first."""
        return self.medians.to_json() | {
            "of_metrics": {name: metric.to_json() for name, metric in self.metrics.items()},
            "draws": [dict(draw.result.metrics) for draw in self.draws],
            **({"priced": [dict(one.result.metrics) for one in self.priced]} if self.priced else {}),
        }


@dataclass(frozen=True)
class Beside:
    """One layout beside another, in the same metrics."""

    first: Layout
    second: Layout
    modelled: ModelledMachine | None

    def ratios(self, metric: str) -> list[float]:
        """Returns how many times as good the first layout is on each image; nothing if a value is 0."""
        return self._ratios(metric, self.first.draws, self.second.draws)

    def _ratios(self, metric: str, first: Sequence[Measured], second: Sequence[Measured]) -> list[float]:
        pairs = [(a.result.metrics[metric], b.result.metrics[metric]) for a, b in zip(first, second)]
        if not all(a and b for a, b in pairs):
            return []
        return [b / a if self.first.metrics[metric].better == LOWER else a / b for a, b in pairs]

    @cached_property
    def studies(self) -> dict[str, Study]:
        """Returns the price sets of each metric that has a ratio at all of them; nothing where there were none."""
        made = {}
        for metric, spread in self.spreads.items():
            known = self._ratios(metric, self.first.priced, self.second.priced)
            if self.modelled and len(known) == RUNS:
                made[metric] = Study(self.modelled, [{metric: ratio} for ratio in known],
                                     {metric: self.ratios(metric)[0]}, {metric: spread.median})
        return made

    def prices(self, metric: str) -> Interval | None:
        """Returns the interval of a metric's ratio over prices."""
        return self.studies[metric].intervals[metric] if metric in self.studies else None

    @property
    def bars(self) -> list[Bar]:
        """Returns the groups of prices that move the first metric that has a ratio, first the one that does most."""
        for metric, study in self.studies.items():
            return [bar for bar in study.tornado(metric) if bar.size > 1]
        return []

    def spread(self, metric: str) -> Spread | None:
        values = self.ratios(metric)
        return Spread.of(values) if values else None

    @property
    def spreads(self) -> dict[str, Spread]:
        """Returns the metrics that have a ratio."""
        return {metric: spread for metric in self.first.metrics if (spread := self.spread(metric))}

    def to_json(self) -> dict[str, Any]:
        """Returns one element of "ratios"."""
        spreads = self.spreads
        return {
            "of": self.first.name, "to": self.second.name, "workload": self.first.result.workload,
            **({"emulated": True} if self.first.result.emulated else {}),
            "metrics": nested({metric: spread.median for metric, spread in spreads.items()}),
            "images": {"count": len(self.first.draws), "level": 0.95,
                       **{metric: spread.to_json() for metric, spread in spreads.items()}},
            **({"prices": {"level": SHARE, **{metric: _of_prices(study, metric)
                                              for metric, study in self.studies.items()}}} if self.studies else {}),
            **({"modelled": self.modelled.to_json()} if self.modelled else {}),
            "answer": self.sentences(),
        }

    def table(self) -> Table:
        result, a, b = self.first.result, self.first, self.second
        title = (f"{a.name} beside {b.name}, {result.workload}"
                 f"{bracketed(result.emulated, self.modelled.name if self.modelled else None)}")
        more = ("at other prices",) if self.studies else ()
        table = plain_table(title, ("", a.name, b.name, f"{a.name} is better by", *more))
        for name, metric in a.metrics.items():
            notes = ", ".join(filter(None, [metric.how, "less is better" * (metric.better == LOWER)]))
            table.add_row(f"{name}, {metric.unit}{f' ({notes})' if notes else ''}", number(median(a.values(name))),
                          number(median(b.values(name))), str(self.spread(name) or "-"),
                          *[str(self.prices(name) or "-")] * len(more))
        if self.modelled and (of_a := a.observed(self.modelled.ghz)) and (of_b := b.observed(self.modelled.ghz)):
            table.add_section()
            for row, figure, form in OBSERVED:
                known = (format(of[figure], form) if figure in of else "-" for of in (of_a, of_b))
                table.add_row(row, *known, "", *[""] * len(more))
        return table

    def sentences(self) -> list[str]:
        moved = [f"{metric}: {text[:1].lower()}{text[1:]}" for metric, study in self.studies.items()
                 for text in [study.sentence(metric)]]
        return [*(self._sentence(metric) for metric in self.first.metrics), *moved, *self._locks(), self._trust()]

    def _sentence(self, name: str) -> str:
        metric, spread = self.first.metrics[name], self.spread(name)
        one, other = (f"{kernels(layout.result)} ({layout.name})" for layout in (self.first, self.second))
        one = one[:1].upper() + one[1:]
        if spread is None:
            return f"{name}: no ratio, since a value is 0."
        verb = "is" if self.first.result.clusters == 1 else "are"
        less = f" ({metric.unit}: less is better)" if metric.better == LOWER else f" ({metric.unit})"
        times = "" if abs(spread.median - 1) < SAME else f"{spread.median:.2f} times "
        text = f"{name}{less}: {one} {verb} {times}as good as {other}"
        images, prices = spread.interval, self.prices(name)
        text += (f"; another image's ratio is {images} with 95 % ({len(self.first.draws)} images)" if images
                 else "; one run of each")
        text += f"; at other prices it is {prices} (95 % of sets)" * bool(prices) + "."
        over = [of for of, one in (("images", images), ("prices", prices)) if one and one.undecided]
        if not over:
            return text
        return text + f" The interval over {' and that over '.join(over)} includes 1: neither does more for certain."

    def _locks(self) -> list[str]:
        if not self.modelled:
            return []
        lines = []
        for layout in (self.first, self.second):
            if m := layout.observed(self.modelled.ghz):
                locked = (
                    f"{m['lock_conflict_ratio']:.0%} of acquisitions find the lock taken, it is waited for "
                    f"{m['lock_mean_wait_cycles']:,.0f} cycles and held {m['lock_mean_hold_cycles']:,.0f} on average."
                    if f"{LOCK}conflict_ratio" in m else "none takes a lock of the whole kernel."
                )
                lines.append(f"{layout.name}: {m['kernel_entries_per_s_per_core']:,.0f} kernel entries a second on each "
                             f"core; {locked}")
        return lines

    def _trust(self) -> str:
        where = f"{self.first.result.cores} cores, {locks(self.first.result, self.second.result)}"
        if self.modelled:
            return (f"On the modelled {self.modelled.name}, {where}. {len(self.modelled.assumed)} of its "
                    f"{len(self.modelled.prices)} prices are assumed; "
                    + ("intervals are over images and over these prices." if self.studies
                       else "the interval is over images, not over prices."))
        if self.first.result.emulated:
            return (f"On the emulated machine, {where}. Cache lines cost nothing here: without --accel, --icount, "
                    "--sockets and --cores the machine is a modelled one.")
        return f"Under KVM, {where}. These are times of one run on this host: repeat them."


def alone(layout: Layout) -> list[str]:
    """Describes a layout that is compared with nothing."""
    values = ", ".join(f"{name} {number(median(layout.values(name)))} {metric.unit}"
                       for name, metric in layout.metrics.items())
    return [f"{layout.name}: {values}. Nothing stands beside it, so there is no ratio: --layout takes several."]


def _of_prices(study: Study, metric: str) -> dict[str, Any]:
    """Returns a metric's interval over prices, which prices move it, and the runs that say so."""
    known = study.to_json(metric)
    interval: dict[str, Any] = known[metric]
    return interval | {name: known[name] for name in ("residual", "tornado", "runs")}


def measure(cases: Sequence[ProgramCase], accel: Accel, images: int, parts: Parts, shown: Follower,
            quick: bool = True) -> list[Layout]:
    """Runs each layout on so many images of a modelled machine, and at its price sets unless it is to be `quick`; as
    many runs at once as the host has processors. Elsewhere each runs once, alone, since its time matters.

    Returns the layouts whose runs on images were all finished.
    """
    if not cases[0].job.modelled:
        calls = {case.key: Call(case.name, measure_once, (case, accel)) for case in cases}
        done = run_all(1, calls, shown, parts)
        layouts = [Layout(case.name, [done[case.key]]) for case in cases if case.key in done]
    else:
        layouts = _measure_modelled(cases, accel, images, price_sets(cases, quick), parts, shown)
    check_alike(layouts)
    return layouts


def _measure_modelled(cases: Sequence[ProgramCase], accel: Accel, images: int, sets: Sequence[Positions], parts: Parts,
                      shown: Follower) -> list[Layout]:
    calls = timed([(case, {Setting(draw): on_image(case, draw, images) for draw in range(images)} | priced(case, sets))
                   for case in cases], accel, run_each_program)
    done = separate(run_all(at_once(cases[0]), calls, shown, parts), parts, lambda program: f", {program}")

    def ended(case: ProgramCase, settings: Sequence[Setting]) -> list[Measured]:
        """Returns what they measured; nothing unless all did."""
        known = [done.get((What.TIMED, setting, *case.key)) for setting in settings]
        return [one for one in known if one] if all(known) else []

    of_sets = [Setting(prices=number) for number in range(1, 1 + len(sets))]
    drawn = {case.name: ended(case, [Setting(draw) for draw in range(images)]) for case in cases}
    return [Layout(case.name, drawn[case.name], ended(case, of_sets)) for case in cases if drawn[case.name]]


def check_alike(layouts: Sequence[Layout]) -> None:
    """Raises Failure unless all runs have the same metrics, each printed by as many programs."""

    def printed(draw: Measured) -> dict[str, tuple[str, str, int]]:
        return {metric.name: (metric.unit, metric.better, len(metric.each)) for metric in draw.metrics}

    for layout in layouts:
        for draw in (*layout.draws, *layout.priced):
            expected, found = printed(layouts[0].draws[0]), printed(draw)
            for name in sorted(expected.keys() | found.keys()):
                if expected.get(name) != found.get(name):
                    one, other = (_words(of.get(name)) for of in (expected, found))
                    raise Failure(f"metric {name}: {one} in a run under {layouts[0].name}, {other} in one under "
                                  f"{layout.name}")


def _words(printed: tuple[str, str, int] | None) -> str:
    if printed is None:
        return "printed by no program"
    unit, better, programs = printed
    return f"printed by {programs} program{'s' * (programs > 1)} in {unit}, better={better},"


def pairs(layouts: Sequence[Layout], modelled: ModelledMachine | None) -> list[Beside]:
    """Returns the first layout beside each other one."""
    return [Beside(layouts[0], other, modelled) for other in layouts[1:]]
