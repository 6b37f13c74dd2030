# SPDX-License-Identifier: BSD-2-Clause
"""The compiler of all that ships: GCC 12, also where the host's own is another.

Profiles of Redis, hiredis and the layer are of this version, and counts of instructions depend on it. Debian 13 has it
beside its own GCC 14, as gcc-12: a folder of the build has links by the usual names, and is the first in PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from deploy.base.paths import BUILD
from deploy.base.terminal import Output

MAJOR = 12
FOLDER = BUILD / "compiler"
COMMANDS = {
    "cc": "gcc", "gcc": "gcc", "x86_64-linux-gnu-gcc": "gcc",  # by which Python compiles extensions
    "cpp": "cpp", "gcc-ar": "gcc-ar", "gcc-nm": "gcc-nm", "gcc-ranlib": "gcc-ranlib",
}  # fmt: skip


def _major(command: str) -> int:
    """Returns the major version of a compiler; 0: there is none, or it says nothing."""
    try:
        done = subprocess.run([command, "-dumpversion"], capture_output=True, text=True)
    except OSError:
        return 0
    major = done.stdout.strip().partition(".")[0]
    return int(major) if major.isdecimal() else 0


def choose(output: Output) -> None:
    """Makes `gcc` and `cc` GCC 12 for this process and what it starts; says so where there is no GCC 12."""
    if _major("gcc") == _major("cc") == MAJOR:
        return
    if not shutil.which(f"gcc-{MAJOR}"):
        output.step(f"There is no gcc-{MAJOR}: instruction counts will differ from the documented ones")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, command in COMMANDS.items():
        found = shutil.which(f"{command}-{MAJOR}")
        if found:
            _link(FOLDER / name, Path(found))
    os.environ["PATH"] = os.pathsep.join([str(FOLDER), os.environ.get("PATH", os.defpath)])


def _link(link: Path, target: Path) -> None:
    """Replaces the link in one step: another command may be compiling."""
    new = link.with_name(f".{link.name}-{os.getpid()}")
    new.symlink_to(target)
    os.replace(new, link)
