# SPDX-License-Identifier: BSD-2-Clause
"""Kernel entries of a load as the plugin sees them: of plain kernels, in the very run that is timed.

Watching changes no clock. A counting kernel's entries take longer than a plain one's, and it holds its lock for longer.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.deployment import modules
from deploy.emulator.run import RTM
from topology import regimes

PROTOCOLS = {name: regime.protocol for name, regime in regimes.every().items()}  # of its lock, as the plugin knows them


@dataclass(frozen=True)
class Entries:
    """Between the marks, of all kernels together. Times are cycles of the modelled machine."""

    operations: int
    entries: int
    acquisitions: int  # of locks
    conflicts: int  # acquisitions that found the lock taken
    wait: int  # from wanting a lock to having it, of all acquisitions
    hold: int
    moves: int  # of lines between cores, for a lock or while it is held
    handover: int  # of `wait`: from when the lock is free until its next holder has it
    cycles: int = 0  # how long the interval is, where there are no operations

    def to_json(self) -> dict[str, float]:
        rate = ({"kernel_entries": self.entries, "cycles": self.cycles} if self.cycles
                else {"kernel_entries_per_op": self.per_operation})
        return rate | {
            "line_moves_per_entry": self._of(self.moves, self.entries),
            "lock_conflict_ratio": self._of(self.conflicts, self.acquisitions),
            "lock_mean_wait_cycles": self._of(self.wait, self.acquisitions),
            "lock_mean_hold_cycles": self._of(self.hold, self.acquisitions),
            "lock_mean_handover_cycles": self._of(self.handover, self.acquisitions),
        }

    @property
    def per_operation(self) -> float:
        return self._of(self.entries, self.operations)

    @staticmethod
    def _of(part: int, whole: int) -> float:
        return part / whole if whole else 0.0


class Watch:
    def __init__(self, file: Path, options: Mapping[str, str]) -> None:
        self.file, self.options = file, options  # of the plugin

    def of_copy(self, folder: Path) -> "Watch":
        """Returns that of a copy of the machine whose files are in `folder` (deploy/machine/snapshot.py)."""
        return Watch(folder / self.file.name, self.options)

    def read(self, operations: int) -> Entries:
        """After the run."""
        try:
            (line,) = self.file.read_text().splitlines()
            kinds = json.loads(line)["kinds"]
        except (OSError, ValueError, KeyError) as error:
            raise Failure(f"no kernel entries from the emulator: {error}") from None
        sums = {name: sum(kind[name] for kind in kinds)
                for name in ("entries", "acquisitions", "conflicts", "wait", "hold", "handover", "lock_moves",
                             "inside_moves")}
        return Entries(operations, moves=sums.pop("lock_moves") + sums.pop("inside_moves"), **sums)


@contextmanager
def watching(lock: str, own: modules.Own = modules.NOT_OWN, build: Path = BUILD) -> Iterator[Watch]:
    """Watches one run of plain kernels of this regime, whose load is between marks 1 and 2."""
    name = f"kernel-{modules.MODELLED_RTM if lock == RTM else lock}"
    path = own.get(name)
    image = Image(path if isinstance(path, Path) else modules.module_path(name, build))
    entries = [image.symbol(name).address for name in ("entry_syscall", "entry_interrupt")]
    with TemporaryDirectory(prefix="skerry-entries-") as name:
        file = Path(name) / "locks"
        yield Watch(file, {
            "locks": str(file), "protocol": PROTOCOLS[lock], "tail": f"{image.symbol('kernel').address:#x}",
            "entry": ":".join(map(hex, entries)),
        })
