# SPDX-License-Identifier: BSD-2-Clause
"""The source tree as the checks see it: its files, and which file includes which."""

import json
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

from deploy.base.paths import BUILD, ROOT

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(skerry/[^>]+)>)', re.MULTILINE)


@cache
def files() -> tuple[Path, ...]:
    """Every file of ours, relative to ROOT; in a checkout also those that are not committed yet."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        names = done.stdout.split("\0") if done.returncode == 0 else []
    except FileNotFoundError:
        names = []
    if not any(names):  # a tree without git
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")
                 if not {"build", ".git"} & set(p.relative_to(ROOT).parts)]
    return tuple(sorted(Path(name) for name in names if name and (ROOT / name).is_file()))


@cache
def compiled() -> tuple[tuple[dict[str, str], tuple[str, ...]], ...]:
    """Meson's records of what it compiles, each with its command's words, from the compiler on."""
    entries = []
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if Path(words[0]).name == "ccache":  # Meson puts it in front where it is installed
            del words[0]
        entries.append((entry, tuple(words)))
    return tuple(entries)


def with_suffix(*suffixes: str) -> list[Path]:
    return [path for path in files() if path.suffix in suffixes]


def read(path: Path) -> str:
    return (ROOT / path).read_text()


@cache
def _headers_by_end() -> dict[str, list[Path]]:
    """Headers by what an `#include <skerry/x.h>` or a bare name would call them."""
    headers: dict[str, list[Path]] = {}
    for path in with_suffix(".h"):
        parts = path.parts
        for start in range(len(parts)):
            headers.setdefault("/".join(parts[start:]), []).append(path)
    return headers


def resolve(includer: Path, name: str) -> Path | None:
    """The header of ours that an include means; None for the compiler's, upstream's and generated ones."""
    neighbour = Path(*_normal((includer.parent / name).parts))
    if (ROOT / neighbour).is_file():
        return neighbour
    candidates = _headers_by_end().get(name, [])
    # the explorer has the kernel's include path
    near = Path("cluster-kernel", includer) if includer.parts[0] == "model" else includer
    return max(candidates, key=lambda path: (shared_folders(path, includer), shared_folders(path, near)), default=None)


def _normal(parts: tuple[str, ...]) -> list[str]:
    kept: list[str] = []
    for part in parts:
        if part == ".." and kept:
            kept.pop()
        else:
            kept.append(part)
    return kept


def shared_folders(a: Path, b: Path) -> int:
    """Returns how many folders two paths have in common: the nearest header of a name is the one that is meant."""
    count = 0
    for x, y in zip(a.parts, b.parts):
        if x != y:
            break
        count += 1
    return count


@cache
def includes(path: Path) -> tuple[Path, ...]:
    """Headers of ours that a file includes."""
    names = [quoted or angled for quoted, angled in INCLUDE.findall(read(path))]
    headers = (resolve(path, name) for name in names)
    return tuple(header for header in headers if header is not None and header != path)
