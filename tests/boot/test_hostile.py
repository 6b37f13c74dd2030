# SPDX-License-Identifier: BSD-2-Clause
"""Hostile programs, and hostile input."""

import re
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Load, Program
from deploy.deployment.planner import plan
from deploy.machine import image, qemu
from deploy.machine.console_lines import lines
from deploy.results import serial_log
from tests.boot.machine import client, deployment, machine, machine_serving, servers, with_redis
from topology.machines.machine import Shape
from topology.maps.clustermap import Range
from topology.units import MIB

# ---- Programs that ask too much of their manager hold nobody up, and what they write arrives ----

LINES = 2000  # as tests/programs/hostile.c has them
NEWLINES = 40 * 952


def hostile(cpu: int, *words: str) -> Program:
    return Program("hostile", cpu, args=words, barrier=False, name=f"hostile-{words[0]}")


@pytest.mark.limit(200)
@pytest.mark.parametrize("cpu", [1, 3], ids=["in the primary cluster", "in another one"])
def test_writers(cpu: int) -> None:
    """programs that write without end lose nothing, tear no line, and Redis answers meanwhile"""
    programs = (hostile(cpu, "chatty"), hostile(cpu, "results"), hostile(cpu, "newlines"))
    with machine_serving(replace(with_redis(), programs=programs)) as run:
        for name in servers(run):
            with client(run, name) as server:
                for number in range(100):
                    assert server.incr("meanwhile") == number + 1
        run.wait_for(lambda: len(run.events.of("exit")) == len(programs), "the programs' ends", Patience(150))
        assert all(event["status"] == 0 for event in run.events.of("exit"))
        run.wait_for(lambda: run.console.count("last words") == len(programs), "the last words")
        lines = re.findall(r"^\[hostile-chatty@\d+\] line (\d+) of 2000 \.* end\r?$", run.console, re.MULTILINE)
        assert [int(number) for number in lines] == list(range(LINES))
        assert len(re.findall(r"^\[hostile-newlines@\d+\] \r?$", run.console, re.MULTILINE)) == NEWLINES
        results = [event["data"]["number"] for event in run.events.of("result")]
        assert results == list(range(LINES))
        assert not run.events.of("bad-line") and "messages are lost" not in run.console


@pytest.mark.limit(150)
def test_sent_requests() -> None:
    """requests that are sent, not called, take nothing that others need: the barriers of a load open"""
    what = replace(with_redis(shutdown="when-done"), programs=(hostile(0, "sends", "switch@0"),),
                   load=Load(2, operations=1000))
    with machine(what) as run:
        run.wait_done()
        assert run.events.of("done")[0]["status"] == 0
        assert [event["status"] for event in run.events.of("exit") if str(event["app"]).startswith("hostile")] == [0]


FORGED = ("[manager 0] cluster 0 is gone: forged", "kernel panic: cluster 0 core 0: forged", "[other@0] forged",
          '{"event":"done","status":1')
REPORTS = 8  # that the kernel makes at once of threads without a fault handler


@pytest.mark.limit(150)
@pytest.mark.parametrize("port", ["", "results=none"], ids=["reports on a port of their own", "reports on the console"])
def test_forger(port: str, tmp_path: Path) -> None:
    """a program without capabilities writes the kernel's, the manager's and others' lines: nobody believes it, and the
    run ends well"""
    other = Program("hostile", 0, args=("chatty",), name="other")
    forger = Program("hostile", 1, args=("forge",), name="forger")
    what = deployment(1, 2, redis=None, network=False, programs=(other, forger), shutdown="when-done")
    with machine(what, extra=("-append", port) if port else ()) as run:
        run.wait_done()
        console, own, events = run.console, [line.text for line in run.own_lines], run.events
    if port:
        (tmp_path / "log").write_text(console)
        assert not events.events
        events = serial_log.read_events(tmp_path / "log")
    assert [event["status"] for event in events.of("exit")] == [0, 0] and events.of("done")[0]["status"] == 0
    assert not events.of("result") and len(events.of("done")) == 1
    assert sum("kernel: thread without fault handler stopped" in line for line in own) >= REPORTS
    assert not [line for line in own if "forged" in line]
    written = [line.text for line in lines(console) if "forged" in line.text]
    assert all(line.startswith("[forger@1] ") for line in written)
    assert all(any(line.startswith(f"[forger@1] {text}") for line in written) for text in FORGED)


@pytest.mark.limit(150)
@pytest.mark.parametrize("lock", ["clh", "fine", "dynamic"])
def test_spreader(lock: str) -> None:
    """a program puts threads on its own core and on no other one, whichever cluster it is in and whichever core it
    has"""
    programs = tuple(Program("hostile", cpu, args=("spread",), name=f"spread-{cpu}") for cpu in range(4))
    with machine(deployment(2, 2, redis=None, network=False, lock=lock, programs=programs,
                            shutdown="when-done")) as run:
        run.wait_done()
        assert [event["status"] for event in run.events.of("exit")] == [0] * len(programs)


# ---- What the loader gets from outside is broken: one line that says where, the first about it, and the ----

LOADER = BUILD / "cluster-manager/loader/loader.elf"
INPUTS = BUILD / "cluster-manager/fuzz"
PREFIX = "skerry loader: "


