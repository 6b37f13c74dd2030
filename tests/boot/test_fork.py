# SPDX-License-Identifier: BSD-2-Clause
"""Programs that fork."""

import struct
import subprocess
from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import Program, file_tree
from deploy.deployment.file_tree import Mapped
from deploy.deployment.volumes import Folder
from deploy.machine import monitor, qemu
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine
from topology.machines.machine import Shape, default_memory
from topology.units import MIB

PROGRAMS = BUILD / "tests/programs"
FORK, LINUX = PROGRAMS / "fork.elf", PROGRAMS / "fork-linux"
FORKNET = PROGRAMS / "forknet.elf"
PIPES, PIPES_LINUX = PROGRAMS / "pipes.elf", PROGRAMS / "pipes-linux"
SHARING, SHARING_LINUX = PROGRAMS / "sharing.elf", PROGRAMS / "sharing-linux"
SIGNALS, SIGNALS_LINUX = PROGRAMS / "signals.elf", PROGRAMS / "signals-linux"
ONE = PROGRAMS / "waits.elf"  # a program of one process
EXEC, EXEC_LINUX = PROGRAMS / "exec.elf", PROGRAMS / "exec-linux"
STOPS, STOPS_LINUX = PROGRAMS / "stops.elf", PROGRAMS / "stops-linux"
PROCESSES, OFTEN = 4, 12
HEAP = 16 * MIB
# a cluster's memory is enough for the heaps of all processes, but for what else is there
LARGE = (default_memory(2) - 8 * MIB) // PROCESSES // (2 * MIB) * (2 * MIB)


def forking(cpu: int, *args: str, heap: int = HEAP, elf: Path = FORK) -> Program:
    return Program(f"fork-{cpu}", cpu, heap=heap, args=args, elf=elf, processes=PROCESSES, cwd="/srv/fork",
                   barrier=False)


def lines(run: Run, cpu: int) -> list[str]:
    """Returns what a program has printed, without lines of the layer."""
    return [text for line in run.console.splitlines() if line.startswith(f"[fork-{cpu}@")
            for text in [line.partition("] ")[2]] if not text.startswith("posix: ")]


@pytest.mark.limit(200)
def test_fork() -> None:
    """what POSIX says of fork(), wait() and exit() is as on Linux; a fork too many is refused, and so is one without
    memory for all that the child may need; and when all have ended, no memory and no slot is missing, however often
    they forked"""
    said = subprocess.run([LINUX], check=True, capture_output=True, text=True).stdout.splitlines()
    programs = (forking(3, "full", "1"), forking(4, "full", str(OFTEN)),
                forking(1, "room", "10", heap=LARGE))
    with machine(deployment(sockets=3, network=False, programs=programs)) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(programs), "each end")
        monitor.human(run.command.monitor, monitor.POWER_BUTTON)
        run.wait_for(lambda: not run.running, "the machine is off")
        assert run.status == qemu.EXIT_SUCCESS
        printed = {cpu: lines(run, cpu) for cpu in (1, 3, 4)}
    assert [event["status"] for event in run.events.of("exit")] == [0] * len(programs)
    for cpu in (3, 4):
        assert printed[cpu] == [f"{PROCESSES - 1} forks, then: EAGAIN", *said]
    assert printed[1] == [f"{PROCESSES - 2} forks, then: ENOMEM", "a child with all of the heap: exits with 0",
                          "the parent's: 8 9"]
    memory = {event["cluster"]: event for event in run.events.of("memory")}
    assert memory[1]["total"] - memory[1]["free"] == memory[2]["total"] - memory[2]["free"]
    more = (PROCESSES - 1) * (OFTEN - 1)  # forks; clusters differ by some slots that no program has
    assert abs(memory[1]["slots"] - memory[2]["slots"]) < more


@pytest.mark.limit(200)
def test_pipes() -> None:
    """pipes and socket pairs between processes are as on Linux: whole transfers, the end when the last writer is gone
    or killed, EPIPE and SIGPIPE without a reader, readiness; and repetitions leave no ring behind"""
    said = subprocess.run([PIPES_LINUX], check=True, capture_output=True, text=True).stdout.splitlines()
    programs = (forking(1, elf=PIPES), forking(3, "often", "50", elf=PIPES))
    with machine(deployment(sockets=2, network=False, programs=programs)) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(programs), "each end")
        printed = {cpu: lines(run, cpu) for cpu in (1, 3)}
    assert [event["status"] for event in run.events.of("exit")] == [0] * len(programs)
    for cpu in (1, 3):
        assert printed[cpu] == said


