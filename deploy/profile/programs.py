# SPDX-License-Identifier: BSD-2-Clause
"""Programs and kernels as a profile needs them: their code, their functions, the source file of each function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from deploy.base import elf
from deploy.base.symbols import Image
from deploy.profile.blocks import Block

UNKNOWN = "?"
KERNEL_HALF = 1 << 63  # where the upper half of the address space begins


@dataclass(frozen=True)
class Function:
    name: str
    source: str  # the file's path; UNKNOWN without debug information


@dataclass
class Program:
    """An image with fixed addresses."""

    name: str
    path: Path

    @cached_property
    def image(self) -> Image:
        return Image(self.path)

    @cached_property
    def code(self) -> list[tuple[int, bytes]]:
        """Address and content of what is executable."""
        data = self.path.read_bytes()
        elf.check(self.name, str(self.path), data)
        return [(s.address, data[s.offset:s.offset + s.in_file]) for s in elf.segments(self.name, str(self.path), data)
                if s.flags & elf.EXECUTE]

    def bytes_at(self, address: int, count: int) -> bytes:
        """Returns bytes of its code; fewer at the end of a segment, none where it has no code."""
        for start, content in self.code:
            if start <= address < start + len(content):
                return content[address - start:address - start + count]
        return b""

    def owns(self, block: Block) -> bool:
        """Whether its code stands at its address; kernels all have theirs at the same, programs in the other half."""
        here = self.name.startswith("kernel-") == (block.address >= KERNEL_HALF)
        return here and self.bytes_at(block.address, len(block.code)) == block.code

    def function(self, address: int) -> Function:
        """The one that has this address, by the symbol before it."""
        symbol = self.image.before(address)
        if symbol is None:
            return Function(f"{address:#x}", UNKNOWN)
        return Function(symbol.name, self.image.files.get(symbol.address, UNKNOWN))
