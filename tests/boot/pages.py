# SPDX-License-Identifier: BSD-2-Clause
"""Reads from QEMU what a running machine's cores can reach, and how: page tables and control registers."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.machine import monitor
from deploy.machine.run import Run

PAGE = 4096
LARGE_PAGE = 2 << 20  # the only other size that the kernel's own mappings have
KERNEL_HALF = 1 << 63
INTERRUPTS = 1 << 9  # of RFLAGS
DIRECT_BASE, DIRECT_END = 0xFFFF800000000000, 0xFFFFFF8000000000
IMAGE_BASE = 0xFFFFFFFF80000000

_ENTRY = re.compile(r"^([0-9a-f]{16}): ([0-9a-f]{16}) ([-XGPDACTUW]{9})$", re.MULTILINE)
_CORE = re.compile(r"^CPU#(\d+)$(.*?)(?=^CPU#|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Page:
    vaddr: int
    paddr: int
    size: int
    executable: bool
    user: bool
    writable: bool

    def __str__(self) -> str:
        rights = "".join(c if on else "-" for c, on in zip("uwx", (self.user, self.writable, self.executable)))
        return f"{self.vaddr:#x} -> {self.paddr:#x} {rights}"


def parse(text: str) -> list[Page]:
    """Parses the monitor's `info tlb`, which lists a core's page tables whole, not only what its TLB holds."""
    return [Page(int(vaddr, 16), int(paddr, 16), LARGE_PAGE if "P" in flags else PAGE, "X" not in flags, "U" in flags,
                 "W" in flags) for vaddr, paddr, flags in _ENTRY.findall(text.replace("\r", ""))]


def of_core(run: Run, core: int) -> list[Page]:
    return parse(monitor.human(run.command.monitor, "info tlb", core=core)[0])


def registers(run: Run) -> dict[int, dict[str, int]]:
    """CR0, CR3, CR4, EFER and so on of each core."""
    text = monitor.human(run.command.monitor, "info registers -a")[0].replace("\r", "")
    by_core = {}
    for number, part in _CORE.findall(text):
        by_core[int(number)] = {name: int(value, 16) for name, value in re.findall(r"\b(CR\d|EFER)=([0-9a-f]+)", part)}
    return by_core


@dataclass(frozen=True)
class Descriptors:
    """A core's TSS and IDT, and their limits; whether it is halted, with interrupts off."""

    tss: int
    tss_limit: int
    idt: int
    idt_limit: int
    parked: bool


def descriptors(run: Run) -> dict[int, Descriptors]:
    text = monitor.human(run.command.monitor, "info registers -a")[0].replace("\r", "")
    by_core = {}
    for number, part in _CORE.findall(text):
        tss, idt = re.search(r"^TR =\w+ (\w+) (\w+)", part, re.MULTILINE), re.search(r"^IDT=\s+(\w+) (\w+)", part,
            re.MULTILINE)
        state = re.search(r"RFL=(\w+) .*HLT=(\d)", part)
        assert tss and idt and state, part
        parked = state[2] == "1" and not int(state[1], 16) & INTERRUPTS
        by_core[int(number)] = Descriptors(*(int(value, 16) for value in (*tss.groups(), *idt.groups())), parked)
    return by_core


def memory(run: Run, core: int, address: int, size: int) -> bytes:
    """Returns what a core would read there."""
    text = monitor.human(run.command.monitor, f"x /{size // 4}xw {address:#x}", core=core)[0].replace("\r", "")
    words = [int(word, 16) for line in text.splitlines()
             for word in re.findall(r"0x([0-9a-f]{8})", line.partition(":")[2])]
    assert len(words) == size // 4, text
    return b"".join(word.to_bytes(4, "little") for word in words)


def symbol(image: Path, name: str) -> tuple[int, int]:
    """Address and size."""
    done = subprocess.run(["nm", "-S", str(image)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        words = line.split()
        if words[-1] == name and len(words) == 4:
            return int(words[0], 16), int(words[1], 16)
    raise KeyError(f"{image}: {name}")


def first_bytes(image: Path, code: bytes) -> int:
    """The address of these bytes in the image's code."""
    done = subprocess.run(["readelf", "-lW", str(image)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in "".join(words[6:-1]):
            offset, vaddr, size = (int(words[i], 16) for i in (1, 2, 4))
            place = image.read_bytes()[offset:offset + size].find(code)
            if place >= 0:
                return vaddr + place
    raise KeyError(f"{image}: no {code.hex()}")
