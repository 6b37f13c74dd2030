# SPDX-License-Identifier: BSD-2-Clause
"""The tests that are to see a mutation, cheapest first."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.errors import Failure
from tests.long.mutations.catalogue import Mutation
from tests.long.mutations.workspace import Workspace

LOADER = ["cluster-manager/loader/loader.elf", "apps/ktest/ktest.elf", "deploy/listen-backlog.so"]
BOOTS = [(1, 1, "none"), (1, 2, "clh"), (2, 1, "none"), (1, 4, "clh"), (2, 2, "clh")]
LONG = ("capabilities", "deletion")  # unit tests that take seconds
PROTECTION = "tests/boot/test_protection.py"


def _is_unit(suite: str, name: str) -> bool:
    return suite == "kernel" and "random" not in name and "sanitized" not in name and "threads" not in name


HOSTED: dict[str, Callable[[str, str], bool]] = {  # by suite and name
    "unit": lambda suite, name: _is_unit(suite, name) and not name.startswith(LONG),
    "unit, long": lambda suite, name: _is_unit(suite, name) and name.startswith(LONG),
    "unit, sanitized": lambda suite, name: suite == "kernel" and "random" not in name and "sanitized" in name,
    "threads": lambda suite, name: suite == "kernel" and "threads" in name,
    "model": lambda suite, name: suite == "model" and "the explorer" not in name,  # those plant mistakes of their own
    "random": lambda suite, name: suite == "kernel" and "random" in name and "threads" not in name,
}
SLOW = {"unit, sanitized", "model", "threads", "random"}
BOOT_LIMIT = 700.0  # seconds; tests.long.mutations.boot has its own, tighter ones
BOOTS_TO_BE_SURE = 3  # a test that fails once may have been late on a busy host: it counts when it fails again
SLACK = 8  # times as long as without a mutation
SHORTEST = 30.0  # seconds: other work on the machine must not look like a hang


@dataclass
class Stage:
    """One step: what it needs built, and how it runs. `ignored` fails without any mutation."""

    name: str
    targets: list[str]
    slow: bool = False
    ignored: set[str] = field(default_factory=set)
    took: dict[str, float] = field(default_factory=dict)

    def sees(self, mutation: Mutation) -> bool:
        return True

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[str]:
        """What failed, a line each."""
        raise NotImplementedError


@dataclass
class HostedStage(Stage):
    commands: dict[str, list[str]] = field(default_factory=dict)

    def sees(self, mutation: Mutation) -> bool:
        return "arch-x86_64" not in mutation.file.parts

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[str]:
        for name, command in sorted(self.commands.items(), key=lambda item: self.took.get(item[0], 0)):
            if name in self.ignored:
                continue
            limit = 300.0 if calibrating else max(SHORTEST, SLACK * self.took.get(name, 0))
            start = time.monotonic()
            said = _run(command, limit, workspace.build)
            if calibrating:
                self.took[name] = time.monotonic() - start
                if said is not None:
                    self.ignored.add(name)
            if said is not None:
                yield f"{name}: {said}"


@dataclass
class BootStage(Stage):
    clusters: int = 1
    cores: int = 1
    kernel: str = "none"

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[str]:
        ignored = [] if calibrating else sorted(self.ignored) or ["-"]
        command = [sys.executable, "-m", "tests.long.mutations.boot", str(self.clusters), str(self.cores), self.kernel]
        seen: set[str] = set()
        for _ in range(BOOTS_TO_BE_SURE):
            failed = self._failures([*command, *ignored], workspace)
            for test, why in failed:
                if calibrating and test:
                    self.ignored.add(test)
                if calibrating or test in seen:
                    yield f"{self.name}: {test}: {why}" if test else f"{self.name}: {why}"
            if calibrating or not failed or seen & {test for test, _ in failed}:
                return
            seen |= {test for test, _ in failed}

    def _failures(self, command: list[str], workspace: Workspace) -> list[tuple[str, str]]:
        for last in (False, True):  # QEMU may be out of a port, or the machine out of memory
            done = subprocess.run(command, cwd=workspace.tree, capture_output=True, text=True, timeout=BOOT_LIMIT,
                                  stdin=subprocess.DEVNULL)
            if done.returncode == 0:
                break
            if last:
                raise Failure(f"{self.name}: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
        return [(test, why) for test, why in json.loads(done.stdout)["failed"]]


@dataclass
class PytestStage(Stage):
    """Tests of what no program inside can see: what protects the kernel from itself."""

    file: str = PROTECTION

    def sees(self, mutation: Mutation) -> bool:
        return "arch-x86_64" in mutation.file.parts

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", "--tb=no", self.file]
        done = subprocess.run(command, cwd=workspace.tree, capture_output=True, text=True, timeout=BOOT_LIMIT,
                              stdin=subprocess.DEVNULL)
        for test, why in re.findall(r"^(?:FAILED|ERROR) \S+::(\S+)(?: - (.*))?$", done.stdout, re.MULTILINE):
            if calibrating:
                self.ignored.add(test)
            if calibrating or test not in self.ignored:
                yield f"{self.name}: {test}: {why or 'failed'}"


def _run(command: list[str], limit: float, folder: Path) -> str | None:
    """None when it passes, else the line that tells why not."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, errors="replace", start_new_session=True, cwd=folder)
    try:
        _, printed = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"hangs (more than {limit:.0f} s)"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode == 0:
        return None
    lines = [line.strip() for line in printed.splitlines() if line.strip() and "WARNING" not in line]
    telling = [line for line in lines if "ERROR" in line or "runtime error" in line] or lines
    return telling[0] if telling else f"ends with status {process.returncode}"


def _introspect(workspace: Workspace, what: str) -> list[dict[str, Any]]:
    done = subprocess.run(["meson", "introspect", what, str(workspace.build)], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"meson introspect {what}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def stages(workspace: Workspace) -> list[Stage]:
    files = {target["id"]: target["filename"] for target in _introspect(workspace, "--targets")}
    tests = _introspect(workspace, "--tests")
    hosted: dict[str, Stage] = {}
    for name, wanted in HOSTED.items():
        chosen = [test for test in tests if wanted(test["suite"][0].rpartition(":")[2], test["name"])]
        if not chosen:
            raise Failure(f"the copy has no hosted tests of the kernel: {name}")
        needed = {file for test in chosen for target in test["depends"] for file in files[target]}
        targets = sorted(os.path.relpath(file, workspace.build) for file in needed)
        hosted[name] = HostedStage(name, targets, slow=name in SLOW, commands={t["name"]: t["cmd"] for t in chosen})
    boots: list[Stage] = []
    for clusters, cores, kernel in BOOTS:
        name = f"ktest, {kernel}, {clusters} x {cores} cores"
        boots.append(BootStage(name, [*LOADER, f"cluster-kernel/kernel-{kernel}.elf"],
                               clusters=clusters, cores=cores, kernel=kernel))
    protection = PytestStage("protection", [*LOADER, "cluster-kernel/kernel-clh.elf", "cluster-manager/root/root.elf"])
    return [hosted["unit"], *boots[:1], hosted["unit, long"], protection, *boots[1:], hosted["model"], hosted["unit, sanitized"],
            hosted["threads"], hosted["random"]]
