# SPDX-License-Identifier: BSD-2-Clause
"""Finds the cache lines that move between cores of a modelled machine in the scaling benchmark, and the instructions
that move them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.scale.measure import Point, Request, case, measure
from deploy.deployment import modules
from deploy.emulator import run as modelled
from deploy.emulator.entries import PROTOCOLS
from topology import headers

LINE = 64
_BOOT = headers.KERNEL / "boot.h"
KERNEL_DIRECT_BASE = headers.macro(_BOOT, "KERNEL_DIRECT_BASE")
KERNEL_IMAGE_BASE = headers.macro(_BOOT, "KERNEL_IMAGE_BASE")
BOOT_MAX_CPUS = headers.constant(_BOOT, "BOOT_MAX_CPUS")  # elements of core_local[]
FEWEST_FETCHES = 4  # fetches from which on their useless ones are judged


# As emulator/modelled/locks.h recognises them.
KIND_VECTOR, KIND_UNKNOWN = 256, 511  # there
SYSCALLS = headers.KERNEL / "syscall.h"


@cache
def _syscalls() -> dict[int, str]:
    return {headers.constant(SYSCALLS, name): name.removeprefix("SYS_")
            for name in headers.members(SYSCALLS, "skerry_syscall")}


def kind_name(kind: int) -> str:
    """Returns the name of a kind of kernel entry."""
    if kind == KIND_UNKNOWN:
        return "other"
    return f"vector {kind - KIND_VECTOR}" if kind >= KIND_VECTOR else _syscalls().get(kind, f"system call {kind}")


@dataclass(frozen=True)
class Mover:
    """An instruction that moved a line."""

    at: str  # function+offset
    source: str  # file:line and the function that was inlined from there; empty where the image does not say
    moves: int
    wait: int  # cycles, of all of them

    def __str__(self) -> str:
        return f"{self.at} ({self.source})" if self.source else self.at


@dataclass(frozen=True)
class User:
    """A core, and the bytes of the line that it read and wrote."""

    core: int
    read: int
    written: int


@dataclass(frozen=True)
class Line:
    physical: int
    address: int
    name: str
    reads: int  # fetched to read
    writes: int  # fetched to write
    upgrades: int  # was there to read, is written
    wait: int  # cycles
    fetches: int
    useless: int  # fetches after which the core touched nothing that others had written
    users: Sequence[User]
    movers: Sequence[Mover]

    @property
    def moves(self) -> int:
        return self.reads + self.writes + self.upgrades

    @property
    def false_sharing(self) -> bool:
        """Most fetches were for nothing: the cores share the line, but not its bytes."""
        return self.fetches >= FEWEST_FETCHES and 2 * self.useless >= self.fetches

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "physical": self.physical, "address": self.address, "moves": self.moves,
            "reads": self.reads,
            "writes": self.writes, "upgrades": self.upgrades, "wait_cycles": self.wait, "fetches": self.fetches,
            "useless_fetches": self.useless, "false_sharing": self.false_sharing,
            "cores": [{"core": u.core, "read": byte_ranges(u.read), "written": byte_ranges(u.written)}
                      for u in self.users],
            "instructions": [vars(mover) for mover in self.movers],
        }


@dataclass(frozen=True)
class LockUse:
    """The use of a lock, or of all locks that a kind of kernel entry takes. Times are cycles over all acquisitions."""

    name: str
    acquisitions: int
    conflicts: int  # acquisitions that found it taken
    handovers: int  # acquisitions behind another core's
    wait: int  # from wanting it to having it
    wait_max: int
    hold: int
    hold_max: int
    lock_moves: int  # moves of the lock's own lines
    inside_moves: int  # moves of other lines while it was held
    handover: int  # from when it was wanted and free to its next holder's having it
    entries: int = 0  # entries of a kind
    moves: int = 0  # moves of lines, in all of these entries


@dataclass(frozen=True)
class Lines:
    """The lines that moved in one point of the benchmark."""

    point: Point
    moves: int
    count: int  # lines that moved
    hottest: Sequence[Line]
    locks: Sequence[LockUse]
    kinds: Sequence[LockUse]

    @property
    def moves_per_entry(self) -> float:
        return self.moves / self.point.entries

    def to_json(self) -> dict[str, Any]:
        entry = self.point.to_json()
        entry["metrics"] |= {"line_moves": self.moves, "lines": self.count,
                             "line_moves_per_entry": self.moves_per_entry}
        return entry | {
            "lines": [line.to_json() for line in self.hottest],
            "locks": [{name: value for name, value in vars(lock).items() if name not in ("entries", "moves")}
                      for lock in self.locks],
            "entry_kinds": [vars(kind) for kind in self.kinds],
        }


def byte_ranges(mask: int) -> list[list[int]]:
    """Returns the first and the last byte of each stretch of a mask of bytes."""
    spans: list[list[int]] = []
    for byte in range(LINE):
        if mask >> byte & 1:
            if spans and spans[-1][1] == byte - 1:
                spans[-1][1] = byte
            else:
                spans.append([byte, byte])
    return spans


class Names:
    """Addresses of the kernel and of the benchmark's program in words."""

    def __init__(self, kernel: Image, program: Image, cpus: Sequence[int]) -> None:
        self.kernel, self.program = kernel, program
        self.cpus = sorted((address, core) for core, address in enumerate(cpus) if address)

    def _of_cpu(self, address: int) -> str | None:
        """The last struct cpu's end is not known: it is as large as the space between two."""
        gaps = [b - a for (a, _), (b, _) in zip(self.cpus, self.cpus[1:])]
        for base, core in self.cpus:
            if gaps and base <= address < base + min(gaps):
                return f"core {core}'s struct cpu+{address - base:#x}"
        return None

    def line(self, address: int) -> str:
        image = self.kernel if address >= KERNEL_IMAGE_BASE else self.program
        if KERNEL_DIRECT_BASE <= address < KERNEL_IMAGE_BASE:
            return self._of_cpu(address) or f"memory {address - KERNEL_DIRECT_BASE:#x}"
        if name := image.name(address):
            return name
        if inside := image.touched(address, LINE):
            return ", ".join(inside)
        return f"program {address:#x}" if image is self.program else f"kernel {address:#x}"

    def movers(self, instructions: Sequence[dict[str, int]]) -> dict[int, tuple[str, str]]:
        """Each instruction's function+offset, and its source."""
        places = {}
        for image, inside in ((self.kernel, True), (self.program, False)):
            mine = [one["pc"] for one in instructions if (one["pc"] >= KERNEL_IMAGE_BASE) == inside]
            for pc, place in image.places(mine).items():
                at = image.name(pc) or hex(pc)
                inlined = f" {place.function}" if place.source and place.function != at.split("+")[0] else ""
                places[pc] = (at, place.source + inlined)
        return places


