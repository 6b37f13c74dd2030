# SPDX-License-Identifier: BSD-2-Clause
"""Libraries of GCC's own source for programs: built by `skerry build NAME` alone, because that source is large.

Each has a folder apps/libc/NAME, whose build.sh gets CC, SOURCES and OUTPUT (recipes.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from deploy.base.atomic_files import whole_folder, write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS, ROOT
from deploy.base.terminal import Output
from deploy.setup import needs, recipes, sources
from deploy.setup.build import build_lock, ensure_built

SOURCE = "gcc"  # `example` in sources.toml
ARCHIVES = {"openmp": "lib/libgomp.a", "c++": "lib/libstdc++.a"}  # below build/apps/libc/NAME: for skerry-cc
NEEDS = {"c++": needs.CPLUSPLUS}
OF_EXAMPLES = {"openmp": ("openmp",)}   # of examples/: the libraries that they are linked with


def ensure(output: Output, name: str) -> bool:
    """Builds the library; false if it is up to date. Raises Failure where it cannot be built."""
    ensure_built(output, NEEDS.get(name, needs.COMPILER))
    with build_lock(output):
        sources.ensure(output, SOURCE)
        folder, made = ROOT / "apps/libc" / name, BUILD / "apps/libc" / name
        stamp = recipes.digest([*recipes.COMPILED_WITH, *sorted(folder.iterdir())],
                               *(source.sha256 for source in sources.needed(SOURCE)))
        if (made / ARCHIVES[name]).exists() and (made / ".built-with").read_text() == stamp:
            return False
        work = BUILD / "libraries" / name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        with output.progress(f"Building {name}"), whole_folder(made) as fresh:
            recipes.run(folder / "build.sh", work, {"OUTPUT": str(fresh)}, LOGS / f"library-{name}.log", name)
            if not (fresh / ARCHIVES[name]).exists():
                raise Failure(f"{folder / 'build.sh'} has made no {ARCHIVES[name]}")
            write_text(fresh / ".built-with", stamp)
        shutil.rmtree(work)
    return True


def built(names: Iterable[str]) -> list[str]:
    """Lists what was linked with: a digest of each library."""
    return [(BUILD / "apps/libc" / name / ".built-with").read_text() for name in names]
