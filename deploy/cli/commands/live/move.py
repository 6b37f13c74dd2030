# SPDX-License-Identifier: BSD-2-Clause
"""`skerry move`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import RunName, takes
from deploy.domains.options import RunsUnder
from deploy.live import ledger
from deploy.live.cores import JOINED, LEFT, OWNED, PARKED, Core, check, cores_of, order, refusal
from deploy.live.memory_moves import move_memory, size_of
from deploy.live.target import Target, local_machine, of_libvirt
from topology.errors import InputError
from topology.units import format_size

# seconds of given time: ticks of a manager are 50 ms of the machine's time, and it tries for 40 of them
PATIENCE = 20.0


@dataclass(frozen=True, kw_only=True)
class MoveOptions:
    what: RunName = None
    connect: RunsUnder = None
    core: Annotated[int | None, option("--core N", "Core to move, numbered in the whole machine.", 0)] = None
    memory: Annotated[str | None, option("--memory SIZE", "Amount of memory to move: 64M, 1G; a multiple of "
                                         "2 MiB.")] = None
    to: Annotated[int, option("--to CLUSTER", "Cluster that receives it.", 0)]
    giver: Annotated[int | None, option("--from CLUSTER", "Cluster that gives the memory (default: the largest that "
                                        "has it free).", 0)] = None
    quiet: Quiet = False
    json: Json = None


@takes(MoveOptions)
def move(args: MoveOptions) -> None:
    """Move a core, or memory, of a running deployment from its cluster to another.

    A core must run no program, and not be the first of its cluster. It leaves its kernel, and joins the other, whose
    manager then starts programs on it that would share a core with another. A cluster that is started again has the
    cores that it had. That is for deployments with `spare-cores = true` under `[clusters]`. Memory must be free; it may
    be in several pieces. The other cluster's programs find it zeroed. QEMU's debugger stops the machine for some
    milliseconds.
    """
    output = Output(args.quiet, args.json)
    if (args.core is None) == (args.memory is None):
        raise InputError("--core, --memory", "exactly one of the two is required")
    if args.core is None:
        return _memory(output, args.what, args.connect, size_of(str(args.memory)), args.to, args.giver)
    if args.giver is not None:
        raise InputError("--from", "is for --memory: a core has one cluster")
    _core(output, args.what, args.connect, args.core, args.to)


def _core(output: Output, what: str | None, connect: str | None, core: int, to: int) -> None:
    with of_libvirt(connect, what) if connect else local_machine(what, "move") as target:
        before = cores_of(target.events(), target.read)
        moving, boot = check(target.events(), before, core, to)
        number = ledger.CORE.unused(target.events(), target.read)
        asked = len(target.events())
        order(target.write(int(boot["cluster"])), boot, core, to, number)
        ordered = time.monotonic()
        _wait(target, before, moving, to, number, asked)
        seconds = time.monotonic() - ordered
        left = f"Core {core} has left cluster {moving.cluster}" if moving.state != PARKED else f"Core {core} was parked"
        output.line(f"{left}, and is cluster {to}'s after {seconds:.2f} s.")
        output.results({
            "skerry": version(), "command": "move", "core": core, "from": moving.cluster, "to": to,
            "seconds": round(seconds, 3),
        })  # fmt: skip


def _memory(output: Output, what: str | None, connect: str | None, pieces: int, to: int, giver: int | None) -> None:
    with of_libvirt(connect, what) if connect else local_machine(what, "move") as target:
        moved = move_memory(target, pieces, to, giver)
    size = format_size(int(str(moved["bytes"])))
    output.line(f"{size} of cluster {moved['from']}'s memory are cluster {to}'s after {moved['seconds']:.2f} s.")
    output.results({"skerry": version(), "command": "move"} | moved)


def _wait(target: Target, before: list[Core], core: Core, to: int, number: int, asked: int) -> None:
    """Waits until the core has joined the cluster, or is refused; by an answer after the first `asked` events."""
    now = core

    def has_joined() -> bool:
        nonlocal now
        now = next(one for one in cores_of(target.events(), target.read) if one.number == core.number)
        if now.state == OWNED and now.cluster == to:
            return True
        reply = ledger.CORE.answered(target.events()[asked:], number, JOINED, cpu=core.number)
        if reply and reply["what"] != LEFT:
            raise Failure(refusal(target.events(), before, core, reply))
        return False

    if not target.wait(has_joined, PATIENCE):
        raise Failure(f"core {core.number} is not cluster {to}'s after {PATIENCE:g} s: {now}")
