# SPDX-License-Identifier: BSD-2-Clause
"""A sweep of many parts: one that fails, or an interrupt, does not lose the finished ones."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from deploy.base.errors import Failure
from deploy.base.terminal import Output

MOST_IN_A_ROW = 3  # parts that fail one after another: the cause is not in the part, and the rest would fail, too
_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


@dataclass
class Parts:
    """Records which parts of one command failed. The command writes the results of the others, then calls `finish`."""

    output: Output
    failed: dict[str, str] = field(default_factory=dict)  # why, by the part's name
    interrupted: bool = False
    in_a_row: int = 0

    def of(self, parts: Iterable[_Part]) -> Iterator[_Part]:
        """Yields the parts until an interrupt, or until too many fail one after another."""
        for part in parts:
            if not self.goes_on:
                return
            yield part

    def boot(self, parts: Sequence[_Part], name: Callable[[_Part], str],
             measure: Callable[[_Part], _Result]) -> list[_Result]:
        """Returns the results of the parts that did not fail; a bar shows their names."""
        results: list[_Result] = []
        with self.output.progress("Booting", total=len(parts)) as update:
            for place, part in enumerate(self.of(parts)):
                update(completed=place, description=name(part))
                with self.part(name(part)):
                    results.append(measure(part))
        return results

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Around one part. Records its failure, or the interrupt, in place of raising it."""
        try:
            yield
            self.in_a_row = 0
        except Failure as failure:
            self.record(name, failure)
        except KeyboardInterrupt:
            self.interrupt(name)

    def record(self, name: str, failure: Failure) -> None:
        self.in_a_row += 1
        self.failed[name] = str(failure)
        self.output.step(f"{name} failed: {failure}")

    def interrupt(self, *names: str) -> None:
        self.interrupted = True
        self.failed |= dict.fromkeys(names or ("the rest",), "interrupted")

    @property
    def goes_on(self) -> bool:
        return not self.interrupted and self.in_a_row < MOST_IN_A_ROW

    @property
    def complete(self) -> bool:
        return not self.failed and not self.interrupted

    def require(self, finished: object) -> None:
        """Raises what ended the sweep if nothing was finished: there is nothing to write."""
        if not finished:
            self.finish("nothing was finished")

    def to_json(self) -> dict[str, Any]:
        """Returns what a results file records of missing parts; an empty dictionary if it has all."""
        if self.complete:
            return {}
        return {"incomplete": [{"part": name, "why": why} for name, why in self.failed.items()]}

    def finish(self, rest: str = "the results have the others") -> None:
        """Raises Failure, or KeyboardInterrupt, unless all parts were finished."""
        if self.interrupted:
            self.output.line(f"Interrupted in {list(self.failed)[-1]}; {rest}.")
            raise KeyboardInterrupt
        if self.failed:
            name, why = next(iter(self.failed.items()))
            more = f" (and {len(self.failed) - 1} more)" if len(self.failed) > 1 else ""
            ended = ", and the parts behind them were not begun" if self.in_a_row >= MOST_IN_A_ROW else ""
            raise Failure(f"{name} failed{more}{ended}; {rest}: {why}")
