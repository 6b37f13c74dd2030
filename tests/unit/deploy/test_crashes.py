# SPDX-License-Identifier: BSD-2-Clause
"""Tests what `run` says of programs that die."""

import subprocess
from pathlib import Path

import pytest

from deploy.base.symbols import Image
from deploy.deployment import Deployment, Program, Redis
from deploy.deployment.planner import Plan, plan
from deploy.machine.crashes import LAST_LINES, death, is_started_again, telling, unserved
from deploy.machine.events import Event, cluster_restarts, restarts, standing

CRASH = Program("crash", 1, args=("null",), barrier=False)
COUNTED = Program("crash", 1, args=("null",), name="counted")


@pytest.fixture(scope="module")
def what() -> Plan:
    return plan(Deployment(redis=Redis(), programs=(CRASH, COUNTED)))


def event(kind: str, **data: object) -> Event:
    return Event(kind, {"event": kind, **data})


def name(what: Plan, base: str) -> str:
    return next(a.name for a in what.cluster_map.applications if a.base_name == base)


def test_events(what: Plan) -> None:
    """an end that should not be is said in words"""
    redis, switch = name(what, "redis"), name(what, "switch")
    ends = {
        f"{redis} ended by signal 6 (SIGABRT)": event("exit", app=redis, status=134),
        f"{redis} ended with status 1": event("exit", app=redis, status=1),
        f"{switch} was killed: page fault at 0x10, write, at instruction 0x401000": event(
            "fault", app=switch, cause="page fault at 0x10, write", rip=0x401000
        ),
        f"{redis} could not be started: error 3": event("failed", app=redis, error=3),
        "cluster 1 is lost: it panicked": event("cluster-lost", cluster=1, why="it panicked"),
    }
    for text, one in ends.items():
        end = death(one, what, "")
        assert end and str(end) == text and end.counts
    for one in (event("exit", app=redis, status=0), event("serving", app=redis), event("stats", cluster=0)):
        assert death(one, what, "") is None


def test_fork(what: Plan) -> None:
    """of a program that has called fork before it ended, that is the reason; another one's call is not"""
    redis = name(what, "redis")
    end = event("exit", app=redis, status=1)
    called = f"[{redis}] posix: system call fork (57) is not provided\n[{redis}] can't fork\n"
    assert str(death(end, what,
                     called)) == f"{redis} ended with status 1: it had called fork(), which always fails here"
    assert str(unserved(event("exit", app=redis, status=0), called)) == (
        f"{redis} ended with status 0, before it served: it had called fork(), which always fails here"
    )
    assert str(death(end, what, called.replace(redis, "other@1"))) == f"{redis} ended with status 1"


def test_bad_line(what: Plan) -> None:
    """a result that cannot be read is said in words"""
    end = death(event("bad-line", app="switch@0", reason="no object", line="x"), what, "")
    assert str(end) == "switch@0 sent a result that is no JSON: no object"


def test_place(tmp_path: Path) -> None:
    """of a fault in a program of the user's, function and line are told as far as the program knows them"""
    (tmp_path / "own.c").write_text("int main(void)\n{\n\treturn *(volatile int *)8;\n}\n")
    command = ["gcc", "-static", "-nostdlib", "-no-pie", "-Wl,-e,main", "-o", str(tmp_path / "own.elf"),
               str(tmp_path / "own.c")]
    places = []
    for option in ("-g", "-g0", "-s"):
        subprocess.run([*command, option], check=True)
        what = plan(Deployment(programs=(Program("own", 0, elf=tmp_path / "own.elf"),), network=False))
        rip = Image(tmp_path / "own.elf").symbol("main").address if option != "-s" else 0x401000
        places.append(str(death(event("fault", app=name(what, "own"), cause="page fault", rip=rip), what,
                                "")).partition("instruction ")[2])
    assert [text.partition(" ")[2] for text in places] == ["in main, own.c:2", "in main", ""]


