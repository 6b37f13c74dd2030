# SPDX-License-Identifier: BSD-2-Clause
"""Set-up and build, of what a command needs (needs.py): it calls ensure_built() before it uses any of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.base import host
from deploy.base.atomic_files import naming, write_text
from deploy.base.errors import Failure
from deploy.base.file_lock import LOCK, exclusive
from deploy.base.paths import BUILD, LOGS, ROOT
from deploy.base.process import end_with
from deploy.base.terminal import Output
from deploy.setup import compiler, extensions, packages, sources, tab
from deploy.setup.needs import BOOT_GROUPS, Needs

STATUS = re.compile(r"^\[(\d+)/(\d+)\] (.*)")
TELLING = re.compile(r"error|ERROR|FAILED|undefined reference|No space left|Disk quota exceeded")
# of Meson, and options as -Werror of a compiler
IDLE = re.compile(r"WARNING: |^ *werror: |^\S*(?:cc|gcc|clang)\S* .* -o ")
LABEL = 60  # columns of what is being built, beside the bar
SAID_EVERY = 10.0  # seconds, where there is no terminal
NOT_BUILT_WITH = BOOT_GROUPS  # of packages: neither Meson nor the build uses them
CONFIGURED = BUILD / ".skerry-configured"  # the packages that Meson has seen: it leaves out what needs others


@contextmanager
def build_lock(output: Output) -> Iterator[None]:
    """One set-up at a time in one tree: a second command waits for the first, whose process and words are in the
    file."""

    def wait(holder: str) -> None:
        output.step(f"Another skerry is building in this tree; waiting for {holder or 'it'} (how far it is: "
                    f"{LOGS / 'build.log'})")

    with exclusive(BUILD / LOCK, f"skerry {' '.join(sys.argv[1:])}", wait):
        yield


def complain(what: str, log: Path) -> Failure:
    """The failure of a build step: its log's telling lines on stderr, the last line in the exception."""
    lines = log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if TELLING.search(line) and not IDLE.search(line)]
    tail = "\n".join(telling[:15] or lines[-15:])
    return Failure(f"{what}:\n{tail}\nskerry: {what} (all of it: {log})")


def _warnings_are_errors() -> bool:
    """Whether the build is configured so."""
    try:
        options = json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text())
    except (FileNotFoundError, ValueError):
        return False
    return any(option["name"] == "werror" and option["value"] for option in options)


def configure(output: Output, needed: Needs, werror: bool = False) -> None:
    """Meson's first run, and another where there are packages now that it did not find, where one was interrupted, or
    where warnings of the compilers are to be errors and were not. They stay errors in this build folder.

    Otherwise ninja starts Meson itself. A Meson that is interrupted can leave a build folder that it calls configured
    without build.ninja in it, for ninja removes what an interrupted command was writing."""
    log = LOGS / "meson.log"
    command = ["meson", "setup", str(BUILD), str(ROOT)]
    present = packages.present()
    strict = werror and not _warnings_are_errors()
    if (BUILD / "build.ninja").exists() and not strict:
        if packages.named(needed.groups - NOT_BUILT_WITH) & present <= _configured():
            return
    if (BUILD / "meson-private" / "coredata.dat").exists():
        command.insert(2, "--reconfigure")
    if strict:
        command.append("-Dwerror=true")
    with output.progress("Configuring"), log.open("w") as file:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    if done.returncode:
        raise complain("Meson could not configure the build", log)
    write_text(CONFIGURED, "".join(f"{name}\n" for name in sorted(present)))


def _configured() -> set[str]:
    try:
        return set(CONFIGURED.read_text().split())
    except FileNotFoundError:
        return set()


def _said(output: Output, update: Callable[..., None]) -> Callable[[str], None]:
    """Returns a function that shows ninja's lines: as a bar on a terminal, elsewhere now and then as a line."""
    last = time.monotonic()
    begun = False

    def show(line: str) -> None:
        nonlocal last, begun
        status = STATUS.match(line)
        if not status:
            return
        done, total, what = int(status[1]), int(status[2]), status[3]
        update(completed=done, total=total,
               description=f"Building {what if len(what) <= LABEL else f'…{what[1 - LABEL:]}'}")
        if done and not output.shows_bars and (not begun or done == total or time.monotonic() - last >= SAID_EVERY):
            output.step(f"Building: {done} of {total} steps")
            last, begun = time.monotonic(), True

    return show


def compile(output: Output, targets: Iterable[str] = ()) -> None:
    """These of ninja's targets; without any, all. Ninja, and its compilers with it, ends when this process does."""
    log = LOGS / "build.log"
    command = ["ninja", "-C", str(BUILD), f"-j{os.cpu_count() or 1}", *sorted(targets)]
    environment = os.environ | {"NINJA_STATUS": "[%f/%t] "}
    parent = os.getpid()
    with naming(log), output.progress("Building") as update, log.open("w") as file:
        show = _said(output, update)
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, preexec_fn=lambda: end_with(parent, signal.SIGTERM)
        )
        assert process.stdout is not None
        with process:
            try:
                for line in process.stdout:
                    file.write(line)
                    show(line)
            except BaseException:
                process.terminate()
                process.wait()  # the lock of the build is held until ninja and its compilers have ended
                raise
    if process.returncode:
        raise complain("the build failed", log)


_made: list[tuple[Needs, Output]] = []  # by this process


def ensure_built(output: Output, needed: Needs, werror: bool = False) -> None:
    """From Debian packages to programs, what is needed; a second or two when there is nothing to do."""
    host.commit()  # what is built is of this one, even if files change before there are results
    with build_lock(output):
        with (extensions.installed_meanwhile(output, needed.groups),
              packages.ensured(output, needed.groups, NOT_BUILT_WITH)):
            compiler.choose(output)
            if needed.targets != frozenset():
                sources.ensure(output, servers=needed.servers)
                LOGS.mkdir(parents=True, exist_ok=True)
                configure(output, needed, werror)
                compile(output, needed.targets or ())
        extensions.ensure(output, needed.groups)
        tab.renew()
    _made.append((needed, output))


def made() -> tuple[tuple[Needs, Output], ...]:
    """Returns what this process has made."""
    return tuple(_made)


def require(needed: Needs) -> None:
    """Makes what is about to be used, if this command has made something and not this. A command that has made nothing
    relies on what is there, and a missing file is reported."""
    if _made and not any(made.covers(needed) for made, _ in _made):
        ensure_built(_made[-1][1], needed)
