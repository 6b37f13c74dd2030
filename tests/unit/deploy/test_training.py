# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of GCC as JSON, and the layer's: what is committed still is about the functions that there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.errors import Failure
from deploy.paths import BUILD, ROOT
from deploy.profile import training

TOOL = ROOT / "apps" / "profile" / "profile.py"
PROGRAM = """
__attribute__((noinline)) static int steps(unsigned n) { int found = 0; while (n) found += n & 1, n >>= 1; return found; }
__attribute__((noinline)) int twice(int n) { return n > 2 ? 2 * n : n; }
int never(int n) { return n ? 3 : 4; }
int main(int count, char **arguments) { (void)arguments; return steps((unsigned)count * 7) + twice(count) == 0; }
"""
MISMATCHED = ("-Wcoverage-mismatch", "-Wno-error=coverage-mismatch", "-Wmissing-profile")


def tool(*words: str | Path) -> str:
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, check=True).stdout.strip()


def gcc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["gcc", "-O2", "-c", "a.c", *words], cwd=folder, capture_output=True, text=True)


def named(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The functions of which it complains."""
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"warning: [^‘]*‘(\w+)’", done.stderr))


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder with a program that has run, and its counts."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.c").write_text(PROGRAM)
    assert gcc(folder, "-fprofile-generate", "-fno-profile-values").returncode == 0
    subprocess.run(["gcc", "-fprofile-generate", "-o", "a", "a.o"], cwd=folder, check=True)
    for _ in range(3):
        subprocess.run([folder / "a"], check=True)
    return folder


def counts(profile: Path) -> list[list[int]]:
    return [list(map(int, text.split())) for text in json.loads(profile.read_text())["objects"]["a"].values()]


def test_profile_there_and_back(trained: Path, tmp_path: Path) -> None:
    """GCC takes what was made of a profile's JSON for the functions that ran, and says which of them has changed"""
    made = tmp_path / "profile.json"
    tool("read", made, trained)
    assert len(counts(made)) == 3  # never() never ran
    laid = tool("lay", made, tmp_path / "laid")
    used = [f"-fprofile-use={laid}", f"-fprofile-prefix-path={trained}", "-fno-profile-values", *MISMATCHED]
    assert named(gcc(trained, *used)) == {"never"}
    (trained / "a.c").write_text(PROGRAM.replace("return n > 2 ?", "while (n > 9) n -= 3; return n > 2 ?"))
    assert named(gcc(trained, *used)) == {"never", "twice"}


def test_profile_adds_up(trained: Path, tmp_path: Path) -> None:
    """Counts of several folders are added up, function by function"""
    once, twice = tmp_path / "once.json", tmp_path / "twice.json"
    tool("read", once, trained)
    tool("read", twice, trained, trained)
    assert counts(twice) == [[2 * count for count in function] for function in counts(once)]
    assert json.loads(twice.read_text())["highest"] == max(max(function) for function in counts(twice))


def test_profile_laid_anew(trained: Path, tmp_path: Path) -> None:
    """Another profile lies in a folder of another name, and the old one is gone"""
    made, laid = tmp_path / "profile.json", tmp_path / "laid"
    tool("read", made, trained)
    first = tool("lay", made, laid)
    assert tool("lay", made, laid) == first
    tool("read", made, trained, trained)
    assert tool("lay", made, laid) != first and not Path(first).exists()


def test_profile_refuses(tmp_path: Path) -> None:
    """A file that is no profile is named, and nothing is written"""
    (tmp_path / "a.gcda").write_bytes(bytes(32))
    done = subprocess.run([sys.executable, TOOL, "read", tmp_path / "out.json", tmp_path], capture_output=True, text=True)
    assert done.returncode and "a.gcda: expected a profile of GCC" in done.stderr and not (tmp_path / "out.json").exists()


def test_gathered(tmp_path: Path) -> None:
    """What two programs write line by line on the console, each between lines of the other, becomes their files"""
    lines = [
        ("redis@1", f"= {BUILD}/net/a.gcda"), ("ycsb@2", f"= {BUILD}/net/a.gcda"), ("redis@1", "+ 0102"), ("ycsb@2", "+ ff"),
        ("redis@1", "+ 03"), ("redis@1", f"= {BUILD}/net/b.gcda"), ("redis@1", "+ 04"),
    ]  # fmt: skip
    console = "".join(f"[{program}] counts {text}\r\n[{program}] something else\r\n" for program, text in lines)
    assert training.gather(console, tmp_path) == 3
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*.gcda")}
    assert found == {"redis@1/net/a.gcda": b"\1\2\3", "ycsb@2/net/a.gcda": b"\xff", "redis@1/net/b.gcda": b"\4"}


@pytest.mark.limit(240)
def test_profile_of_the_layer() -> None:
    """Most of what the layer's profile counted is of functions that are as they were"""
    changed, executions = training.lost()
    share = sum(one.executions for one in changed) / executions
    assert executions > 10_000_000
    assert share < 0.25, f"{share:.0%} is lost; make it anew: build/venv/bin/python -m deploy.profile.training\n{changed}"


def test_changed_functions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A function with another control flow is named with its source, one that is gone is counted, one with another constant is not"""
    source = tmp_path / "a.c"
    source.write_text("int kept(int n) { return n ? 1 : 2; }\nint changed(int n) { return n ? 1 : 2; }\nint gone(int n) { return n; }\n")
    each = training.Object("net/libtry.a.p/a.c", ("gcc", "-O2", "-c", str(source)), str(source))
    notes = {name: f"{key} 00000000 {flow}" for key, (flow, name) in training.functions_of(each, tmp_path / "a.gcno").items()}
    assert set(notes) == {"kept", "changed", "gone"}
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"version": "0", "highest": 5, "objects": {each.name: {key: "5 2" for key in notes.values()}}}))
    monkeypatch.setattr(training, "PROFILE", profile)
    monkeypatch.setattr(training, "objects", lambda: [each])
    assert training.lost() == ([], 21)
    source.write_text("int kept(int n) { return n ? 7 : 8; }\nint changed(int n) { return n > 1 ? n < 9 : 2; }\n")
    assert {(one.function, one.executions) for one in training.lost()[0]} == {("changed", 7), ("one that is gone", 7)}
    source.write_text("int kept(int n) { return n")
    with pytest.raises(Failure, match="a.c: "):
        training.lost()
