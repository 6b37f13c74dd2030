# SPDX-License-Identifier: BSD-2-Clause
"""Calls in processes of their own, side by side."""

import errno
import importlib
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.base.parallel import Call, Report, processors, run, silent
from deploy.base.paths import ROOT
from deploy.compare import runs
from deploy.emulator.machine_file import load
from deploy.load.case import cases
from deploy.load.comparison import Comparison, with_common_switch, with_room
from deploy.setup import relink
from topology.errors import InputError
from topology.machines.machine import default_memory
from topology.units import GIB


class Elsewhere:
    """A pool whose worker is this process: calls and results travel as bytes, and `run` runs them."""

    def __init__(self, run: Callable[[Call], object] = Call.__call__) -> None:
        self._run = run

    def room(self) -> int:
        return 2

    def submit(self, call: Call, on_report: Report = silent) -> Future[Any]:
        outcome: Future[Any] = Future()
        outcome.set_result(pickle.loads(pickle.dumps(self._run(pickle.loads(pickle.dumps(call))))))
        return outcome


def square(number: int, report: Report) -> tuple[int, set[int]]:
    print("this is not a result")
    report(f"squaring {number}")
    return number * number, os.sched_getaffinity(0)


def until_exists(path: str) -> bool:
    for _ in range(3000):
        if Path(path).exists():
            return True
        time.sleep(0.01)
    return False


def meet(own: str, other: str, report: Report) -> bool:
    """Whether the other runs at the same time."""
    Path(own).touch()
    return until_exists(other)


def fail(kind: type[Exception], other: str, report: Report) -> None:
    until_exists(other)
    raise InputError("here", "is wrong") if kind is InputError else kind("went wrong")


def fill_the_disk(report: Report) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/full/machine")


def die(other: str, report: Report) -> None:
    until_exists(other)
    os.kill(os.getpid(), signal.SIGKILL)


def wait(began: str, path: str, report: Report) -> None:
    """Until it is ended; says so."""
    try:
        Path(began).touch()
        report(os.getpid())
        time.sleep(600)
    finally:
        time.sleep(0.3)  # what is cleaned up takes time, in which it must not be interrupted once more
        Path(path).touch()


def test_full_disk(capfd: pytest.CaptureFixture[str]) -> None:
    """what a call cannot write fails as it does in the caller's own process, without a traceback"""
    with pytest.raises(OSError, match="No space left") as error:
        run([Call("full", fill_the_disk, ())], 1)
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, "/full/machine")
    assert capfd.readouterr().err == ""


def test_results() -> None:
    """calls side by side return what they return, in their order, each on one processor of those that there are"""
    reports: list[tuple[int, object]] = []
    started: list[int] = []
    results = run([Call(f"{n}", square, (n,)) for n in range(5)], 2, started.append, lambda place,
                  what: reports.append((place, what)))
    assert [number for number, _ in results] == [0, 1, 4, 9, 16]
    assert all(len(used) == 1 and used <= set(processors()) for _, used in results)
    assert sorted(started) == [0, 1, 2, 3, 4]
    assert sorted(reports) == [(n, f"squaring {n}") for n in range(5)]


@pytest.mark.skipif(len(processors()) < 2, reason="one processor")
def test_at_once(tmp_path: Path) -> None:
    """two calls run at the same time, on processors of their own"""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    assert run([Call("first", meet, (first, second)), Call("second", meet, (second, first))], 2) == [True, True]


@pytest.mark.parametrize("function, arguments, says", [
    (fail, (Failure,), "went wrong"), (fail, (InputError,), "here: is wrong"),
    (fail, (KeyError,), "case: its process ended with status 1"),
    (die, (), "case: its process ended with status -9"),
])  # fmt: skip
def test_failure(function: Callable[..., None], arguments: tuple[object, ...], says: str, tmp_path: Path) -> None:
    """a call that fails ends the others, which clean up, and is what failed"""
    began, ended = tmp_path / "began", tmp_path / "ended"
    calls = [Call("waits", wait, (str(began), str(ended))), Call("case", function, (*arguments, str(began)))]
    if len(processors()) < 2:
        calls.pop(0)
        began.touch()
        ended.touch()
    with pytest.raises(Failure, match=says):
        run(calls, 2)
    assert ended.exists()


