# SPDX-License-Identifier: BSD-2-Clause
"""Repeating: everything in turn, so that what changes on the machine meanwhile meets all alike; medians with spread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from deploy.base.partial import Parts
from deploy.bench.ipc.measure import Spread
from deploy.bench.native import program

UNDISTURBED = 0.97  # share of its time that the host let a thread run: the least of a run that counts
TRIES = 2  # for each run that counts


@dataclass(frozen=True)
class Job:
    kernel: str  # regime, or regime+stat
    bench: str
    options: tuple[tuple[str, int | str], ...]

    @property
    def name(self) -> str:
        return f"kernel {self.kernel}, {self.bench}, {', '.join(f'{name} {value}' for name, value in self.options)}"

    def run(self, seed: int) -> dict[str, Any]:
        return program.run(program.of_kernel(self.kernel), self.bench, **dict(self.options), seed=seed)


def job(kernel: str, bench: str, **options: int | str) -> Job:
    return Job(kernel, bench, tuple(options.items()))


@dataclass
class Runs:
    good: list[dict[str, Any]] = field(default_factory=list)
    disturbed: list[dict[str, Any]] = field(default_factory=list)  # others had one of its processors meanwhile

    @property
    def used(self) -> list[dict[str, Any]]:
        """All where too few were left alone."""
        return self.good if len(self.good) >= len(self.disturbed) else self.good + self.disturbed

    def spread(self, of: Callable[[dict[str, Any]], float]) -> Spread:
        values = [of(result) for result in self.used]
        return Spread(median(values), min(values), max(values))

    def first(self, name: str) -> Any:
        return self.used[0].get(name)


def collect(
    jobs: Sequence[Job], runs: int, parts: Parts, what: str, between: Callable[[], None] | None = None
) -> dict[Job, Runs]:
    """`runs` of each that nothing disturbed; where that cannot be had, what there is after twice as many.

    A job that fails is not run again, and one without a run is not in the result. `between` looks at the machine, each
    time that all have run.
    """
    collected = {each: Runs() for each in jobs}
    failing: set[Job] = set()
    with parts.output.progress(what, total=runs) as update:
        for attempt in parts.of(range(TRIES * runs)):
            wanting = [each for each in jobs if each not in failing and len(collected[each].good) < runs]
            if not wanting:
                break
            update(completed=min(len(of.good) for of in collected.values()), description=what)
            for each in parts.of(wanting):
                failing.add(each)
                with parts.part(each.name):
                    result = each.run(attempt)
                    of = collected[each]
                    (of.good if result["share"] >= UNDISTURBED else of.disturbed).append(result)
                    failing.remove(each)
            if between and not parts.interrupted:
                between()
    return {each: of for each, of in collected.items() if of.used}


def no_transactions(collected: dict[Job, Runs]) -> str | None:
    """Why regime rtm ran as its fallback, or None: it did not, or did not run."""
    return next((why for runs in collected.values() if (why := runs.first("no_transactions"))), None)
