# SPDX-License-Identifier: BSD-2-Clause
"""Follows what an image may execute inside a transaction: from each XBEGIN along all jumps and calls to where it ends.

Flow is followed by instruction. A call goes on behind it only if its function may return with the transaction still
running. Indirect jumps are switches: through the table that the instruction names.
"""

import re
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Intel SDM volume 1, 16.3.8.1: instructions that abort, on all processors or on some.
_ABORTS = re.compile(
    r"(cpuid|pause|cli|sti|popf.?|clts|lmsw|swapgs|wr[fg]sbase|[ls][gil]dt.?|ltr|str|l(call|jmp|ret).?|iret.?"
    r"|sys(enter|exit|call|ret).*|clflush.*|clwb|invd|wbinvd|invlpg|invpcid|v?movnt.*|v?maskmov.*|fx(save|rstor).*"
    r"|x(save|rstor|setbv).*|vzero.*|int\d?|into|ins?[bwl]?|outs?[bwl]?|rdmsr|wrmsr|hlt|m(onitor|wait)x?|rsm|getsec|vm.*"
    r"|emms|f[a-z].*)$"
)
# control, debug, x87; a segment register written
_SPECIAL_OPERAND = re.compile(r"%cr\d|%db\d|%dr\d|%mm\d|%st\b|,%[cdefgs]s$")
_SEGMENT_POP = re.compile(r"%[defgs]s$")
_ENDS = {"xend", "xabort", "ud2"}
_PREFIXES = {"rep", "repz", "repnz", "lock", "cs", "ds", "notrack", "bnd", "data16"}
_LINE = re.compile(r"^\s*([0-9a-f]+):\t(.*?)\s*(?:#.*)?$")
_SYMBOL = re.compile(r"^([0-9a-f]+) <(.*)>:$")
_TARGET = re.compile(r"^([0-9a-f]+)(?: <.*>)?$")
_TABLE = re.compile(r"^\*(-?0x[0-9a-f]+)\(,%\w+,8\)$")


def plain(name: str) -> str:
    """A function's name without what the compiler made of it: parts, copies."""
    return name.split(".")[0]


@dataclass(frozen=True)
class Instruction:
    name: str
    operands: str
    next: int

    @property
    def target(self) -> int | None:
        match = _TARGET.match(self.operands)
        return int(match[1], 16) if match else None

    @property
    def aborts(self) -> bool:
        return bool(_ABORTS.match(self.name) or _SPECIAL_OPERAND.search(self.operands)
                    or (self.name.startswith("pop") and _SEGMENT_POP.search(self.operands)))


@dataclass
class Listing:
    """objdump -d, and what is at the addresses of jump tables."""

    code: dict[int, Instruction] = field(default_factory=dict)
    symbols: list[tuple[int, str]] = field(default_factory=list)
    data: list[tuple[int, bytes]] = field(default_factory=list)  # address, contents

    def function(self, address: int) -> str:
        index = bisect_right(self.symbols, address, key=lambda symbol: symbol[0])
        return plain(self.symbols[index - 1][1]) if index else "?"

    def table(self, address: int, of: int) -> Iterator[int]:
        """Yields where the switch in the function around `of` may go."""
        for base, contents in self.data:
            for place in range(address - base, len(contents) - 7, 8) if base <= address < base + len(contents) else ():
                target, = struct.unpack_from("<Q", contents, place)
                if target not in self.code or self.function(target) != self.function(of):
                    return
                yield target


def parse(text: str) -> Listing:
    listing = Listing()
    last: tuple[int, str] | None = None

    def keep(end: int) -> None:
        if last:
            words = last[1].split()
            while len(words) > 1 and words[0] in _PREFIXES:
                words.pop(0)
            listing.code[last[0]] = Instruction(words[0], " ".join(words[1:]), end)

    for line in text.splitlines():
        if symbol := _SYMBOL.match(line):
            listing.symbols.append((int(symbol[1], 16), symbol[2]))
        elif match := _LINE.match(line):
            address = int(match[1], 16)
            keep(address)
            last = (address, match[2])
    keep(0)
    return listing


def read(image: Path) -> Listing:
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(image)], capture_output=True, text=True,
                          check=True)
    listing = parse(done.stdout)
    file = image.read_bytes()
    offset, = struct.unpack_from("<Q", file, 32)
    size, count = struct.unpack_from("<HH", file, 54)
    for index in range(count):
        kind, _, start, address, _, length = struct.unpack_from("<IIQQQQ", file, offset + index * size)
        if kind == 1:
            listing.data.append((address, file[start:start + length]))
    return listing


@dataclass
class Reach:
    """Everything that may run inside transactions, and what is wrong with it."""

    begins: list[int]
    functions: set[str] = field(default_factory=set)
    wrong: dict[int, str] = field(default_factory=dict)


class _Walk:
    def __init__(self, listing: Listing, outside: frozenset[str]) -> None:
        self.listing, self.outside = listing, outside
        self.returns: set[int] = set()  # functions that may return inside the transaction
        self.chain: dict[int, str] = {}  # how each was come to first
        self.reach = Reach([a for a, i in listing.code.items() if i.name == "xbegin"])

    def error(self, address: int, entry: int, what: str) -> None:
        self.reach.wrong[address] = f"{self.chain[entry]}: {what} at {address:#x} in {self.listing.function(address)}"

    def follow(self, entry: int) -> Iterator[int]:
        """Walks one function from `entry`; yields the entries of those that it calls."""
        code, seen, todo = self.listing.code, set(), [entry]
        while todo:
            address = todo.pop()
            if address in seen:
                continue
            seen.add(address)
            instruction = code[address]
            name, target = instruction.name, instruction.target
            self.reach.functions.add(self.listing.function(address))
            if name in _ENDS:
                continue
            if instruction.aborts:
                self.error(address, entry, f"{name} {instruction.operands}".strip())
            elif name == "ret":
                self.returns.add(entry)
            elif name in ("call", "jmp") and target is None:
                table = _TABLE.match(instruction.operands) if name == "jmp" else None
                goals = list(self.listing.table(int(table[1], 16) % 2**64, address)) if table else []
                todo += goals
                if not goals:
                    self.error(address, entry, f"{name} {instruction.operands}, which cannot be followed")
            elif target is not None and name in ("call", "jmp") and self.listing.function(target) in self.outside:
                continue
            elif name == "call":
                assert target is not None
                self.chain.setdefault(target, f"{self.chain[entry]} > {self.listing.function(target)}")
                yield target
                if target in self.returns:
                    todo.append(instruction.next)
            elif name == "jmp":
                assert target is not None
                todo.append(target)
            else:
                todo.append(instruction.next)
                if name.startswith("j") and target is not None:
                    todo.append(target)


def transactions(listing: Listing, outside: frozenset[str]) -> Reach:
    """`outside`: functions whose call ends a transaction, or that are called outside of all."""
    walk = _Walk(listing, outside)
    roots = {listing.code[a].next: listing.function(a) for a in walk.reach.begins}
    walk.chain.update(roots)
    entries, known = set(roots), -1
    while known != len(entries) + len(walk.returns):  # until nothing new turns up
        known = len(entries) + len(walk.returns)
        for entry in list(entries):
            entries.update(walk.follow(entry))
    for root in roots:
        if root in walk.returns:
            walk.error(root, root, "a return inside the transaction, to an unknown caller")
    return walk.reach