@pytest.mark.limit(200)
def test_files_of_a_volume(tmp_path: Path) -> None:
    """processes share what one has opened in a volume as on Linux: its offset, O_APPEND, and locks of the file and of
    ranges, which end with their holder, also where that is killed; what was killed within a request leaves nothing"""
    folders = {name: tmp_path / name for name in ("linux", "skerry")}
    for folder in folders.values():
        folder.mkdir()
    said = subprocess.run([SHARING_LINUX, folders["linux"]], check=True, capture_output=True,
                          text=True).stdout.splitlines()
    program = Program("fork-1", 1, heap=HEAP, elf=SHARING, processes=PROCESSES, barrier=False, args=("/data",),
                      folders=(Folder(folders["skerry"], "/data"),))
    with machine(deployment(sockets=1, network=False, programs=(program,))) as run:
        run.wait_for(lambda: run.events.of("exit") or run.events.of("fault"), "its end")
        assert lines(run, 1) == said
    assert [event["status"] for event in run.events.of("exit")] == [0]
    for name in ("offsets", "log"):
        assert (folders["skerry"] / name).stat().st_size == (folders["linux"] / name).stat().st_size
    assert (folders["skerry"] / "busy").stat().st_size < 20 * (folders["skerry"] / "beside").stat().st_size


def test_network_of_a_family() -> None:
    """a server forks while it has connections: what a child writes into a pipe arrives at the client whole, the child
    reaches none of its parent's sockets and makes none, and the parent's serve on"""
    def program(name: str, cpu: int, *args: str) -> Program:
        return Program(name, cpu, heap=HEAP, args=args, elf=FORKNET, processes=3, network=True, barrier=False)

    programs = (program("serve", 1, "serve"), program("ask", 3, "ask", "serve"))
    with machine(deployment(sockets=2, programs=programs)) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(programs), "each end")
        printed = {name: [line.partition("] ")[2] for line in run.console.splitlines() if line.startswith(f"[{name}@")]
                   for name in ("serve", "ask")}
    assert [event["status"] for event in run.events.of("exit")] == [0, 0]
    assert printed["ask"] == ["rounds: 5", "then: 1", "the end: 1"]
    assert printed["serve"] == [
        "read: EBADF", "write: EBADF", "send: ENOTSOCK", "accept: ENOTSOCK", "shutdown: ENOTSOCK", "socket: EACCES",
        "epoll: 1", "close: no error", "the parent's connection: 1"]


@pytest.mark.limit(120)
def test_signals() -> None:
    """what POSIX says of signals between processes, of children that end, of calls and loops that a signal interrupts,
    and of process groups is as on Linux"""
    said = subprocess.run([SIGNALS_LINUX], check=True, capture_output=True, text=True,
                          start_new_session=True).stdout.splitlines()
    program = Program("fork-1", 1, heap=HEAP, elf=SIGNALS, processes=PROCESSES, barrier=False)
    with machine(deployment(sockets=1, network=False, programs=(program,))) as run:
        run.wait_for(lambda: run.events.of("exit") or run.events.of("fault"), "its end")
        monitor.human(run.command.monitor, monitor.POWER_BUTTON)
        run.wait_for(lambda: not run.running, "the machine is off")
        assert lines(run, 1) == said
    assert [event["status"] for event in run.events.of("exit")] == [0]


def bad_executables(folder: Path) -> tuple[list[Mapped], list[str]]:
    """Writes executables that cannot be executed. Returns them as a program's files, and what is said of each."""
    whole = EXEC.read_bytes()
    headers = struct.unpack_from("<Q", whole, 32)[0]
    size_of_data, data = max((struct.unpack_from("<Q", whole, at + 40)[0], at)
                             for at in range(headers, headers + 56 * struct.unpack_from("<H", whole, 56)[0], 56)
                             if struct.unpack_from("<II", whole, at) == (1, 6))

    def changed(at: int, form: str, value: int) -> bytes:
        made = bytearray(whole)
        struct.pack_into(form, made, at, value)
        return bytes(made)

    cases = {"cut": (whole[:5000], "ENOEXEC"), "headers-outside": (changed(32, "<Q", 1 << 63), "ENOEXEC"),
             "many-headers": (changed(56, "<H", 65535), "ENOEXEC"), "no-entry": (changed(24, "<Q", 8), "ENOEXEC"),
             "kernel": (changed(data + 16, "<Q", 0xffffffff80000000), "ENOEXEC"),
             "heap": (changed(data + 16, "<Q", 1 << 32), "ENOEXEC"),
             "wraps": (changed(data + 40, "<Q", (1 << 64) - 1), "ENOEXEC"),
             "file-outside": (changed(data + 8, "<Q", (1 << 64) - 4096), "ENOEXEC"),
             "large": (changed(data + 40, "<Q", size_of_data + (3 << 30)), "ENOMEM"),
             "linux": (LINUX.read_bytes(), "ENOEXEC"), "one-process": (ONE.read_bytes(), "ENOEXEC")}
    mapped = []
    for name, (content, _) in cases.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o755)
        mapped.append(Mapped(str(folder / name), f"/bad/{name}"))
    return mapped, [f"/bad/{name}: {said}" for name, (_, said) in cases.items()]