def measure_lines(request: Request, timeout: Patience, build: Path = BUILD) -> list[Lines]:
    """Returns the lines of each point of the request, which must be of a modelled machine."""
    assert request.modelled
    counting = "+stat" if request.statistics else ""
    kernel = modules.MODELLED_RTM if request.lock == modelled.RTM and not counting else request.lock + counting
    (application,) = case(request).plan.cluster_map.applications
    image, program = (Image(modules.module_path(name, build)) for name in (f"kernel-{kernel}", application.program))
    local, entries = image.symbol("core_local"), [image.symbol(name).address
                                                  for name in ("entry_syscall", "entry_interrupt")]
    with TemporaryDirectory(prefix="skerry-lines-") as name:
        file, locks = Path(name) / "lines", Path(name) / "locks"
        options = {
            "lines": str(file), "core_local": f"{local.address:#x}:{local.size // BOOT_MAX_CPUS}", "locks": str(locks),
            "protocol": PROTOCOLS[request.lock], "tail": f"{image.symbol('kernel').address:#x}",
            "entry": ":".join(map(hex, entries)),
        }
        watched = replace(request, plugin={**request.plugin, **options})
        points = measure(case(watched), Bench(modelled.mode(request.modelled), timeout, True, build))
        reported = [
            json.loads(of_lines) | json.loads(of_locks)
            for of_lines, of_locks in zip(file.read_text().splitlines(), locks.read_text().splitlines(), strict=True)
        ]
    if len(reported) != len(points):
        raise Failure(f"{len(reported)} points with lines, of {len(points)}")
    return [_lines(point, one, image, program) for point, one in zip(points, reported)]


def _lines(point: Point, reported: dict[str, Any], kernel: Image, program: Image) -> Lines:
    names = Names(kernel, program, reported["cpus"])
    movers = names.movers([mover for line in reported["hottest"] for mover in line["instructions"]])
    hottest = [
        Line(
            physical=line["physical"], address=line["address"], name=names.line(line["address"]), reads=line["reads"],
            writes=line["writes"], upgrades=line["upgrades"], wait=line["wait"], fetches=line["fetches"],
            useless=line["useless"], users=[User(**user) for user in line["users"]],
            movers=[Mover(*movers[mover["pc"]], mover["moves"], mover["wait"]) for mover in line["instructions"]],
        )
        for line in reported["hottest"]
    ]
    locks = [LockUse(names.line(lock.pop("address")), **{k: v for k, v in lock.items() if k != "physical"})
             for lock in reported["locks"]]
    kinds = [LockUse(kind_name(kind.pop("kind")), **kind) for kind in reported["kinds"]]
    return Lines(point, reported["moves"], reported["lines"], hottest, locks, kinds)
