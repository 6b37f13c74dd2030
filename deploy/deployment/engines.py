# SPDX-License-Identifier: BSD-2-Clause
"""Servers that `[redis]` can run: Redis, and Valkey, which has its protocol and its settings. The one list of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deploy.base.paths import BUILD


@dataclass(frozen=True)
class Engine:
    """A server, and where the build has it."""

    name: str  # in deployments, and that of its source package
    title: str  # in tables
    macro: str  # in the version.h of its source, which the build copies to `work`
    work: Path
    linux: Path  # the program for the Linux guest

    @property
    def program(self) -> str:
        return f"{self.name}-server"

    @property
    def forking(self) -> str:
        """Returns the name of the program whose process may have a child."""
        return f"{self.program}-forks"

    @property
    def images(self) -> tuple[Path, ...]:
        """Returns where the build has both."""
        return tuple(Path("apps/redis") / name for name in (self.program, self.forking))

    def version(self, build: Path = BUILD) -> str | None:
        """Returns the version of the source that the build has compiled; None: it has compiled none."""
        try:
            text = (build / self.work / "src/version.h").read_text()
        except OSError:
            return None
        found = re.search(rf'^#define {self.macro} "([^"]+)"', text, re.MULTILINE)
        return found[1] if found else None

    def named(self, version: str | None) -> str:
        """Returns the title with a version, as results print it: "Redis 7.0.15"."""
        return f"{self.title} {version}" if version else self.title


def _engine(name: str, title: str, work: str) -> Engine:
    folder = Path("apps/redis")
    return Engine(name, title, f"{name.upper()}_VERSION", folder / work, folder / f"{name}-server-linux")


REDIS = _engine("redis", "Redis", "work")
ENGINES = {engine.name: engine for engine in (REDIS, _engine("valkey", "Valkey", "work-valkey"))}
PROGRAMS = {name: engine for engine in ENGINES.values() for name in (engine.program, engine.forking)}


class Placed(Protocol):
    """A program of a map."""

    program: str


def is_server(app: Placed) -> bool:
    """Returns whether a program of a map is one of these servers."""
    return app.program in PROGRAMS


def engine_of(programs: Iterable[str]) -> Engine | None:
    """Returns the server among these programs, by their modules' names; None where there is none."""
    return next((PROGRAMS[name] for name in programs if name in PROGRAMS), None)
