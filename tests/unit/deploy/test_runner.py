# SPDX-License-Identifier: BSD-2-Clause
"""The test runner: what it runs side by side, and its limits."""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.base.terminal import Output
from deploy.cli.commands.project import test as project_command
from deploy.setup import needs
from deploy.tools.testing import lanes, meson_tests, names, pytest_tests, words
from deploy.tools.testing.meson_tests import MesonTest, run_one
from deploy.tools.testing.result import Result
from topology.errors import InputError

# ---- The test runner: what it runs, and side by side. ----


# ---- The test runner ends a test that stands still, and says which it was and what it did last; what it ----

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
    assert detail.endswith("kernel: a test: not done within 0.5 s of given time, ended; the last that it said: this "
                           "was seed 9")


def test_deaf() -> None:
    """a test that does not heed the signal is killed all the same"""
    detail = result_of("trap '' TERM; echo step one; while :; do sleep 0.1; done")
    assert "the last that it said: step one" in detail


def test_silent() -> None:
    """a test that has said nothing is named"""
    assert result_of("exec sleep 60").endswith("kernel: a test: not done within 0.5 s of given time, ended; it said "
                                               "nothing")


def test_only_builds_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """--only builds what components' tests with the word use, all for a Python test, and nothing for a word of no
    test"""
    built: list[needs.Needs] = []
    monkeypatch.setattr(command, "ensure_built", lambda output, needed, werror: built.append(needed))
    monkeypatch.setattr(names, "of_python", lambda: ["boot: a machine | tests/boot/test_made.py::test_machine"])
    needed_now = command._needed(Output(), "lock, clh", False)
    assert needed_now.targets == frozenset({"model/model-lock-clh"})
    assert needed_now.groups == needs.EVERYTHING.groups and [len(needed.targets or ()) for needed in built] == [1]
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


# ---- The runner's lanes: tests side by side, each once; one that takes its lane with it is named; none ----

MEETING = """
import sys, time
from pathlib import Path
Path(sys.argv[1]).touch()
while not Path(sys.argv[2]).exists():
    time.sleep(0.01)
"""


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LOGS", tmp_path / "log")


def component(name: str, code: str, *words: str) -> MesonTest:
    return MesonTest(name, [sys.executable, "-c", code, *words], {}, None, 30)


def python(folder: Path, code: str) -> list[Path]:
    folder.mkdir()
    (folder / "test_it.py").write_text(code)
    return [folder]


def outcomes(folders: list[list[Path]], components: list[MesonTest],
             files: Sequence[Path] = ()) -> list[tuple[str, str]]:
    return sorted((result.name, result.outcome)
                  for result in lanes.run(folders, files, components, "", lambda name: None))


def test_side_by_side(tmp_path: Path) -> None:
    """folders run beside each other, and components' tests, too; each test once"""
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    met = "import sys\nsys.argv = ['', {!r}, {!r}]\ndef test_meets():\n    exec({!r})\n"
    folders = [python(tmp_path / "first", met.format(one, two, MEETING)),
               python(tmp_path / "second", met.format(two, one, MEETING))]
    three, four = str(tmp_path / "three"), str(tmp_path / "four")
    components = [component("a", MEETING, three, four), component("b", MEETING, four, three)]
    components += [component(f"c{i}", f"raise SystemExit({i})") for i in range(5)]
    assert outcomes(folders, components) == [
        ("a", "passed"), ("b", "passed"), ("c0", "passed"), *((f"c{i}", "failed") for i in range(1, 5)),
        ("first: meets", "passed"), ("second: meets", "passed"),
    ]  # fmt: skip


@pytest.mark.limit(120)
def test_shared_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """the first lanes share files of Python tests, each run once, two beside each other; a component's test waits for
    none"""
    monkeypatch.setattr(lanes, "PARCEL", 2)
    folder = tmp_path / "shared"
    folder.mkdir()
    one, two, three = (str(tmp_path / name) for name in ("one", "two", "three"))
    met = "import sys\nsys.argv = ['', {!r}, {!r}]\ndef test_{}():\n    exec({!r})\n"
    texts = {name: f"def test_{name}():\n    pass\n" for name in "abcde"}
    texts["a"], texts["c"] = met.format(one, two, "a", MEETING), met.format(two, three, "c", MEETING)  # of two parcels
    for name, text in texts.items():
        (folder / f"test_{name}.py").write_text(text)
    held = component("held", MEETING, three, one)
    assert lanes.BOOTING == 2
    assert outcomes([[], [], []], [held], sorted(folder.iterdir())) == [
        ("held", "passed"), *((f"shared: {name}", "passed") for name in "abcde"),
    ]  # fmt: skip


@pytest.mark.limit(120)
def test_all_lanes_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """when the components' tests have been given, the other lanes take files, too"""
    monkeypatch.setattr(lanes, "PARCEL", 1)
    folder = tmp_path / "shared"
    folder.mkdir()
    met = "import sys\nsys.argv = ['', {!r}, {!r}]\ndef test_{}():\n    exec({!r})\n"
    for name, other in ("ab", "bc", "ca"):
        (folder / f"test_{name}.py").write_text(met.format(str(tmp_path / name), str(tmp_path / other), name, MEETING))
    assert lanes.BOOTING == 2
    assert outcomes([[], [], []], [component("first", "")], sorted(folder.iterdir())) == [
        ("first", "passed"), *((f"shared: {name}", "passed") for name in "abc"),
    ]  # fmt: skip


def test_death() -> None:
    """a test that takes its lane with it fails, and those behind it run; where no lane is left, they fail"""
    fatal = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    components = [component("a", fatal), *(component(name, "") for name in "bc")]
    assert outcomes([[], []], components) == [("a", "failed"), ("b", "passed"), ("c", "passed")]
    assert outcomes([[]], components) == [("a", "failed"), ("b", "failed"), ("c", "failed")]


def test_end(tmp_path: Path) -> None:
    """a runner that is interrupted leaves no process behind"""
    pids = tmp_path / "said"
    code = (f"import os, time\nwith open({str(pids)!r}, 'a') as file: print(os.getpid(), os.getppid(), "
            f"file=file)\ntime.sleep(1000)")
    folders = [python(tmp_path / "made", f"def test_long():\n    exec({code!r})\n"), []]

    def begun(name: str) -> None:
        if len(names := [*names_seen, name]) == 2:
            while not pids.exists() or len(pids.read_text().splitlines()) < 2:
                time.sleep(0.01)
            raise KeyboardInterrupt
        names_seen[:] = names

    names_seen: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        list(lanes.run(folders, [], [component("a", code)], "", begun))
    left = [pid for pid in pids.read_text().split() if int(pid) != os.getpid() and Path(f"/proc/{pid}").exists()]
    assert not left


# ---- The runner of the tests itself: one that stands still is ended and named, and those behind it run all the same.
# ----


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
    monkeypatch.setattr(project_command, "_build", lambda *rest: Result(project_command.BUILD_TEST, "passed", 0.0))
    monkeypatch.setattr(project_command, "_all_results", lambda *rest: iter(results))
    project_command.test(quiet=True)
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "skipped: made: up: no zsh here; this installs it: sudo apt-get install zsh",
        "skipped: made: silent: its program says that it cannot run here",
        "2 passed, 0 failed, 2 skipped",
    ]
