# SPDX-License-Identifier: BSD-2-Clause
"""The explorer of states: its command and themes; and repeatable tests that have passed before."""

import importlib
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.cli.main import main
from deploy.tools import explore as explorer
from deploy.tools.testing import explored as before_now
from deploy.tools.testing.meson_tests import MesonTest
from tests import verdict_file

# ---- The explorer of states: its command with a program that prints what an exploration prints, and its themes. ----


command = importlib.import_module("deploy.cli.commands.project.explore")
THEMES = "all\t1\t3\t90\nretype\t1\t5\t17\ntwo cores\t2\t4\t8\n"
LEVEL = "depth 1: 9 new, 10 states, 17 transitions, 17 refused, 9 checked, 0 pairs, 0.50 s"
END = "the depth is reached: 1 levels, 10 states, 17 transitions, 17 refused, 9 checked, 0 pairs, 0.50 s, 0 MiB"
FIND = ["found: 0 levels, 4 states, 5 transitions, 6 refused, 3 checked, 0 pairs, 0.10 s, 0 MiB",
        "found: memory is not zero", "step 1: 0 retype tcb P1", "step 2: 0 tick [part]"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program for each regime that passes, but for theme `retype`, and that lists its arguments."""
    for regime in ("clh", "fine"):
        script = tmp_path / f"explore-{regime}"
        lines = "\n".join(f"echo '{line}'" for line in (LEVEL, END))
        finds = "\n".join(f"echo '{line}'" for line in FIND)
        script.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/calls\ncase \"$*\" in\n--list) printf '{THEMES}';;\n"
                          f"*--replay*) echo 'passed: 2 steps';;\n*999*) echo 'explore: no memory' >&2; exit 2;;\n"
                          f"*retype*) {finds}\nexit 1;;\n*) {lines};;\nesac\n")
        script.chmod(0o755)
    monkeypatch.setattr(explorer, "program", lambda regime: tmp_path / f"explore-{regime}")
    monkeypatch.setattr(command, "ensure_built", lambda output, needed: None)
    monkeypatch.setattr(command, "LOGS", tmp_path)
    monkeypatch.setattr(command.host, "memory", lambda: (8 << 30, 4 << 30))
    return tmp_path


def explored(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, object]], str]:
    status = main(["explore", *words, "--json", "-"])
    printed = capsys.readouterr()
    return status, json.loads(printed.out)["results"] if printed.out else [], printed.err.strip()


def test_passes(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """states and their rate are what the program counted; limits reach it"""
    status, (one,), _ = explored(capsys, "--depth", "7", "--time", "9", "--states", "20", "--jobs", "1", "--pairs")
    assert status == 0 and (one["outcome"], one["states"], one["transitions"], one["depth"]) == ("passed", 10, 17, 1)
    assert (folder / "calls").read_text().splitlines()[-1] == (
        f"--jobs 1 --states 20 --record {folder}/explore/clh-all.txt --theme all --depth 7 --time 9 --pairs")


def test_reduced(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """a reduced search is of several cores: of all themes, those that have them"""
    status, results, _ = explored(capsys, "--all", "--reduce")
    assert status == 0 and [one["theme"] for one in results] == ["two cores"]
    assert (folder / "calls").read_text().splitlines()[-1].endswith("--theme two cores --reduce")


def test_find(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """a find is an exit status of 1, its path, and the command that repeats it; other themes go on"""
    status, results, errors = explored(capsys, "--all", "--lock", "fine")
    assert status == 1 and [one["outcome"] for one in results] == ["passed", "found", "passed"]
    assert results[1]["path"] == ["0 retype tcb P1", "0 tick [part]"]
    assert errors.splitlines()[-1] == "skerry: retype: memory is not zero"
    assert f"replay: ./skerry explore --replay {folder}/explore/fine-retype.txt" in " ".join(errors.split())


def test_replay(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """the file says of which regime it is; one that does not is refused"""
    path = folder / "path.txt"
    path.write_text("regime fine\ntheme all\ncores 1\n0 tick\n")
    status, (one,), _ = explored(capsys, "--replay", str(path))
    assert status == 0 and (one["regime"], one["end"]) == ("fine", "passed: 2 steps")
    path.write_text("regime ../../etc\n")
    assert explored(capsys, "--replay", str(path))[0] == 2
    assert explored(capsys, "--replay", str(folder / "none"))[2].endswith("no such file or directory")


@pytest.mark.parametrize("words", ["--lock tas2", "--theme x", "--theme all --all", "--pairs --cores 2",
                                   "--replay x --theme all", "--lock none --cores 2", "--depth 0",
                                   "--reduce", "--replay x --reduce", "--cores 4",
                                   "--states 2000000000"])
def test_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """what cannot be is a line and exit status 2"""
    status, results, errors = explored(capsys, *words.split())
    assert status == 2 and not results and errors.splitlines()[-1].startswith("skerry: ")


def test_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """a program that cannot go on is a failure with what it said, not a find"""
    status, _, errors = explored(capsys, "--states", "999")
    assert status == 1 and errors.splitlines()[-1] == "skerry: no memory"


def test_themes_are_tested() -> None:
    """each theme of one regime or another is a test, and each test's theme exists"""
    table = re.findall(r'^\t\{ "([^"]+)", [123], ', (ROOT / "model/states/operations.c").read_text(), re.MULTILINE)
    tested = re.findall(r"'([^']+)'", (ROOT / "model/states/meson.build").read_text().partition("states_themes = {")[2]
                        .partition("}")[0])
    assert len(table) > 10 and set(table) == set(tested) - {"clh", "fine", "dynamic"}


def test_operations_exist() -> None:
    """each operation that a theme names is in the alphabet"""
    alphabet, _, listed = (ROOT / "model/states/operations.c").read_text().partition("const struct theme themes[]")
    names = set(re.findall(r'^\t(?:\{ \.name = |[A-Z]+\()"([^"]+)"', alphabet, re.MULTILINE))
    parts = re.findall(r'"([^"]*)"', re.sub(r'\{ "[^"]+", ', "{ ", listed.partition("};")[0]))
    used = {name for part in parts for name in part.split(",") if name}
    assert len(names) > 80 and len(used) > 60 and not used - names


# ---- Repeatable tests that have passed before: those of the same program and arguments do not run again. ----


def program(folder: Path, text: str, *options: str) -> Path:
    folder.mkdir()
    (folder / "source.c").write_text(text)
    subprocess.run(["gcc", *options, "-o", "program", "source.c"], cwd=folder, check=True)
    return folder / "program"


def named(path: Path, *arguments: str, name: str = "model: a case") -> MesonTest:
    return MesonTest(name, [str(path), *arguments], {}, None, 60, repeatable=True)


def test_same_program(tmp_path: Path) -> None:
    """a program's hash leaves out its place and its debug information; code, data and arguments are in it"""
    text = "int given[] = { 1, 2 };\nint main(void) { return given[0]; }\n"
    plain = named(program(tmp_path / "a", text))
    assert before_now.digest(plain) == before_now.digest(named(program(tmp_path / "debug", text, "-g")))
    others = [named(program(tmp_path / "data", text.replace("2 }", "3 }"))),
              named(program(tmp_path / "code", text.replace("given[0]", "given[1]"))),
              named(program(tmp_path / "room", text.replace("int main", "int more[9];\nint main"))),
              named(Path(plain.command[0]), "--without", "x")]
    assert len({before_now.digest(test) for test in (plain, *others)}) == 1 + len(others)


def test_run_again(tmp_path: Path) -> None:
    """a repeatable test runs if its program, or its arguments, have no verdict; all others always run"""
    one = named(program(tmp_path / "a", "int main(void) { return 0; }\n"))
    file = tmp_path / "verdicts.txt"
    named_twice = (one, replace(one, name="kernel: a case", repeatable=False))
    verdict_file.write(file, ((test.name, before_now.digest(test), "2026-11-29", "7") for test in named_twice))
    assert before_now.verdicts(file)["model: a case"] == before_now.Verdict(before_now.digest(one), "2026-11-29", 7)
    others = [replace(one, name="model: another"), replace(one, command=[*one.command, "x"]),
              named_twice[1], named(tmp_path / "missing")]
    left, results = before_now.without_explored([one, *others], file)
    assert left == others
    assert [(result.name, result.outcome, result.detail) for result in results] == [
        ("model: a case", "passed", "this program passed on 2026-11-29")]


def test_names() -> None:
    """each verdict is of a test that there is; explorations and tests of the kernel may have one, none of threads"""
    tests = {test.name for test in before_now.repeatable()}
    assert set(before_now.verdicts()) <= tests
    assert {"model: ring", "kernel: timers, clh sanitized"} <= tests
    assert not any(name.startswith("kernel: ") and "threads" in name for name in tests)


def test_any_folder() -> None:
    """programs of repeatable tests are the same in every folder: none has the name of this one"""
    programs = {Path(test.command[0]) for test in before_now.repeatable()}
    named = [path for path in programs if str(ROOT).encode() in b"".join(before_now.sections(path.read_bytes()))]
    assert not named
