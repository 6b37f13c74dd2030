# SPDX-License-Identifier: BSD-2-Clause
"""Each place that starts QEMU leaves out what QEMU would add: a network card whose way to the host's loopback is
open."""

import ast

from tests.structure.tree import ROOT, files

PROGRAMS = ("BINARY", "qemu.BINARY", "self.binary")
WITHOUT_CARD = ("-nodefaults", "-nic")


def starts(text: str) -> list[tuple[int, bool]]:
    """The functions that make a command line of QEMU: their lines, and whether each says that there is no card of
    QEMU's own."""
    calls = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lists = [each for each in ast.walk(node) if isinstance(each, ast.List) and each.elts
                     and ast.unparse(each.elts[0]) in PROGRAMS]
            lists = [each for each in lists if "--version" not in ast.unparse(each)]
            words = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            if lists:
                calls.append((node.lineno, not words.isdisjoint(WITHOUT_CARD)))
    return calls


def test_no_card_of_qemus_own() -> None:
    by_path = {str(path): starts((ROOT / path).read_text()) for path in files() if path.suffix == ".py"}
    assert [f"{path}:{line}" for path, each in by_path.items() for line, without in each if not without] == []
    assert {path.split("/")[0] for path, each in by_path.items() if each} == {"deploy", "tests"}


def test_finds() -> None:
    assert starts("def f():\n\trun([qemu.BINARY, '-M', 'q35'])") == [(1, False)]
    assert starts("def f():\n\tm = ('-nic', 'none')\n\trun([BINARY, *m])") == [(1, True)]
    assert starts("def f():\n\trun([BINARY, '--version'])") == []
