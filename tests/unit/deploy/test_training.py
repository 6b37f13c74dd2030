# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of GCC as JSON, and the layer's: what is committed still is about the functions that there are."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import BUILD, ROOT
from deploy.profile import training

TOOL = ROOT / "apps" / "profile" / "profile.py"
VERSION = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
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
    laid = tool("lay", made, tmp_path / "laid", VERSION)
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
    """Another profile lies in a folder of another name, and the old one is gone; one that cannot be laid leaves the old
    one"""
    made, laid = tmp_path / "profile.json", tmp_path / "laid"
    tool("read", made, trained)
    first = tool("lay", made, laid, VERSION)
    assert tool("lay", made, laid, VERSION) == first
    tool("read", made, trained, trained)
    second = tool("lay", made, laid, VERSION)
    assert second != first and [str(path) for path in laid.iterdir()] == [second]
    made.write_text("{")
    assert subprocess.run([sys.executable, TOOL, "lay", made, laid, VERSION], capture_output=True).returncode
    assert [str(path) for path in laid.iterdir()] == [second]


def test_profile_of_another_compiler(trained: Path, tmp_path: Path) -> None:
    """A profile of another major version of GCC is not laid, for GCC would ignore it; for another minor version it is
    written as one of that version"""
    made = tmp_path / "profile.json"
    tool("read", made, trained)
    major, minor, _ = map(int, VERSION.split("."))
    assert tool("lay", made, tmp_path / "laid", f"{major + 1}.{minor}.0") == ""
    assert not (tmp_path / "laid").exists()
    laid = Path(tool("lay", made, tmp_path / "laid", f"{major}.{minor + 2}.0"))
    (data,) = [path.read_bytes() for path in laid.iterdir()]
    own = bytes.fromhex(json.loads(made.read_text())["version"])
    assert data[4:8][::-1] == own[:2] + bytes([own[2] + 2]) + own[3:]
    tool("write", made, tmp_path / "written", f"{major}.{minor + 2}.0")
    assert [path.read_bytes() for path in (tmp_path / "written").iterdir()] == [data]


