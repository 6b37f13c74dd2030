# SPDX-License-Identifier: BSD-2-Clause
"""The test runner ends a test that stands still, and says which it was and what it did last; what it builds for a word."""

from __future__ import annotations

import importlib

import pytest

from deploy.base.terminal import Output
from deploy.setup import needs
from deploy.tools.testing import names, words
from deploy.tools.testing.meson_tests import MesonTest, run_one
from topology.errors import InputError

command = importlib.import_module("deploy.cli.commands.project.test")


def result_of(script: str, limit: float = 0.5) -> str:
    result = run_one(MesonTest("kernel: a test", ["sh", "-c", script], {}, "/", limit))
    assert result.outcome == "failed"
    assert result.seconds < 20
    return result.detail


def test_last_words() -> None:
    """a test past its limit is told to end first: what it says then is kept"""
    detail = result_of("echo first seed 7; trap 'echo this was seed 9; exit 1' TERM; sleep 60 & wait")
    assert "first seed 7" in detail
    assert detail.endswith("kernel: a test: not done within 0.5 s of given time, ended; the last that it said: this was seed 9")


def test_deaf() -> None:
    """a test that does not heed the signal is killed all the same"""
    detail = result_of("trap '' TERM; echo step one; while :; do sleep 0.1; done")
    assert "the last that it said: step one" in detail


def test_silent() -> None:
    """a test that has said nothing is named"""
    assert result_of("exec sleep 60").endswith("kernel: a test: not done within 0.5 s of given time, ended; it said nothing")


def test_only_builds_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """--only builds what components' tests with the word use, all for a Python test, and nothing for a word of no test"""
    built: list[needs.Needs] = []
    monkeypatch.setattr(command, "ensure_built", lambda output, needed, werror: built.append(needed))
    monkeypatch.setattr(names, "of_python", lambda: ["boot: a machine | tests/boot/test_made.py::test_machine"])
    found = command._needed(Output(), "lock, clh", False)
    assert found.targets == frozenset({"model/model-lock-clh"})
    assert found.groups == needs.EVERYTHING.groups and [len(needed.targets or ()) for needed in built] == [1]
    assert command._needed(Output(), "a machine", False) == needs.EVERYTHING
    with pytest.raises(InputError, match="no test has this in its name"):
        command._needed(Output(), "locksmith", False)
    built.clear()
    assert command._needed(Output(), "", False) == command._needed(Output(), "set-up", False) == needs.EVERYTHING
    assert not built


def test_no_such_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """--only with a word that is in no test's name ends with one line before anything is installed or built"""
    monkeypatch.setattr(command, "ensure_built", lambda *words: pytest.fail("it is built first"))
    for word in ("xq" * 5, f"redis {'XQ' * 5}"):
        with pytest.raises(InputError, match=f"^--only {word}: no test has this in its name$"):
            command.test(only=word)


@pytest.mark.limit(120)
def test_words_of_names() -> None:
    """no test's name has letters of which it is said that they are in none"""
    every = " ".join(names.every())
    assert words.may_name_a_test(every) and len(every) > 100_000
