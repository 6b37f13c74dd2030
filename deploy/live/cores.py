# SPDX-License-Identifier: BSD-2-Clause
"""The cluster of each core of a running machine, and orders to move a core (skerry/core_control.h, ledger.h)."""

from collections.abc import Sequence
from dataclasses import dataclass

from deploy.base.errors import Failure
from deploy.live import ledger
from deploy.live.ledger import Read, Write
from deploy.machine.events import Event, boots_of, losses
from topology.errors import InputError

STATES = ("none", "owned", "leaving", "parked", "joining", "held")  # enum core_state
NONE, OWNED, LEAVING, PARKED, JOINING, HELD = STATES
WORD = 64  # bytes from one core's word to the next
LEFT, JOINED = "left", "joined"


@dataclass(frozen=True)
class Core:
    """Core `number` of the machine. `cluster`: it has it, or it joins it; of a parked core the one that it has left."""

    number: int
    cluster: int
    state: str = OWNED
    to: int = 0  # the cluster that it was given up for
    moves: int = 0  # how often it has been taken

    def is_of(self, cluster: int) -> bool:
        """Whether the cluster's kernel has it, or its next life has: it is not on its way."""
        return self.cluster == cluster and self.state in (OWNED, HELD)

    def __str__(self) -> str:
        if self.state == PARKED:
            return f"parked, for cluster {self.to}"
        words = {OWNED: "", LEAVING: f", leaves for cluster {self.to}", JOINING: ", joins it",
                 HELD: ", which is being started again"}
        return f"cluster {self.cluster}{words.get(self.state, '')}"


def cores_of(events: Sequence[Event], read: Read) -> list[Core]:
    """The map in force. Without spare cores it is the cluster map's."""
    boots = boots_of(events)
    at_start = {core["cpu"]: int(e["cluster"]) for e in events if e.kind == "stats" and e["when"] == "start"
                for core in e["cores"]}
    address = next((int(boots[one]["core_words"]) for one in sorted(boots) if boots[one].get("core_words")), 0)
    cores = [Core(number, cluster) for number, cluster in sorted(at_start.items())]
    if not address or not cores:
        return cores
    data = read(min(boots), address, WORD * (cores[-1].number + 1))
    words = {core.number: int.from_bytes(data[core.number * WORD : core.number * WORD + 8], "little") for core in cores}
    return [_core(core, words[core.number]) for core in cores]


def _core(core: Core, word: int) -> Core:
    state = word & 0xFF
    if state >= len(STATES):
        raise Failure(f"core {core.number}: its word {word:#x} is none: the machine's memory is spoilt, or another "
                      f"Skerry's")
    return core if STATES[state] == NONE else Core(core.number, word >> 8 & 0xFF, STATES[state], word >> 16 & 0xFF,
                                                   word >> 32)


def _check_alive(events: Sequence[Event], boot: Event) -> None:
    cluster = int(boot["cluster"])
    if lost := losses(events).get(cluster):
        raise Failure(f"cluster {cluster} is down: {lost.get('why')}")
    if not boot.get("core_words"):
        raise Failure(f"cluster {cluster}'s kernel, {boot['kernel']}, has no room for other cores: that is for "
                      "clusters of one machine with restart = \"on-failure\" and spare-cores = true under [clusters], "
                      "and not for lock none")


def check(events: Sequence[Event], cores: Sequence[Core], number: int, to: int) -> tuple[Core, Event]:
    """The core, and the boot report of the cluster that is to have the order; InputError or Failure where it cannot
    move."""
    boots = boots_of(events)
    chosen = next((core for core in cores if core.number == number), None)
    if chosen is None:
        raise InputError(f"--core {number}",
                         f"is none of the machine's, 0 to {max((core.number for core in cores), default=0)}")
    target = ledger.boot_of(boots, "--to", to)
    _check_alive(events, target)
    if chosen.state == PARKED:
        return chosen, target
    if chosen.state != OWNED:
        raise Failure(f"core {number} is on the way: {chosen}")
    if chosen.cluster == to:
        raise Failure(f"core {number} is cluster {to}'s already")
    _check_alive(events, boots[chosen.cluster])
    return chosen, boots[chosen.cluster]


def order(write: Write, boot: Event, core: int, to: int, number: int) -> None:
    """The manager of this boot report has the core move, at its next tick."""
    ledger.CORE.give(write, boot, core << 8 | to, number)


def programs_of(events: Sequence[Event], core: int) -> list[str]:
    """Returns the programs that have started with this core among theirs (`cpus`: those of a program of several)."""
    return list(dict.fromkeys(str(event["app"]) for event in events if event.kind == "started"
                              and core in event.get("cpus", [event["cpu"]])))


def refusal(events: Sequence[Event], cores: Sequence[Core], core: Core, report: Event) -> str:
    """Why the core stays, in a line."""
    where = f"core {core.number} of cluster {core.cluster}"
    if report["what"] == "first":
        alone = sum(other.cluster == core.cluster and other.state == OWNED for other in cores) == 1
        return f"{where} stays: " + ("it is its only core" if alone else "it is its first, on which its manager runs")
    if report["what"] == "programs":
        names = ", ".join(programs_of(events, core.number))
        return f"{where} stays: programs run there{': ' + names if names else ''}"
    if report["what"] == "elsewhere":
        return f"{where} stays: the cluster has since given it up"
    return f"{where} stays: the kernel has threads, deadlines, interrupts or objects there (error {report['error']})"
