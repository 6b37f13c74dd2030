# SPDX-License-Identifier: BSD-2-Clause
"""Programs of examples/: each is built by its build.sh, with `skerry cc`, from Debian's sources of it.

build.sh runs in a folder of its own below build/examples, with three variables: CC, the compiler; SOURCES, the folder
that has the unpacked sources by name; OUTPUT, the example's folder, which gets the programs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS, ROOT, THIRD_PARTY
from deploy.base.terminal import Output
from deploy.setup import needs, sources
from deploy.setup.build import build_lock, complain, ensure_built
from topology.errors import InputError

EXAMPLES = ROOT / "examples"
WRAPPER = BUILD / needs.WRAPPER
COMPILED_WITH = (WRAPPER, ROOT / "apps/libc/skerry-cc.specs", BUILD / needs.NAMES)  # the last came with musl's headers
LINKED_WITH = (BUILD / needs.LAYER, WRAPPER.parent / "sysroot/lib/libc.a")


def names() -> list[str]:
    return sorted(script.parent.name for script in EXAMPLES.glob("*/build.sh"))


def named(folder: str) -> str:
    """An example's name, by its folder."""
    path = Path(folder).resolve()
    if path.parent != EXAMPLES or path.name not in names():
        known = ", ".join(f"examples/{name}" for name in names())
        raise InputError(folder, f"no example to build; there are {known}")
    return path.name


def _digest(files: Iterable[Path], *texts: str) -> str:
    digest = hashlib.sha256(chr(0).join(texts).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def ensure(output: Output, name: str) -> bool:
    """Builds the example; false if it is up to date. Objects are kept while compiler, headers and sources are the
    same."""
    ensure_built(output, needs.EXAMPLES.get(name, needs.COMPILER))
    with build_lock(output):
        sources.ensure(output, name)
        work, folder = BUILD / "examples" / name, EXAMPLES / name
        stamp = work / ".built-with"
        compiled = _digest([*COMPILED_WITH, folder / "build.sh"], *(source.sha256 for source in sources.needed(name)))
        linked = _digest([*LINKED_WITH, *folder.glob("*.[ch]")])
        before = stamp.read_text().split() if stamp.exists() else ["", ""]
        if before == [compiled, linked] and any(folder.glob("*.elf")):
            return False
        if before[0] != compiled:
            shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        write_text(stamp, f"{compiled} unfinished")
        with output.progress(f"Building examples/{name}"):
            _run(folder, work)
        write_text(stamp, f"{compiled} {linked}")
    return True


def _run(folder: Path, work: Path) -> None:
    log = LOGS / f"example-{folder.name}.log"
    variables = {"CC": str(WRAPPER), "SOURCES": str(THIRD_PARTY), "OUTPUT": str(folder)}
    with log.open("w") as file:
        process = subprocess.Popen(
            ["sh", "-eu", str(folder / "build.sh")],
            cwd=work, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode:
        raise complain(f"examples/{folder.name} could not be built", log)
    if not any(folder.glob("*.elf")):
        raise Failure(f"{folder / 'build.sh'} has made no program (*.elf) in {folder}")