@pytest.mark.limit(200)
def test_exec(tmp_path: Path) -> None:
    """what POSIX says of exec, posix_spawn, vfork, system and popen is as on Linux; an executable that is none is
    refused, whatever is wrong with it; and no memory is missing afterwards, though all places of a family execute"""
    said = subprocess.run([EXEC_LINUX, "cases", EXEC_LINUX, tmp_path], check=True, capture_output=True,
                          text=True).stdout.splitlines()
    bad, refused = bad_executables(tmp_path)
    shell = Mapped(str(EXEC), "/bin/sh")

    def program(cpu: int, *args: str, files: list[Mapped]) -> Program:
        return Program(f"fork-{cpu}", cpu, heap=HEAP, args=args, elf=EXEC, processes=PROCESSES, barrier=False,
                       tree=file_tree.read((one, Path(one.host)) for one in (shell, *files)))

    programs = (program(1, "cases", "/bin/sh", "/tmp", files=[]), program(3, "full", "/bin/sh", "1", files=[]),
                program(5, "full", "/bin/sh", "5", files=[]), program(0, "bad", *(one.guest for one in bad), files=bad))
    with machine(deployment(sockets=3, network=False, programs=programs)) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(programs), "each end")
        monitor.human(run.command.monitor, monitor.POWER_BUTTON)
        run.wait_for(lambda: not run.running, "the machine is off")
        printed = {cpu: lines(run, cpu) for cpu in (0, 1, 3, 5)}
    printed[1].remove("to the other")  # of standard error
    assert printed[1] == said
    for cpu, times in ((3, 1), (5, 5)):
        assert printed[cpu] == ["then: EAGAIN", *(["executes: exits with 7"] * (PROCESSES - 1))] * times
    assert [line for line in printed[0] if line.startswith("/bad/")] == refused
    assert [event["status"] for event in run.events.of("exit")] == [0] * len(programs)
    memory = {event["cluster"]: event for event in run.events.of("memory")}
    assert memory[1]["total"] - memory[1]["free"] == memory[2]["total"] - memory[2]["free"]


@pytest.mark.limit(120)
def test_stops_and_alarms() -> None:
    """processes that stop and go on, what their parents are told of that, and alarms are as on Linux"""
    said = subprocess.run([STOPS_LINUX], check=True, capture_output=True, text=True,
                          start_new_session=True).stdout.splitlines()
    program = Program("fork-1", 1, heap=HEAP, elf=STOPS, processes=PROCESSES, barrier=False)
    with machine(deployment(sockets=1, network=False, programs=(program,))) as run:
        run.wait_for(lambda: run.events.of("exit") or run.events.of("fault"), "its end")
        printed = lines(run, 1)
    assert printed == said
    assert [event["status"] for event in run.events.of("exit")] == [0]


@pytest.mark.limit(400)
def test_a_thousand_forks() -> None:
    """a thousand forks of 64 MiB, one after another, leave memory and slots as one does, to the byte"""
    heap = 96 * MIB
    shape = Shape(3, 2, 2 * (default_memory(2) + 4 * heap))  # the first cluster has more to do
    programs = (forking(3, "often", "1", heap=heap), forking(5, "often", "1000", heap=heap))
    with machine(deployment(network=False, programs=programs, shape=shape), patience=Patience(200.0)) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(programs), "each end")
        monitor.human(run.command.monitor, monitor.POWER_BUTTON)
        run.wait_for(lambda: not run.running, "the machine is off")
        printed = {cpu: lines(run, cpu) for cpu in (3, 5)}
    assert printed == {3: ["forks that were right: 1"], 5: ["forks that were right: 1000"]}
    memory = {event["cluster"]: event for event in run.events.of("memory")}
    used = {cluster: event["total"] - event["free"] for cluster, event in memory.items()}
    assert used[1] == used[2] and abs(memory[1]["slots"] - memory[2]["slots"]) < PROCESSES * 16
