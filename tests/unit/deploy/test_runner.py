# SPDX-License-Identifier: BSD-2-Clause
"""The test runner ends a test that stands still, and says which it was and what it did last."""

from __future__ import annotations

from tests.meson_tests import MesonTest, run_one


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