INTERRUPTED = """
import sys
from deploy.base import process
from deploy.base.parallel import Call, run
from tests.unit.deploy.test_parallel import wait
process.heed_signals()
run([Call("waits", wait, (sys.argv[1] + "-began", sys.argv[1]))], 1, on_report=lambda place, pid: print(pid, flush=True))
"""


class Field:
    def __set_name__(self, owner: type, name: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)


def load_module(folder: str, report: Report) -> None:
    """Loads a module, and is ended meanwhile."""
    Path(folder, "described.py").write_text(f"from {__name__} import Field\nclass Described:\n    field = Field()\n")
    sys.path.insert(0, folder)
    importlib.import_module("described")
    time.sleep(60)


def test_ended_import(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """a call that is told to end while it loads a module ends without a traceback"""
    with pytest.raises(Failure, match="loads: its process ended with status 130"):
        run([Call("loads", load_module, (str(tmp_path),))], 1)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupt(how: signal.Signals, tmp_path: Path) -> None:
    """the processes of calls clean up and end when the command is interrupted, and when it is killed"""
    ended = tmp_path / "ended"
    command = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(ended)], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    assert command.stdout
    pid = int(command.stdout.readline())
    command.send_signal(how)
    command.wait()
    for _ in range(3000):
        if ended.exists() and not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.01)
    assert ended.exists() and not Path(f"/proc/{pid}").exists()


def test_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """runs go side by side as far as the memory that their programs reserve goes, not that of their machines"""
    machine = load("xeon-e5-2683v3")
    shape = with_room(machine.shape(machine.cores, default_memory(machine.cores_per_socket)), None, 50, 2)
    job = with_common_switch(Comparison(shape=shape, records=50, operations=10, modelled=machine))
    monkeypatch.setattr(runs, "_available", lambda: 10 * GIB)  # less than one of the machines has
    monkeypatch.setattr(runs.parallel, "processors", lambda: list(range(8)))
    assert runs.at_once(cases(job)[0]) == 2
    monkeypatch.setattr(runs, "_available", lambda: 1 * GIB)
    assert runs.at_once(cases(job)[0]) == 1


def test_relink() -> None:
    """a kernel is linked anew from the same objects in an order that the seed draws, with padding around them"""
    objects = [f"k.p/{n}.o" for n in range(9)]
    command = ["cc", "-o", "k.elf", *objects, "-static", "lib.a"]

    def linked(seed: int) -> list[str]:
        return relink.shuffled(command, Path("k.elf"), Path("new/k-1.elf"), ["a.o", "z.o"], random.Random(seed))

    assert linked(1) == linked(1) != linked(2)
    assert linked(1)[:4] == ["cc", "-o", "new/k-1.elf", "a.o"] and linked(1)[-3:] == ["z.o", "-static", "lib.a"]
    assert sorted(linked(1)[4:-3]) == objects != linked(1)[4:-3]
    with pytest.raises(Failure, match="does not link it from objects"):
        relink.shuffled(["cc", "-o", "k.elf", "x.c"], Path("k.elf"), Path("n"), [], random.Random(1))


def test_kept_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what is linked anew is kept as long as the kernel is the one that it was made of; each has its own seed"""
    kernel, made = tmp_path / "kernel-clh.elf", list[str]()
    kernel.write_text("one")
    monkeypatch.setattr(relink, "BUILD", tmp_path)
    monkeypatch.setattr(relink, "RELINKED", tmp_path / "relinked")
    monkeypatch.setattr(relink.modules, "module_path", lambda name: kernel)

    def run(command: list[str], text: str = "") -> str:
        if command[0] == "link":
            image = Path(command[command.index("-o") + 1])
            image.write_text(kernel.read_text() + " ".join(command[3:]))
            made.append(image.name)
        return "link -o kernel-clh.elf a.o b.o c.o d.o e.o"

    monkeypatch.setattr(relink, "run", run)
    images = [relink.path_of("kernel-clh", seed) for seed in (1, 2)]
    for _ in range(2):
        relink.ensure_linked(images)
    assert sorted(made) == ["kernel-clh-1.elf", "kernel-clh-2.elf"]
    assert len({image.read_text() for image in images}) == 2
    kernel.write_text("two")
    relink.ensure_linked(images[:1])
    assert made[2:] == ["kernel-clh-1.elf"] and images[0].read_text().startswith("two")
    images[1].unlink()
    relink.ensure_linked(images[1:])
    assert images[1].is_file() and {path.suffix for path in images[0].parent.iterdir()} == {".elf", ".of"}
