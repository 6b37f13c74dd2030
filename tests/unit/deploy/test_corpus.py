# SPDX-License-Identifier: BSD-2-Clause
"""A fuzzer's inputs as one text file (lib/fuzz/corpus.py), and how a campaign's find their way into it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.tools.fuzz import corpus as campaign
from deploy.tools.fuzz.target import KERNEL, NAMES, NET, Target
from lib.fuzz.corpus import Unsound, inputs_of, main, read, write

INPUTS = {"a-word": bytes(range(256)), "empty": b"", "0" * 40: b"\n \0#"}


def test_round_trip(tmp_path: Path) -> None:
    """each input comes back to the byte, sorted by name, and what else stood in the folder goes"""
    file, folder = tmp_path / "x.corpus", tmp_path / "x.inputs"
    write(file, INPUTS)
    folder.mkdir()
    (folder / "stale").write_text("from before")
    assert main(["unpack", str(file), str(folder)]) == 0 and inputs_of(folder) == INPUTS == read(file)
    again = tmp_path / "again.corpus"
    assert main(["pack", str(folder), str(again)]) == 0 and again.read_bytes() == file.read_bytes()
    names = [line.split(" ")[0] for line in file.read_text().splitlines() if line[0] != "#"]
    assert names == sorted(INPUTS)


def test_add(tmp_path: Path) -> None:
    """an input that is added changes one line of the file"""
    file, fresh = tmp_path / "x.corpus", tmp_path / "what-was-wrong"
    write(file, INPUTS)
    before = file.read_text().splitlines()
    fresh.write_bytes(b"\xff" * 300)
    assert main(["add", str(file), str(fresh)]) == 0
    after = file.read_text().splitlines()
    assert [line for line in after if line not in before] == [line for line in after if line.startswith("what-was-wrong ")]
    assert len(after) == len(before) + 1 and read(file)["what-was-wrong"] == b"\xff" * 300


@pytest.mark.parametrize("line", ["name not-base64!", "name Zg", "../up Zg==", ".hidden Zg==", "name Zg== Zg==", "", " Zg=="])
def test_unsound(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a line that is no input is refused with its place, and nothing is unpacked"""
    file, folder = tmp_path / "x.corpus", tmp_path / "x.inputs"
    file.write_text(f"# a comment\nsound Zg==\n{line}\n")
    assert main(["unpack", str(file), str(folder)]) == 2 and not folder.exists()
    assert capsys.readouterr().err.startswith(f"corpus: {file}:3: ")


def test_unsound_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a name that stands twice is refused, and so is one that is no file's"""
    file = tmp_path / "x.corpus"
    file.write_text("one Zg==\none Zw==\n")
    assert main(["unpack", str(file), str(tmp_path / "x")]) == 2
    assert "the name one stands twice" in capsys.readouterr().err
    with pytest.raises(Unsound, match="rename it"):
        write(file, {"two words": b""})
    assert main(["unpack"]) == 2 and main(["add", str(file)]) == 2


def test_the_tree_s() -> None:
    """each target that has a corpus finds it, and none is empty"""
    for name in NAMES:
        if name != NET:
            target = Target(name, "clh" if name == KERNEL else "")
            assert len(read(target.corpus)) > 20, target
            assert target.inputs in target.programs


@dataclass(frozen=True)
class Somewhere(Target):
    place: Path = Path()

    @property
    def corpus(self) -> Path:
        return self.place


def test_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what libFuzzer chose is in the file afterwards, what it no longer needs is not, and what people named stays"""
    target = Somewhere("map", "", tmp_path / "map.corpus")
    needed, not_needed, fresh = "1" * 40, "2" * 40, "3" * 40
    write(target.corpus, {needed: b"1", not_needed: b"2", "a-word": b"w"})

    def libfuzzer(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        chosen, kept, _learned = (Path(word) for word in command[-3:])
        assert inputs_of(kept) == read(target.corpus)
        (chosen / needed).write_bytes(b"1")
        (chosen / fresh).write_bytes(b"3")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(campaign.subprocess, "run", libfuzzer)
    merged = campaign.merge(target, tmp_path)
    assert (merged.inputs, merged.bytes, merged.fresh, merged.gone) == (2, 2, 1, 1)
    assert read(target.corpus) == {needed: b"1", fresh: b"3", "a-word": b"w"}
