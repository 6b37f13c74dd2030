# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that end in every way that can be ordered: the others say which one, and why."""

import os
import re

import pytest

from deploy.bench.failure.scene import end_cluster
from deploy.cli.main import main
from deploy.deployment import Program
from deploy.live import kill
from deploy.machine.console_lines import By, ConsoleLines
from deploy.machine.events import Event
from tests.boot.machine import assert_serve, deployment, machine_booted, machine_serving, servers, with_redis

pytestmark = pytest.mark.drawn

LINES = 3000  # that programs print meanwhile
# how, core: the reason, the core that is named, and a part of the sentence
WAYS: dict[tuple[str, int], tuple[str, int | None, str]] = {
    ("panic", 1): ("panic", 1, "panicked on core 1: ordered from outside"),
    ("hang", 0): ("stopped", 0, "its cores have stopped"),
    ("hang-core", 0): ("core", 0, "core 0 hangs"),
    ("hang-core", 1): ("core", 1, "core 1 hangs"),
    ("init", 0): ("stopped", 0, "its cores have stopped"),
    ("manager", 0): ("manager", None, "its manager hangs or has stopped"),
    ("garbage", 0): ("channel", None, "overwrote what it shares"),
}


@pytest.mark.limit(150)
@pytest.mark.parametrize("how,core", WAYS, ids=[f"{how} of core {core}" for how, core in WAYS])
def test_way(how: str, core: int) -> None:
    """the first cluster says which way the second one ended, and its Redis goes on"""
    reason, named, words = WAYS[how, core]
    with machine_serving(with_redis()) as run:
        here = next(name for name in servers(run) if run.plan.application(name).cpu < 2)
        end_cluster(run, 1, how, core if how in kill.OF_A_CORE else None)
        lost: Event = run.wait_event("cluster-lost", cluster=1)
        assert lost["reason"] == reason and lost.get("core") == named and words in lost["why"], lost
        assert_serve(run, here)
        assert run.running and len(run.events.of("cluster-lost")) == 1


@pytest.mark.limit(150)
@pytest.mark.parametrize("how", ["panic", "hang"])
def test_first(how: str) -> None:
    """a cluster says on the console why the first one, through which all else is reported, is gone"""
    words = {"panic": "its kernel panicked on core 0", "hang": "its cores have stopped"}[how]
    with machine_booted(deployment(network=False)) as run:
        end_cluster(run, 0, how)
        run.wait_for(lambda: f"[manager 1] cluster 0 is gone: {words}" in run.own_console, "the other manager's words")


@pytest.mark.limit(150)
def test_lines_without_the_first() -> None:
    """once the first cluster is lost, programs of two others that print without pause tear no line, of theirs or of a
    manager"""
    programs = tuple(Program("hostile", cpu, args=("chatty", "1000000"), barrier=False, name=f"chatty-{cpu}")
                     for cpu in (1, 2))
    with machine_booted(deployment(3, 1, network=False, programs=programs)) as run:
        end_cluster(run, 0, "panic")
        for number in (1, 2):
            gone = f"[manager {number}] cluster 0 is gone: its kernel panicked"
            run.wait_for(lambda gone=gone: gone in run.own_console, "the managers' words")
        start = run.console.rindex("\n") + 1
        run.wait_for(lambda: run.console.count("\n", start) >= LINES, "the programs' lines")
        written = [line.text for line in ConsoleLines().feed(run.console[start:]) if line.by != By.MANAGER]
        torn = [line for line in written if not re.fullmatch(r"\[chatty-[12]@\d\] line \d+ of 1000000 \.* end", line)]
        assert not torn
        assert {line[: len("[chatty-1")] for line in written} == {"[chatty-1", "[chatty-2"}


@pytest.mark.limit(150)
def test_without_channel() -> None:
    """clusters that share no channel watch each other, too"""
    with machine_booted(deployment(3, 1, network=False)) as run:
        end_cluster(run, 1, "panic")
        run.wait_for(lambda: "[manager 2] cluster 1 is gone: its kernel panicked" in run.own_console,
                     "the third cluster's words")
        assert run.wait_event("cluster-lost", cluster=1)["reason"] == "panic"


@pytest.mark.limit(150)
def test_refused() -> None:
    """what cannot be killed is refused, and a cluster is lost once"""
    with machine_booted(deployment(network=False)) as run:
        end_cluster(run, 1, "panic")
        run.wait_event("cluster-lost", cluster=1)
        with pytest.raises(Exception, match="lost already"):
            end_cluster(run, 1, "hang")
        with pytest.raises(Exception, match="0 to 1"):
            end_cluster(run, 0, "hang-core", 2)


@pytest.mark.limit(150)
def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    """the command says what it does and what the others say, and why not a second time"""
    words = ["kill", str(os.getpid()), "--cluster", "1", "--how", "hang-core", "--core", "1"]
    with machine_booted(deployment(network=False)):
        assert main(words) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert ("Cluster 1: one of its cores loops, interrupts off. Cluster 1 is lost, the others say after" in printed
                and "its core 1 hangs" in printed)
        assert main(words) == 1
        assert capsys.readouterr().err.startswith("skerry: cluster 1 is lost already: its core 1 hangs")