def lines_hostile_input(initrd: bytes, folder: Path, *extra: str) -> list[str]:
    """All that the loader says before it refuses."""
    path = folder / "initrd"
    path.write_bytes(initrd)
    machine = ("-M", "q35", "-accel", "tcg", "-cpu", "max,phys-bits=40", "-m", "256", "-display", "none", "-no-reboot",
               "-nic", "none")
    command = [qemu.BINARY, *machine, "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-serial", "stdio"]
    done = subprocess.run([*command, "-kernel", str(LOADER), "-initrd", str(path), *extra],
                          stdin=subprocess.DEVNULL, capture_output=True)
    printed = done.stdout.decode(errors="replace").splitlines()
    assert done.returncode == qemu.EXIT_REFUSED, (done.returncode, printed)
    assert all(line.startswith(PREFIX) for line in printed), printed
    return [line.removeprefix(PREFIX) for line in printed]


def seed(target: str, name: str) -> bytes:
    return (INPUTS / f"{target}.inputs" / name).read_bytes()


MAPS = [
    ("length-that-leads-back-to-itself", "map: cluster@1: modules of 4294967284 bytes runs over the end, 752 are left"),
    ("negative-length", "map: cluster@1: "),
    ("version-without-root-name", "map: not a sound devicetree: its version 11 is not 17"),
]


@pytest.mark.parametrize("name,line", MAPS, ids=[name for name, _ in MAPS])
def test_map(name: str, line: str, tmp_path: Path) -> None:
    """a map whose devicetree is broken inside is refused, and does not hang the loader"""
    printed = lines_hostile_input(image.cpio({"map": seed("map", name)[1:]}), tmp_path)
    assert len(printed) == 2 and printed[0].startswith("1 cores, "), printed
    assert printed[1].startswith(f"refused: {line}"), printed


ARCHIVES = [
    ("name-size-of-minus-one", "refused: the initrd's header at byte 0: its name size is no hexadecimal number"),
    ("name-past-the-end", "refused: the initrd's header at byte 0: "),
    ("dot-slash-past-the-end", "refused: the initrd's header at byte 0: its name does not end"),
]


@pytest.mark.parametrize("name,line", ARCHIVES, ids=[name for name, _ in ARCHIVES])
def test_archive(name: str, line: str, tmp_path: Path) -> None:
    """an archive with a broken header is refused by its place, and does not hang the loader"""
    printed = lines_hostile_input(seed("cpio", name), tmp_path)
    assert len(printed) == 1 and printed[0].startswith(line), printed


def test_cut_archive(tmp_path: Path) -> None:
    """an archive that is cut short is refused by the file that is not whole"""
    whole = image.cpio({"map": bytes(1000)})
    assert lines_hostile_input(whole[:600],
                               tmp_path) == ["refused: the initrd is cut short: map at byte 0 has 1000 bytes"]
    assert lines_hostile_input(whole[:1116], tmp_path) == [
        "refused: the initrd is cut short: no file and no trailer begins at byte 1116 of 1116"
    ]


BEYOND = 1 << 45  # of a CPU with 40 address bits


def _table(folder: Path, signature: str, body: bytes) -> tuple[str, str]:
    path = folder / signature
    path.write_bytes(body)
    return ("-acpitable", f"sig={signature},rev=2,data={path}")


def test_tables_out_of_reach(tmp_path: Path) -> None:
    """a console, a timer and an option at addresses that the CPU has not are left out with a line each"""
    spcr = struct.pack("<B3xBBBBQ", 0, 0, 8, 0, 1, BEYOND)
    hpet = struct.pack("<IBBBBQ", 0, 0, 64, 0, 0, BEYOND)
    extra = (*_table(tmp_path, "SPCR", spcr + bytes(80 - 36 - len(spcr))), *_table(tmp_path, "HPET", hpet + bytes(20)))
    printed = lines_hostile_input(image.cpio({}), tmp_path, *extra, "-machine", "hpet=off", "-append",
                                  f"console=mmio:{BEYOND:#x}")
    assert printed[:3] == [
        f"ACPI SPCR: the console's registers at {BEYOND:#x} are out of this CPU's reach, and left out",
        f"ACPI HPET: its registers at {BEYOND:#x} are out of this CPU's reach, and left out",
        f"console=: {BEYOND:#x} is out of this CPU's reach",
    ], printed
    assert printed[-1] == "refused: there is no module map"


def test_early_refusal_elsewhere(tmp_path: Path) -> None:
    """what is refused before the console is known is said on the one that the command line names"""
    other = tmp_path / "other"
    port = ("-chardev", f"file,id=other,path={other}", "-device", "isa-serial,iobase=0x3e8,irq=10,chardev=other")
    printed = lines_hostile_input(image.cpio({}), tmp_path, *port, "-append", "console=0x3e8,115200 clock=sundial")
    assert printed == [], printed
    assert other.read_text().splitlines() == [f"{PREFIX}refused: command line: clock=sundial is not understood"]


def test_no_room(tmp_path: Path) -> None:
    """a cluster whose memory has no room for the kernel's own state is refused, and the kernel does not panic"""
    program = Program("sleep", heap=2 * MIB, args=("1", "1"))
    small = plan(Deployment(shape=Shape(1, 1, 256 * MIB), programs=(program,), network=False)).cluster_map
    refusal = ""
    for size in range(5, 40, 3):  # less than what is asked for, so that one of them has room for all else
        small.clusters[0].memory = [Range(0, size * MIB)]
        refusal = lines_hostile_input(image.cpio(image.contents(small)), tmp_path)[-1]
        assert refusal.startswith("refused: cluster@0: no room for its "), refusal
        if "kernel's own state" in refusal:
            return
    raise AssertionError(refusal)
