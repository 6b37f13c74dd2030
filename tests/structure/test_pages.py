# SPDX-License-Identifier: BSD-2-Clause
"""Every ./skerry command of a page is executed: by the suite, or by the long campaign, which has a verdict of its
words; and the campaign of booted tests has verdicts of tests that there are."""

import ast
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.tools.testing import names
from tests import verdict_file
from tests.long import booted
from tests.pages import verdicts
from tests.pages.ways import (
    FOLLOWED,
    NOT_RUN,
    RESULTS,
    SUITE,
    WRITES,
    commands,
    not_run,
    of_campaign,
    of_suite,
    selecting,
)

CAMPAIGN = "build/venv/bin/python -m tests.long.pages --only WORD"


def test_partition() -> None:
    """each command of a page is run by the suite, by the campaign, by its word's tests, or named with the reason why it
    is not"""
    ways = [of_suite(), selecting(), of_campaign(), [c for c in commands() if not_run(c)]]
    every = [command.text for way in ways for command in way]
    assert sorted(every) == sorted(command.text for command in commands())
    idle = [pattern for pattern in (*SUITE, *NOT_RUN) if not any(command.fits(pattern) for command in commands())]
    assert not idle, f"no page has a command for these patterns of tests/pages/ways.py: {idle}"


def test_verdicts() -> None:
    """each command that takes long ran well as it stands on its page, or its verdict says why it was not run"""
    known = verdicts.read()
    of_pages = {command.work for command in of_campaign()}
    without = sorted(of_pages - set(known))
    assert not without, f"new or changed commands, without a verdict: {CAMPAIGN} runs them: {without}"
    idle = sorted(set(known) - of_pages)
    assert not idle, f"no page has these any more; take them out of {verdicts.FILE}: {idle}"
    failed = [text for text, verdict in known.items() if not verdict.passed
              and not (verdict.verdict == verdicts.NOT_RUN and verdict.why)]
    assert not failed, f"these failed when they ran last; {CAMPAIGN} runs them again: {failed}"


def test_booted() -> None:
    """verdicts of the campaign of booted tests are of tests that it has"""
    known = [name for name, *_ in verdict_file.read(booted.FILE)]
    left = []
    for path in (ROOT / "tests/boot").glob("test_*.py"):
        text = path.read_text()
        left += [f"boot: {(ast.get_docstring(node) or '').splitlines()[0]}" for node in ast.parse(text).body
                 if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
                 and ("mark.drawn" in text or any("mark.campaign" in ast.unparse(one) for one in node.decorator_list))]
    idle = [verdict for verdict in known if not verdict.startswith(tuple(left))]
    assert left and not idle, f"no test of the campaign has these names; take them out of {booted.FILE}: {idle}"


def test_kept(tmp_path: Path) -> None:
    """verdicts are kept by verdict, date and reason; a command that runs again moves to another line"""
    a, b = commands()[:2]
    first, later = verdicts.Verdict(verdicts.PASSED, "2026-01-01", 7), verdicts.Verdict(verdicts.NOT_RUN, "", 0, "no x")
    for command, verdict in ((a, first), (b, first), (a, later)):
        verdicts.write(command, verdict, tmp_path / "x.txt")
    assert verdicts.read(tmp_path / "x.txt") == {a.work: later, b.work: first}
    assert (tmp_path / "x.txt").read_text().count("\n") == 3


def test_nothing_is_left() -> None:
    """what a page's command writes lies in the build folder, beside which a clone has nothing new; programs are ignored
    by git"""
    generated = "build/"  # pages of help, whose commands may stand in any folder
    for command in commands():
        if all(page.startswith(generated) for page in command.pages):
            continue
        written = [word for before, word in zip(command.words, command.words[1:]) if before in WRITES]
        outside = [word for word in written if not word.startswith(RESULTS) and word != "-"
                   and not word.endswith((".elf", "mine.toml"))]
        assert not outside, f"{command.text} on {command.pages} writes {outside}: name a file in {RESULTS}"


@pytest.mark.limit(120)
def test_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """each WORD of `./skerry test --only WORD` on a page selects a test, whichever word has selected this one"""
    monkeypatch.setenv("SKERRY_TEST_ONLY", "each word of")
    monkeypatch.setenv("SKERRY_TEST_DONE", "1")
    every = names.every()
    words = [command.words[command.words.index("--only") + 1] for command in selecting() if "--only" in command.words
             and not command.fits(FOLLOWED)]
    assert len(words) > 20
    idle = [word for word in words if word != "WORD" and not any(word.lower() in name for name in every)]
    assert not idle, idle
