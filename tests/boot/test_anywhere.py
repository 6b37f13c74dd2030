# SPDX-License-Identifier: BSD-2-Clause
"""Machines other than the usual one: disks, the older chipset, a screen and no serial port, much that is missing."""

import importlib.util
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.base.timeouts import Patience
from deploy.deployment.planner import Plan, plan
from deploy.machine import monitor, qemu
from deploy.machine.run import Run
from tests.boot.machine import assert_no_fault, assert_serve, machine, machine_serving, servers, with_redis
from topology.machines.machine import Shape
from topology.units import GIB

WIDTH, HEIGHT = 6, 9  # of a character's cell, in dots
LARGE = 1000          # screens at least that wide have dots of two by two pixels
FIRST = ord(" ")


def _glyphs() -> dict[tuple[int, ...], str]:
    folder = ROOT / "cluster-kernel/console"
    spec = importlib.util.spec_from_file_location("make_font", folder / "make-font.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = module.glyphs((folder / "font.txt").read_text())
    return {tuple([*glyph, 0]): chr(FIRST + number) for number, glyph in enumerate(rows)}


def _picture(path: Path) -> tuple[int, int, bytes]:
    """Width, height, and a byte for each pixel, of a binary PPM file."""
    data = path.read_bytes()
    magic, size, depth, pixels = data.split(b"\n", 3)
    assert magic == b"P6" and depth == b"255"
    width, height = map(int, size.split())
    return width, height, pixels[1::3]  # green


def read_screen(run: Run) -> list[str]:
    """Lines of text; a cell that holds no character of the font shows as \N{REPLACEMENT CHARACTER}."""
    path = run.directory / "screen.ppm"
    monitor.human(run.command.monitor, f"screendump {path}")
    width, height, pixels = _picture(path)
    scale = 2 if width >= LARGE else 1
    dots = [[pixels[y * width + x] > 96 for x in range(0, width, scale)] for y in range(0, height, scale)]
    known = _glyphs()

    def character(column: int, row: int) -> str:
        cell = tuple(int("".join("01"[dot] for dot in line[column * WIDTH : (column + 1) * WIDTH]), 2)
                     for line in dots[row * HEIGHT : (row + 1) * HEIGHT])
        return known.get(cell, "\N{REPLACEMENT CHARACTER}")

    columns, rows = len(dots[0]) // WIDTH, len(dots) // HEIGHT
    return ["".join(character(column, row) for column in range(columns)).rstrip() for row in range(rows)]


# ---- Other machines ----

def answers(run: object) -> None:
    run.wait_serving()
    assert_serve(run)
    assert_no_fault(run)


@pytest.mark.limit(180)
@pytest.mark.parametrize("chipset,drive", [("pc", "ide-hd")])
def test_disks(chipset: str, drive: str) -> None:
    """the image boots from a disk"""
    with machine(with_redis(2, 1), medium="iso", machine=chipset, drive=drive, patience=Patience(120)) as run:
        answers(run)


VGA = ("-device", "VGA")
SILENT = ("-serial", "none", "-serial", "none")


@pytest.mark.limit(240)
@pytest.mark.parametrize("uefi", [False, True], ids=["BIOS", "UEFI"])
def test_stick_and_screen(uefi: bool) -> None:
    """a USB stick boots, and a screen shows loader and kernels"""
    with machine(with_redis(2, 1), medium="iso", drive="usb-storage", uefi=uefi, patience=Patience(180),
                 extra=VGA) as run:
        answers(run)
        text = read_screen(run)
        lines = [line for line in text if line]
        assert any(line.startswith("skerry loader: 2 cores,") for line in lines), text
        assert "skerry loader: 2 cores up, leaving" in lines
        rows = [number for number, line in enumerate(text) if line.startswith("cluster ")]
        assert len(rows) == 2 and rows[1] - rows[0] > 5, text  # each has rows of its own
        assert not any("\N{REPLACEMENT CHARACTER}" in line for line in lines), text


def _without_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = qemu.Command.arguments

    def arguments(self: qemu.Command) -> list[str]:
        words = whole(self)
        for port in ("chardev:console", "chardev:events"):
            words[words.index(port)] = "none"
        return words

    monkeypatch.setattr(qemu.Command, "arguments", arguments)


@pytest.mark.limit(180)
def test_no_serial_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """a machine without any serial port says on its screen what it would have said there"""
    _without_ports(monkeypatch)
    with machine(with_redis(2, 1), medium="iso", patience=Patience(120), extra=VGA) as run:
        run.wait_for(lambda: any("Ready to accept connections" in line for line in read_screen(run)), "Redis")
        assert_serve(run, servers(run)[0])


def _swapped(target: Plan, apic: int) -> Plan:
    """The second core has another local APIC id."""
    cpus = tuple(replace(cpu, apic=apic) if cpu.apic == 1 else cpu for cpu in target.cluster_map.cpus)
    return replace(target, cluster_map=replace(target.cluster_map, cpus=cpus))


@pytest.mark.limit(120)
@pytest.mark.skipif(qemu.version() < (9, 0),
                    reason="this QEMU's emulator has no x2APIC: bookworm-backports has a newer qemu-system-x86")
def test_large_apic_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """cores whose local APIC id needs more than eight bits start, and hear doorbells"""
    whole = qemu.topology_arguments

    def arguments(shape: object, cpu_model: str) -> list[str]:
        words = whole(shape, cpu_model)
        words[words.index("-smp") + 1] = "cpus=1,maxcpus=258,sockets=2,cores=129,threads=1"
        return [*words, "-device", "max-x86_64-cpu,socket-id=1,core-id=0,thread-id=0"]

    monkeypatch.setattr(qemu, "topology_arguments", arguments)
    with machine(_swapped(plan(with_redis(2, 1)), 256)) as run:
        answers(run)
        assert "258 cores, " in run.console and "2 cores up" in run.console


@pytest.mark.limit(120)
def test_reduced_hardware() -> None:
    """hardware-reduced ACPI: no ACPI timer, PIC or real-time clock, two I/O APICs, one serial port for all"""
    machine_type = "microvm,pit=on,pic=off,rtc=off,ioapic2=on,pcie=on,acpi=on,isa-serial=on"
    with machine(with_redis(1, 2, "size=1"), machine=machine_type) as run:  # no firmware has placed the network card
        run.wait_for(lambda: "Ready to accept connections" in run.console, "Redis")
        assert "by the PIT; epoch 0" in run.console
        assert '{"event":"serving","app":"redis@' in run.console  # there is no second port for it


def _third_port(folder: Path) -> tuple[str, ...]:
    return ("-chardev", f"file,id=third,path={folder / 'third'}", "-device",
            "isa-serial,iobase=0x3e8,irq=10,chardev=third")


def _spcr(folder: Path) -> tuple[str, ...]:
    """The body of a table that says: a 16550 at I/O port 0x3e8, 115200 baud."""
    body = struct.pack("<B3xBBBBQ", 0, 1, 8, 0, 1, 0x3E8) + struct.pack("<BBIBBBBBB", 0, 0, 0, 7, 0, 1, 0, 0, 0)
    (folder / "spcr").write_bytes(body + bytes(80 - 36 - len(body)))
    return ("-acpitable", f"sig=SPCR,rev=2,data={folder / 'spcr'}")


@pytest.mark.limit(120)
@pytest.mark.parametrize("how", ["SPCR", "command line"])
def test_other_port(how: str, tmp_path: Path) -> None:
    """the console is the port that the firmware's table or the command line names"""
    port_options = _spcr(tmp_path) if how == "SPCR" else ("-append", "console=0x3e8,115200 clock=hpet")
    with machine(with_redis(2, 1), extra=(*_third_port(tmp_path), *port_options)) as run:
        answers(run)
        third = tmp_path / "third"
        words = ("leaving", " MHz", "Ready to accept connections")  # of loader, kernels and programs
        run.wait_for(lambda: all(word in third.read_text(errors="replace") for word in words), "the console's lines")
        assert run.console == ""
        assert ("by the HPET" in third.read_text(errors="replace")) == (how != "SPCR")


@pytest.mark.limit(120)
def test_wrong_option() -> None:
    """a word of the loader's command line that means nothing is refused by name"""
    with pytest.raises(Failure, match="there is no option serial=0x3f8"):
        with machine_serving(with_redis(2, 1), extra=("-append", "screen=off serial=0x3f8")):
            pass


def test_much_memory() -> None:
    """memory and devices far above 512 GiB are within reach; only what is touched is used"""
    with machine(with_redis(shape=Shape(2, 1, 400 * GIB))) as run:
        answers(run)
        assert "cluster@1: kernel clh, 1 core, 4095" in run.console
