# SPDX-License-Identifier: BSD-2-Clause
"""The programs: a fuzzer for each lock regime and for each reader of foreign bytes, one that replays its finds, and one
of TCP stacks."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS, ROOT
from deploy.base.terminal import Output
from deploy.setup.build import build_lock, complain
from topology.errors import InputError

KERNEL = "kernel"
NET = "net"  # draws all it does from a seed (seeds.py), and has neither libFuzzer nor a corpus
NAMES = (KERNEL, "acpi", "cpio", "elf", "fragment", "map", "multiboot2", NET)
KERNEL_FOLDER = "cluster-kernel/test"
FOLDER = "cluster-manager/fuzz"
NET_FOLDER = "net/test/fuzz"
FUZZER = re.compile(rf"^{KERNEL_FOLDER}/kernel-fuzz-([^:./]+):", re.MULTILINE)
KERNEL_LENGTH = 1 + 200 * 12  # bytes of an input: 200 records
LENGTH = 16 << 10             # of the others, which tables, maps and archives are hardly larger than


@dataclass(frozen=True)
class Target:
    """Thing to fuzz: the kernel in one regime, something of loader and managers, or TCP stacks."""

    name: str
    regime: str = ""

    @property
    def title(self) -> str:
        return self.regime or self.name

    @property
    def seeded(self) -> bool:
        return self.name == NET

    @property
    def fuzzer(self) -> Path:
        if self.seeded:
            return BUILD / f"{NET_FOLDER}/fuzz-net"
        return BUILD / (f"{KERNEL_FOLDER}/kernel-fuzz-{self.regime}" if self.regime else f"{FOLDER}/fuzz-{self.name}")

    @property
    def replay(self) -> Path:
        return BUILD / (f"{KERNEL_FOLDER}/kernel-replay-{self.regime}"
                        if self.regime else f"{FOLDER}/replay-{self.name}")

    @property
    def programs(self) -> tuple[Path, ...]:
        """Lists the programs to build for it."""
        if self.seeded:
            return self.fuzzer, self.fuzzer.with_name("fuzz-net-stack.so")
        return self.fuzzer, self.replay, self.inputs

    @property
    def folder(self) -> Path:
        """Returns the folder of what the fuzzer learns and finds."""
        return BUILD / "fuzz" / self.title

    @property
    def corpus(self) -> Path:
        """The repository's: one file, an input a line."""
        return ROOT / (f"{KERNEL_FOLDER}/{KERNEL}.corpus" if self.regime else f"{FOLDER}/{self.name}.corpus")

    @property
    def inputs(self) -> Path:
        """The folder with the inputs of `corpus`, which the build unpacks."""
        return BUILD / self.corpus.relative_to(ROOT).with_suffix(".inputs")

    @property
    def length(self) -> int:
        """Bytes of an input, at most."""
        return KERNEL_LENGTH if self.regime else LENGTH

    @property
    def record(self) -> tuple[int, int]:
        """Bytes of an input's header and of what it is made of (cluster-kernel/test/operation.h); bytes, elsewhere."""
        return (1, 12) if self.regime else (0, 1)


def _regimes() -> list[str]:
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True)
    return sorted(set(FUZZER.findall(done.stdout)))


def _ninja(output: Output, what: str, *targets: str) -> None:
    log = LOGS / "fuzz-build.log"
    command = ["ninja", "-C", str(BUILD), f"-j{os.cpu_count() or 1}", *targets]
    with output.progress(what), log.open("w") as file:
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT).returncode:
            raise complain("the fuzzer could not be built", log)


def _check_regime(name: str, regime: str) -> None:
    regimes = _regimes()
    if not regimes:  # clang may have come after Meson first looked
        subprocess.run(["meson", "setup", "--reconfigure", str(BUILD), str(ROOT)], capture_output=True)
        regimes = _regimes()
    if not regimes:
        raise Failure("there is no libFuzzer here: apt-get install clang libclang-rt-14-dev")
    if name == KERNEL and regime not in regimes:
        raise InputError(f"--regime {regime}", f"not one of {', '.join(regimes)}")


def build(output: Output, name: str, regime: str) -> Target:
    """Builds the fuzzer in a tree that is set up and built."""
    with build_lock(output):
        if name != NET:
            _check_regime(name, regime)
        target = Target(name, regime if name == KERNEL else "")
        _ninja(output, f"Building the fuzzer of {target.title}",
               *(str(path.relative_to(BUILD)) for path in target.programs))
    return target
