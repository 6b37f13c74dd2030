# SPDX-License-Identifier: BSD-2-Clause
"""Executed instructions by program, component and function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from deploy.profile.components import GROUPS, SPLIT, component, group
from deploy.profile.programs import Block, Function

OTHER = "(other code)"  # code of no image of the deployment: the loader, the firmware


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
    unit: str = "operation"  # the unit of `operations`
    # a part of the instructions: steps of `rep movs` and the like, each of which is one instruction of a processor
    repeated: int = 0

    @property
    def instructions(self) -> int:
        return sum(line.instructions for line in self.lines)

    def by(self, *names: str) -> Counter[tuple[str, ...]]:
        """Instructions by these of Line's fields."""
        sums: Counter[tuple[str, ...]] = Counter()
        for line in self.lines:
            sums[tuple(getattr(line, name) for name in names)] += line.instructions
        return sums

    def by_group(self) -> dict[str, float]:
        """Instructions of an operation: application, libc, network, kernel, and idle where there are any."""
        sums = dict.fromkeys(GROUPS, 0.0)
        for line in self.lines:
            name = group(line.component)
            sums[name] = sums.get(name, 0.0) + line.instructions / self.operations
        return sums

    def metrics(self) -> dict[str, float]:
        return {f"{SPLIT}.{name}": value for name, value in self.by_group().items()}


class Owner(Protocol):
    """A program or a kernel: the code that it has, and the functions in it."""

    @property
    def name(self) -> str: ...

    def owns(self, block: Block) -> bool: ...

    def function(self, address: int) -> Function: ...


def tally(blocks: Iterable[Block], owners: Sequence[Owner], operations: int, unit: str = "operation") -> Profile:
    """Each block belongs to the first that has its code at its address."""
    sums: Counter[tuple[str, str, str]] = Counter()
    repeated = 0
    for block in blocks:
        repeated += block.repeated
        owner = next((owner for owner in owners if owner.owns(block)), None)
        if not owner:
            sums[OTHER, OTHER, OTHER] += block.instructions
            continue
        for place in block.places():
            function = owner.function(place)
            sums[owner.name, component(owner.name, function), function.name] += block.executions
    return Profile([Line(*names, count) for names, count in sums.most_common()], operations, unit, repeated)
