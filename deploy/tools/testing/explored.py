# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts on tests that come out the same each time: one whose program passed, to the byte, need not run again.

Program and arguments alone decide what an exploration (model/) does, or a test of Meson's suite `repeatable`: one
thread, which asks the host for nothing. `python -m tests.long.explorations` records those that passed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.base.paths import ROOT
from deploy.tools.testing import meson_tests
from deploy.tools.testing.meson_tests import MesonTest
from deploy.tools.testing.result import Result

FILE = ROOT / "tests" / "long" / "explorations.txt"

_ALLOCATED, _NOTE, _EMPTY = 2, 7, 8  # a section's flag; its types (elf(5): SHF_ALLOC, SHT_NOTE, SHT_NOBITS)


@dataclass(frozen=True)
class Verdict:
    digest: str
    date: str
    seconds: int  # on whatever host


def sections(data: bytes) -> Iterator[bytes]:
    """Yields what of an ELF64 file is loaded: less notes, of which one is a hash of the debug information too."""
    (at,), (size, count) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 58)
    for number in range(count):
        _, kind, flags, address, offset, length = struct.unpack_from("<IIQQQQ", data, at + number * size)
        if flags & _ALLOCATED and kind != _NOTE:
            yield struct.pack("<QQ", address, length)
            yield b"" if kind == _EMPTY else data[offset : offset + length]


def digest(test: MesonTest) -> str:
    """Returns a hash of the test's program and arguments."""
    program, *arguments = test.command
    sha256 = hashlib.sha256("\0".join(arguments).encode())
    for part in sections(Path(program).read_bytes()):
        sha256.update(part)
    return sha256.hexdigest()[:32]


def repeatable() -> list[MesonTest]:
    """Returns the tests that may have a verdict."""
    return [test for test in meson_tests.collect("") if test.repeatable]


def verdicts(path: Path = FILE) -> dict[str, Verdict]:
    """Returns what is recorded, by the tests' names."""
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return {name: Verdict(digest, date, int(seconds))
            for name, digest, date, seconds in (line.split("\t") for line in lines)}


def without_explored(tests: Iterable[MesonTest], path: Path = FILE) -> tuple[list[MesonTest], list[Result]]:
    """Returns the tests that must run, and the results of repeatable ones that have passed before."""
    known = verdicts(path)
    left: list[MesonTest] = []
    results: list[Result] = []
    for test in tests:
        verdict = known.get(test.name) if test.repeatable else None
        if verdict and Path(test.command[0]).exists() and verdict.digest == digest(test):
            results.append(Result(test.name, "passed", 0.0, f"this program passed on {verdict.date}"))
        else:
            left.append(test)
    return left, results
