# SPDX-License-Identifier: BSD-2-Clause
"""The Debian packages that building and running need: installs what is missing, and nothing else."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from deploy.errors import Failure
from deploy.output import Output
from deploy.setup import apt

LIST = Path(__file__).with_name("packages.toml")


@dataclass(frozen=True)
class Package:
    alternatives: tuple[str, ...]  # any of these will do; the first is installed where none is
    why: str
    backports: bool

    @property
    def name(self) -> str:
        return self.alternatives[0]


def wanted() -> list[Package]:
    groups = tomllib.loads(LIST.read_text()).values()
    return [
        Package(tuple(entry["name"].split("|")), entry["why"], group.get("from") == "backports")
        for group in groups
        for entry in group["packages"]
    ]


def installed() -> set[str]:
    command = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package}\n"]
    done = subprocess.run(command, capture_output=True, text=True)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {name for status, name in pairs if status == "installed"}


def missing() -> list[Package]:
    try:
        present = installed()
    except FileNotFoundError:
        raise Failure("there is no dpkg-query: Skerry is set up on Debian 12") from None
    return [package for package in wanted() if not present & set(package.alternatives)]


def ensure(output: Output) -> None:
    needed = missing()
    if not needed:
        return
    output.step(f"Debian packages to install: {' '.join(package.name for package in needed)}")
    with output.progress("Reading Debian's package lists"):
        backports = apt.refresh()
    if not backports and any(package.backports for package in needed):
        output.step(f"{apt.BACKPORTS} is not reachable: QEMU comes from {apt.SUITE} (7.2)")
    for from_backports in (False, True):
        names = [package.name for package in needed if (package.backports and backports) == from_backports]
        if not names:
            continue
        release = ["-t", apt.BACKPORTS] if from_backports else []
        with output.progress(f"Installing {len(names)} Debian package{'s' * (len(names) != 1)}"):
            apt.run_apt(["install", "--no-install-recommends", *release, *names])
    still = missing()
    if still:
        raise Failure(f"apt-get did not install {', '.join(f'{p.name} ({p.why})' for p in still)}")
