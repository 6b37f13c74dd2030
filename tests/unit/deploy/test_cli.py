# SPDX-License-Identifier: BSD-2-Clause
"""How a command ends, whichever it is."""

import errno
import io
import sys

import pytest

from deploy.cli import main


class Full(io.StringIO):
    """A file on a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("words", [["topology"], ["topology", "-f", "dts"], ["topology", "--json", "-"], ["completion", "fish"]])
def test_a_full_disk_is_one_line(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(words) == 1
    assert capsys.readouterr().err == "skerry: cannot write: no space left on device\n"


@pytest.mark.parametrize(
    "words, near",
    [(["tpology"], "'topology'"), (["topology", "--layuot", "x"], "'--layout'"), (["bench", "scal"], "'scale'")],
)
def test_what_was_meant_is_named(words: list[str], near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert near in said and said.count("\n") == 1
