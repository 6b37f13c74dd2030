# SPDX-License-Identifier: BSD-2-Clause
"""What runs the commands of pages as a reader would (tests/pages/reader.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.tools.fuzz.target import Target
from tests.pages.reader import CORPUS, cut_off, unchanged


def test_cut_off() -> None:
    """what was cut off in a table is seen, with a terminal and without"""
    assert cut_off("│ 1.5 [1.4..… │\n│ whole │\nand so on …\n", None) == ["│ 1.5 [1.4..… │"]
    assert cut_off(f"│ {'x' * 90} │", None) == [] and cut_off(f"│ {'x' * 90} │", 80)


def test_unchanged(tmp_path: Path) -> None:
    """what a command changes in a file of the tree is put back, also when it fails"""
    file = tmp_path / "kernel.corpus"
    file.write_text("a YQ==\n")
    with pytest.raises(ZeroDivisionError), unchanged(file):
        file.write_text("b Yg==\n")
        raise ZeroDivisionError
    assert file.read_text() == "a YQ==\n"
    assert Target("kernel", "clh").corpus == ROOT / CORPUS
