# SPDX-License-Identifier: BSD-2-Clause
"""Each header compiles alone, with the flags of the sources nearest to it."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT
from tests.structure import tree

KEPT = ("-I", "-D", "-U", "-f", "-m", "-std", "-isystem", "-nostdinc")
FIRST = re.compile(r'^\s*#\s*(?:include\s+"([^"/]+)")?', re.MULTILINE)  # directive of a source
CANDIDATES = 4  # a folder may hold sources of several programs with different flags


@cache
def commands() -> tuple[tuple[Path, tuple[str, ...]], ...]:
    """Each compiled source of ours with the flags that decide how a header reads."""
    compiled = []
    for entry, words in tree.compiled():
        source = Path(os.path.normpath(Path(entry["directory"], entry["file"])))
        if not source.is_relative_to(ROOT) or source.is_relative_to(BUILD) or source.suffix != ".c":
            continue
        flags: list[str] = [words[0]]
        for index, word in enumerate(words):
            if word in ("-isystem", "-I", "-include"):
                flags += [word, words[index + 1]]
            elif word.startswith(KEPT) and word != "-isystem":
                flags.append(word)
        compiled.append((source.relative_to(ROOT), tuple(flags)))
    return tuple(compiled)


def candidates(header: Path) -> list[tuple[str, ...]]:
    """Flags of the sources that share most folders with the header, the topmost alone not counted; of those that share
    none, first those that name or include it."""

    def score(entry: tuple[Path, tuple[str, ...]]) -> tuple[int, bool, bool, int]:
        source, flags = entry
        named = any(flag.endswith(f'{header.name}"') for flag in flags)  # a variant that Meson chose
        shared = tree.shared_folders(source, header)
        return shared if shared > 1 else 0, named, header in tree.includes(source), shared

    best = sorted(commands(), key=score, reverse=True)
    return list(dict.fromkeys(flags for _, flags in best))[:CANDIDATES]


def complaint(header: Path) -> str | None:
    first = None
    for flags in candidates(header):
        command = [*flags, "-fdiagnostics-color=never", "-fsyntax-only", "-x", "c", "-"]
        text = f'#include "{ROOT / header}"\n'
        done = subprocess.run(command, cwd=BUILD, input=text, capture_output=True, text=True)
        if done.returncode == 0:
            return None
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        first = first or lines[0]
    return f"{header}: {first}"


def compiled_first() -> set[Path]:
    """Returns the headers that a source which the build has compiled begins with, out of its own folder."""
    sources = {source for source, flags in commands() if "-include" not in flags}
    begins = ((source, FIRST.search(tree.read(source))) for source in sources)
    return {source.parent / begin[1] for source, begin in begins if begin and begin[1]}


@pytest.mark.limit(300)
def test_alone() -> None:
    """every header compiles alone, but an example's, which is copied to where it belongs"""
    headers, known = {path for path in tree.with_suffix(".h") if path.parts[0] != "examples"}, compiled_first()
    assert known & headers < headers and commands()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(complaint, sorted(headers - known)) if text]
    assert not wrong, "\n".join(wrong)
