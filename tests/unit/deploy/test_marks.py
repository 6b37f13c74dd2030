# SPDX-License-Identifier: BSD-2-Clause
"""What the emulator's plugin writes at the guest's marks, and of turns that it should not have skipped."""

import json
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.emulator.lockstep import Marks

MARK = {"marker": 1, "core": 0, "clock": 1000, "late": 2, "misparked": 0, "executed": [7], "kernel": [3], "instructions": [5]}
SKIPPED = {"misparked": 12, "core": 3, "pause": "0x401000"}


def marks(folder: Path, *lines: object, end: str = "") -> Marks:
    found = Marks(folder, Path("plugin.so"), {})
    found.file.write_text("".join(json.dumps(line) + "\n" for line in lines) + end)
    return found


def test_read(tmp_path: Path) -> None:
    """marks are read; a line of turns that were skipped is none"""
    (first, second) = marks(tmp_path, MARK, SKIPPED, MARK | {"marker": 2, "misparked": 12}).read()
    assert (first.number, first.late, first.misparked, first.instructions) == (1, 2, 0, (5,))
    assert (second.number, second.misparked) == (2, 12)


def test_parking(tmp_path: Path) -> None:
    """a run in which turns were skipped that were not equal fails, and names the first place"""
    marks(tmp_path, MARK, MARK).check_parking()
    with pytest.raises(Failure, match="skipped 12 turns .*core 3, the PAUSE at 0x401000.*clocks are wrong"):
        marks(tmp_path, MARK, SKIPPED, MARK).check_parking()
    with pytest.raises(Failure, match="skipped 9 turns"):
        marks(tmp_path, MARK | {"misparked": 9}).check_parking()


def test_parking_of_what_ended_early(tmp_path: Path) -> None:
    """an emulator that did not start, or ended within a line, has skipped nothing"""
    Marks(tmp_path, Path("plugin.so"), {}).check_parking()
    marks(tmp_path, MARK, end='{"misparked":1').check_parking()
