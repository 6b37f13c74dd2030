# SPDX-License-Identifier: BSD-2-Clause
"""A Redis that gives up ends, and says so."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
import redis

from deploy.base.paths import ROOT
from deploy.deployment import Redis
from tests.boot.machine import client, machine, order, servers, with_redis
from topology.units import MIB

ABORTED = 128 + 6  # as a shell has it
SKERRY = (str(ROOT / "skerry"),)
DEBUGGED = Redis(heap=64 * MIB, args=(*Redis.args, "--enable-debug-command", "yes"))


@pytest.mark.limit(150)
@pytest.mark.parametrize("how", ["ASSERT", "PANIC"])
def test_aborts(how: str) -> None:
    """a Redis that aborts ends its background threads, then itself, and nothing else"""
    with machine(replace(with_redis(), redis=DEBUGGED)) as run:
        run.wait_serving()
        first, *_, last = servers(run)
        with client(run, last, retry=None) as server, pytest.raises(redis.RedisError):
            server.execute_command("DEBUG", how)
        assert run.wait_event("exit", app=last)["status"] == ABORTED
        for number in range(3):
            assert f"Bio thread for job type #{number} terminated" in run.console
        assert "BUG REPORT END" in run.console
        with client(run, first) as server:
            assert server.ping()
        assert not run.events.of("fault") and run.running


@pytest.mark.limit(150)
def test_faults() -> None:
    """a Redis that writes where it must not is killed"""
    with machine(replace(with_redis(), redis=DEBUGGED)) as run:
        run.wait_serving()
        first, *_, last = servers(run)
        order(run, last, "DEBUG SEGFAULT")
        assert "page fault" in str(run.wait_event("fault", app=last)["cause"]).lower()
        with client(run, first) as server:
            assert server.ping()
        assert not run.events.of("exit") and run.running


@pytest.mark.limit(150)
def test_nothing_left() -> None:
    """a Redis whose heap has not even room for the report says so once and ends"""
    unlimited = Redis(heap=32 * MIB, args=(*Redis.args, "--maxmemory", "0"))
    with machine(replace(with_redis(cores=1), redis=unlimited)) as run:
        run.wait_serving()
        name = servers(run)[0]
        with client(run, name, retry=None) as server, pytest.raises(redis.RedisError):
            for number in range(200):
                server.mset({f"{number}:{each}": b"x" * 1000 for each in range(200)})
        assert run.wait_event("exit", app=name)["status"] == ABORTED
        assert run.console.count("Out Of Memory allocating") <= 2  # Redis prints one, its report another
        assert not run.events.of("fault")


DEPLOYMENT = """
shutdown = "never"

[redis]
heap = "64M"
args = ["--save", "", "--protected-mode", "no", "--bind", "0.0.0.0", "--enable-debug-command", "yes"]

[[program]]
program = "crash"
args = ["null"]
barrier = false
"""


@pytest.mark.limit(200)
@pytest.mark.parametrize("how", ["ASSERT", "SHUTDOWN"])
def test_run_says_so(how: str, tmp_path: Path) -> None:
    """run --keep tells of a Redis that dies, with its last lines, and its exit status does after Ctrl-C"""
    (tmp_path / "dies.toml").write_text(DEPLOYMENT)
    command = [*SKERRY, "run", "dies.toml", "--keep", "--accel", "tcg", "--boot", "kernel"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout
        printed = read_until(process, "Ctrl-C")
        fault = "was killed: page fault at 0x0, write"
        if fault not in printed:  # the crash and the servers' start are in no order
            printed += read_until(process, fault)
        assert re.search(rf"crash@\w+ {fault}", printed)
        name, port = re.findall(r"(redis@\w+) serves at 127\.0\.0\.1:(\d+)", printed)[-1]
        words = ["SHUTDOWN", "NOSAVE"] if how == "SHUTDOWN" else ["DEBUG", how]
        subprocess.run(["redis-cli", "-p", port, *words], capture_output=True)
        if how == "ASSERT":
            read_until(process, f"{name} ended by signal 6 (SIGABRT); its last lines:")
            told = read_until(process, "posix: ends by signal 6")
            assert "is not true" in told and all(line.startswith("    ") for line in told.splitlines()), told
        else:
            read_until(process, "bye bye...")
            assert process.stderr and f"{name} ended with status 0" in read_until(process, name, process.stderr)
        os.kill(process.pid, signal.SIGINT)
        _, error = process.communicate()
        if how == "ASSERT":
            assert process.returncode == 1
            assert error.splitlines()[-1].startswith(f"skerry: {name} ended by signal 6 (SIGABRT) (log: "), error
        else:
            assert process.returncode == 0, error
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def read_until(process: subprocess.Popen[str], text: str, stream: IO[str] | None = None) -> str:
    """What it prints until a line holds the text; the test's time limit ends a wait that is in vain."""
    stream = stream or process.stdout
    assert stream
    printed = ""
    for line in stream:
        printed += line
        if text in line:
            return printed
    raise AssertionError(f"no {text!r} in {printed}")
