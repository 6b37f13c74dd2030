# SPDX-License-Identifier: BSD-2-Clause
"""The records of a machine that runs. It is not asked and does not notice: its memory is read from outside."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import free
from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.domains import deployed
from deploy.domains.connection import Connection, explained
from deploy.domains.deployed import Deployed
from deploy.live import cores
from deploy.live.lockstat.record import SIZE, Record
from deploy.live.lockstat.snapshot import Core, Counted, Snapshot
from deploy.machine import monitor
from deploy.machine.events import Event, EventStream, boots_of
from deploy.machine.run import INSTANCES
from deploy.machine.run_folder import is_private, tree_of
from topology import foreign
from topology.errors import InputError

_PEEK = 65536  # bytes that libvirt reads at a time
_PHYSICAL = 2  # VIR_MEMORY_PHYSICAL
_TRIES = 5

Memory = Callable[[int, int, int], bytes]  # of a cluster's machine: physical address, size


def _places() -> set[Path]:
    """Returns the places where deploy.machine.run makes folders. tempfile refuses a place that has become full
    since."""
    named = next((place for name in ("TMPDIR", "TEMP", "TMP") if (place := os.environ.get(name))
                  and os.path.isdir(place)), "/tmp")
    try:
        return {Path(named), Path(tempfile.gettempdir())}
    except FileNotFoundError:
        return {Path(named)}


def running() -> list[Path]:
    """The folders of this user's machines that run here, as deploy.machine.run makes them; the youngest last."""
    folders = {p for place in _places() for p in place.glob("skerry-run-*-*")}
    alive = [p for p in folders if is_private(p) and Path("/proc", p.name.split("-")[2]).exists()]
    return sorted(alive, key=lambda p: p.stat().st_mtime)


def find(pid: str | None = None, command: str = "lockstat", *, changes: bool = False) -> Path:
    """The folder of the machine that runs, or of the `skerry` with this process id. `command` asks for it.

    Without a process id one of this checkout is preferred; a command that `changes` the machine gets one only where no
    other runs, for it could be somebody else's work.
    """
    folders = running()
    if pid is not None:
        folders = [p for p in folders if p.name.split("-")[2] == pid]
    if not folders:
        raise InputError(pid or command,
                         f"no machine runs here{f' for process {pid}' if pid else ''}; "
                         "skerry run … --keep starts one")
    ours = folders if pid else [p for p in folders if tree_of(p) == str(ROOT)]
    choice = (ours if len(folders) == 1 else []) if changes else ours or folders
    if len(choice) == 1:
        return choice[0]
    listed = ", ".join(f"{p.name.split('-')[2]}{_named(p)}{_elsewhere(p)}" for p in folders)
    many = "several machines run" if len(folders) > 1 else "the machine that runs is another checkout's"
    raise InputError(command, f"{many}: name one by its process id, {listed}")


def _elsewhere(folder: Path) -> str:
    tree = tree_of(folder)
    return f" of {tree}" if tree.isprintable() and tree not in ("", str(ROOT)) else ""


def _named(folder: Path) -> str:
    """The deployment that runs there, once it is known."""
    try:
        return f" ({foreign.json(foreign.read(folder / INSTANCES, foreign.RESULTS), INSTANCES)['name']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def monitor_memory(folder: Path) -> Memory:
    """Through QEMU's monitor, which writes memory to a file."""
    target = folder / "memory.bin"

    def read(_cluster: int, address: int, size: int) -> bytes:
        try:
            answer = monitor.human(folder / "qmp.sock", f'pmemsave {address:#x} {size} "{target}"')[0].strip()
            data = b"" if answer else target.read_bytes()
        except (OSError, TimeoutError) as error:
            raise Failure(f"the machine's memory cannot be read: {error}") from error
        finally:
            target.unlink(missing_ok=True)
        if len(data) == size:
            return data
        left = free(folder)
        why = (f"no space left in {folder.parent}" if left is not None and left < size else f"monitor: {answer}"
               if answer else "")
        raise Failure(why or f"the monitor wrote {len(data)} bytes of memory, not {size}")

    return read


def _emulated(folder: Path) -> bool:
    try:
        return "enabled" not in monitor.human(folder / "qmp.sock", "info kvm")[0]
    except (OSError, TimeoutError) as error:
        raise Failure(f"the machine does not answer: {error}") from error


