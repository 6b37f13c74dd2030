# SPDX-License-Identifier: BSD-2-Clause
"""Programs of examples/: each is built by its build.sh, with `skerry cc`, from Debian's sources of it.

build.sh runs in a folder of its own below build/examples, with three variables: CC, the compiler; SOURCES, the folder
that has the unpacked sources by name; OUTPUT, the example's folder, which gets the programs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS, ROOT
from deploy.base.terminal import Output
from deploy.setup import libraries, needs, recipes, sources
from deploy.setup.build import build_lock, ensure_built
from deploy.setup.recipes import COMPILED_WITH, WRAPPER, digest
from topology.errors import InputError

EXAMPLES = ROOT / "examples"
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


def ensure(output: Output, name: str) -> bool:
    """Builds the example; false if it is up to date. Objects are kept while compiler, headers and sources are the
    same."""
    ensure_built(output, needs.EXAMPLES.get(name, needs.COMPILER))
    linked_too = libraries.OF_EXAMPLES.get(name, ())
    for library in linked_too:
        libraries.ensure(output, library)
    with build_lock(output):
        sources.ensure(output, name)
        work, folder = BUILD / "examples" / name, EXAMPLES / name
        stamp = work / ".built-with"
        compiled = digest([*COMPILED_WITH, folder / "build.sh"], *(source.sha256 for source in sources.needed(name)))
        linked = digest([*LINKED_WITH, *folder.glob("*.[ch]")], *libraries.built(linked_too))
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
    recipes.run(folder / "build.sh", work, {"OUTPUT": str(folder)}, LOGS / f"example-{folder.name}.log",
                f"examples/{folder.name}")
    if not any(folder.glob("*.elf")):
        raise Failure(f"{folder / 'build.sh'} has made no program (*.elf) in {folder}")
