# SPDX-License-Identifier: BSD-2-Clause
"""Executed instructions by program, component and function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deploy.profile.blocks import Block
from deploy.profile.components import GROUPS, SPLIT, component, group
from deploy.profile.programs import Program

KERNEL_HALF = 1 << 63  # of the address space
OTHER = "(other code)"  # of no image of the deployment: the loader, the firmware


@dataclass(frozen=True)
class Line:
    """The instructions of one function in one program."""

    program: str
    component: str
    function: str
    instructions: int


@dataclass(frozen=True)
class Profile:
    lines: Sequence[Line]  # the most first
    operations: int
    unit: str = "operation"  # what `operations` counts

    @property
    def instructions(self) -> int:
        return sum(line.instructions for line in self.lines)

    def by(self, *names: str) -> Counter[tuple[str, ...]]:
        """Instructions by these of Line's fields."""
        found: Counter[tuple[str, ...]] = Counter()
        for line in self.lines:
            found[tuple(getattr(line, name) for name in names)] += line.instructions
        return found

    def by_group(self) -> dict[str, float]:
        """Instructions of an operation: application, libc, network, kernel."""
        found = dict.fromkeys(GROUPS, 0.0)
        for line in self.lines:
            found[group(line.component)] += line.instructions / self.operations
        return found

    def metrics(self) -> dict[str, float]:
        return {f"{SPLIT}.{name}": value for name, value in self.by_group().items()}


def tally(blocks: Iterable[Block], programs: Sequence[Program], operations: int, unit: str = "operation") -> Profile:
    """Each block belongs to the program that has its code at its address; kernels all have their code at the same."""
    found: Counter[tuple[str, str, str]] = Counter()
    for block in blocks:
        program = _program(block, programs)
        if not program:
            found[OTHER, OTHER, OTHER] += block.instructions
            continue
        for place in block.places():
            function = program.function(place)
            found[program.name, component(program.name, function), function.name] += block.executions
    return Profile([Line(*names, count) for names, count in found.most_common()], operations, unit)


def _program(block: Block, programs: Sequence[Program]) -> Program | None:
    here = [p for p in programs if p.name.startswith("kernel-") == (block.address >= KERNEL_HALF)]
    return next((p for p in here if p.has(block.address, block.code)), None)
