# SPDX-License-Identifier: BSD-2-Clause
"""The tests that are to see a mistake, cheapest first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from deploy.base.errors import Failure
from deploy.deployment.planner import plan
from deploy.setup import needs
from tests.boot.machine import with_redis
from tests.mistakes.catalogue import Mistake
from tests.mistakes.running import Done, run
from tests.mistakes.workspace import Workspace

LOADER = ["cluster-manager/loader/loader.elf", "apps/ktest/ktest.elf", "deploy/listen-backlog.so"]
BOOTS = [(1, 1, "none"), (1, 2, "clh"), (2, 1, "none"), (1, 4, "clh"), (2, 2, "clh")]
LONG = ("system calls", "deletion", "waiters")  # unit tests that take seconds
PROTECTION = "tests/boot/test_protection.py"  # what protects the kernel from itself
NAMED = {
    "ktest, counted": "tests/boot/test_ktest.py::test_counted",
    "ktest, counting": "tests/boot/test_ktest.py::test_ktest_more[clh+stat, 1 clusters of 4 cores]",
    "nmi": "tests/boot/test_faults.py::test_nmi",
    "groups": "tests/boot/test_groups.py::test_groups",
    "alone": "tests/boot/test_groups.py::test_alone",
    "a core that lacks a feature": "tests/boot/test_cpus.py::test_one_core_lacks",
}
OF_CLUSTERS = {  # lost clusters, and programs that ended
    "devices are quiet": "tests/boot/test_restarts.py::test_devices_are_quiet",
    "what ended is free": "tests/boot/test_restarts.py::test_what_an_ended_program_had_is_free_again",
    "a report is lost": "tests/boot/test_odd_ends.py::test_report_is_lost",
}
FIRST = "clh"  # the regime whose unit tests go first: most of the kernel is the same in all
LIKE_FIRST = ("ticket", "mcs", "rtm")  # but for the lock itself the same kernel, compiled once more


def _is_unit(suite: str, name: str) -> bool:
    return suite == "kernel" and not any(word in name
                                         for word in ("random", "sanitized", "threads", "fuzzer", "serial"))


def _regime(name: str) -> str:
    return name.rpartition(", ")[2]


HOSTED: dict[str, Callable[[str, str], bool]] = {  # by suite and name
    "unit": lambda suite, name: _is_unit(suite, name) and not name.startswith(LONG) and _regime(name) == FIRST,
    "unit, other regimes": lambda suite, name: _is_unit(suite, name) and not name.startswith(LONG)
    and _regime(name) not in (FIRST, *LIKE_FIRST),
    "unit, other locks": lambda suite, name: _is_unit(suite, name) and _regime(name) in LIKE_FIRST,
    "unit, long": lambda suite, name: _is_unit(suite, name) and name.startswith(LONG)
    and _regime(name) not in LIKE_FIRST,
    "unit, sanitized": lambda suite, name: suite == "kernel" and "random" not in name and "sanitized" in name,
    "threads": lambda suite, name: suite == "kernel" and "threads" in name,
    "model": lambda suite, name: suite == "model" and name != "the explorer itself",
    "random": lambda suite, name: suite == "kernel" and ("random" in name or "fuzzer" in name) and "threads" not in name
    and "sanitized" not in name,
    "manager": lambda suite, name: suite in OF_MANAGER,
}
OF_MANAGER = ("manager", "loader")  # suites
SLOW = {"unit, sanitized", "model", "threads", "random"}
OF_LOCKS = {"unit, other locks", "model"}  # where mistakes in locks are seen
EXPLORED = ("finish.c", "arch_switch.h")  # of the x86-64 port
# and all that is booted as a whole: after the cheap stages of all mistakes
DEAR = SLOW | {"unit, other locks", "unit, long"}
BOOT_LIMIT = 3000.0  # seconds; tests.mistakes.boot has its own, tighter ones
BOOTS_TO_BE_SURE = 3  # a test that fails once may have been late on a busy host: it counts when it fails again
CPU_LIMIT = 60.0  # seconds of processor time of a hosted test of which nothing is known
SHORTEST = 10.0  # of one that is known to be quick
SLACK = 8  # times as long as without a mistake
SKIPPED = 77  # the exit status that says so
WALL = 10  # times the processor time: the machine may have other work


@dataclass
class Stage:
    """One step: what it needs built, and how it runs. Said without any mistake: `ignored` fails, `took` seconds."""

    name: str
    targets: list[str]
    slow: bool = False
    ignored: set[str] = field(default_factory=set)
    took: dict[str, float] = field(default_factory=dict)

    def sees(self, mistake: Mistake) -> bool:
        return True

    @property
    def what(self) -> str:
        """Returns what is run of it: all, or the tests by name."""
        return self.name

    @property
    def dear(self) -> bool:
        return self.name in DEAR

    def has(self, test: str) -> bool:
        """Whether this is a test of it, or all that it has."""
        return test == self.name or self.narrowed([test]) is not None

    def narrowed(self, tests: list[str]) -> Stage | None:
        """Only these tests, in this order; None where it has none of them, or cannot leave any out."""
        return None

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[tuple[str, str]]:
        """Yields what failed and why, as it fails; calibrating, all of it."""
        raise NotImplementedError


@dataclass
class HostedTest:
    command: list[str]
    targets: list[str]


@dataclass
class HostedStage(Stage):
    tests: dict[str, HostedTest] = field(default_factory=dict)
    part: bool = False  # of a stage with more tests

    @property
    def what(self) -> str:
        return f"{self.name}: {', '.join(self.tests)}" if self.part else self.name

    def sees(self, mistake: Mistake) -> bool:
        if not mistake.of_kernel or self.name == "manager":
            return not mistake.of_kernel and self.name == "manager"
        return "arch-x86_64" not in mistake.file.parts or (self.name == "model" and mistake.file.name in EXPLORED)

    def narrowed(self, tests: list[str]) -> HostedStage | None:
        chosen = {name: self.tests[name] for name in tests if name in self.tests}
        if not chosen:
            return None
        targets = sorted({target for test in chosen.values() for target in test.targets})
        return HostedStage(self.name, targets, self.slow, self.ignored, self.took, chosen, part=True)

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[tuple[str, str]]:
        for name, test in self.tests.items():
            if name in self.ignored:
                continue
            cpu = max(SHORTEST, SLACK * self.took[name]) if name in self.took else CPU_LIMIT
            done = run(test.command, workspace.build, workspace.stop, cpu=cpu, wall=WALL * cpu)
            if calibrating:
                self.took[name] = round(done.seconds, 1)
            if done.status not in (0, SKIPPED) or done.hangs:
                yield name, _reason(done)


@dataclass
class BootStage(Stage):
    clusters: int = 1
    cores: int = 1
    kernel: str = "none"

    def sees(self, mistake: Mistake) -> bool:
        return mistake.of_kernel

    @property
    def dear(self) -> bool:
        return True

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[tuple[str, str]]:
        ignored = [] if calibrating else sorted(self.ignored) or ["-"]
        command = [sys.executable, "-m", "tests.mistakes.boot", str(self.clusters), str(self.cores), self.kernel]
        seen: set[str] = set()
        for _ in range(BOOTS_TO_BE_SURE):
            failed = self._failures([*command, *ignored], workspace)
            for test, why in failed:
                if calibrating or test in seen:
                    yield test, f"{test}: {why}" if test else why
            if calibrating or not failed or seen & {test for test, _ in failed}:
                return
            seen |= {test for test, _ in failed}

    def _failures(self, command: list[str], workspace: Workspace) -> list[tuple[str, str]]:
        for last in (False, True):  # QEMU may be out of a port, or the machine out of memory
            done = run(command, workspace.tree, workspace.stop, wall=BOOT_LIMIT)
            if done.status == 0:
                break
            if last:
                raise Failure(f"{self.name}: {(done.complaint.strip() or 'no output').splitlines()[-1]}")
        return [(test, why) for test, why in json.loads(done.printed)["failed"]]


@dataclass
class PytestStage(Stage):
    """Boot tests of what ktest, as it is booted here, cannot see; some of them only where a mistake names them."""

    file: str = PROTECTION  # and test

    def sees(self, mistake: Mistake) -> bool:
        return self.name in mistake.tests or (self.file == PROTECTION and "arch-x86_64" in mistake.file.parts)

    @property
    def dear(self) -> bool:
        return True

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[tuple[str, str]]:
        command = ["env", "COLUMNS=300", sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider",
                   "--tb=no", self.file]
        if not calibrating and not self.ignored:
            command.append("--exitfirst")  # a machine that hangs takes a minute to be given up
        done = run(command, workspace.tree, workspace.stop, wall=BOOT_LIMIT)
        for test, why in re.findall(r"^(?:FAILED|ERROR) \S+?::(.+?)(?: - (.*))?$", done.printed, re.MULTILINE):
            if calibrating or test not in self.ignored:
                yield test, f"{test}: {why or 'failed'}"


def _reason(done: Done) -> str:
    """The line that tells why it failed."""
    if done.hangs:
        return "hangs"
    lines = [line.strip() for line in done.complaint.splitlines() if line.strip() and "WARNING" not in line]
    telling = [line for line in lines if "ERROR" in line or "runtime error" in line] or lines
    return telling[0] if telling else f"ends with status {done.status}"


def boot_name(clusters: int, cores: int, kernel: str) -> str:
    return f"ktest, {kernel}, {clusters} x {cores} cores"


def _introspect(workspace: Workspace, what: str) -> list[dict[str, Any]]:
    done = subprocess.run(["meson", "introspect", what, str(workspace.build)], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"meson introspect {what}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def stages(workspace: Workspace) -> list[Stage]:
    files = {target["id"]: target["filename"] for target in _introspect(workspace, "--targets")}
    hosted: dict[str, HostedStage] = {name: HostedStage(name, [], slow=name in SLOW) for name in HOSTED}
    for test in _introspect(workspace, "--tests"):
        for name, is_of in HOSTED.items():
            if is_of(test["suite"][0].rpartition(":")[2], test["name"]):
                needed = [os.path.relpath(file, workspace.build) for target in test["depends"]
                          for file in files[target]]
                hosted[name].tests[test["name"]] = HostedTest(test["cmd"], needed)
    for name, stage in hosted.items():
        if not stage.tests:
            raise Failure(f"the copy has no hosted tests of the kernel: {name}")
        stage.targets = sorted({target for test in stage.tests.values() for target in test.targets})
    boots: list[Stage] = []
    for clusters, cores, kernel in BOOTS:
        boots.append(BootStage(boot_name(clusters, cores, kernel), [*LOADER, f"cluster-kernel/kernel-{kernel}.elf"],
                               clusters=clusters, cores=cores, kernel=kernel))
    booted = [*LOADER, "cluster-kernel/kernel-clh.elf", "cluster-manager/root/root.elf"]
    protection = PytestStage("protection", booted)
    named = [PytestStage(name, [*booted, "cluster-kernel/kernel-clh+stat.elf"], file=test)
             for name, test in NAMED.items()]
    served = sorted(needs.of_map(plan(with_redis()).cluster_map).targets or ())
    named += [PytestStage(name, [*served, needs.target("crash"), needs.target("sleep")], file=test)
              for name, test in OF_CLUSTERS.items()]
    return [hosted["manager"], hosted["unit"], hosted["unit, other regimes"], hosted["unit, long"], protection, *named,
            *boots,
            hosted["unit, other locks"], hosted["model"], hosted["unit, sanitized"], hosted["threads"],
            hosted["random"]]
