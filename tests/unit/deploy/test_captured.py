# SPDX-License-Identifier: BSD-2-Clause
"""Images for this machine, and results from what a machine wrote on its serial port."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.cli.commands.machine.image import _options, qemu_command, write_command
from deploy.deployment import DEFAULT, Deployment, Load, Redis, physical_memory
from deploy.deployment.planner import plan
from deploy.machine import image
from deploy.machine.console_lines import By
from deploy.results import serial_log
from topology.errors import InputError
from topology.machines.machine import MemoryRange, Shape, emulated
from topology.maps.dts import write_dts
from topology.maps.fdt import compile_dts
from topology.units import GIB

MACHINE = '{"event":"machine","cpu":"A processor","hypervisor":""}'
DEPLOYMENT = Deployment(redis=Redis(), load=Load(clients=1), shape=Shape(2, 1, GIB))


def log(folder: Path, *lines: str) -> Path:
    """Reports come from managers."""
    path = folder / "log"
    marked = (By.MANAGER.value + line if line.startswith('{"event":') else line for line in lines)
    path.write_bytes(b"\0\0" + "\r\n".join(marked).encode() + b"\r\n")
    return path


def test_metal_has_no_network_card() -> None:
    """on real hardware there is a switch and no driver, and no host that forwards ports to it"""
    machine = emulated(Shape(2, 1, GIB))
    programs = [app.program for app in plan(DEPLOYMENT, metal=machine).cluster_map.applications]
    assert "switch" in programs and "virtio-net" not in programs
    assert "virtio-net" in [app.program for app in plan(DEPLOYMENT).cluster_map.applications]


IOMEM = """\
00000000-00000fff : Reserved
00001000-0009ffff : System RAM
000f0000-000fffff : Reserved
00100000-6fffffff : System RAM
  01000000-01ffffff : Kernel code
70000000-707fffff : ACPI Tables
74000000-7fffffff : RAM buffer
80000000-febfffff : PCI Bus 0000:00
  e0000000-efffffff : Reserved
100000000-183fffffff : System RAM
"""


def test_live_memory() -> None:
    """memory that Linux shows in whole blocks is cut where firmware has nothing, and where the loader's reach ends"""
    known = physical_memory.firmware_ranges(IOMEM)
    low = physical_memory.clip(MemoryRange(0, 0x80000000, 0), known)
    assert low == [MemoryRange(0, 0x70800000, 0)]  # the hole below 1 MiB is slack
    assert physical_memory.clip(MemoryRange(0x100000000, 0x1800000000, 1), known) == [MemoryRange(0x100000000, 0x1740000000, 1)]
    last = physical_memory.REACH - GIB
    assert physical_memory.clip(MemoryRange(last, 4 * GIB, 1), []) == [MemoryRange(last, GIB, 1)]
    assert physical_memory.clip(MemoryRange(physical_memory.REACH + GIB, GIB, 1), known) == []
    assert physical_memory.firmware_ranges("00000000-00000000 : System RAM\n") == []  # as others than root see it


def test_image_knows_its_plan(tmp_path: Path) -> None:
    """an image tells its map, layout, lock and load again"""
    wanted = plan(DEPLOYMENT)
    (tmp_path / "loader").write_bytes(b"loader")
    files = {"map": compile_dts(write_dts(wanted.cluster_map))}
    image.make_iso(tmp_path / "x.iso", files, tmp_path / "loader", "t", "console=0x2f8", serial_log.notes(wanted))
    found = serial_log.read_plan(tmp_path / "x.iso")
    assert (found.layout, found.lock, found.load) == (wanted.layout, wanted.lock, wanted.load)
    assert [c.cpus for c in found.cluster_map.clusters] == [c.cpus for c in wanted.cluster_map.clusters]
    assert b"multiboot2 /boot/loader console=0x2f8\n" in image.read_iso(tmp_path / "x.iso", "grub/grub.cfg")[0]


def test_links_of_an_image(tmp_path: Path) -> None:
    """a link in an image leads to no file of this host"""
    (tmp_path / "tree" / "boot").mkdir(parents=True)
    (tmp_path / "tree" / "boot" / "map").symlink_to(Path(__file__))
    subprocess.run(["xorriso", "-as", "mkisofs", "-R", "-quiet", "-o", tmp_path / "x.iso", tmp_path / "tree"], check=True, capture_output=True)
    with pytest.raises(InputError, match="x.iso: is not an image that skerry image has written"):
        image.read_iso(tmp_path / "x.iso", "map")


def test_not_an_image(tmp_path: Path) -> None:
    """a file that is no image of ours is refused by name"""
    (tmp_path / "x.iso").write_bytes(bytes(100_000))
    for name, why in (("x.iso", "is not an image"), ("y.iso", "no such file")):
        with pytest.raises(InputError, match=f"{name}: {why}"):
            serial_log.read_plan(tmp_path / name)


