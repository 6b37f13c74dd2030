# SPDX-License-Identifier: BSD-2-Clause
"""Assertions of the kernel (cluster-kernel/core/assert.h) and of the rest (lib/include/skerry/require.h): enough,
without effect, none in a release image."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.deployment import modules
from tests.mistakes.source import ASSERTIONS, CLOSING, OPENING, lex
from tests.structure import tree

CHECKS = Path("cluster-kernel/core/check")  # where they are defined
KERNEL = [path for path in tree.with_suffix(".c", ".h") if path.parts[0] == "cluster-kernel" and path.parent != CHECKS]
PORTS = ("arch-x86_64", "core", "lock")
MINIMUM = 250
EFFECTS = {"=", "++", "--", "+=", "-=", "|=", "&=", "^=", "<<=", ">>=", "*=", "/=", "%=", "arch_time", "asm"}
RELEASE = ("", "+stat")
LEAST = 10  # assertions in 1,000 lines of each of these parts, of all lines of its C sources and headers but the tests'
PARTS = {
    "the manager": "cluster-manager/root",
    "the loader": "cluster-manager/loader",
    "the network": "net",
    "the POSIX layer": "apps/libc",
    "the emulator's plugins": "emulator",
}


def assertions(path: Path, names: set[str] = ASSERTIONS) -> Iterator[tuple[str, list[str]]]:
    """Each one's name and the tokens between its brackets."""
    tokens = lex(tree.read(path))
    for i, token in enumerate(tokens):
        if token.text not in names or token.directive or tokens[i + 1].text != "(":
            continue
        depth, end = 1, i + 2
        while depth:
            depth += (tokens[end].text in OPENING) - (tokens[end].text in CLOSING)
            end += 1
        yield token.text, [t.text for t in tokens[i + 2:end - 1]]


def test_number() -> None:
    """the kernel that ships has assertions enough, of each kind"""
    count = Counter(name for path in KERNEL if path.parts[1] in PORTS for name, _ in assertions(path))
    assert sum(count.values()) >= MINIMUM and min(count[name] for name in ASSERTIONS) >= 5, count


def test_no_effect() -> None:
    """an assertion changes nothing, and reads no clock: a release image, which has none, does the same"""
    wrong = [f"{path}: {name}({' '.join(words)})" for path in KERNEL for name, words in assertions(path)
             if EFFECTS & set(words)]
    assert not wrong, "\n".join(wrong)


def test_release_images() -> None:
    """plain and counting images have no assertion in them, debug images have"""
    for regime in modules.REGIMES:
        images = {stat: modules.module_path(f"kernel-{regime}{stat}").read_bytes() for stat in modules.VARIANTS}
        assert b"assertion failed" in images["+debug"] and b"held_take" in images["+debug"], regime
        assert not [stat for stat in RELEASE if b"assertion failed" in images[stat]
                    or b"held_take" in images[stat]], regime


def sources_of(part: str) -> list[Path]:
    """Its C sources and headers, without those of its tests."""
    under = [path for path in tree.with_suffix(".c", ".h") if path.is_relative_to(part)]
    return [path for path in under if "test" not in path.parts and not path.name.startswith("test-")]


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str) -> None:
    """so many require() stand in 1,000 lines of each part outside the kernel, and none of them changes anything"""
    sources = sources_of(PARTS[name])
    lines = sum(tree.read(path).count("\n") for path in sources)
    stated = [(path, words) for path in sources for _, words in assertions(path, {"require"})]
    assert len(stated) * 1000 >= LEAST * lines, f"{len(stated)} in {lines} lines"
    wrong = [f"{path}: {' '.join(words)}" for path, words in stated if EFFECTS & set(words)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["loader", *sorted(modules.DEBUGGED)])
def test_release_programs(name: str) -> None:
    """release images of loader, manager and programs have no assertion in them, debug images name file, line and
    expression"""
    paths = {debug: modules.loader_path(debug=debug) if name == "loader" else modules.module_path(name, debug=debug)
             for debug in (False, True)}
    assert b": assertion failed: " not in paths[False].read_bytes()
    texts = re.findall(rb"([-\w./]+\.[ch]:\d+): assertion failed: [^\0]+", paths[True].read_bytes())
    assert len(texts) >= 10, texts
    assert not [place for place in texts if place.startswith((b"/", b".."))], "the place depends on where it was built"
