# SPDX-License-Identifier: BSD-2-Clause
"""The profile of the Linux guest that stands beside Skerry in a comparison, and the owners of the code that it ran: its
kernel by /proc/kallsyms, its programs by where they are mapped."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deploy.base import elf
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.emulator.plugin import arguments, plugin
from deploy.load.comparison import Comparison
from deploy.load.linux_guest.guest import build_guest, on_host
from deploy.load.linux_guest.machine import LinuxRun, Options
from deploy.load.linux_guest.result import loaded
from deploy.load.measure import LINUX_PATIENCE
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.profile.components import Folders
from deploy.profile.programs import KERNEL_HALF, UNKNOWN, Block, Function, Program, read_blocks
from deploy.profile.tally import Owner, Profile, tally
from topology.errors import InputError

KERNEL, VDSO = "linux", "vdso"
LIBC = "/glibc/"  # the source of a function in a static program that its debug information does not know
END = "end"
_LINE = re.compile(r"([0-9a-f]{1,16}) [tTwW] (\S+)(?:\s+\[(\S+)\])?")
_BOUNDS = ("_start", "_end", "_begin")  # bounds of sections
_LONGEST = 1 << 16  # bytes of code behind a symbol that may be its own


@dataclass(frozen=True)
class Kernel:
    """Addresses of functions, rising, and what is there. A kernel changes its own code: bytes are not compared."""

    starts: Sequence[int]
    functions: Sequence[Function]
    name: str = KERNEL

    def owns(self, block: Block) -> bool:
        index = bisect_right(self.starts, block.address)
        return block.address >= KERNEL_HALF and index > 0 and block.address - self.starts[index - 1] < _LONGEST

    def function(self, address: int) -> Function:
        return self.functions[bisect_right(self.starts, address) - 1]


def kernel(lines: Iterable[str]) -> Kernel:
    """Reads the lines of /proc/kallsyms that name code."""
    symbols: dict[int, tuple[str, str | None]] = {}
    addresses: dict[str, int] = {}
    for line in lines:
        match = _LINE.fullmatch(line.rstrip())
        if not match:
            raise Failure(f"the Linux guest's symbols: '{line[:80]}' is no line of /proc/kallsyms")
        if (address := int(match[1], 16)) >= KERNEL_HALF:
            if address not in symbols or symbols[address][0].endswith(_BOUNDS):  # the first of several names
                symbols[address] = match[2], match[3]
            addresses.setdefault(match[2], address)
    if not symbols:
        raise Failure("the Linux guest's symbols: no function of the kernel has an address")
    starts = sorted(symbols)
    folders = Folders(addresses)
    return Kernel(starts, [Function(symbols[at][0], folders.source(at, *symbols[at])) for at in starts])


@dataclass
class Mapped(Program):
    """An image of the guest, where it is mapped."""

    base: int = 0  # the place of its address 0
    library: Mapped | None = None  # that a static program has in it, without sources

    @cached_property
    def code(self) -> list[tuple[int, bytes]]:
        return [(s.address, data) for s, data in executable(self.path)]

    @cached_property
    def sources(self) -> dict[str, str]:
        """Returns the source of each function's name."""
        return {s.name: self.image.files[s.address] for s in self.image.symbols if s.address in self.image.files}

    def owns(self, block: Block) -> bool:
        return block.address < KERNEL_HALF and self.bytes_at(block.address - self.base, len(block.code)) == block.code

    def function(self, address: int) -> Function:
        function = super().function(address - self.base)
        if function.source != UNKNOWN or not self.library:
            return function
        return Function(function.name, self.library.sources.get(function.name, LIBC))


def executable(path: Path) -> list[tuple[elf.Segment, bytes]]:
    """Segments with code, and their content."""
    try:
        data = path.read_bytes()
        elf.check_header(path.name, str(path), data)
        segments = [s for s in elf.segments(path.name, str(path), data, dynamic=True) if s.flags & elf.EXECUTE]
    except (OSError, InputError) as error:
        raise Failure(f"the Linux guest's code: {error}") from None
    return [(s, data[s.offset:s.offset + s.in_file]) for s in segments]


