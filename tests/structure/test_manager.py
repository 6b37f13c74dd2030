# SPDX-License-Identifier: BSD-2-Clause
"""The manager's layers: calls go down, as includes do (test_includes.py), and no files call each other in a circle."""

from functools import cache
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.deployment import modules
from tests.structure.call_graph import Symbols, calls, circles, symbols_of
from tests.structure.test_includes import MANAGER, MANAGER_LAYERS

LAYERS = [Path(layer).name for layer in MANAGER_LAYERS]


@cache
def symbols() -> Symbols:
    """Returns the symbols of the manager as it is linked, by "folder/file.c"; start.S and main.c are in no folder."""
    objects: dict[str, Path] = {}
    for item in sorted(modules.module_path("root").with_suffix(".elf.p").glob("*.o")):
        source = next((f"{layer}/{name}" for layer in LAYERS
                       if (name := item.stem.removeprefix(f"{layer}_")) != item.stem), item.stem)
        assert (ROOT / MANAGER / source).is_file(), source
        objects[source] = item
    return symbols_of(objects)


def level(source: str) -> int:
    folder = Path(source).parent.name
    return LAYERS.index(folder) if folder else len(LAYERS)


def upward(of: Symbols) -> list[str]:
    return [f"{user} uses {', '.join(names)} of {other}, which is above it"
            for user, others in calls(of).items() for other, names in others.items() if level(other) > level(user)]  # fmt: skip


def test_calls() -> None:
    """no file uses a name of a layer above its own"""
    assert not upward(symbols()), "\n".join(upward(symbols()))


def test_circles() -> None:
    """no files of the manager use each other in a circle"""
    assert not circles(calls(symbols()))


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
    assert (len(upward(made)), sum(map(len, circles(calls(made))))) == (wrong, circle)
