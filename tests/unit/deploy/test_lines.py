# SPDX-License-Identifier: BSD-2-Clause
"""Lines that move between cores, in words."""

import pytest

from deploy.base.symbols import Image
from deploy.bench.lines.measure import KERNEL_DIRECT_BASE, Names, byte_ranges
from deploy.bench.lines.table import cores_text
from deploy.cli.main import main
from deploy.deployment import modules

KERNEL, PROGRAM = Image(modules.module_path("kernel-clh")), Image(modules.module_path("pingpong"))


def test_bytes() -> None:
    """bench lines: bytes of a line as stretches, cores likewise"""
    assert byte_ranges(0) == []
    assert byte_ranges(0xFF00_0000_0000_000F) == [[0, 3], [56, 63]]
    assert byte_ranges((1 << 64) - 1) == [[0, 63]]
    assert cores_text([0, 1, 2, 5, 7, 8]) == "0..2, 5, 7..8"


def test_names() -> None:
    """bench lines: a line is named by the variable in it, or by the core whose struct cpu it is in"""
    at = KERNEL_DIRECT_BASE + 0x100000
    names = Names(KERNEL, PROGRAM, [at + 0x4000, at, 0])
    kernel = KERNEL.symbol("kernel")
    assert names.line(kernel.address + 0x40) == "kernel+0x40"
    assert names.line(kernel.address + kernel.size + 0x100000) == f"kernel {kernel.address + kernel.size + 0x100000:#x}"
    assert names.line(at + 0x4040) == "core 0's struct cpu+0x40"
    assert names.line(at + 0x3FC0) == "core 1's struct cpu+0x3fc0"
    assert names.line(at + 0x8000) == "memory 0x108000"
    assert names.line(0x7F00_0000_0000) == "program 0x7f0000000000"


def test_sources() -> None:
    """bench lines: an instruction that was inlined has the line of the function that it is from, not of the file that is compiled"""
    entry = min(s.address for s in KERNEL.symbols if s.name == "kernel_enter")
    sources = {place.source.split(":")[0] for place in KERNEL.places(range(entry, entry + 0x20)).values()}
    assert sources == {"clh_lock.h", "kernel.h"}  # the lock's, and where the kernel has it


@pytest.mark.parametrize("words,says", [
    (["--lock", "none", "--cores", "2"], "--lock none"),
    (["--machine", "pdp11"], "--machine pdp11"),
    (["--cores", "29"], "--cores: 29 cores; 2 x 14 Xeon"),
    (["--layout", "homed", "--lock", "dynamic"], "--layout: 'homed' is for programs that managers start"),
])
def test_refused(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """bench lines: what cannot be is refused before anything is built"""
    assert main(["bench", "lines", *words]) != 0
    assert says in capsys.readouterr().err