def read_events(folder: Path) -> EventStream:
    events = EventStream()
    try:
        events.feed((folder / "events.jsonl").read_bytes())
    except OSError as error:
        raise Failure(f"{folder}: {error.strerror}") from error
    return events


@dataclass(frozen=True)
class Machine:
    """One that runs: what it has reported so far, and its memory."""

    events: EventStream
    memory: Memory
    emulated: bool  # times of such a machine mean nothing in absolute terms
    apart: bool = False  # each cluster is on a machine of its own, which has its own clock

    def snapshots(self) -> list[Snapshot]:
        return snapshots(self.events, self.memory, self.apart)


def local(folder: Path) -> Machine:
    """Returns the machine of a folder that find() has found."""
    return Machine(read_events(folder), monitor_memory(folder), _emulated(folder))


@contextmanager
def of_libvirt(uri: str, name: str | None) -> Iterator[Machine]:
    """A deployment of a libvirt host, wherever that is."""
    with Connection(uri) as host:
        one = deployed.pick(host, name)
        if not one.is_active():
            raise InputError(one.name, "does not run; its events, as skerry logs --events prints them, can be given")
        yield of_domain(one)


def of_domain(one: Deployed) -> Machine:
    """Returns the machine of a deployment that runs, with what it has reported up to now."""
    events = EventStream()
    events.events = one.events()

    apart = one.record.machines > 1

    def read(cluster: int, address: int, size: int) -> bytes:
        member = one.member(cluster if apart else None)
        with explained(f"{one.host.uri}: {member.domain}: its memory"):
            pieces = range(address, address + size, _PEEK)
            return b"".join(member.raw.memoryPeek(at, min(_PEEK, address + size - at), _PHYSICAL) for at in pieces)

    return Machine(events, read, one.record.accel != "kvm", apart)


def snapshots(events: EventStream, memory: Memory, apart: bool = False) -> list[Snapshot]:
    """Each cluster that has started, now. `events` is what the machine has reported so far."""
    boots = boots_of(events.events)
    cpus = _cpus(events, boots, memory)
    read = []
    for cluster, boot in sorted(boots.items()):
        read.append((cluster, boot, _records(memory, cluster, boot["stat"],
                                             max(boot["cores"], 1 + max(cpus[cluster], default=0)))))
    # The clock is one for all clusters of a machine, and the last sample was counted just now.
    latest = {cluster: max(max(r.latest, r.updated, r.idle_since) for r in records) for cluster, _, records in read}
    now = latest if apart else dict.fromkeys(latest, max(latest.values()))
    made = []
    for cluster, boot, records in read:
        of = Counted(cluster, boot["kernel"], float(boot["tsc_hz"]))
        cores = [Core.of_record(of, cpus[cluster][i], i, record, now[cluster]) for i, record in enumerate(records)
                 if i in cpus[cluster]]
        made.append(Snapshot(of.cluster, of.kernel, of.tsc_hz, tuple(cores), total(records)))
    return made


def _cpus(events: EventStream, boots: Mapping[int, Event], memory: Memory) -> dict[int, dict[int, int]]:
    """Maps each cluster to its cores now, by index in its kernel. A kernel has room for the others behind those of the
    map, in their order."""
    known = {(e["cluster"], core["core"]): core["cpu"] for e in events.of("stats") for core in e["cores"]}
    cpus = {cluster: {i: known.get((cluster, i), i) for i in range(boot["cores"])} for cluster, boot in boots.items()}
    if not any(boot.get("core_words") for boot in boots.values()):
        return cpus
    now = cores.cores_of(events.events, memory)
    for cluster, of_kernel in cpus.items():
        others = (core.number for core in now if core.number not in of_kernel.values())
        room = of_kernel | dict(enumerate(others, len(of_kernel)))
        here = {core.number for core in now if core.is_of(cluster)}
        cpus[cluster] = {i: cpu for i, cpu in room.items() if cpu in here}
    return cpus


def _records(memory: Memory, cluster: int, address: int, cores: int) -> list[Record]:
    """Read again where a core was writing: a moment later it is not, unless it was stopped there."""
    records: list[Record] = []
    for _ in range(_TRIES):
        data = memory(cluster, address, cores * SIZE)
        records = [Record.from_bytes(data[i * SIZE : (i + 1) * SIZE], f"cluster {cluster} core {i}")
                   for i in range(cores)]
        if all(record.whole for record in records):
            break
    return records


def total(records: list[Record]) -> Record:
    whole = records[0]
    for record in records[1:]:
        whole = whole.plus(record)
    return whole