def test_events_among_other_lines(tmp_path: Path) -> None:
    """reports are found among the loader's, the kernels' and the programs' lines; the last run counts"""
    path = log(
        tmp_path,
        "skerry loader: 2 cores", MACHINE, '{"event":"boot","cluster":0,"cores":9}', "skerry loader: again", MACHINE,
        '[redis@2] {"event":"boot"} is what a program may write', '{"event":"boot","cluster":0,"cores":2}',
    )
    events = serial_log.read_events(path)
    assert [event.data["cores"] for event in events.of("boot")] == [2]


@pytest.mark.parametrize(
    "line,why",
    [
        ('{"event":"result","data":{"ev', r"log:2: a report is damaged"),
        (By.MANAGER.value + '{"even{"event":"boot"}', r"log:2: a report begins in the middle"),
        ("\0" + '{"event":"boot","cluster":0,"cores":2}', r"log:2: a report lacks its mark, a byte 1"),
    ],
    ids=["cut short", "mixed", "without its mark"],
)
def test_damage(tmp_path: Path, line: str, why: str) -> None:
    """a damaged report makes the whole worthless, and its line is named"""
    with pytest.raises(InputError, match=why):
        serial_log.read_events(log(tmp_path, MACHINE, line))


RESULT = '{"event":"result","app":"ycsb@3","data":{"event":"ycsb","operations":9000000}}'


@pytest.mark.parametrize(
    "line",
    ["[evil@5] " + RESULT, f"[evil@5] x\u2028{RESULT}", f"[evil@5] x{By.KERNEL.value}kernel: thread stopped\r\n{RESULT}", '[evil@5] {"event":"result","da'],
    ids=["named", "another end of line", "within it a kernel's line", "damaged"],
)
def test_forged(tmp_path: Path, line: str) -> None:
    """a program's line is no report, whatever stands in it, and does no harm to the others"""
    path = log(tmp_path, MACHINE, line, '{"event":"done","status":0}')
    assert [event.kind for event in serial_log.read_events(path).events] == ["machine", "done"]


def test_no_beginning(tmp_path: Path) -> None:
    """a log that begins in the middle is refused"""
    with pytest.raises(InputError, match="capture from power-on"):
        serial_log.read_events(log(tmp_path, '{"event":"done","status":0}'))


def test_other_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a log of another image is refused, and one that ends too early"""
    monkeypatch.setattr(serial_log, "read_plan", lambda path: plan(DEPLOYMENT))
    boots = [json.dumps({"event": "boot", "cluster": c, "cores": 1}) for c in (0, 1)]
    with pytest.raises(InputError, match="is not of x.iso"):
        serial_log.evaluate_log(Path("x.iso"), log(tmp_path, MACHINE, boots[0]))
    with pytest.raises(InputError, match="ends before the run does"):
        serial_log.evaluate_log(Path("x.iso"), log(tmp_path, MACHINE, *boots))


@pytest.mark.parametrize("signature, said, accel", [("", "on hardware", "hardware"), ("TCGTCGTCGTCG", "under TCG", "tcg"), ("KVMKVMKVM", "under KVM", "kvm")])
def test_hypervisor(signature: str, said: str, accel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """where a log comes from is said by the name of the hypervisor, not by its signature of CPUID"""
    monkeypatch.setattr(serial_log, "read_plan", lambda path: plan(DEPLOYMENT))
    monkeypatch.setattr(serial_log, "evaluate", lambda what, events, emulated: SimpleNamespace(emulated=emulated, cores=2))
    boots = [json.dumps({"event": "boot", "cluster": c, "cores": len(found.cpus)}) for c, found in enumerate(plan(DEPLOYMENT).cluster_map.clusters)]
    machine = json.dumps({"event": "machine", "cpu": "A processor", "hypervisor": signature})
    host = serial_log.evaluate_log(Path("x.iso"), log(tmp_path, machine, *boots, '{"event":"done","status":0}')).host
    assert host["mode"].endswith(f", {said}") and host["accel"] == accel


def test_ports() -> None:
    """serial ports of the command line become the loader's words; others are refused"""
    assert _options(console="mmio:0xfe034000,115200,4", results=None) == "console=mmio:0xfe034000,115200,4"
    assert _options(console="0x3f8", results="none") == "console=0x3f8 results=none"
    for wrong in ("COM1", "0x3f8,", "0x3f8 quiet", "0x3f8,9600,3", ""):
        with pytest.raises(InputError, match="--console"):
            _options(console=wrong, results=None)


def test_qemu_command() -> None:
    """an image of an emulated machine comes with the line that boots it: that machine, a card that the driver knows, both ports' words"""
    words = shlex.split(qemu_command(plan(DEFAULT), Path("my image.iso")))
    assert words[0] == "qemu-system-x86_64" and words[words.index("-cdrom") + 1] == "my image.iso" and "-nodefaults" in words
    assert "cpus=4,sockets=2,cores=2,threads=1" in words and any(word.startswith("virtio-net-pci,netdev=net") for word in words)


def test_write_command() -> None:
    """the line to copy survives a name with a space"""
    assert "if='my image.iso' of=/dev/sdX" in write_command(Path("my image.iso"))
