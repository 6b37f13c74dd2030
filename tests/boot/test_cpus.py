# SPDX-License-Identifier: BSD-2-Clause
"""CPU models, and programs whose threads run on several cores of one kernel."""

import re
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.base import elf
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, ROOT
from deploy.base.timeouts import Patience
from deploy.deployment import Program, parse
from deploy.emulator import run
from deploy.load import programs
from deploy.machine import image, qemu
from deploy.machine.console_lines import By, lines_by
from deploy.machine.run import Run
from tests.boot.machine import PATIENCE, deployment, machine
from tests.boot.test_modelled import needs_new, small
from topology.machines.machine import default_memory
from topology.units import MIB

# ---- CPU models: one that lacks something is refused by the loader in one line before a kernel runs; others boot. ----


LOADER = BUILD / "cluster-manager/loader/loader.elf"
PANIC = re.compile(r"kernel panic: cluster (\d+) core \d+: (.*?)\r?$", re.MULTILINE)
V2_AES = "qemu64,+aes,+popcnt,+pni,+sse4.1,+sse4.2,+ssse3"  # Proxmox's x86-64-v2-AES
V3 = f"{V2_AES},+avx,+avx2,+bmi1,+bmi2,+f16c,+fma,+movbe,+xsave"  # its x86-64-v3
XSAVEOPT = ",+xsaveopt"

LACKING = {
    "qemu64": "XSAVE", "kvm64": "XSAVE", V2_AES: "XSAVE", "core2duo": "XSAVE", "Nehalem": "XSAVE", "Westmere": "XSAVE",
    "max,-xsave,-nx,-syscall,-tsc": "TSC, XSAVE, SYSCALL, NX", "max,-apic": "APIC", "max,-pat,-mce": "MCE, PAT",
    "SandyBridge,level=12": "XSAVE in 832 bytes",
}  # fmt: skip


