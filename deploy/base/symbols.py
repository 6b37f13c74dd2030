# SPDX-License-Identifier: BSD-2-Clause
"""Addresses of an image in words: nm's symbols, and the source lines of its debug information."""

import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from deploy.base.errors import Failure

DEBUG_FILES = Path("/usr/lib/debug/.build-id")  # of Debian's packages that end in -dbg and -dbgsym
_BUILD_ID = re.compile(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)")
_ROW = re.compile(r"(\S+) +(\d+|-) +0x([0-9a-f]+)")


@dataclass(frozen=True)
class Symbol:
    address: int
    size: int  # 0: not known
    name: str


@dataclass(frozen=True)
class Place:
    """Source of an instruction: the innermost function that it belongs to, inlined or not."""

    function: str
    source: str  # file:line; empty where the image does not say


def with_symbols(path: Path) -> Path:
    """The file beside it that ends in .debug, or Debian's of the same build id; itself where neither is."""
    debug_file = path.with_name(path.name + ".debug")
    if debug_file.exists():
        return debug_file
    notes = subprocess.run(["readelf", "-n", str(path)], capture_output=True, text=True).stdout
    built = _BUILD_ID.search(notes)
    installed = DEBUG_FILES / built[1] / f"{built[2]}.debug" if built else path
    return installed if installed.exists() else path


class Image:
    """An executable or a library."""

    def __init__(self, path: Path) -> None:
        self.path = with_symbols(path)

    def _run(self, *command: str, asked: str | None = None) -> list[str]:
        try:
            return subprocess.run([*command], capture_output=True, text=True, check=True,
                                  input=asked).stdout.splitlines()
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failure(f"{self.path}: {command[0]} cannot read it: {error}") from None

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Lists the symbols by address, without absolute ones; of a stripped image, what it exports."""
        command = ["nm", "-S", "--defined-only", str(self.path)]
        symbols = []
        for line in self._run(*command) or self._run(*command, "-D"):
            words = line.split()
            size = int(words[1], 16) if len(words) == 4 else 0
            if words[-2] not in "aA":
                symbols.append(Symbol(int(words[0], 16), size, words[-1].partition("@")[0]))
        return sorted(symbols, key=lambda symbol: (symbol.address, symbol.size))

    def symbol(self, name: str) -> Symbol:
        matches = [symbol for symbol in self.symbols if symbol.name == name]
        if len(matches) != 1:
            raise Failure(f"{self.path}: {len(matches)} symbols {name}")
        return matches[0]

    def name(self, address: int) -> str | None:
        """`symbol+0x12`; none where no symbol of the image is."""
        symbol = self.before(address)
        if symbol is None:
            return None
        offset = address - symbol.address
        if offset and offset >= symbol.size:
            return None
        return f"{symbol.name}+{offset:#x}" if offset else symbol.name

    def before(self, address: int) -> Symbol | None:
        """The last symbol that is not behind the address: its function, for an instruction."""
        index = bisect_right(self.symbols, address, key=lambda symbol: symbol.address)
        return self.symbols[index - 1] if index else None

    @cached_property
    def files(self) -> dict[int, str]:
        """Maps each symbol's address to the source file that was compiled, never a header. A symbol is missing where
        the image does not say."""
        asked = "".join(f"{symbol.address:#x}\n" for symbol in self.symbols)
        sources: dict[int, str] = {}
        at = 0
        for line in self._run("addr2line", "-a", "-i", "-e", str(self.path), asked=asked):
            if line.startswith("0x"):
                at = int(line, 16)
            elif not line.startswith("??"):
                sources[at] = line.rpartition(":")[0]  # the last one counts: what all others were inlined into
        return sources

    def touched(self, start: int, size: int) -> list[str]:
        """Variables that lie in the bytes."""
        return [s.name for s in self.symbols if s.address < start + size and start < s.address + s.size]

    @cached_property
    def _rows(self) -> list[tuple[int, str]]:
        """Lists where each source line's code begins, with `file:line`; empty where the code of a source ends. The last
        row of an address counts."""
        rows: dict[int, str] = {}
        for line in self._run("objdump", "-WL", str(self.path)):
            if match := _ROW.match(line):
                rows[int(match[3], 16)] = "" if match[2] == "-" else f"{match[1]}:{match[2]}"
        return sorted(rows.items())

    def _source(self, address: int) -> str:
        """objdump's: addr2line 2.40 names the function's file, not the line's."""
        index = bisect_right(self._rows, address, key=lambda row: row[0])
        return self._rows[index - 1][1] if index else ""

    def places(self, addresses: Iterable[int]) -> dict[int, Place]:
        ordered = sorted(set(addresses))
        if not ordered:
            return {}
        lines = self._run("addr2line", "-a", "-f", "-e", str(self.path), *map(hex, ordered))
        return {int(at, 16): Place(function, self._source(int(at, 16)))
                for at, function in zip(lines[::3], lines[1::3])}
