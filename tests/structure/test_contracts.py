# SPDX-License-Identifier: BSD-2-Clause
"""Assertions of the kernel (cluster-kernel/core/assert.h): enough, without effect, none in a release image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from deploy.deployment import modules
from tests.long.mutations.source import ASSERTIONS, CLOSING, OPENING, lex
from tests.structure import tree

CHECKS = Path("cluster-kernel/core/check")  # where they are defined
KERNEL = [path for path in tree.with_suffix(".c", ".h") if path.parts[0] == "cluster-kernel" and path.parent != CHECKS]
PORTS = ("arch-x86_64", "core", "lock")
MINIMUM = 250
EFFECTS = {"=", "++", "--", "+=", "-=", "|=", "&=", "^=", "<<=", ">>=", "*=", "/=", "%=", "arch_time", "asm"}
RELEASE = ("", "+stat")


def assertions(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Each one's name and the tokens between its brackets."""
    tokens = lex(tree.read(path))
    for i, token in enumerate(tokens):
        if token.text not in ASSERTIONS or token.directive or tokens[i + 1].text != "(":
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
    wrong = [f"{path}: {name}({' '.join(words)})" for path in KERNEL for name, words in assertions(path) if EFFECTS & set(words)]
    assert not wrong, "\n".join(wrong)


def test_release_images() -> None:
    """plain and counting images have no assertion in them, debug images have"""
    for regime in modules.REGIMES:
        found = {stat: modules.module_path(f"kernel-{regime}{stat}").read_bytes() for stat in modules.VARIANTS}
        assert b"assertion failed" in found["+debug"] and b"held_take" in found["+debug"], regime
        assert not [stat for stat in RELEASE if b"assertion failed" in found[stat] or b"held_take" in found[stat]], regime
