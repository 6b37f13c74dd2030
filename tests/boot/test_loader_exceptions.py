# SPDX-License-Identifier: BSD-2-Clause
"""An exception in the loader: one line that says which and where, and the loader's exit status."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import modules
from deploy.machine import image, qemu
from tests.boot.machine import deployment, machine

LOADER = BUILD / "cluster-manager/loader/test-loader-exception.elf"
LINE = re.compile(r"skerry loader: refused: exception (\d+) at RIP 0x([0-9a-f]+): error code 0x([0-9a-f]+), CR2 0x([0-9a-f]+)")
LOADED = range(0x10_0000, 0x20_0000)  # where the loader's code is, cluster-manager/loader/loader.ld

EXCEPTIONS = [
    ("divide", 0, 0, None), ("undefined", 6, 0, None), ("protection", 13, 0, None), ("page", 14, 2, 1 << 45),
]  # CR2 says something of a page fault only


@pytest.mark.parametrize("name,vector,error,address", EXCEPTIONS, ids=[name for name, *_ in EXCEPTIONS])
def test_exception(name: str, vector: int, error: int, address: int | None, tmp_path: Path) -> None:
    """a loader that faults says which exception it was, and where, and ends"""
    initrd = tmp_path / "initrd"
    initrd.write_bytes(image.cpio({"map": bytes(8)}))  # which it does not come to
    machine = ("-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", "256", "-display", "none", "-no-reboot", "-nic", "none")
    done = subprocess.run(
        [qemu.BINARY, *machine, "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-serial", "stdio", "-kernel", str(LOADER),
         "-initrd", str(initrd), "-append", name],
        stdin=subprocess.DEVNULL, capture_output=True,
    )
    said = done.stdout.decode(errors="replace").splitlines()
    assert done.returncode == qemu.EXIT_REFUSED, (done.returncode, said)
    found = LINE.fullmatch(said[-1])
    assert found and len(said) == 1, said
    assert int(found[1]) == vector and int(found[3], 16) == error
    assert address is None or int(found[4], 16) == address
    assert int(found[2], 16) in LOADED


@pytest.mark.limit(180)
@pytest.mark.parametrize("uefi", [False, True], ids=["BIOS", "UEFI"])
def test_grub(uefi: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """a loader that faults when GRUB has started it says so, too"""
    monkeypatch.setattr(modules, "LOADER", LOADER.relative_to(BUILD))
    with machine(deployment(), medium="iso", uefi=uefi, patience=Patience(120)) as run:
        with pytest.raises(Failure, match=f"exception 14 at RIP 0x1[0-9a-f]{{5}}: error code 0x2, CR2 0x{1 << 45:x}"):
            run.wait_done()
