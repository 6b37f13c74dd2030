# SPDX-License-Identifier: BSD-2-Clause
"""The emulator with cores in step (deploy/lockstep): their own instructions are one clock for all of them."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy import qemu
from deploy.errors import Failure
from deploy.paths import BUILD

# The interface for plugins that versions of QEMU have, from .. before; each has a plugin in the build folder.
INTERFACES = {1: ((7, 2), (9, 0)), 4: ((9, 2), (99, 0))}
QUANTUM = 20  # instructions


@dataclass(frozen=True)
class Mark:
    """A moment that the guest marked."""

    number: int
    clock: int  # instructions, of the core that marked it
    late: int  # how often, until then, a core went ahead because the others did not come
    executed: list[int]  # by each core
    kernel: list[int]  # those of them that were in the kernel


def mode(cores: int) -> qemu.Accel:
    _plugin()
    here = len(os.sched_getaffinity(0))
    description = (
        f"TCG, cores in step (thread=multi with a plugin): each executes one instruction a cycle, none more than "
        f"{QUANTUM} ahead of another in the kernel; {cores} cores on {here} of the host"
    )
    return qemu.Accel("tcg", qemu.TCG_PARALLEL.arguments, description)


def _plugin() -> Path:
    """Its place in the build folder."""
    found = [number for number, (first, end) in INTERFACES.items() if first <= qemu.version() < end]
    if not found:
        version = ".".join(map(str, qemu.version()))
        raise Failure(f"QEMU {version} cannot let cores go in step; Debian 12's 7.2 can, and 9.2 and later")
    return Path(f"deploy/lockstep-{found[0]}.so")


class Marks:
    def __init__(self, directory: Path, build: Path) -> None:
        self.file = directory / "marks"
        plugin, out = (str(path).replace(",", ",,") for path in (build / _plugin(), self.file))
        self.arguments = ("-plugin", f"{plugin},out={out},quantum={QUANTUM}")

    def read(self) -> list[Mark]:
        try:
            lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        except (OSError, ValueError) as error:
            raise Failure(f"no clock from the emulator: {error}") from None
        return [Mark(line["marker"], line["clock"], line["late"], line["executed"], line["kernel"]) for line in lines]


@contextmanager
def marks(build: Path = BUILD) -> Iterator[Marks]:
    """For one run of the emulator, which is to be started with `arguments`."""
    with TemporaryDirectory(prefix="skerry-marks-") as name:
        yield Marks(Path(name), build)
