# SPDX-License-Identifier: BSD-2-Clause
"""Skerry under KVM, in a Linux guest whose AMD virtualisation the emulator provides: Python, QEMU and the built tree.

The guest's file system is made of this machine's files, at the same paths; it has no disk.
"""

from __future__ import annotations

import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy import deployment as deployments
from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS, ROOT
from deploy.base.timeouts import Patience, Watch
from deploy.deployment import modules
from deploy.deployment.planner import Plan, plan
from deploy.load.linux_guest import kernel
from deploy.machine import image, qemu
from deploy.machine.cpio import Archive
from deploy.machine.events import EventStream

pytestmark = pytest.mark.drawn

INIT = "/init.py"
STDLIB = Path(sysconfig.get_path("stdlib"))
PACKAGES = Path(sysconfig.get_path("purelib"))
NOT_NEEDED = {"test", "idlelib", "lib2to3", "ensurepip", "pydoc_data", "tkinter", "turtledemo", "dist-packages",
              "config-3.11-x86_64-linux-gnu"}  # the last is for programs that embed Python
FIRMWARE = ("bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin", "pvh.bin")
COMMAND_LINE = "console=ttyS0 quiet panic=-1 clocksource=tsc tsc=reliable rdinit=/usr/bin/python3 -- -B " + INIT
CPU = ("-cpu", "max,+svm")


