# SPDX-License-Identifier: BSD-2-Clause
"""Programs and kernels as a profile needs them: their code, their functions, and the blocks that were executed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from deploy.base import elf
from deploy.base.errors import Failure
from deploy.base.symbols import Image

END = "end"
_PREFIXES = frozenset((0x66, 0x67, *range(0x40, 0x50)))  # prefixes: size, addresses, REX
_REPEAT = (0xF2, 0xF3)
# ins, outs, movs, cmps, stos, lods, scas
_STRING = frozenset((*range(0x6C, 0x70), *range(0xA4, 0xA8), *range(0xAA, 0xB0)))


@dataclass(frozen=True)
class Block:
    """Instructions that follow each other, up to the next branch."""

    address: int  # virtual
    executions: int
    lengths: tuple[int, ...]  # lengths of the instructions, in bytes
    code: bytes

    @property
    def instructions(self) -> int:
        """That were executed in it."""
        return self.executions * len(self.lengths)

    @property
    def repeated(self) -> int:
        """Steps of a string instruction behind its first: the emulator goes through its block again for each."""
        first = [byte for byte in self.code[:self.lengths[0]] if byte not in _PREFIXES] if self.lengths else []
        return self.executions if len(first) == 2 and first[0] in _REPEAT and first[1] in _STRING else 0

    def places(self) -> Iterator[int]:
        """The address of each instruction."""
        at = self.address
        for length in self.lengths:
            yield at
            at += length


def read_blocks(path: Path) -> list[Block]:
    try:
        lines = path.read_text().splitlines()
        if not lines or lines.pop() != END:
            raise Failure("no profile from the emulator: the measured interval has not ended")
        return [_block(line) for line in lines]
    except (OSError, ValueError) as error:
        raise Failure(f"no profile from the emulator: {error}") from None


def _block(line: str) -> Block:
    address, executions, lengths, code = line.split()
    block = Block(int(address, 16), int(executions), tuple(int(digit, 16) for digit in lengths), bytes.fromhex(code))
    if sum(block.lengths) != len(block.code):
        raise ValueError(f"a block at {address} with {len(block.code)} bytes for instructions of {sum(block.lengths)}")
    return block


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
