# SPDX-License-Identifier: BSD-2-Clause
"""The emulator with cores in step (emulator/): their own instructions are one clock for all of them."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.emulator.plugin import arguments, plugin
from deploy.machine import qemu

NAME = "lockstep"
QUANTUM = 20  # instructions


@dataclass(frozen=True)
class Mark:
    """A moment that the guest marked."""

    number: int
    clock: int  # instructions, of the core that marked it
    late: int  # how often, until then, a core went ahead because the others did not come
    executed: list[int]  # by each core
    kernel: list[int]  # those of them that were in the kernel
    instructions: tuple[int, ...] = ()  # by each core, where `executed` are a modelled machine's cycles
    transactions: dict[str, int] | None = None  # since mark 1; None where kernels have none
    misparked: int = 0  # turns of a modelled machine's waiting loops that were skipped and were not equal


def mode(cores: int) -> qemu.Accel:
    plugin(NAME)
    here = len(os.sched_getaffinity(0))
    description = (
        f"TCG, cores in step (thread=multi with a plugin): each executes one instruction a cycle, none more than "
        f"{QUANTUM} ahead of another in the kernel; {cores} cores on {here} of the host"
    )
    return qemu.Accel("tcg", qemu.TCG_PARALLEL.arguments, description)


class Marks:
    """Reads what `plugin` writes at the guest's marks; `arguments` start the emulator with it."""

    def __init__(self, directory: Path, plugin: Path, options: Mapping[str, str]) -> None:
        self.file, self.snapshot = directory / "marks", directory / "snapshot"
        self.arguments = arguments(plugin, {"out": str(self.file)} | dict(options))

    def of_copy(self, folder: Path) -> "Marks":
        """Returns those of a copy of the machine whose files are in `folder` (deploy/machine/snapshot.py)."""
        other = copy(self)
        other.file = folder / self.file.name
        return other

    def read(self) -> list[Mark]:
        try:
            lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        except (OSError, ValueError) as error:
            raise Failure(f"no clock from the emulator: {error}") from None
        return [Mark(line["marker"], line["clock"], line["late"], line["executed"], line["kernel"],
                     tuple(line.get("instructions", ())), line.get("transactions"), line.get("misparked", 0))
                for line in lines if "marker" in line]

    def check_parking(self) -> None:
        """Fails if the plugin has skipped turns that were not equal. It writes a line when a core has the first one."""
        # the emulator may not have started, or ended within a line
        text = self.file.read_text() if self.file.exists() else ""
        for line in map(json.loads, text[: text.rfind("\n") + 1].splitlines()):
            if line.get("misparked"):
                where = f" (first: core {line['core']}, the PAUSE at {line['pause']})" if "pause" in line else ""
                raise Failure(f"the modelled machine skipped {line['misparked']} turns of a waiting loop that were not "
                              f"equal{where}: its clocks are wrong. Please report it, with the program")


@contextmanager
def marks(build: Path = BUILD) -> Iterator[Marks]:
    """Prepares one run of the emulator, which is to be started with `arguments`."""
    with TemporaryDirectory(prefix="skerry-marks-") as name:
        yield Marks(Path(name), build / plugin(NAME), {"quantum": str(QUANTUM)})
