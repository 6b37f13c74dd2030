# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's command line for a machine, and the choice of accelerator."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_network
from pathlib import Path

from deploy.base.atomic_files import write_bytes
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment.addresses import INSIDE
from deploy.deployment.volumes import Share, qemu_arguments
from deploy.machine.image import DirectBoot
from deploy.machine.tap import Tap
from topology import demand, drivers
from topology.errors import InputError
from topology.machines.machine import Machine, Shape, emulated
from topology.machines.qemu import address_bits, arguments, grid
from topology.maps.clustermap import Network

BINARY = os.environ.get("SKERRY_QEMU", "qemu-system-x86_64")

# In front of QEMU's libraries, so that bursts of connections to forwarded ports are accepted (listen_backlog.c).
PRELOAD = BUILD / "deploy" / "listen-backlog.so"

# isa-debug-exit turns a written value v into the exit status v << 1 | 1.
EXIT_REJECTED = 1  # QEMU itself could not start: an argument, a file, a port that is in use
EXIT_SUCCESS = 33
EXIT_FAILURE = 35
EXIT_REFUSED = 99  # by the loader

FEW, MANY_SINCE = 288, (9, 0)  # processors of a machine, and the version that has more


@dataclass(frozen=True)
class Accel:
    """Way to run guest code. `emulated` times mean nothing in absolute terms."""

    kind: str  # kvm or tcg
    arguments: tuple[str, ...]
    description: str
    icount: bool = False
    preload: tuple[Path, ...] = ()  # libraries in front of the emulator's, beside PRELOAD

    @property
    def emulated(self) -> bool:
        return self.kind != "kvm"

    @property
    def round_robin(self) -> bool:
        """One core runs at a time, without a plugin that keeps them in step."""
        return "tcg,thread=single" in self.arguments

    @property
    def stopped(self) -> bool:
        """The machine waits to be started, by the monitor."""
        return "-S" in self.arguments

    @property
    def cpu_model(self) -> str:
        """Returns the CPU model without the features that are switched; those hold for every processor of the model."""
        return self.arguments[self.arguments.index("-cpu") + 1].partition(",")[0]


KVM = Accel("kvm", ("-accel", "kvm", "-cpu", "host"), "KVM")
_TCG_CPU = ("-cpu", "max")
TCG_PARALLEL = Accel(
    "tcg", ("-accel", "tcg,thread=multi", *_TCG_CPU), "TCG, a host thread for each core (thread=multi)"
)
TCG_TURNS = Accel(
    "tcg", ("-accel", "tcg,thread=single", *_TCG_CPU), "TCG, cores take turns on one host thread (thread=single)"
)
# The local APIC's timer may be read through x2APIC registers only where QEMU expects input or output; it stops with
# "Bad icount read" when that happens within a block of instructions. xAPIC registers are always input or output.
TCG_COUNTED = Accel("tcg", ("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "max,-x2apic")
                    + ("-rtc", "clock=vm,base=2026-01-01", "-seed", "1"),
                    "TCG counting instructions (thread=single, icount shift=0,sleep=off): "
                    "one core runs at a time, the clock advances 1 ns with each instruction, runs are repeatable",
                    icount=True)
# For a load from outside: where all cores sleep, the clock is the host's until somebody wakes one; it would leap from
# timer to timer.
TCG_COUNTED_OUTSIDE = replace(
    TCG_COUNTED, arguments=tuple(word.replace("sleep=off", "sleep=on") for word in TCG_COUNTED.arguments),
    description="TCG counting instructions (thread=single, icount shift=0): one core runs at a time, the clock "
    "advances 1 ns "
    "per instruction, and with the host's where all cores sleep",
)  # fmt: skip


def tcg_for(cores: int, counted: bool = False) -> Accel:
    """The emulator's mode for so many virtual cores; `counted`: repeatable to the instruction."""
    here = len(os.sched_getaffinity(0))
    mode = TCG_COUNTED if counted else TCG_PARALLEL if cores <= here else TCG_TURNS
    return replace(mode, description=f"{mode.description}; {cores} core{'s' * (cores != 1)} on {here} host "
                   f"core{'s' * (here != 1)}")


@cache
def version(binary: str = BINARY) -> tuple[int, int]:
    try:
        demand.program(binary, "qemu")
        text = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        raise Failure(f"{binary} not found; install qemu-system-x86") from None
    match = re.search(r"version (\d+)\.(\d+)", text)
    if not match:
        raise Failure(f"{binary} --version says {text.splitlines()[:1]}")
    return int(match[1]), int(match[2])


@dataclass
class Forward:
    """A port of an application that the host reaches at 127.0.0.1:host_port, or not at all if that is INSIDE."""

    application: str
    guest: str
    guest_port: int
    host_port: int = 0  # 0: not chosen yet

    @property
    def is_open(self) -> bool:
        return self.host_port != INSIDE

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.host_port}" if self.is_open else f"{self.guest}:{self.guest_port}"


def user_network(network: Network | None, forwards: Sequence[Forward], outside: bool = False) -> str:
    """Words for -netdev: QEMU's own stack as the gateway, and the ports of the host that lead in.

    Unless `outside`, the machine is restricted to these: QEMU would connect it to the services of the host's 127.0.0.1,
    too.
    """
    network = network or Network()
    subnet = ip_network(f"{network.gateway}/{network.netmask}", strict=False)
    words = f"net={subnet},host={network.gateway},ipv6=off,restrict={'off' if outside else 'on'}"
    # servers of its own that nobody here asks, but they have addresses
    for name, usual in (("dns", 3), ("dhcpstart", 15)):
        if str(subnet[usual]) == network.gateway:
            words += f",{name}={subnet[usual + 1]}"
    rules = (f",hostfwd=tcp:{f.address}-{f.guest}:{f.guest_port}" for f in forwards if f.is_open)
    return words + "".join(rules)


