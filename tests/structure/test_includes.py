# SPDX-License-Identifier: BSD-2-Clause
"""Checks which component includes which: the arrows run one way; and that each header compiles alone."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT
from tests.structure import tree

# Longest prefix names a file's component; what it may include besides its own.
KERNEL_ABI = "cluster-kernel/include"
CONSOLE = "cluster-kernel/console"  # serial port and screen, for loader and kernels
LIBRARY = "lib/include"  # what programs, managers and the loader agree on
FREESTANDING = "lib/freestanding"  # in place of a C library
REPLAY = "lib/fuzz"  # one main() for every fuzz target
CLUSTER_MAP = "lib/cluster-map"  # for the loader and the host's tool
MANAGER = "cluster-manager/root"
# the lowest first
MANAGER_LAYERS = tuple(f"{MANAGER}/{layer}" for layer in ("base", "caps", "output", "process", "link", "run"))
# channels, and what they stand on
MANAGER_LINK = {layer for layer in MANAGER_LAYERS if not layer.endswith(("/process", "/run"))}
ALLOWED = {
    KERNEL_ABI: set(),
    LIBRARY: {KERNEL_ABI},
    FREESTANDING: {LIBRARY},
    REPLAY: set(),
    CLUSTER_MAP: {KERNEL_ABI, LIBRARY},
    CONSOLE: {KERNEL_ABI},
    "cluster-kernel": {KERNEL_ABI, CONSOLE},
    "cluster-kernel/test": {KERNEL_ABI, CONSOLE, REPLAY, "cluster-kernel"},
    "model": {KERNEL_ABI, "cluster-kernel", "cluster-kernel/test", LIBRARY, *MANAGER_LINK},  # it explores them
    "model/port": {KERNEL_ABI, "model", LIBRARY, "net"},
    "model/posix": {KERNEL_ABI, "model", LIBRARY, "apps", "net"},
    "cluster-manager/loader": {KERNEL_ABI, CONSOLE, LIBRARY, FREESTANDING, CLUSTER_MAP},
    **{layer: {KERNEL_ABI, LIBRARY, FREESTANDING, *MANAGER_LAYERS[:below]}
       for below, layer in enumerate(MANAGER_LAYERS)},
    MANAGER: {KERNEL_ABI, LIBRARY, FREESTANDING, *MANAGER_LAYERS},
    "cluster-manager/fuzz": {KERNEL_ABI, CONSOLE, REPLAY, LIBRARY, CLUSTER_MAP, "cluster-manager/loader",
                             f"{MANAGER}/link", f"{MANAGER}/process"},
    "net": {KERNEL_ABI, LIBRARY},
    "apps": {KERNEL_ABI, LIBRARY},
    # the tests' other port
    "apps/ktest/hosted": {KERNEL_ABI, LIBRARY, "apps", "cluster-kernel", "cluster-kernel/test"},
}
PORT_CONTRACT = {"arch.h", "arch_inline.h", "arch_context.h", "arch_switch.h"}


def component(path: Path) -> str | None:
    fitting = [name for name in ALLOWED if path.as_posix().startswith(name + "/")]
    return max(fitting, key=len, default=None)


def sources() -> list[Path]:
    return tree.with_suffix(".c", ".h", ".S")


def test_edges() -> None:
    """includes follow the arrows between components"""
    wrong = []
    for path in sources():
        own = component(path)
        if own is None:
            continue
        for header in tree.includes(path):
            other = component(header)
            if other != own and (other is None or other not in ALLOWED[own]):
                wrong.append(f"{path} includes {header}")
    assert not wrong, "\n".join(wrong)


def test_kernel_core() -> None:
    """the kernel's core includes no port header but the contract"""
    wrong = [
        f"{path} includes {header}"
        for path in sources()
        if path.as_posix().startswith("cluster-kernel/core/")
        for header in tree.includes(path)
        if header.parts[1].startswith("arch-") and header.name not in PORT_CONTRACT
    ]
    assert not wrong, "\n".join(wrong)


def test_cycles() -> None:
    """no header includes itself by way of others"""
    done: set[Path] = set()
    cycles: list[str] = []

    def visit(path: Path, trail: list[Path]) -> None:
        if path in trail:
            cycles.append(" -> ".join(str(step) for step in [*trail[trail.index(path):], path]))
        elif path not in done:
            for header in tree.includes(path):
                visit(header, [*trail, path])
            done.add(path)

    for path in tree.with_suffix(".h"):
        visit(path, [])
    assert not cycles, "\n".join(cycles)


def test_something_was_read() -> None:
    """the checks see the tree"""
    assert len(sources()) > 20
    assert (tree.includes(Path("cluster-kernel/include/skerry/root_info.h")) == (
                Path("cluster-kernel/include/skerry/boot.h"),))


# ---- Each header compiles alone, with the flags of the sources nearest to it ----

KEPT = ("-I", "-D", "-U", "-f", "-m", "-std", "-isystem", "-nostdinc")
FIRST = re.compile(r'^\s*#\s*(?:include\s+"([^"/]+)")?', re.MULTILINE)  # directive of a source
CANDIDATES = 8  # a folder may hold sources of several programs with different flags


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

    @cache
    def of_source(source: Path) -> tuple[int, bool, int]:
        shared = tree.shared_folders(source, header)
        return shared if shared > 1 else 0, header in tree.includes(source), shared

    @cache
    def is_named(flags: tuple[str, ...]) -> bool:  # a variant that Meson chose
        return any(flag.endswith(f'{header.name}"') for flag in flags)

    def score(entry: tuple[Path, tuple[str, ...]]) -> tuple[int, bool, bool, int]:
        near, included, shared = of_source(entry[0])
        return near, is_named(entry[1]), included, shared

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
