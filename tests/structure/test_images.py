# SPDX-License-Identifier: BSD-2-Clause
"""Checks the linker's output: the files that boot are what the loader and the managers take them for."""

import re
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.deployment import engines, modules

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK = 1, 2, 3, 0x6474E551
PF_X, PF_W = 1, 2
KERNELS = [modules.module_path(f"kernel-{lock}{stat}") for lock in modules.REGIMES for stat in ("", "+stat")]
ON_DEMAND = {"pingpong-many", *(name for name, engine in engines.PROGRAMS.items() if engine.name == "valkey")}
PROGRAMS = [path for name in modules.PROGRAMS
            if (path := modules.module_path(name)).exists() or name not in ON_DEMAND]
VECTOR = re.compile(r"%[xyz]mm\d|%mm\d|%st\b")


@dataclass(frozen=True)
class Segment:
    kind: int
    flags: int
    address: int
    size: int


def segments(path: Path) -> list[Segment]:
    data = path.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01", f"{path}: not a 64-bit little-endian ELF file"
    assert struct.unpack_from("<HH", data, 16) == (2, 62), f"{path}: not an executable for x86-64"
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)

    def each() -> Iterator[Segment]:
        for index in range(count):
            kind, flags, _, address, _, _, memory, _ = struct.unpack_from("<IIQQQQQQ", data, offset + index * size)
            yield Segment(kind, flags, address, memory)

    return list(each())


def problems(path: Path) -> Iterator[str]:
    loaded = segments(path)
    for segment in loaded:
        if segment.kind in (PT_DYNAMIC, PT_INTERP):
            yield f"{path.name}: is not static"
        if segment.kind == PT_LOAD and segment.flags & PF_W and segment.flags & PF_X:
            yield f"{path.name}: the segment at {segment.address:#x} is writable and executable"
        if segment.kind == PT_GNU_STACK and segment.flags & PF_X:
            yield f"{path.name}: wants an executable stack"
    if not any(segment.kind == PT_LOAD for segment in loaded):
        yield f"{path.name}: nothing to load"


def test_kernels() -> None:
    """kernel images are static and never writable and executable at once"""
    wrong = [problem for path in KERNELS for problem in problems(path)]
    assert not wrong, "\n".join(wrong)


def test_programs() -> None:
    """programs are static and never writable and executable at once"""
    wrong = [problem for path in PROGRAMS for problem in problems(path)]
    assert not wrong, "\n".join(wrong)


def test_kernel_registers() -> None:
    """kernels use no vector or floating-point register, except to save and restore the user's"""
    wrong = []
    for path in KERNELS:
        done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True,
                              check=True)
        wrong += [f"{path.name}: {line.strip()}" for line in done.stdout.splitlines() if VECTOR.search(line)]
    assert not wrong, "\n".join(wrong[:20])


def test_no_access_to_user_memory() -> None:
    """kernels never switch SMAP off: they read and write no memory through a program's addresses"""
    wrong = []
    for path in KERNELS:
        done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True,
                              check=True)
        assert "sysret" in done.stdout, f"{path.name}: not read as code"
        wrong += [f"{path.name}: {line.strip()}" for line in done.stdout.splitlines() if re.search(r"\tstac\b", line)]
    assert not wrong, "\n".join(wrong)


def test_fences_of_virtio() -> None:
    """the virtio driver orders its rings by fences: QEMU makes a locked instruction a plain one where one thread plays
    all processors"""
    source = (ROOT / "net/virtio-net/virtqueue.c").read_text()
    assert len(re.findall(r"^\tmemory_fence\(\);", source, re.MULTILINE)) == 2
    assert not re.search(r"__atomic_\w*(exchange|fetch)", source)
    image = modules.module_path("virtio-net")
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(image)], capture_output=True, text=True,
                          check=True).stdout
    assert len(re.findall(r"\tmfence", code)) >= 2, f"{image.name}: a fence is gone"


@pytest.mark.parametrize("plugin", ["lockstep-1", "lockstep-4", "modelled", "profile-1", "profile-4"])
def test_plugins(plugin: str) -> None:
    """a plugin needs no function that neither QEMU nor a library has: it would not load"""
    done = subprocess.run(["nm", "-D", "--undefined-only", str(BUILD / "emulator" / f"{plugin}.so")],
                          capture_output=True, text=True, check=True)
    needed = [line.split()[-1] for line in done.stdout.splitlines() if line.split()[0] == "U"]
    assert any(name.startswith("qemu_plugin_") for name in needed)
    assert not [name for name in needed if not name.startswith(("qemu_plugin_", "g_")) and "@" not in name]