class Guest:
    """The archive as it grows."""

    def __init__(self) -> None:
        self.archive = Archive()
        self._there: set[str] = set()

    def file(self, path: Path, at: Path | None = None) -> None:
        name = str(at or path)
        if name not in self._there:
            self._there.add(name)
            executable = os.access(path, os.X_OK)
            self.archive.file(name, path.read_bytes(), executable, int(path.stat().st_mtime))

    def program(self, path: Path, at: Path | None = None) -> None:
        """With the libraries that it wants."""
        self.file(path, at)
        done = subprocess.run(["ldd", str(path)], capture_output=True, text=True)
        for library in re.findall(r"(/\S+) \(0x", done.stdout):
            self.file(Path(library))

    def tree(self, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not NOT_NEEDED & set(path.relative_to(folder).parts):
                self.program(path) if ".so" in path.suffixes else self.file(path)

    def sources(self, paths: Iterable[Path]) -> None:
        """Ours, compiled as the interpreter would, whose time is dear there."""
        for path in sorted(paths):
            if path.is_file() and path.suffix in (".py", ".toml", ".txt", ".json"):
                self.file(path)
            if path.suffix == ".py":
                with tempfile.NamedTemporaryFile(suffix=".pyc") as compiled:
                    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
                    py_compile.compile(str(path), compiled.name, str(path), doraise=True, invalidation_mode=mode)
                    name = f"{path.stem}.{sys.implementation.cache_tag}.pyc"
                    self.archive.file(str(path.parent / "__pycache__" / name), Path(compiled.name).read_bytes())


def _wanted() -> tuple[list[str], list[Path]]:
    """Installed packages that the commands import, and files of ours, besides modules, that they read: by doing so
    here."""
    code = (
        "import os, pathlib, sys; read = set();"
        "sys.addaudithook(lambda event, of: event == 'open' and not isinstance(of[0], int) and "
        "read.add(os.path.abspath(of[0])));"
        "import deploy.cli.main, deploy.machine.kvm, deploy.machine.monitor, deploy.deployment, "
        "deploy.deployment.planner, deploy.base.version;"
        "deploy.cli.main.make_app(); deploy.base.version.version();"
        "deploy.deployment.planner.plan(deploy.deployment.read(pathlib.Path('deploy/deployments/redis.toml')));"
        "print(*{m.split('.')[0] for m, v in sys.modules.items() if 'site-packages' in (getattr(v, '__file__', 0) or "
        "'')});"
        "print(*read, sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    packages, *opened = done.stdout.splitlines()
    files = [Path(name) for name in sorted(opened) if not name.endswith((".py", ".pyc"))]
    return packages.split(), [file for file in files if file.is_relative_to(ROOT) and not file.is_relative_to(BUILD)
                              and file.is_file()]


def _add_python(guest: Guest) -> None:
    guest.program(Path(os.path.realpath(sys.executable)), Path("/usr/bin/python3"))
    guest.tree(STDLIB)
    packages, files = _wanted()
    for file in files:
        guest.file(file)
    for name in packages:
        if (PACKAGES / name).is_dir():
            guest.tree(PACKAGES / name)
        for single in PACKAGES.glob(f"{name}.*"):
            guest.file(single)
    guest.archive.file("/packages", str(PACKAGES).encode())
    guest.sources([*(ROOT / "deploy").rglob("*"), *(ROOT / "topology").rglob("*"), *(ROOT / "tests").glob("*.py")])


def _add_emulator(guest: Guest) -> None:
    for program in (qemu.BINARY, "dtc"):
        path = shutil.which(program)
        if path is None:
            raise Failure(f"{program} not found")
        guest.program(Path(path), Path("/usr/bin", program))
    guest.program(qemu.PRELOAD)
    for name in FIRMWARE:
        path = next(p for p in (Path("/usr/share/seabios", name), Path("/usr/share/qemu", name)) if p.exists())
        guest.file(path, Path("/usr/share/qemu", name))


def _add_images(guest: Guest, plan: Plan) -> None:
    """Adds the images as the build left them, and without symbols where the tools keep those."""
    image.contents(plan.cluster_map)
    for path in modules.collect(plan.cluster_map).values():
        stripped = BUILD / "stripped" / path.relative_to(BUILD)
        guest.file(stripped, path)
        guest.file(stripped)
    guest.file(modules.loader())


def build(folder: Path, plan: Plan, deployment: Path) -> image.DirectBoot:
    linux = kernel.fetch(modules=("kvm_amd",))
    guest = Guest()
    guest.archive.device("/dev/console", 5, 1)
    guest.archive.folder("/proc")
    guest.archive.folder("/sys")
    for module in linux.modules:
        guest.archive.file(f"/modules/{module.name}", module.read_bytes())
    guest.archive.file("/modules/order", "".join(f"{module.name}\n" for module in linux.modules).encode())
    guest.file(Path(__file__).with_name("nested_init.py"), Path(INIT))
    guest.file(deployment)
    _add_python(guest)
    _add_emulator(guest)
    _add_images(guest, plan)
    boot = image.DirectBoot(folder / "vmlinuz", folder / "initrd")
    shutil.copyfile(linux.image, boot.kernel)
    boot.initrd.write_bytes(guest.archive.finish())
    return boot


@contextmanager
def running(boot: image.DirectBoot, folder: Path, deployment: Path) -> Iterator[Nested]:
    console, results = folder / "console", folder / "results"
    for file in (console, results):  # QEMU makes them when it has read its command line
        file.touch()
    command = [qemu.BINARY, "-nodefaults", "-no-user-config", "-machine", "q35", "-accel", "tcg,thread=multi", *CPU]
    command += ["-smp", "2", "-m", "2G", "-kernel", str(boot.kernel), "-initrd", str(boot.initrd)]
    command += ["-append", f"{COMMAND_LINE} {ROOT} {deployment}", "-display", "none", "-no-reboot"]
    command += ["-serial", f"file:{console}", "-serial", f"file:{results}"]
    machine = process.start(command, folder / "qemu.log")
    try:
        yield Nested(machine, console, results)
    finally:
        process.stop(machine)


class Nested:
    def __init__(self, machine: subprocess.Popen[bytes], console: Path, results: Path) -> None:
        self.machine, self.console, self.results = machine, console, results
        self.events = EventStream()
        self._read = 0

    def wait_end(self, seconds: float) -> None:
        """Until the guest powers itself off, or is silent for so long; what it said is in `events`."""
        watch, written, began = Watch(self.machine.pid), 0, time.monotonic()
        while self.machine.poll() is None and not watch.overdue("not done", Patience(seconds), began):
            if (size := self.console.stat().st_size + self.results.stat().st_size) > written:
                watch.moved("the console")
                written = size
            time.sleep(0.05)
        self.events.feed(self.results.read_bytes())
        if self.machine.poll() is None or self.events.of("error") or not self.events.of("run"):
            LOGS.mkdir(parents=True, exist_ok=True)
            log = LOGS / "nested.log"
            log.write_text(self.console.read_text(errors="replace") + self.results.read_text(errors="replace"))
            what = "does not end" if self.machine.poll() is None else "failed"
            raise Failure(f"the Linux guest {what} (log: {log})")


# ---- Skerry under KVM ----

DEPLOYMENT = """
name = "nested"
shutdown = "never"
[machine]
sockets = 2
cores = 1
memory = "256M"
[clusters]
layout = "per-socket"
[redis]
instances = "every-core"
heap = "64M"
"""


@pytest.mark.limit(420)
def test_nested(tmp_path: Path) -> None:
    """doctor finds KVM in a guest that has it, run uses it, and both clusters go on with TSC-deadline timers"""
    # The file's path is the same in the guest.
    path = BUILD / "nested.toml"
    path.write_text(DEPLOYMENT)
    boot = build(tmp_path, plan(deployments.read(path)), path)
    with running(boot, tmp_path, path) as guest:
        guest.wait_end(360)
    events = guest.events
    assert events.of("up")[0]["kvm"]
    finding = next(one for one in events.of("doctor")[0]["results"] if one["subject"] == "KVM")
    assert finding["use"] == "KVM" and "it booted both clusters" in finding["found"]
    run = events.of("run")[0]
    assert run["status"] == 0 and run["host"]["accel"] == "kvm"
    answers = events.of("pong")[0]
    assert answers["count"] >= 2 * answers["instances"] > 0
    kinds = {event["event"] for event in run["events"]}
    assert "serving" in kinds and not kinds & {"fault", "failed", "exit", "cluster-lost"}
