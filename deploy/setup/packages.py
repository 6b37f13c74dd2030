# SPDX-License-Identifier: BSD-2-Clause
"""The Debian packages that building and running need: installs what is missing, and nothing else."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.terminal import Output
from deploy.setup import apt

LIST = Path(__file__).with_name("packages.toml")


@dataclass(frozen=True)
class Package:
    alternatives: tuple[str, ...]  # any of these will do; the first is installed where none is
    why: str
    backports: bool
    group: str
    purpose: str  # of the group

    @property
    def name(self) -> str:
        return self.alternatives[0]


ALWAYS = "build"  # the group that every command needs that needs any


def in_groups(groups: Set[str] | None = None) -> list[Package]:
    """Lists the packages of these groups; without groups, all."""
    return [
        Package(tuple(entry["name"].split("|")), entry["why"], group.get("from") == "backports", name, group["purpose"])
        for name, group in tomllib.loads(LIST.read_text()).items()
        if groups is None or name in groups or name == ALWAYS
        for entry in group["packages"]
    ]


def named(groups: Set[str]) -> set[str]:
    """The names of all that may serve them."""
    return {name for package in in_groups(groups) for name in package.alternatives}


def installed() -> set[str]:
    command = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package}\n"]
    done = subprocess.run(command, capture_output=True, text=True)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {name for status, name in pairs if status == "installed"}


def present() -> set[str]:
    """Returns the packages of the list that are installed."""
    try:
        return installed() & {name for package in in_groups() for name in package.alternatives}
    except FileNotFoundError:
        raise Failure(f"there is no dpkg-query: Skerry is set up on {apt.SYSTEMS}") from None


def missing(groups: Set[str] | None = None) -> list[Package]:
    there = present()
    return [package for package in in_groups(groups) if not there & set(package.alternatives)]


def announced(needed: list[Package]) -> str:
    """Returns in words what is to be installed, and for what."""
    purposes = dict.fromkeys(package.purpose for package in needed)
    parts = [f"{' '.join(p.name for p in needed if p.purpose == purpose)} ({purpose})" for purpose in purposes]
    return f"Debian packages to install: {', '.join(parts)}"


def _install(needed: list[Package], backports: bool) -> None:
    for from_backports in (False, True):
        names = [package.name for package in needed if (package.backports and backports) == from_backports]
        release = ["-t", apt.BACKPORTS] if from_backports else []
        if names:
            apt.run_apt(["install", "--no-install-recommends", *release, *names])


def _installing(needed: list[Package]) -> str:
    return f"Installing {len(needed)} Debian package{'s' * (len(needed) != 1)}"


@contextmanager
def ensured(output: Output, groups: Set[str] | None = None, meanwhile: Set[str] = frozenset()) -> Iterator[None]:
    """Installs what is missing of these groups: those of `meanwhile`, which the body does not use, while the body runs,
    the others before it. apt is never left behind: where the body fails, that is raised after apt has ended."""
    needed = missing(groups)
    if needed:
        output.step(announced(needed))
        names = " ".join(package.name for package in needed)
        apt.root_prefix(f"Debian packages are missing; root installs them by: apt-get install --no-install-recommends "
                        f"{names}")
        with output.progress("Reading Debian's package lists"):
            backports = apt.refresh(output.step)
        if apt.needs_backports() and not backports and any(package.backports for package in needed):
            output.step(f"{apt.BACKPORTS} is not reachable: QEMU comes from {apt.OLD} (7.2)")
        first = [package for package in needed if package.group not in meanwhile]
        rest = [package for package in needed if package.group in meanwhile]
        if first:
            with output.progress(_installing(first)):
                _install(first, backports)
        with ThreadPoolExecutor(1) as aside:
            installed = aside.submit(_install, rest, backports)
            yield
            with output.progress(_installing(rest)) if rest else nullcontext():
                installed.result()
    else:
        yield
    still = missing(groups) if needed else []
    if still:
        raise Failure(f"apt-get did not install {', '.join(f'{p.name} ({p.why})' for p in still)}")


def ensure(output: Output, groups: Set[str] | None = None) -> None:
    with ensured(output, groups):
        pass
