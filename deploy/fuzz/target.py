# SPDX-License-Identifier: BSD-2-Clause
"""The programs: one fuzzer for each lock regime, and one that replays what it has found."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.errors import Failure
from deploy.output import Output
from deploy.paths import BUILD, LOGS, ROOT
from deploy.setup.build import build_lock, complain
from topology.errors import InputError

FOLDER = "cluster-kernel/test"
CORPUS = ROOT / FOLDER / "corpus"
FUZZER = re.compile(rf"^{FOLDER}/kernel-fuzz-([^:./]+):", re.MULTILINE)


@dataclass(frozen=True)
class Target:
    regime: str

    @property
    def fuzzer(self) -> Path:
        return BUILD / FOLDER / f"kernel-fuzz-{self.regime}"

    @property
    def replay(self) -> Path:
        return BUILD / FOLDER / f"kernel-replay-{self.regime}"

    @property
    def folder(self) -> Path:
        """What the fuzzer learns and finds."""
        return BUILD / "fuzz" / self.regime


def _regimes() -> list[str]:
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True)
    return sorted(set(FUZZER.findall(done.stdout)))


def _ninja(output: Output, what: str, *targets: str) -> None:
    log = LOGS / "fuzz-build.log"
    command = ["ninja", "-C", str(BUILD), f"-j{os.cpu_count() or 1}", *targets]
    with output.progress(what), log.open("w") as file:
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT).returncode:
            raise complain("the fuzzer could not be built", log)


def build(output: Output, regime: str) -> Target:
    """Of a tree that is set up and built."""
    with build_lock(output):
        regimes = _regimes()
        if not regimes:  # clang may have come after Meson first looked
            subprocess.run(["meson", "setup", "--reconfigure", str(BUILD), str(ROOT)], capture_output=True)
            regimes = _regimes()
        if not regimes:
            raise Failure("there is no libFuzzer here: apt-get install clang libclang-rt-14-dev")
        if regime not in regimes:
            raise InputError(f"--regime {regime}", f"not one of {', '.join(regimes)}")
        target = Target(regime)
        programs = [str(path.relative_to(BUILD)) for path in (target.fuzzer, target.replay)]
        _ninja(output, f"Building the fuzzer of {regime}", *programs)
    return target