def test_counts(what: Plan) -> None:
    """the end of a program that nobody waits for is told, and is no failure of the run"""
    for base, counts in (("crash", False), ("counted", True)):
        end = death(event("fault", app=name(what, base), cause="page fault", rip=1), what, "")
        assert end and end.counts is counts


def test_last_lines() -> None:
    """its own last lines are told, without what a terminal would obey"""
    other = [f"[redis@21] other {i}" for i in range(20)]
    own = [f"[redis@2] line {i}" for i in range(20)] + ["[redis@2] ", "[redis@2] red \x1b[31m"]
    console = "\n".join(line for pair in zip(other + other, own) for line in pair)
    lines = telling(console, "redis@2")
    assert lines == [f"line {i}" for i in range(13, 20)] + ["red ?[31m"] and len(lines) == LAST_LINES
    assert telling(console, "redis@3") == []


def test_crash_report() -> None:
    """of a Redis the reason comes with the last lines, which are hundreds of lines below it"""
    report = ["# === REDIS BUG REPORT START ===", "# client->argc = 2", "# === ASSERTION FAILED ===",
              "# ==> debug.c:481 '1 == 2' is not true"]
    console = "\n".join(f"[redis@2] {line}" for line in [*report, *(f"info {i}" for i in range(900)), "the end"])
    lines = telling(console, "redis@2")
    assert lines[:2] == [report[-1], "…"] and len(lines) == 2 + LAST_LINES and lines[-1] == "the end"


def test_started_again() -> None:
    """an end after which the policy starts the program again is no death; that it stays down is"""
    programs = tuple(Program("crash", 1, name=policy, restart=policy) for policy in ("never", "on-failure", "always"))
    what = plan(Deployment(redis=None, network=False, programs=programs))
    ends = {"fault": event("fault", cause="page fault", rip=1), "good": event("exit", status=0),
            "bad": event("exit", status=3)}
    again = {
        (policy, end)
        for policy in ("never", "on-failure", "always")
        for end, of in ends.items()
        if is_started_again(Event(of.kind, of.data | {"app": name(what, policy)}), what)
    }
    assert again == {("on-failure", "fault"), ("on-failure", "bad"), ("always", "fault"), ("always", "good"),
                     ("always", "bad")}
    down = death(event("stays-down", app=name(what, "always"), restarts=5), what, "")
    assert (down and down.counts
            and str(down) == f"{name(what, 'always')} stays down: it was started again 5 times and ended too often")


def test_standing() -> None:
    """what was started again is no trouble, and one that ended once more is"""
    first, second = event("fault", app="a@0"), event("fault", app="a@0")
    other = event("failed", app="b@1")
    again = event("restart", app="a@0", restarts=1)
    assert standing([first, other, again]) == [other, again]
    assert standing([first, again, second]) == [again, second]
    assert restarts([first, again, event("restart", app="a@0", restarts=2)]) == {"a@0": 2}


def test_standing_clusters() -> None:
    """a cluster that started again is not lost; another one, or one that is lost once more, is"""
    lost, other = event("cluster-lost", cluster=1, why="it hangs"), event("cluster-lost", cluster=2, why="it hangs")
    again = event("cluster-restarted", cluster=1, restarts=1)
    assert standing([lost, other, again]) == [other, again]
    assert standing([lost, again, lost]) == [again, lost]
    assert cluster_restarts([lost, again, event("cluster-restarted", cluster=1, restarts=2)]) == {1: 2}


def test_clusters_that_start_again() -> None:
    """a loss is no death where the cluster is to be started again; that it stays down is"""
    lost, down = event("cluster-lost", cluster=1, why="it hangs"), event("cluster-stuck", cluster=1,
                                                                         why="it cannot be fenced")
    again, never = (plan(Deployment(restart=restart, programs=(Program("crash", 0),)))
                    for restart in ("on-failure", "never"))
    assert is_started_again(lost, again) and not is_started_again(lost, never)
    assert [c.restart for c in again.cluster_map.clusters] == [True, True] and not any(c.restart
        for c in never.cluster_map.clusters)
    end = death(down, again, "")
    assert end and end.counts and str(end) == "cluster 1 stays down: it cannot be fenced"
