# SPDX-License-Identifier: BSD-2-Clause
"""The runner of the tests itself: one that stands still is ended and named, and those behind it run all the same."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.cli.commands.project import test as command
from deploy.tools.testing import meson_tests, pytest_tests
from deploy.tools.testing.meson_tests import MesonTest
from deploy.tools.testing.result import Result

PYTHON = """
import os, signal, subprocess, sys, time

def test_before(): pass

def test_slow_host():
    '''a test that is stopped again and again'''
    stopper = subprocess.Popen([sys.executable, "-c", {stopper!r}, str(os.getpid())])
    for _ in range(50):
        spin = time.thread_time()
        while time.thread_time() - spin < 0.01: pass
        os.kill(os.getpid(), signal.SIGSTOP)
    stopper.kill()
    stopper.wait()
test_slow_host.pytestmark = [__import__("pytest").mark.limit(5)]

def test_long():
    print("the last that it says")
    while True:  # as a client does that tries again
        try:
            time.sleep(1000)
        except Exception:
            pass
test_long.pytestmark = [__import__("pytest").mark.limit(1)]

def test_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(1000)
test_deaf.pytestmark = [__import__("pytest").mark.limit(1)]

def test_death(): os._exit(3)

def test_after(): pass
"""
# Lets a process that stops itself go on after a while, so that it runs a fifteenth of the time at most.
STOPPER = """
import os, signal, sys, time
while True:
    with open(f"/proc/{sys.argv[1]}/stat") as file:
        stopped = file.read().rpartition(")")[2].split()[0] == "T"
    time.sleep(0.14 if stopped else 0.001)
    if stopped:
        os.kill(int(sys.argv[1]), signal.SIGCONT)
"""


def meson(code: str, limit: float) -> MesonTest:
    return MesonTest("made: up", [sys.executable, "-u", "-c", code], {}, None, limit)


def test_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """a component's test that stands still is ended long before its limit, and its last output is told"""
    monkeypatch.setattr(meson_tests, "STILL", 1.5)
    start = time.monotonic()
    result = meson_tests.run_one(meson("import time; print('seed 42'); time.sleep(1000)", 1000))
    assert result.outcome == "failed" and time.monotonic() - start < 900
    last = result.detail.splitlines()[-1]
    assert last.startswith("made: up: stands still: ") and last.endswith("ended; the last that it said: seed 42")


def test_turns() -> None:
    """a component's test that turns in circles is ended at its limit of given time"""
    result = meson_tests.run_one(meson("print('seed 43')\nwhile True: pass", 1.0))
    assert result.outcome == "failed"
    assert "not done within 1 s of given time" in result.detail and result.detail.endswith("the last that it said: "
        "seed 43")


def test_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """a component's test that prints without end is ended long before its limit, and the end of its output is kept"""
    monkeypatch.setattr(meson_tests, "PRINTED", 4 << 20)
    result = meson_tests.run_one(meson("print('first')\nwhile True: print('seed 44 ' * 1000)", 1000))
    assert result.outcome == "failed" and "made: up: prints without end: " in result.detail
    assert "seed 44" in result.detail and "first" not in result.detail and len(result.detail) < 4 << 20


def test_left_behind() -> None:
    """a component's test that leaves processes behind, in sessions of their own, has ended, and so have they; no other
    has"""
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    left = """
import subprocess
in_session = subprocess.Popen(["sleep", "1000"], start_new_session=True)
daemon = subprocess.Popen(["setsid", "sh", "-c", "sleep 1000 & echo $! $$ && wait"], stdout=subprocess.PIPE, text=True)
print(in_session.pid, daemon.stdout.readline())
raise SystemExit(3)
"""
    try:
        start = time.monotonic()
        result = meson_tests.run_one(meson(left, 50))
        assert result.outcome == "failed" and time.monotonic() - start < 900
        pids = [int(word) for word in result.detail.split()[:3]]
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_statuses() -> None:
    """exit status 0 of a component's test passes, 77 skips, all others fail"""
    outcomes = [meson_tests.run_one(meson(f"print('why'); raise SystemExit({status})", 50)) for status in (0, 77, 3)]
    assert [result.outcome for result in outcomes] == ["passed", "skipped", "failed"]
    assert [result.detail for result in outcomes] == ["", "why", "why\n\nexit status 3"]


@pytest.mark.limit(150)
def test_pytest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a Python test that does not end, or ends pytest, is named, and the ones behind it run; a slow host fails none"""
    monkeypatch.setattr(pytest_tests, "LOGS", tmp_path)
    monkeypatch.setattr(pytest_tests, "GRACE", 3.0)
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "test_up.py").write_text(PYTHON.format(stopper=STOPPER))
    results = {result.name: result for result in pytest_tests.run([folder], "", lambda name: None)}
    assert {name: result.outcome for name, result in results.items()} == {
        "made: before": "passed", "made: a test that is stopped again and again": "passed", "made: long": "failed",
        "made: deaf": "failed", "made: death": "failed", "made: after": "passed",
    }  # fmt: skip
    assert "not done within 1 s of given time" in results["made: long"].detail
    assert "the last that it says" in results["made: long"].detail
    assert results["made: a test that is stopped again and again"].seconds > 6
    assert "does not end, killed" in results["made: deaf"].detail
    assert "status 3" in results["made: death"].detail


def test_closing_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """the closing lines say what was skipped, why, and what would make it run"""
    results = [Result("made: good", "passed", 0.1),
               Result("made: up", "skipped", 0.0, "Skipped: no zsh here; this installs it: sudo apt-get install zsh"),
               Result("made: silent", "skipped", 0.0)]
    monkeypatch.setattr(command, "_build", lambda *rest: Result(command.BUILD_TEST, "passed", 0.0))
    monkeypatch.setattr(command, "_all_results", lambda *rest: iter(results))
    command.test(quiet=True)
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "skipped: made: up: no zsh here; this installs it: sudo apt-get install zsh",
        "skipped: made: silent: its program says that it cannot run here",
        "2 passed, 0 failed, 2 skipped",
    ]
