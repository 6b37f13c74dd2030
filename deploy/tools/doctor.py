# SPDX-License-Identifier: BSD-2-Clause
"""Examines the machine for `skerry doctor`: for each matter what was found, what will be used, and why not the rest."""

import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.base import host
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS, ROOT
from deploy.deployment.modules import LOADER
from deploy.machine import qemu
from deploy.setup import apt, needs, packages, sources
from topology.units import GIB

MEMORY_NEEDED = 3 * GIB  # the default machine has 2 GiB
DISK_NEEDED = 2 * GIB    # packages, third-party sources, build, images


@dataclass(frozen=True)
class Finding:
    subject: str
    found: str
    use: str  # what will be used, or done about it
    good: bool = True  # False where Skerry will not work until it is mended

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def system() -> Finding:
    name, title = host.distribution()
    if name in apt.TRIED:
        return Finding("System", title, "packages come from its archive")
    return Finding("System", title, f"set-up was tried on {apt.SYSTEMS} only; install what build lacks yourself")


def processor() -> Finding:
    cpu = host.cpu()
    sockets = f"{cpu.sockets} socket{'s' * (cpu.sockets != 1)}"
    description = f"{cpu.model}, {cpu.cores} core{'s' * (cpu.cores != 1)} to run on, {sockets}"
    if os.uname().machine != "x86_64":
        return Finding("CPU", description, "Skerry is for x86-64 only", good=False)
    return Finding("CPU", description, f"builds with {cpu.cores} jobs; {emulation(4)}")


def emulation(cores: int) -> str:
    shared = cores > host.cpu().cores
    return f"{cores} emulated cores " + ("take turns on one host thread" if shared else "have a host thread each")


def transactions() -> Finding:
    flags = host.cpu().flags
    if "rtm" not in flags:
        why = "CPUID lists no RTM" + (", only HLE" if "hle" in flags else "")
        return Finding("TSX", why, "locks without transactions; emulated cores never have any")
    tried = host.try_transactions()
    if tried.error:
        return Finding("TSX", f"CPUID lists RTM, but {tried.error}", "locks without transactions")
    share = 100 * tried.committed / tried.begun
    description = f"CPUID lists RTM; {tried.committed} of {tried.begun} empty transactions committed ({share:.1f} %)"
    use = "on real cores only: the emulator has no transactions" if tried.committed else "none: RTM always aborts"
    return Finding("TSX", description, use)


def kvm() -> Finding:
    device = Path("/dev/kvm")
    fallback = "emulation (TCG)"
    if not device.exists():
        return Finding("KVM", "no /dev/kvm", f"{fallback}: load kvm_intel or kvm_amd, or allow nested virtualisation")
    if not os.access(device, os.R_OK | os.W_OK):
        return Finding("KVM", "/dev/kvm may not be opened by this user", f"{fallback}: join the group kvm")
    from deploy.machine import kvm as probe  # loads what boots machines: only where there is something to boot

    if not (BUILD / LOADER).exists():
        return Finding("KVM", "/dev/kvm is there, untried: no image is built yet",
                       f"{fallback} until ./skerry build has been run")
    try:
        works, why = probe.probe_kvm()
    except Failure as error:
        return Finding("KVM", f"/dev/kvm is there, untried: {in_brief(error.text)}",
                       f"{fallback} until ./skerry build has been run")
    advice = f"{fallback}; in a virtual machine let its host pass VT-x or AMD-V on, else try another kernel or QEMU"
    return Finding("KVM", f"/dev/kvm is there; {in_brief(why)}", "KVM" if works else advice)


def in_brief(why: str, most: int = 120) -> str:
    """An emulator's last words on one line; all of them are in its log."""
    words = " ".join(why.split())
    return words if len(words) <= most else f"{words[: most - 1]}… (all of it: {LOGS})"


def emulator() -> Finding:
    path = shutil.which(qemu.BINARY)
    if not path:
        return Finding("QEMU", "not installed", "./skerry build installs it")
    version = qemu.version()
    description = f"{path} {version[0]}.{version[1]}"
    if version < (7, 2):
        return Finding("QEMU", description, "too old: 7.2 is the least; install Debian's", good=False)
    if version < (8, 0):
        return Finding("QEMU", description, "works; 10.0 of bookworm-backports adds repeatable SMP runs (--icount)")
    return Finding("QEMU", description, "this one")


def firmware() -> Finding:
    bios = any(Path(folder).exists() for folder in ("/usr/share/seabios", "/usr/share/qemu/bios-256k.bin"))
    uefi = any(Path("/usr/share/OVMF").glob("OVMF_CODE*.fd"))
    names = [name for name, there in (("SeaBIOS", bios), ("OVMF", uefi)) if there]
    lacking = [name for name, there in (("SeaBIOS", bios), ("OVMF", uefi)) if not there]
    use = "BIOS unless --uefi asks for the other" if not lacking else f"./skerry build installs {', '.join(lacking)}"
    return Finding("Firmware", ", ".join(names) or "none", use)


def images() -> Finding:
    platforms = [name for name in ("i386-pc", "x86_64-efi") if Path("/usr/lib/grub", name).is_dir()]
    tools = [tool for tool in ("grub-mkrescue", "xorriso", "mformat", "dtc") if not shutil.which(tool)]
    description = f"GRUB for {', '.join(platforms) or 'nothing'}" + (f"; no {', '.join(tools)}" if tools else "")
    complete = len(platforms) == 2 and not tools
    return Finding("Images", description, "ISOs for BIOS and UEFI" if complete else "./skerry build installs the rest")


def memory() -> Finding:
    total, available = host.memory()
    description = f"{total / GIB:.1f} GiB, {available / GIB:.1f} GiB available"
    if available < MEMORY_NEEDED:
        return Finding("Memory", description, f"the default machine needs {MEMORY_NEEDED / GIB:.0f} GiB", good=False)
    return Finding("Memory", description, "enough for the default machine (2 GiB)")


def disk() -> Finding:
    free = shutil.disk_usage(ROOT).free
    description = f"{free / GIB:.1f} GiB free at {ROOT}"
    if free < DISK_NEEDED and not (BUILD / "build.ninja").exists():
        return Finding("Disk", description, f"set-up and build need {DISK_NEEDED / GIB:.0f} GiB", good=False)
    return Finding("Disk", description, "enough")


def set_up() -> Finding:
    try:
        lacking = [package.name for package in packages.missing(needs.BOOT_GROUPS)]
        later = [package.name for package in packages.missing() if package.name not in lacking]
    except Failure as error:
        return Finding("Set-up", str(error), "install what packages.toml lists yourself", good=False)
    todo = [source.name for source in sources.needed() if not source.is_unpacked()]
    parts = [f"{len(lacking)} Debian packages to install ({', '.join(lacking)})"] if lacking else []
    parts += [f"sources to fetch: {', '.join(todo)}"] if todo else []
    parts += [] if (BUILD / "build.ninja").exists() else ["never built"]
    description = "; ".join(parts) or "complete"
    on_demand = f"; {', '.join(later)} when a command needs them" if later else ""
    return Finding("Set-up", description, ("./skerry build does it" if parts else "nothing to do") + on_demand)


EXAMINATIONS: list[Callable[[], Finding]] = [
    system, processor, transactions, kvm, emulator, firmware, images, memory, disk, set_up
]