def base(path: Path, start: int, offset: int) -> int:
    """Returns the place of an image's address 0, whose file is mapped executable at `start`, from `offset` on."""
    for segment, _ in executable(path):
        if segment.offset - segment.offset % elf.PAGE == offset:
            return start - (segment.address - segment.address % elf.PAGE)
    raise Failure(f"the Linux guest's code: {path} has no executable segment at {offset:#x}, where one is mapped")


def reported(path: Path) -> tuple[Kernel, bytes]:
    """The kernel's functions and its vDSO, as the guest's init wrote them (deploy/load/linux_guest/symbols.c)."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, ValueError) as error:
        raise Failure(f"the Linux guest's symbols: {error}") from None
    if len(lines) < 2 or lines[-1] != END or not lines[-2].startswith(f"{VDSO} "):
        raise Failure("the Linux guest's symbols: they are incomplete")
    try:
        vdso = bytes.fromhex(lines[-2].removeprefix(VDSO))
    except ValueError as error:
        raise Failure(f"the Linux guest's symbols: vDSO: {error}") from None
    return kernel(lines[:-2]), vdso


def mapped(maps: Iterable[Event], vdso: Path, on_host: Callable[[str], Path]) -> list[Mapped]:
    """Returns the files that servers have mapped, by events of the guest's init, each image at each place once. `vdso`:
    a file with it."""
    files: dict[tuple[Path, int], Mapped] = {}
    for event in maps:
        path, start, offset = str(event["path"]), _number(event, "start"), _number(event, "offset")
        if path.startswith("/") or path == f"[{VDSO}]":
            image = vdso if path == f"[{VDSO}]" else on_host(path)
            at = base(image, start, offset)
            files[image, at] = Mapped(Path(path).name.strip("[]"), image, at)
    return list(files.values())


def _number(event: Event, key: str) -> int:
    if not isinstance(value := event[key], int):
        raise Failure(f"the Linux guest's code: '{key}' of {event} is no number")
    return value


LAYOUT = "spanning"  # one kernel


def options(
    accel: qemu.Accel, timeout: Patience, binary: str, out: Path, window: Mapping[str, str] = {},
    on_event: Callable[[Event], None] | None = None, build: Path = BUILD,
) -> Options:  # fmt: skip
    """`window`: when the plugin counts; nothing: between the marks of the clients."""
    counting = arguments(build / plugin("profile"), {"out": str(out)} | dict(window))
    return Options(accel, timeout, binary=binary, on_event=on_event, symbols=True, extra=counting)


def profile(
    job: Comparison, workload: str, on_event: Callable[[Event], None] | None = None, build: Path = BUILD
) -> tuple[Profile, dict[str, Any]]:
    """Profiles the interval in which all clients run; returns also the entry of "results"."""
    with TemporaryDirectory(prefix="skerry-profile-") as folder:
        out = Path(folder) / "blocks"
        how = options(qemu.TCG_COUNTED, job.timeout.times(LINUX_PATIENCE), job.binary, out, {}, on_event, build)
        with LinuxRun(build_guest(server=job.server), job.deployment(LAYOUT, workload), how) as run:
            run.wait_done()
            entry = loaded(run, {})
            programs = owners(run, Path(folder), build)
        counted = tally(read_blocks(out), programs, round(entry["metrics"]["operations"]))
    entry["metrics"] |= {"instructions_per_op": counted.instructions / counted.operations} | counted.metrics()
    return counted, entry


def owners(run: LinuxRun, folder: Path, build: Path = BUILD) -> list[Owner]:
    """Returns the owners of all code that a run can have executed. `folder` gets a file that lives as long as they are
    used."""
    kernel, vdso = reported(run.symbols)
    image = folder / VDSO
    image.write_bytes(vdso)
    programs = mapped(run.events.of("map"), image, lambda path: on_host(path, build))
    libc = next((program for program in programs if program.name.startswith("libc.so")), None)
    static = [Mapped(name, on_host(path, build), library=libc)
              for name, path in (("ycsb", "/bin/ycsb"), ("init", "/init"))]
    return [kernel, *programs, *static]
