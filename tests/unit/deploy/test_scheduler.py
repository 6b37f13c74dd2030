# SPDX-License-Identifier: BSD-2-Clause
"""Calls on the workers of a real Dask scheduler: results, refusals, deaths, interrupts, and peers that are none."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base import parallel, process
from deploy.base.errors import Failure
from deploy.base.parallel import Call, Lost, Report
from deploy.base.paths import ROOT
from deploy.results import scheduler
from deploy.results.scheduler import Tree, Workers, workers
from topology.errors import InputError

from .test_parallel import fail, square, until_exists, wait

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


def kill_worker(marks: str, times: int, report: Report) -> int:
    """Kills the worker that runs it, so many times; returns how often it has run."""
    runs = len(list(Path(marks).iterdir()))
    Path(marks, str(runs)).touch()
    if runs < times:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return runs + 1


def test_results(address: str) -> None:
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


INTERRUPTED = """
import sys
from deploy.base import interrupts, parallel, process
from deploy.base.parallel import Call
from deploy.results.scheduler import workers
from tests.unit.deploy.test_parallel import wait
process.heed_signals()
try:
    with workers(sys.argv[1]) as pool:
        parallel.run([Call("waits", wait, (sys.argv[2], sys.argv[3]))], 1, pool=pool)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("how, status", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_interrupt(how: signal.Signals, status: int, address: str, tmp_path: Path) -> None:
    """Ctrl-C, and death of the command, end what a worker runs for it; Ctrl-C without a traceback"""
    began, ended = tmp_path / "began", tmp_path / "ended"
    command = subprocess.Popen([sys.executable, "-c", INTERRUPTED, address, str(began), str(ended)], cwd=ROOT,
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
