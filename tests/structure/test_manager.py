# SPDX-License-Identifier: BSD-2-Clause
"""The manager's layers: calls go down, as includes do (test_includes.py), and no files call each other in a circle."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.deployment import modules
from tests.structure.test_includes import MANAGER, MANAGER_LAYERS

LAYERS = [Path(layer).name for layer in MANAGER_LAYERS]

Symbols = dict[str, tuple[set[str], set[str]]]  # of each source: what it defines, what it needs


@cache
def symbols() -> Symbols:
    """Of the manager as it is linked, by "folder/file.c"; start.S and main.c are in no folder."""
    found: Symbols = {}
    for item in sorted(modules.module_path("root").with_suffix(".elf.p").glob("*.o")):
        source = next((f"{layer}/{name}" for layer in LAYERS if (name := item.stem.removeprefix(f"{layer}_")) != item.stem), item.stem)
        assert (ROOT / MANAGER / source).is_file(), source
        listed = subprocess.run(["nm", item], check=True, capture_output=True, text=True).stdout
        rows = [line.split()[-2:] for line in listed.splitlines()]
        found[source] = {name for kind, name in rows if kind in "TDBRCVW"}, {name for kind, name in rows if kind == "U"}
    return found


def calls(of: Symbols) -> dict[str, dict[str, list[str]]]:
    """Of each source: the sources that define what it needs, and the names."""
    home = {name: source for source, (defined, _) in of.items() for name in defined}
    found: dict[str, dict[str, list[str]]] = {source: {} for source in of}
    for source, (_, needed) in of.items():
        for name in sorted(needed & home.keys()):
            found[source].setdefault(home[name], []).append(name)
    return found


def level(source: str) -> int:
    folder = Path(source).parent.name
    return LAYERS.index(folder) if folder else len(LAYERS)


def upward(of: Symbols) -> list[str]:
    return [f"{user} uses {', '.join(names)} of {other}, which is above it"
            for user, others in calls(of).items() for other, names in others.items() if level(other) > level(user)]  # fmt: skip


def circles(of: Symbols) -> list[str]:
    """What remains when files that use nothing that remains are taken away, one after another, and files that nothing uses."""
    uses = {source: set(others) for source, others in calls(of).items()}
    while True:
        used = set().union(*uses.values())
        kept = {source for source, others in uses.items() if others and source in used}
        if len(kept) == len(uses):
            return sorted(kept)
        uses = {source: uses[source] & kept for source in kept}
        if not uses:
            return []


def test_calls() -> None:
    """no file uses a name of a layer above its own"""
    assert not upward(symbols()), "\n".join(upward(symbols()))


def test_circles() -> None:
    """no files of the manager use each other in a circle"""
    assert not circles(symbols())


def test_something_was_read() -> None:
    """all folders have sources, and some calls are seen"""
    assert {level(source) for source in symbols()} == set(range(len(LAYERS) + 1))
    assert "mailbox_put" in calls(symbols())["run/report.c"]["base/mailbox.c"]


@pytest.mark.parametrize(("needs", "wrong", "circle"), [
    ({"run/a.c": "b", "caps/b.c": ""}, 0, 0),
    ({"run/a.c": "", "caps/b.c": "a"}, 1, 0),
    ({"run/a.c": "b", "run/b.c": "c", "run/c.c": "a", "run/d.c": "a"}, 0, 3),
    ({"main.c": "a", "run/a.c": "b", "caps/b.c": "main"}, 1, 3),
])  # fmt: skip
def test_mistakes(needs: dict[str, str], wrong: int, circle: int) -> None:
    """a call upward and a circle are seen"""
    made = {source: ({Path(source).stem}, set(needed.split())) for source, needed in needs.items()}
    assert (len(upward(made)), len(circles(made))) == (wrong, circle)
