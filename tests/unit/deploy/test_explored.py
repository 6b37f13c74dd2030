# SPDX-License-Identifier: BSD-2-Clause
"""Repeatable tests that have passed before: those of the same program and arguments do not run again."""

import subprocess
from dataclasses import replace
from pathlib import Path

from deploy.base.paths import ROOT
from deploy.tools.testing import explored
from deploy.tools.testing.meson_tests import MesonTest
from tests import verdict_file


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
    assert explored.digest(plain) == explored.digest(named(program(tmp_path / "debug", text, "-g")))
    others = [named(program(tmp_path / "data", text.replace("2 }", "3 }"))),
              named(program(tmp_path / "code", text.replace("given[0]", "given[1]"))),
              named(program(tmp_path / "room", text.replace("int main", "int more[9];\nint main"))),
              named(Path(plain.command[0]), "--without", "x")]
    assert len({explored.digest(test) for test in (plain, *others)}) == 1 + len(others)


def test_run_again(tmp_path: Path) -> None:
    """a repeatable test runs if its program, or its arguments, have no verdict; all others always run"""
    one = named(program(tmp_path / "a", "int main(void) { return 0; }\n"))
    file = tmp_path / "verdicts.txt"
    named_twice = (one, replace(one, name="kernel: a case", repeatable=False))
    verdict_file.write(file, ((test.name, explored.digest(test), "2026-11-29", "7") for test in named_twice))
    assert explored.verdicts(file)["model: a case"] == explored.Verdict(explored.digest(one), "2026-11-29", 7)
    others = [replace(one, name="model: another"), replace(one, command=[*one.command, "x"]),
              named_twice[1], named(tmp_path / "missing")]
    left, results = explored.without_explored([one, *others], file)
    assert left == others
    assert [(result.name, result.outcome, result.detail) for result in results] == [
        ("model: a case", "passed", "this program passed on 2026-11-29")]


def test_names() -> None:
    """each verdict is of a test that there is; explorations and tests of the kernel may have one, none of threads"""
    tests = {test.name for test in explored.repeatable()}
    assert set(explored.verdicts()) <= tests
    assert {"model: ring", "kernel: timers, clh sanitized"} <= tests
    assert not any(name.startswith("kernel: ") and "threads" in name for name in tests)


def test_any_folder() -> None:
    """programs of repeatable tests are the same in every folder: none has the name of this one"""
    programs = {Path(test.command[0]) for test in explored.repeatable()}
    named = [path for path in programs if str(ROOT).encode() in b"".join(explored.sections(path.read_bytes()))]
    assert not named
