# SPDX-License-Identifier: BSD-2-Clause
"""Set-up and build, whole: what every command that needs built programs calls first."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.errors import Failure
from deploy.output import Output
from deploy.paths import BUILD, LOGS, ROOT
from deploy.setup import extensions, packages, sources

STATUS = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


@contextmanager
def build_lock(output: Output) -> Iterator[None]:
    """One set-up at a time in one tree: a second command waits for the first."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".skerry-lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            output.step("Another skerry is building in this tree; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def complain(what: str, log: Path) -> Failure:
    """The failure of a build step: its log's telling lines on stderr, the last line in the exception."""
    lines = log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if re.search(r"error|ERROR|FAILED|undefined reference", line)]
    tail = "\n".join(telling[:15] or lines[-15:])
    return Failure(f"{what}:\n{tail}\nskerry: {what} (all of it: {log})")


def configure(output: Output) -> None:
    """Meson's first run; later ones ninja starts itself when a meson.build changes."""
    if (BUILD / "build.ninja").exists():
        return
    log = LOGS / "meson.log"
    with output.progress("Configuring"), log.open("w") as file:
        command = ["meson", "setup", str(BUILD), str(ROOT)]
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file).returncode == 0:
            return
    raise complain("Meson could not configure the build", log)


def compile_all(output: Output) -> None:
    log = LOGS / "build.log"
    command = ["ninja", "-C", str(BUILD), f"-j{os.cpu_count() or 1}"]
    environment = os.environ | {"NINJA_STATUS": "[%f/%t] "}
    with output.progress("Building") as update, log.open("w") as file:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        with process:
            for line in process.stdout:
                file.write(line)
                status = STATUS.match(line)
                if status:
                    update(completed=int(status[1]), total=int(status[2]), description=f"Building {status[3][-60:]}")
    if process.returncode:
        raise complain("the build failed", log)


def ensure_built(output: Output) -> None:
    """Everything from Debian packages to programs; a second or two when there is nothing to do."""
    with build_lock(output):
        packages.ensure(output)
        extensions.ensure(output)
        sources.ensure(output)
        LOGS.mkdir(parents=True, exist_ok=True)
        configure(output)
        compile_all(output)
