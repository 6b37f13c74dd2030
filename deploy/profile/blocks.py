# SPDX-License-Identifier: BSD-2-Clause
"""Blocks of code that the emulator executed, as emulator/profile.c writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure

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


def read(path: Path) -> list[Block]:
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
