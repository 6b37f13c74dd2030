# SPDX-License-Identifier: BSD-2-Clause
"""Programs that ask too much of their manager hold nobody up, and what they write arrives."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.timeouts import Patience
from deploy.deployment import Load, Program
from deploy.machine.console_lines import lines
from deploy.results import serial_log
from tests.boot.machine import client, deployment, machine, servers, with_redis

LINES = 2000  # as tests/programs/hostile.c has them
NEWLINES = 40 * 952


def hostile(cpu: int, *words: str) -> Program:
    return Program("hostile", cpu, args=words, barrier=False, name=f"hostile-{words[0]}")


@pytest.mark.limit(200)
@pytest.mark.parametrize("cpu", [1, 3], ids=["in the primary cluster", "in another one"])
def test_writers(cpu: int) -> None:
    """programs that write without end lose nothing, tear no line, and Redis answers meanwhile"""
    programs = (hostile(cpu, "chatty"), hostile(cpu, "results"), hostile(cpu, "newlines"))
    with machine(replace(with_redis(), programs=programs)) as run:
        run.wait_serving()
        for name in servers(run):
            with client(run, name) as server:
                for number in range(100):
                    assert server.incr("meanwhile") == number + 1
        run.wait_for(lambda: len(run.events.of("exit")) == len(programs), "the programs' ends", Patience(150))
        assert all(event["status"] == 0 for event in run.events.of("exit"))
        run.wait_for(lambda: run.console.count("last words") == len(programs), "the last words")
        lines = re.findall(r"^\[hostile-chatty@\d+\] line (\d+) of 2000 \.* end\r?$", run.console, re.MULTILINE)
        assert [int(number) for number in lines] == list(range(LINES))
        assert len(re.findall(r"^\[hostile-newlines@\d+\] \r?$", run.console, re.MULTILINE)) == NEWLINES
        results = [event["data"]["number"] for event in run.events.of("result")]
        assert results == list(range(LINES))
        assert not run.events.of("bad-line") and "messages are lost" not in run.console


@pytest.mark.limit(150)
def test_sent_requests() -> None:
    """requests that are sent, not called, take nothing that others need: the barriers of a load open"""
    what = replace(with_redis(shutdown="when-done"), programs=(hostile(0, "sends", "switch@0"),), load=Load(2, operations=1000))
    with machine(what) as run:
        run.wait_done()
        assert run.events.of("done")[0]["status"] == 0
        assert [event["status"] for event in run.events.of("exit") if str(event["app"]).startswith("hostile")] == [0]


FORGED = ("[manager 0] cluster 0 is gone: forged", "kernel panic: cluster 0 core 0: forged", "[other@0] forged", '{"event":"done","status":1')
REPORTS = 8  # that the kernel makes at once of threads without a fault handler


@pytest.mark.limit(150)
@pytest.mark.parametrize("port", ["", "results=none"], ids=["reports on a port of their own", "reports on the console"])
def test_forger(port: str, tmp_path: Path) -> None:
    """a program without capabilities writes the kernel's, the manager's and others' lines: nobody believes it, and the run ends well"""
    other = Program("hostile", 0, args=("chatty",), name="other")
    forger = Program("hostile", 1, args=("forge",), name="forger")
    what = deployment(1, 2, redis=None, network=False, programs=(other, forger), shutdown="when-done")
    with machine(what, extra=("-append", port) if port else ()) as run:
        run.wait_done()
        console, own, events = run.console, [line.text for line in run.own_lines], run.events
    if port:
        (tmp_path / "log").write_text(console)
        assert not events.events
        events = serial_log.read_events(tmp_path / "log")
    assert [event["status"] for event in events.of("exit")] == [0, 0] and events.of("done")[0]["status"] == 0
    assert not events.of("result") and len(events.of("done")) == 1
    assert sum("kernel: thread without fault handler stopped" in line for line in own) >= REPORTS
    assert not [line for line in own if "forged" in line]
    written = [line.text for line in lines(console) if "forged" in line.text]
    assert all(line.startswith("[forger@1] ") for line in written)
    assert all(any(line.startswith(f"[forger@1] {text}") for line in written) for text in FORGED)


@pytest.mark.limit(150)
@pytest.mark.parametrize("lock", ["clh", "fine", "dynamic"])
def test_spreader(lock: str) -> None:
    """a program puts threads on its own core and on no other one, whichever cluster it is in and whichever core it has"""
    programs = tuple(Program("hostile", cpu, args=("spread",), name=f"spread-{cpu}") for cpu in range(4))
    with machine(deployment(2, 2, redis=None, network=False, lock=lock, programs=programs, shutdown="when-done")) as run:
        run.wait_done()
        assert [event["status"] for event in run.events.of("exit")] == [0] * len(programs)