def _rtc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass
class Command:
    """Parts of a machine; `arguments` is its command line."""

    shape: Shape | Machine
    accel: Accel
    boot: Path | DirectBoot
    directory: Path  # private: console, events and monitor live here
    forwards: Sequence[Forward] = field(default_factory=list)
    network: Network | None = None  # None: the default one
    outside: bool = False  # whether the machine may connect to the host and its network
    driver: drivers.Driver = field(default_factory=drivers.usual)  # of the network card
    binary: str = BINARY
    uefi: bool = False
    gdb_port: int | None = None
    extra: Sequence[str] = field(default_factory=list)
    power_on: int | None = None  # seconds since 1970 at which the machine is started, by the monitor
    machine: str = "q35"
    drive: str = "ide-cd"  # what an ISO is in: an optical drive, or a disk of QEMU's devices (usb-storage: a stick)
    tap: Tap | None = None  # the network, in place of QEMU's own stack
    shares: Sequence[Share] = ()  # folders of the host

    @property
    def console(self) -> Path:
        return self.directory / "console.log"

    @property
    def events(self) -> Path:
        return self.directory / "events.jsonl"

    @property
    def monitor(self) -> Path:
        return self.directory / "qmp.sock"

    @property
    def log(self) -> Path:
        return self.directory / "qemu.log"

    def reached_at(self, forward: Forward) -> tuple[str, int]:
        """Returns address and port for the host, or for what runs where the tap is."""
        return (forward.guest, forward.guest_port) if self.tap else ("127.0.0.1", forward.host_port)

    def arguments(self) -> list[str]:
        words = self._arguments()
        return self.tap.inside(words) if self.tap else words

    def _arguments(self) -> list[str]:
        return [
            *[self.binary, "-nodefaults", "-no-user-config", "-machine", self.machine, *self._accel()],
            *topology_arguments(self.shape, self.accel.cpu_model),
            *self._boot(),
            *self._network(),
            *qemu_arguments(self.shares),
            *["-chardev", f"file,id=console,path={self.console}", "-serial", "chardev:console"],
            *["-chardev", f"file,id=events,path={self.events}", "-serial", "chardev:events"],
            *["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"],
            *["-qmp", f"unix:{self.monitor},server=on,wait=off"],
            *["-display", "none", "-no-reboot"],
            *(["-S", "-rtc", f"clock=vm,base={_rtc(self.power_on)}"] if self.power_on else []),
            *(["-gdb", f"tcp:127.0.0.1:{self.gdb_port}", "-S"] if self.gdb_port else []),
            *self.extra,
        ]

    def _accel(self) -> list[str]:
        """An emulated processor has wider addresses where there is much memory; KVM's has what the host's has."""
        words = list(self.accel.arguments)
        if self.accel.emulated and (bits := address_bits(emulated(self.shape))):
            words[words.index("-cpu") + 1] += f",vendor=GenuineIntel,phys-bits={bits}"  # AMD's have a hole below 1 TiB
        return words

    def _boot(self) -> list[str]:
        if isinstance(self.boot, DirectBoot):
            return ["-kernel", str(self.boot.kernel), "-initrd", str(self.boot.initrd)]
        # Disks cannot all be read-only; what is written to this one is forgotten.
        how = "media=cdrom,readonly=on" if self.drive == "ide-cd" else "snapshot=on"
        disc = ["-drive", f"file={self.boot},format=raw,if=none,id=disc,{how}"]
        bus = ["-device", "qemu-xhci"] if self.drive.startswith("usb-") else []
        return [*self._firmware(), *disc, *bus, "-device", f"{self.drive},drive=disc,bootindex=0"]

    def _firmware(self) -> list[str]:
        if not self.uefi:
            return []
        for code in ("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_CODE.fd"):
            variables = Path(code.replace("CODE", "VARS"))
            if Path(code).exists() and variables.exists():
                own = self.directory / "uefi-variables.fd"
                write_bytes(own, variables.read_bytes())
                return [*["-drive", f"if=pflash,format=raw,readonly=on,file={code}"],
                        *["-drive", f"if=pflash,format=raw,file={own}"]]
        raise Failure("no UEFI firmware; install ovmf")

    def _network(self) -> list[str]:
        backend = self.tap.netdev if self.tap else f"user,{user_network(self.network, self.forwards, self.outside)}"
        return [*["-netdev", f"{backend},id=net"],
                *["-device", self.driver.device("netdev=net,mac=52:54:00:53:4b:01,romfile=", self.accel.icount)]]


def check_size(machine: Machine, binary: str = BINARY) -> None:
    """Places for processors, of which an irregular machine has more than it has cores."""
    board = grid(machine.cores)
    places, known = len(board.all_places()), version(binary)
    if known < MANY_SINCE and places > FEW:
        what = f"has places for {places} processors, and QEMU {known[0]}.{known[1]} has {FEW} at most"
        raise InputError(machine.name, f"{what}; from {MANY_SINCE[0]}.{MANY_SINCE[1]} on there are more")


def topology_arguments(shape: Shape | Machine, cpu_model: str = "max") -> list[str]:
    """Sockets, cores, NUMA nodes with their own memory, distances."""
    return arguments(emulated(shape), cpu_model)