def loader_lines(cpu: str, tmp_path: Path) -> list[str]:
    """Returns what the loader writes on this CPU before it ends."""
    initrd = tmp_path / "initrd"
    initrd.write_bytes(image.cpio({"map": bytes(8)}))  # which it does not come to
    done = subprocess.run(
        [qemu.BINARY, "-M", "q35", "-accel", "tcg", "-cpu", cpu, "-m", "256", "-display", "none", "-no-reboot",
         "-nodefaults",
         "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-serial", "stdio", "-kernel", str(LOADER), "-initrd",
         str(initrd)],
        stdin=subprocess.DEVNULL, capture_output=True,
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    assert done.returncode == qemu.EXIT_REFUSED, (done.returncode, lines, done.stderr)
    return lines


@pytest.mark.parametrize("cpu", LACKING, ids=[cpu.replace(",", " ") for cpu in LACKING])
def test_lacking(cpu: str, tmp_path: Path) -> None:
    """a CPU that lacks what kernels need is refused in one line, with all of it and the model to choose"""
    (line,) = loader_lines(cpu, tmp_path)
    assert line.startswith(f"skerry loader: refused: this CPU lacks {LACKING[cpu]}; choose a CPU model that has it: "
                           f"-cpu max in QEMU"), line


@pytest.mark.parametrize("cpu", ["qemu64,+xsave", V3], ids=["qemu64 +xsave", "x86-64-v3"])
def test_without_xsaveopt(cpu: str, tmp_path: Path) -> None:
    """where QEMU 10's emulator would never end the instruction that sets CR4.OSXSAVE, the loader says what to add"""
    (line,) = loader_lines(cpu, tmp_path)
    assert line.endswith("XSAVE without XSAVEOPT, which QEMU's emulator lets no kernel use; choose -cpu max, or add "
                         "+xsaveopt"), line


@pytest.mark.parametrize("cpu", ["qemu32", "pentium3", "486", "max,-lm"])
def test_32_bits(cpu: str, tmp_path: Path) -> None:
    """a CPU without 64-bit mode is refused in one line, by code of 32 bits"""
    (line,) = loader_lines(cpu, tmp_path)
    assert line.startswith("skerry loader: refused: this CPU has no 64-bit mode; choose a CPU model that has it: -cpu "
                           "max in QEMU"), line


def with_cpu(cpu: str) -> qemu.Accel:
    words = list(qemu.TCG_TURNS.arguments)
    words[words.index("-cpu") + 1] = cpu
    return replace(qemu.TCG_TURNS, arguments=tuple(words))


def entry_in_file(kernel: bytes | bytearray) -> int:
    (entry,) = struct.unpack_from("<Q", kernel, 24)
    text = next(s for s in elf.segments("kernel", "kernel", bytes(kernel)) if s.address <= entry < s.end)
    return int(text.offset + entry - text.address)


def started(run: Run) -> bool:
    return len(run.events.of("boot")) == len(run.plan.cluster_map.clusters)


@pytest.mark.limit(240)
@pytest.mark.parametrize("cpu", ["qemu64,+xsave" + XSAVEOPT, "SandyBridge", V3 + XSAVEOPT],
                         ids=["qemu64 +xsave", "SandyBridge", "x86-64-v3"])
def test_sufficient(cpu: str) -> None:
    """clusters start on CPUs that have no more than what kernels need: without x2APIC, FSGSBASE or AVX"""
    with machine(deployment(network=False), accel=with_cpu(cpu)) as run:
        run.wait_for(lambda: started(run), "both clusters")


def panics(run: Run) -> list[str]:
    """Returns the kernels' lines about panics, whatever another kernel has printed within them."""
    return [line for line in lines_by(By.KERNEL, run.console) if PANIC.search(line)]


@pytest.mark.limit(240)
def test_one_core_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """a core that lacks what the loader's own core has is named by its kernel on the console, before its kernel runs"""
    whole = qemu.topology_arguments
    second = "max-x86_64-cpu,xsave=off,socket-id=1,core-id={},thread-id=0"

    def uneven(*arguments: Any) -> list[str]:
        words = whole(*arguments)
        at = words.index("-smp") + 1
        words[at] = words[at].replace("cpus=4,", "cpus=2,maxcpus=4,")
        return [*words, "-device", second.format(0), "-device", second.format(1)]

    monkeypatch.setattr(qemu, "topology_arguments", uneven)
    with machine(deployment(network=False)) as run:
        run.wait_for(lambda: bool(panics(run)), "a panic")
        panic = PANIC.search(panics(run)[0])
        assert panic and panic[1] == "1" and panic[2].startswith("this core lacks XSAVE"), run.console
        run.wait_event("boot", cluster=0)


@pytest.mark.limit(240)
def test_fault_at_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """a kernel that faults before it has its own handlers is reported by the loader's, although the loader has left"""
    whole = image.contents

    def faulty(*arguments: Any) -> dict[str, bytes]:
        files = whole(*arguments)
        kernel = bytearray(files["kernel-clh"])
        at = entry_in_file(kernel)
        kernel[at : at + 2] = b"\x0f\x0b"  # UD2
        return files | {"kernel-clh": bytes(kernel)}

    line = re.compile(r"skerry loader: a core stops: exception 6 at RIP 0xffffffff8[0-9a-f]{7}: ")
    monkeypatch.setattr(image, "contents", faulty)
    with machine(deployment(1, 1, network=False)) as run:
        run.wait_for(lambda: line.search(run.console) is not None, "the loader's line")


@pytest.mark.limit(240)
def test_other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """a kernel for another boot_info, which could not say so itself, is refused by the loader"""
    whole = image.contents

    def older(*arguments: Any) -> dict[str, bytes]:
        files = whole(*arguments)
        kernel = bytearray(files["kernel-clh"])
        kernel[entry_in_file(kernel) - 16] -= 1  # BOOT_INFO_MAGIC's version
        return files | {"kernel-clh": bytes(kernel)}

    monkeypatch.setattr(image, "contents", older)
    with machine(deployment(network=False)) as run:
        with pytest.raises(Failure):
            run.wait_done()
        assert run.status == qemu.EXIT_REFUSED
        assert (
            "skerry loader: refused: module kernel-clh is of another version than this loader: take both from one build"
            in run.console
        )


# ---- Programs whose threads run on several cores of one kernel. ----


TESTED = BUILD / "apps/libc/posixtest-cores.elf"


@pytest.mark.limit(200)
@pytest.mark.parametrize("lock,cores", [
    ("clh", 4), *(pytest.param(lock, cores, marks=pytest.mark.drawn)
                  for lock, cores in [("fine", 4), ("fine", 2), ("clh", 2), ("clh", 1), ("fine", 1)]),
])
def test_posix(lock: str, cores: int) -> None:
    """the POSIX layer passes its tests on several cores of a kernel, with threads that come and go on all of them"""
    program = Program("posixtest-cores", elf=TESTED, cpu=0, cores=cores, heap=64 * MIB, storage=4 * MIB)
    with machine(deployment(1, 4, lock=lock, network=False, shutdown="when-done", programs=(program,))) as booted:
        booted.wait_done()
        assert "not ok" not in booted.console
        result = booted.events.of("result")[0]["data"]
        assert result["failed"] == 0 and result["passed"] > 10
        assert booted.events.of("exit")[0]["status"] == 0
        assert booted.events.of("started")[0].get("cpus", [0]) == list(range(cores))


@needs_new
def joined(folder: Path, text: str) -> Iterator[tuple[int, dict[str, float]]]:
    """Yields numbers of cores, and what the deployment's program measures there: on two cores of one socket and on four
    of two. It must be nearly as many times as fast as on one."""
    modelled = small(folder)
    on = parse(text, folder=folder).on(modelled.shape(modelled.cores, default_memory(2)))
    cases = programs.cases(programs.Programs(on, ["per-socket", "spanning"], Patience(PATIENCE), modelled=modelled))
    for one, cores in zip(cases, (2, 4), strict=True):
        metrics = {metric.name: metric.value
                   for metric in programs.measure_once(one, run.mode(modelled), lambda event: None).metrics}
        assert 0.97 * cores < metrics["speedup"] <= cores and metrics["creation"] > 0
        yield cores, metrics


@pytest.mark.drawn
@pytest.mark.limit(300)
def test_fork_join(tmp_path: Path) -> None:
    """modelled machine: threads that meet every 1.2 M cycles are nearly as many times as fast as one, on two cores of
    one socket and on four of two"""
    subprocess.run([BUILD / "apps/libc/skerry-cc", "--cores", "--without-net", "-O2", "-o", tmp_path / "forkjoin.elf",
                    ROOT / "examples/forkjoin/forkjoin.c"], check=True)
    text = 'network = false\n[[program]]\nelf = "forkjoin.elf"\ncores = "cluster"\nargs = ["0", "300000"]\n'
    for cores, metrics in joined(tmp_path, text):
        assert metrics["efficiency"] == pytest.approx(100 * metrics["speedup"] / cores, rel=0.01)
