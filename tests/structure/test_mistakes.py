# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue of mistakes (tests/mistakes) fits the tree as it is."""

import re

from deploy.base.paths import ROOT
from deploy.tools.testing import meson_tests
from tests.mistakes.catalogue import load, problems
from tests.mistakes.stages import BOOTS, HOSTED, NAMED, OF_CLUSTERS, boot_name
from tests.mistakes.verdicts import FILE, Verdicts

MINIMUM = 1900


def test_anchors() -> None:
    """each mistake's pattern is found exactly once where it is to stand, and its replacement changes the file"""
    wrong = problems(ROOT)
    advice = "mend the entries in tests/mistakes/list/, or take a mistake out whose code is gone"
    assert not wrong, "\n".join([*wrong, advice])


def test_number() -> None:
    """there are mistakes enough, each with an effect of its own"""
    assert len(load()) >= MINIMUM


def test_tests() -> None:
    """the test that is meant to see a mistake exists, and so does the one that a verdict names"""
    hosted, _ = meson_tests.by_name()
    known = {*hosted, *HOSTED, *NAMED, *OF_CLUSTERS, "protection", *(boot_name(*boot) for boot in BOOTS)}
    every = load()
    assert not [f"{m.key}: {test}" for m in every for test in m.tests if test not in known]
    tests = {line.split("\t")[2] for line in FILE.read_text().splitlines()[1:]} - {""}
    assert tests <= known, f"try these again with --fresh: {tests - known}"
    assert not [m.key for m in every if not m.tests and not m.unseen and Verdicts(every).of(m)]


def test_not_in_meson() -> None:
    """no meson.build plants a mistake: that is a matter of the catalogue"""
    loops = [str(path) for path in ROOT.rglob("meson.build") if "build" not in path.relative_to(ROOT).parts
             and re.search(r"^\s*foreach mistake", path.read_text(), re.MULTILINE)]
    assert not loops