KEY = "00000001 00000002 00000003"
BROKEN = {
    "no JSON": "{",
    "nothing": "",
    "another table": "[]",
    "no version": '{"highest": 1, "objects": {}}',
    "objects that are none": '{"version": "4232322a", "highest": 1, "objects": []}',
    "a short key": '{"version": "4232322a", "highest": 1, "objects": {"a": {"00000001": "1"}}}',
    "a count below zero": f'{{"version": "4232322a", "highest": 1, "objects": {{"a": {{"{KEY}": "1 -2"}}}}}}',
    "a count that GCC cannot "
    "add up": f'{{"version": "4232322a", "highest": 1, "objects": {{"a": {{"{KEY}": "{2**62}"}}}}}}',
    "a count that is a word": f'{{"version": "4232322a", "highest": 1, "objects": {{"a": {{"{KEY}": "x"}}}}}}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_broken_profile(text: str, tmp_path: Path) -> None:
    """A profile that GCC could not take is refused in one line that names it, whatever it is for"""
    made = tmp_path / "profile.json"
    made.write_text(text)
    for words in (("check",), ("lay", tmp_path / "laid", VERSION), ("write", tmp_path / "laid", VERSION)):
        done = subprocess.run([sys.executable, TOOL, words[0], made, *words[1:]], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.startswith(f"{made}: ") and done.stderr.count("\n") == 1, done
    assert not (tmp_path / "laid").exists()


def test_profile_refuses(trained: Path, tmp_path: Path) -> None:
    """Counts that are none, are cut off, or differ in number from another run's are named with their file, and the old
    JSON stays"""
    made = tmp_path / "profile.json"
    tool("read", made, trained)
    old = made.read_text()
    other = tmp_path / "other"
    other.mkdir()
    sound = (trained / "a.gcda").read_bytes()
    edges = struct.pack("<Ii", 0x01A10000, 0)
    at = next(at for at in range(0, len(sound), 4) if sound[at : at + 4] == edges[:4]
              and sound[at + 4 : at + 8] > bytes(4))
    (size,) = struct.unpack_from("<i", sound, at + 4)
    fewer = sound[: at + 4] + struct.pack("<i", size - 8) + sound[at + 8 : at + size] + sound[at + 8 + size :]
    for content, why in ((bytes(32), "expected a profile of GCC"), (b"ab", "expected a profile of GCC"),
                         (sound[:-30], "cut off"), (fewer, "in another run")):
        (other / "a.gcda").write_bytes(content)
        done = subprocess.run([sys.executable, TOOL, "read", made, trained, other], capture_output=True, text=True)
        assert done.returncode == 1 and f"{other}/a.gcda: " in done.stderr and why in done.stderr, done
    assert made.read_text() == old and [path.name for path in tmp_path.glob("*.json*")] == ["profile.json"]


def test_profile_on_a_full_disk(trained: Path, tmp_path: Path) -> None:
    """A profile that there is no room for is named in one line; the old JSON and the old laid folder stay, and no half
    of a new one"""
    made, laid = tmp_path / "profile.json", tmp_path / "laid"
    tool("read", made, trained)
    old, first = made.read_text(), tool("lay", made, laid, VERSION)
    other = tmp_path / "other.json"
    tool("read", other, trained, trained)
    for words in (("read", made, trained, trained), ("lay", other, laid, VERSION)):
        command = ["prlimit", "--fsize=100", sys.executable, TOOL, *words]
        done = subprocess.run(command, capture_output=True, text=True,
                              env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
        assert done.returncode == 1 and done.stderr == f"{words[1]}: File too large\n", done
    assert made.read_text() == old and not list(tmp_path.glob("*.new"))
    assert [str(path) for path in laid.glob("*") if path.suffix != ".new"] == [first]
    assert tool("lay", other, laid, VERSION) == str(next(laid.iterdir())) and len(list(laid.iterdir())) == 1


FILES = {"net/a": bytes(range(150)), "net/b": b"\4"}


def said(program: str, files: dict[str, bytes] = FILES) -> list[str]:
    """Returns the lines that apps/profile/counts.c writes."""
    lines = []
    for name, content in files.items():
        lines.append(f"= {BUILD}/{name}.gcda")
        lines += [f"+ {content[at : at + 64].hex()}" for at in range(0, len(content), 64)]
        lines.append(f". {len(content)} {zlib.adler32(content):08x}")
    return [f"[{program}] counts {line}" for line in [*lines, f"; {len(files)}"]]


def test_gathered(tmp_path: Path) -> None:
    """Two programs write line by line on the console, each between lines of the other, and get their files"""
    lines = [line for pair in zip(said("redis@1"), said("ycsb@2")) for line in pair]
    console = "".join(f"{line}\r\n[redis@1] something else\r\n" for line in lines)
    assert training.gather(console, FILES, tmp_path) == 2
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*.gcda")}
    assert found == {f"{program}/{name}.gcda": content for program in ("redis@1", "ycsb@2")
                     for name, content in FILES.items()}


def test_damaged_console(tmp_path: Path) -> None:
    """A line that is lost, cut, changed or said twice is found, wherever it stands; so is an object that is not the
    layer's"""
    lines = said("redis@1")
    damaged = [lines[:at] + lines[at + 1 :] for at in range(len(lines))]
    damaged += [[*lines[:at], line[:-1], *lines[at + 1 :]] for at, line in enumerate(lines)]
    damaged += [[*lines[:at], line, *lines[at:]] for at, line in enumerate(lines) if " + " in line]
    damaged += [[*lines[:at], line[:-2] + "zz", *lines[at + 1 :]] for at, line in enumerate(lines)]
    damaged.append(said("redis@1", FILES | {"net/../../../tmp/escaped": b"1"}))
    for number, some in enumerate(damaged):
        with pytest.raises(Failure, match="^redis@1 |^redis@1: "):
            training.gather("\n".join(some), FILES, tmp_path / str(number))
            pytest.fail(f"not found: {some}")


@pytest.mark.limit(240)
def test_profile_of_the_layer() -> None:
    """Most of what the layer's profile counted is of functions that are as they were"""
    changed, executions = training.lost()
    share = sum(one.executions for one in changed) / executions
    assert executions > 10_000_000
    assert share < 0.15, f"{share:.0%} is lost; make it anew: build/venv/bin/python -m deploy.profile.training\n{changed}"


def test_profile_is_found_in_every_folder() -> None:
    """Each object of the layer's profile is one that this build makes: a name with the folder of a checkout in it is
    found nowhere else"""
    profile = json.loads(training.PROFILE.read_text())
    assert profile["objects"].keys() <= {each.name for each in training.objects()}


def test_object_named_after_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A source that is compiled by an absolute path gets no profile"""
    name = f"net/libskerry-net.a.p/{str(training.ROOT).replace('/', '_')}_net_x.c.o"
    (tmp_path / "compile_commands.json").write_text(
        json.dumps([{"output": name, "command": "cc -c x.c", "file": str(training.ROOT / "net/x.c")}]))
    monkeypatch.setattr(training, "BUILD", tmp_path)
    with pytest.raises(Failure, match="net/x.c: the name of its object contains the checkout's folder"):
        training.objects()


def test_changed_functions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A function with another control flow is named with its source, one that is gone is counted, one with another
    constant is not"""
    source = tmp_path / "a.c"
    source.write_text("int kept(int n) { return n ? 1 : 2; }\nint changed(int n) { return n ? 1 : 2; }\nint gone(int "
                      "n) { return n; }\n")
    each = training.Object("net/libtry.a.p/a.c", ("gcc", "-O2", "-c", str(source)), str(source))
    noted = training.functions_of(each, tmp_path / "a.gcno")
    notes = {now.name: f"{key} 00000000 {now.flow}" for key, now in noted.items()}
    counts = {"kept": "4 3", "changed": "5 2", "gone": "7"}
    assert {now.name: now.counts for now in noted.values()} == {name: len(text.split())
                                                                for name, text in counts.items()}
    profile = tmp_path / "profile.json"
    version = json.loads(training.PROFILE.read_text())["version"]
    profile.write_text(json.dumps({"version": version, "highest": 7,
                                   "objects": {each.name: {key: counts[name] for name, key in notes.items()}}}))
    monkeypatch.setattr(training, "PROFILE", profile)
    monkeypatch.setattr(training, "objects", lambda: [each])
    assert training.lost() == ([], 21)
    source.write_text("int kept(int n) { return n ? 7 : 8; }\nint changed(int n) { return n > 1 ? n < 9 : 2; }\n")
    assert {(one.function, one.executions) for one in training.lost()[0]} == {("changed", 7), ("one that is gone", 7)}
    profile.write_text(profile.read_text().replace('"4 3"', '"4 2 1"'))
    assert {one.function for one in training.lost()[0]} == {"kept", "changed", "one that is gone"}
    source.write_text("int kept(int n) { return n")
    with pytest.raises(Failure, match="a.c: "):
        training.lost()
