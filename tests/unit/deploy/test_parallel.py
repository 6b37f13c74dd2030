# SPDX-License-Identifier: BSD-2-Clause
"""Calls side by side: on a pool of processes, and on the workers of a real Dask scheduler."""

from __future__ import annotations

import errno
import json
import pickle
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.base import parallel, process
from deploy.base.errors import Failure
from deploy.base.parallel import Call, Lost, Report, processors, run, silent
from deploy.base.paths import ROOT
from deploy.compare import runs
from deploy.emulator.machine_file import load
from deploy.load.case import cases
from deploy.load.comparison import Comparison, with_common_switch, with_room
from deploy.results import scheduler
from deploy.results.scheduler import Tree, Workers, workers
from deploy.setup import relink
from topology.errors import InputError
from topology.machines.machine import default_memory
from topology.units import GIB

from .calls import die, fail, fill_the_disk, kill_worker, load_module, meet, square, until_exists, wait

# ---- Calls in processes of their own, side by side. ----


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
from tests.unit.deploy.calls import wait
process.heed_signals()
run([Call("waits", wait, (sys.argv[1] + "-began", sys.argv[1]))], 1, on_report=lambda place, pid: print(pid, flush=True))
"""


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


# ---- Calls on the workers of a real Dask scheduler: results, refusals, deaths, interrupts, and peers that are none.
# ----


DASK = [sys.executable, "-m", "dask"]


def start(stack: ExitStack, *words: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen([*DASK, *words], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.stop, child, 20.0)
    return child


def cluster(stack: ExitStack, folder: Path) -> tuple[str, subprocess.Popen[bytes]]:
    """Returns the address of a scheduler with one worker, and its process."""
    file = folder / "scheduler.json"
    master = start(stack, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file",
                   str(file))
    assert until_exists(str(file))
    address = str(json.loads(file.read_text())["address"])
    start(stack, "worker", address, "--nthreads", "2", "--no-dashboard", "--local-directory", str(folder))
    return address, master


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ExitStack() as stack:
        yield cluster(stack, tmp_path_factory.mktemp("dask"))[0]


def test_results_scheduler(address: str) -> None:
    """calls come back with their results in their order, and each had a process of its own; a failure is the call's"""
    with workers(address) as pool:
        results = parallel.run([Call(f"{n}", square, (n,)) for n in range(4)], 1, pool=pool)
        assert [number for number, _ in results] == [0, 1, 4, 9]
        with pytest.raises(Failure, match="went wrong"):
            parallel.run([Call("fails", fail, (Failure, __file__))], 1, pool=pool)
        with pytest.raises(Failure, match="broken: its process ended with status 1"):
            parallel.run([Call("broken", fail, (KeyError, __file__))], 1, pool=pool)


def test_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """a worker of another commit runs nothing, and is named with what differs"""
    monkeypatch.setattr(scheduler.host, "commit", lambda: "another")
    with workers(address) as pool, pytest.raises(InputError) as refused:
        parallel.run([Call("square", square, (2,))], 1, pool=pool)
    assert re.fullmatch(rf"--scheduler {address}: {socket.gethostname()}: commit \S+, not another; build the same "
                        rf"commit there", str(refused.value))


def test_trees() -> None:
    """trees differ by version, commit, changes, QEMU and each file, in this order; a file that nobody asked for is
    none"""
    here = Tree("1", "c", None, "10.0", {"a": "1", "b": "2"})
    assert here.refuses(here) == here.refuses(replace(here, files={"a": "1", "b": "2", "c": "3"})) == ""
    assert here.refuses(replace(here, changes="d", files={})) == "changes d, not unknown"
    assert here.refuses(replace(here, qemu="9.2")) == "qemu 9.2, not 10.0"
    assert here.refuses(replace(here, files={"a": "1"})) == "build/b is another or missing"
    assert here.refuses(replace(here, files={"a": "2"})) == "build/a is another or missing (and 1 more)"


