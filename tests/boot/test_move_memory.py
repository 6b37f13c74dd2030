# SPDX-License-Identifier: BSD-2-Clause
"""Memory moves from one cluster to another while programs run, and stays where it is when clusters are started
again."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.bench.failure.scene import end_cluster
from deploy.cli.main import main
from deploy.deployment import Deployment, Redis
from deploy.live import ledger, memory_moves
from deploy.live.lockstat import live
from deploy.live.memory_moves import PIECE, Piece, pieces_of, sums
from deploy.machine.events import boots_of
from deploy.machine.run import Run
from tests.boot.machine import client, machine_serving, servers, with_redis
from tests.boot.test_restart_cluster import restarted, write
from topology.errors import InputError
from topology.units import MIB

pytestmark = pytest.mark.drawn


def deployment(lock: str = "clh") -> Deployment:
    what = with_redis(2, 2, lock=lock, restart="on-failure", restart_delay=0, restart_limit=0)
    return replace(what, redis=Redis(heap=64 * MIB, restart="always"))


def in_force(run: Run) -> list[Piece]:
    run.poll()
    return pieces_of(run.events.events, live.monitor_memory(run.directory))


def has(run: Run) -> dict[int, int]:
    """Pieces of each cluster. Nothing is lost, or in two clusters: each piece has one word, and together they are as
    many as at boot."""
    return {cluster: of["has"] // PIECE for cluster, of in sums(in_force(run)).items()}


def parked(run: Run) -> int:
    return sum(piece.size for piece in in_force(run) if piece.parked) // PIECE


def give_order(run: Run, giver: int, to: int, pieces: int) -> int:
    run.poll()
    number = ledger.MEMORY.unused(run.events.events, live.monitor_memory(run.directory))
    memory_moves.order(lambda address, word: write(run, address, word), boots_of(run.events.events)[giver], pieces, to,
                       number)
    return number


def answer_of(run: Run, giver: int, number: int) -> str:
    run.wait_for(lambda: ledger.MEMORY.answered(run.events.events, number, "taken", cluster=giver), "an answer")
    answer = ledger.MEMORY.answered(run.events.events, number, "taken", cluster=giver)
    assert answer
    return str(answer["what"])


def move(run: Run, giver: int, to: int, pieces: int) -> None:
    before = has(run)
    assert answer_of(run, giver, give_order(run, giver, to, pieces)) == memory_moves.GIVEN
    after = {giver: before[giver] - pieces, to: before[to] + pieces}
    run.wait_for(lambda: has(run) == before | after, f"{pieces} pieces in cluster {to}")


def fill(run: Run, names: Sequence[str], value: bytes, count: int) -> None:
    for name in names:
        one = client(run, name)
        for first in range(0, count, 100):
            assert one.mset({f"key {key}": value for key in range(first, first + 100)})


def holds(run: Run, names: Sequence[str], value: bytes, count: int) -> None:
    for name in names:
        one = client(run, name)
        for first in range(0, count, 100):
            assert one.mget([f"key {key}" for key in range(first, first + 100)]) == [value] * 100


@pytest.mark.limit(300)
@pytest.mark.parametrize("lock", ["clh", "mcs", "ticket", "fine", "rtm", "dynamic"])
def test_there_and_back(lock: str) -> None:
    """memory leaves and comes back, again and again, in one piece and in many, while Redis reads and writes; all values
    stay"""
    with machine_serving(deployment(lock)) as run:
        names = servers(run)
        before = has(run)
        fill(run, names, b"a" * 4096, 1000)
        for pieces in (1, 64, 37):
            move(run, 0, 1, pieces)
            holds(run, names, b"a" * 4096, 1000)
            move(run, 1, 0, pieces)
        move(run, 1, 0, 50)
        fill(run, names, b"b" * 8192, 1000)
        holds(run, names, b"b" * 8192, 1000)
        assert has(run) == {0: before[0] + 50, 1: before[1] - 50}
        assert not run.events.of("cluster-lost") and "kernel panic" not in run.own_console


@pytest.mark.limit(300)
def test_programs_get_it() -> None:
    """what a cluster has gained is what its programs are given: nearly all of the other's memory, and a Redis that
    starts in it"""
    with machine_serving(deployment()) as run:
        names = servers(run)
        number = give_order(run, 0, 1, 1 << 20)
        assert answer_of(run, 0, number) == memory_moves.TOO_LITTLE
        free = int(run.events.of("memory-moved", what="too-little")[0]["free"])
        move(run, 0, 1, free - 8)
        number = give_order(run, 0, 1, 64)
        assert answer_of(run, 0, number) == memory_moves.TOO_LITTLE
        fill(run, names, b"c" * 4096, 1000)
        holds(run, names, b"c" * 4096, 1000)


@pytest.mark.limit(400)
def test_restarts_keep_it() -> None:
    """each cluster that is started again has the memory that it had: what it gave is not mapped, what it got is taken
    anew"""
    with machine_serving(deployment()) as run:
        before = has(run)
        move(run, 1, 0, 70)
        for times, cluster in ((1, 1), (1, 0), (2, 1)):
            end_cluster(run, cluster, "hang")
            run.wait_for(lambda cluster=cluster, times=times: restarted(run, cluster, times),
                         f"cluster {cluster} again")
            run.wait_for(lambda: has(run) == {0: before[0] + 70, 1: before[1] - 70}, "the memory")
            run.wait_for(lambda c=cluster, t=times: len(run.events.of("serving", app=servers(run)[c])) == t + 1,
                         "its Redis")
        move(run, 0, 1, 70)
        end_cluster(run, 1, "panic")
        run.wait_for(lambda: restarted(run, 1, 3), "cluster 1 again")
        run.wait_for(lambda: has(run) == before, "the memory")
        assert not parked(run)


@pytest.mark.limit(500)
@pytest.mark.parametrize("lost", [0, 1])
def test_a_cluster_dies_meanwhile(lost: int) -> None:
    """the giver or the taker is lost in the middle of a move: at the end all memory has an owner, and the other's
    values are as they were"""
    with machine_serving(deployment()) as run:
        total = sum(has(run).values())
        other = servers(run)[1 - lost]
        fill(run, [other], b"d" * 4096, 500)
        for times, how in enumerate(("panic", "init", "hang", "panic"), 1):
            if times % 2:
                give_order(run, 0, 1, 40)
            end_cluster(run, lost, how)
            if not times % 2:  # what obeys first, the cores at a beat or the manager at a tick, is chance
                give_order(run, 0, 1, 40)
            run.wait_for(lambda times=times: restarted(run, lost, times), "the cluster again")
            run.wait_for(lambda times=times: len(run.events.of("serving", app=servers(run)[lost])) == times + 1,
                         "its Redis")
            run.wait_for(lambda: sum(has(run).values()) == total and not parked(run), "an owner for each piece")
            holds(run, [other], b"d" * 4096, 500)
        move(run, 1, 0, 20)


@pytest.mark.limit(300)
def test_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`move` waits until the memory is the other cluster's, says where it came from, and what is missing; `map` shows
    it"""
    with machine_serving(deployment()) as run:
        before, pid, file = has(run), str(os.getpid()), tmp_path / "results.json"

        def command(*arguments: str, status: int = 0) -> str:
            assert main([*arguments]) == status
            printed = capsys.readouterr()
            return (printed.err if status else printed.out).replace("\n", " ")

        assert "64 MiB of cluster 1's memory are cluster 0's after" in command("move", pid, "--memory", "64M", "--to",
                                                                               "0", "--json", str(file))
        assert json.loads(file.read_text())["bytes"] == 64 * MIB
        assert "cluster 1's at boot, now cluster 0's." in command("map", pid, "--json", str(file))
        now = [Piece(**piece) for piece in json.loads(file.read_text())["memory"]]
        assert now == in_force(run) and has(run) == {0: before[0] + 32, 1: before[1] - 32}
        assert "free in pieces of 2 MiB, not 1024 GiB" in command("move", pid, "--memory", "1T", "--to", "0", status=1)
        assert "is the cluster that is to get it" in command("move", pid, "--memory", "2M", "--to", "0", "--from", "0",
                                                             status=2)
        command("move", pid, "--memory", "64M", "--from", "0", "--to", "1")
        assert has(run) == before
        assert "at boot, now" not in command("map", pid)


@pytest.mark.limit(200)
def test_refused() -> None:
    """clusters that are not there, sizes that are none, and a word that names no cluster"""
    with machine_serving(deployment()) as run:
        before = has(run)
        events, now = run.events.events, in_force(run)
        assert memory_moves.givers(events, now, 0, None) == [1]
        for to, named in ((7, None), (0, 7), (0, 0)):
            with pytest.raises(InputError):
                memory_moves.givers(events, now, to, named)
        assert answer_of(run, 1, give_order(run, 1, 9, 1)) == memory_moves.REFUSED
        assert has(run) == before


@pytest.mark.limit(100)
def test_without_restart() -> None:
    """clusters that are not started again: no memory moves, and that is said in words"""
    with machine_serving(with_redis(2, 2)) as run:
        assert in_force(run) == []
        with pytest.raises(Failure, match="memory does not move to or from cluster 0"):
            memory_moves.givers(run.events.events, [], 0, 1)