@pytest.mark.parametrize("times", [1, 2])
def test_death(times: int, address: str, tmp_path: Path) -> None:
    """a call whose worker dies runs again; at the second death it is named"""
    calls = [Call("deadly", kill_worker, (str(tmp_path), times))]
    with workers(address) as pool:
        if times == 1:
            assert parallel.run(calls, 1, pool=pool) == [2]
        else:
            with pytest.raises(Failure, match=r"deadly: its worker died twice, last tcp://127\.0\.0\.1:"):
                parallel.run(calls, 1, pool=pool)
    assert len(list(tmp_path.iterdir())) == 2


def test_lost(tmp_path: Path) -> None:
    """a scheduler that dies is told in a line, and the call on its worker ends"""
    began, ended = tmp_path / "began", tmp_path / "ended"
    with ExitStack() as stack:
        address, master = cluster(stack, tmp_path)
        threading.Thread(target=lambda: until_exists(str(began)) and master.kill(), daemon=True).start()
        with workers(address) as pool, pytest.raises(Lost, match="the scheduler, or the connection to it, is lost"):
            parallel.run([Call("waits", wait, (str(began), str(ended)))], 1, pool=pool)
    assert until_exists(str(ended))


STOPPED = """
import sys
from deploy.base import interrupts, parallel, process
from deploy.base.parallel import Call
from deploy.results.scheduler import workers
from tests.unit.deploy.calls import wait
process.heed_signals()
try:
    with workers(sys.argv[1]) as pool:
        parallel.run([Call("waits", wait, (sys.argv[2], sys.argv[3]))], 1, pool=pool)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("how, status", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_interrupt_scheduler(how: signal.Signals, status: int, address: str, tmp_path: Path) -> None:
    """Ctrl-C, and death of the command, end what a worker runs for it; Ctrl-C without a traceback"""
    began, ended = tmp_path / "began", tmp_path / "ended"
    command = subprocess.Popen([sys.executable, "-c", STOPPED, address, str(began), str(ended)], cwd=ROOT,
                               stderr=subprocess.PIPE)
    assert until_exists(str(began))
    command.send_signal(how)
    assert (command.communicate()[1], command.returncode) == (b"", status)
    assert until_exists(str(ended))


@pytest.mark.limit(60)
@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, b"\x00" * 64,
                                    b"\x01" + b"\x00" * 63])
def test_no_scheduler(answer: bytes | None) -> None:
    """a port that is closed, silent, or talks something else is no scheduler, within a time limit"""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if answer is not None:
            server.listen()

            def talk() -> None:
                while True:
                    try:
                        server.accept()[0].sendall(answer or b"")
                    except OSError:
                        return

            threading.Thread(target=talk, daemon=True).start()
        with pytest.raises(InputError, match=f"--scheduler {address}: no Dask scheduler answers there: "):
            Workers(address, 2.0)


def test_client_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """a library that does not keep its limit is left"""
    library, hangs = scheduler._library(), threading.Event()
    monkeypatch.setattr(library, "Client", lambda *_, **__: hangs.wait())
    with pytest.raises(InputError, match="no Dask scheduler answers there: TimeoutError"):
        Workers("tcp://127.0.0.1:8786", 0.1)
    hangs.set()


@pytest.mark.parametrize("address", ["", "here", "tcp://here", "tcp://here:0", "tcp://here:65536", "http://here:8786",
                                     "inproc://1", "tcp://a b:1", "tcp://here:8786/x"])
def test_address(address: str) -> None:
    """what is no address is told before anything is loaded"""
    with pytest.raises(InputError, match="is no address as tcp://HOST:8786"):
        Workers(address)


def test_not_loaded() -> None:
    """commands that can use a scheduler do not load Dask without one"""
    text = ("import sys; from deploy.cli.commands.measure import compare, paper; "
            "from deploy.cli.commands.project import fuzz; print([name for name in ('dask', 'distributed', 'tornado') if name in sys.modules])")
    assert subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True).stdout == "[]\n"
