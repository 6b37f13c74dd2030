# SPDX-License-Identifier: BSD-2-Clause
"""Ends that nobody can order: spoilt code, wild writes into what others read, several clusters in one moment, both sides of a move."""

from __future__ import annotations

import random

import pytest

from deploy.deployment import modules
from deploy.live import cores, kill, memory_moves
from deploy.live.cores import OWNED
from deploy.live.lockstat import live
from deploy.machine import gdb_remote, monitor
from deploy.machine.run import Run
from tests.boot import lives, pages, test_move, test_move_memory
from tests.boot.machine import client, deployment, machine, servers
from tests.boot.test_detection import boots
from tests.boot.test_restart_cluster import STATES, restarted

BREAKPOINTS, LOOP = 0xCCCCCCCCCCCCCCCC, 0xFEEB  # INT3 again and again; a jump to itself
DYING = 2  # LEDGER_DYING
STATE, TEXT, ORDER, LIFE, KERNEL_PAGE = 8, 64, 128, 192, 4096  # of struct ledger_kernel
LIFE_SHIFT, CLAIMER_SHIFT, CLAIMED = 32, 8, 2  # of a control word


def write(run: Run, words: list[tuple[int, int]]) -> None:
    """All in one moment of the machine."""
    gdb_remote.write_words(lambda line: monitor.human(run.command.monitor, line)[0], words)


def orders(run: Run, *clusters: int, how: str) -> list[tuple[int, int]]:
    """What ends these clusters, to be written."""
    run.poll()
    found: list[tuple[int, int]] = []
    for cluster in clusters:
        boot = kill.check(run.events.events, cluster, how)
        kill.order(lambda address, word: found.append((address, word)), boot, how)
    return found


def physical(run: Run, core: int, function: str) -> int:
    """Where a function of the manager is that runs on this core of the machine."""
    vaddr, _ = pages.symbol(modules.module_path("root"), function)
    found: list[int] = []

    def look() -> bool:
        found[:] = [page.paddr + vaddr - page.vaddr for page in pages.of_core(run, core) if page.vaddr <= vaddr < page.vaddr + page.size]
        return bool(found)

    run.wait_for(look, f"the manager of core {core}")
    return found[0]


@pytest.mark.limit(150)
@pytest.mark.parametrize("function,code,reason", [("sign_tick", BREAKPOINTS, "timer"), ("moves_tick", LOOP, "manager")], ids=["timer", "main loop"])
def test_spoilt_manager(function: str, code: int, reason: str) -> None:
    """the manager's timer thread stops, or its main thread loops: the others say which, and it comes back with whole code"""
    with machine(deployment(network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        first = run.plan.cluster_map.clusters[1].cpus[0]
        write(run, [(physical(run, first, function), code)])
        assert run.wait_event("cluster-lost", cluster=1)["reason"] == reason
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert lives.life(run, 1) == 2 and len(run.events.of("boot", cluster=0)) == 1


@pytest.mark.limit(300)
def test_wild_writes_into_the_ledger() -> None:
    """random words where others read a cluster's signs of life, and last words that it never said: at worst that cluster starts again"""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    with machine(test_move.deployment()) as run:
        run.wait_serving()
        here, there = servers(run)
        with client(run, here) as server:
            for times in range(1, 4):
                ledger = int(cores.boots_of(run.events.events)[1]["ledger"])
                places = [at for at in range(0, KERNEL_PAGE, 8) if not ORDER <= at < LIFE]
                words = [(ledger + at, drawn.randrange(1 << 64)) for at in drawn.sample(places, 40)]
                said = [(ledger + TEXT + 8 * i, drawn.randrange(1 << 64)) for i in range(8)]
                write(run, [*words, *said, (ledger + STATE, drawn.randrange(1 << 32) << 32 | DYING)])
                run.wait_for(lambda times=times: restarted(run, 1, times), "cluster 1 again")
                run.wait_for(lambda times=times: len(run.events.of("serving", app=there)) == times + 1, "its Redis")
                assert server.set("key", str(times)) and server.get("key") == str(times).encode()
            assert server.ping()
        with client(run, there) as server:
            assert server.ping()
        assert lives.life(run, 1) == 4 and not run.events.of("cluster-lost", cluster=0) and not run.events.of("bad-line")


@pytest.mark.limit(200)
def test_claim_of_nobody() -> None:
    """a cluster's control word says that a cluster claims it that is not there: it goes on, and comes back when it is lost"""
    with machine(deployment(3, 1, network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        write(run, [(lives.control(1), 1 << LIFE_SHIFT | 7 << CLAIMER_SHIFT | CLAIMED)])
        write(run, orders(run, 1, how="hang"))
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert lives.life(run, 1) == 2


@pytest.mark.limit(200)
@pytest.mark.parametrize("how", ["panic", "hang"])
def test_two_in_one_moment(how: str) -> None:
    """two clusters are ended between two instructions of a third, the first one among them: it starts both again"""
    with machine(deployment(3, 2, network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        write(run, orders(run, 0, 1, how=how))
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: [lives.life(run, cluster) for cluster in range(3)] == [2, 2, 1], "the lives")
        run.wait_for(lambda: run.own_console.count("cluster 1: kernel") == 2, "the second one")


@pytest.mark.limit(300)
@pytest.mark.parametrize("state", STATES)
def test_claimer_of_the_first_dies(state: str) -> None:
    """the cluster that fences the first one (the boot processor, by NMI) and starts it again is lost half-way, in each of its states"""
    with machine(deployment(3, 1, network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        write(run, [*orders(run, 0, 1, how="hang"), (lives.control(0), 1 << LIFE_SHIFT | 1 << CLAIMER_SHIFT | STATES[state])])
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: [lives.life(run, cluster) for cluster in range(3)] == [2, 2, 1], "the lives")


@pytest.mark.limit(300)
@pytest.mark.parametrize("how", ["panic", "init"])
def test_both_sides_of_a_move_die(how: str) -> None:
    """giver and taker of a core, and of memory, end in the moment of the order: a third cluster starts both again, and nothing is lost"""
    with machine(deployment(3, 2, network=False, restart="on-failure", restart_delay=0, restart_limit=0, spare_cores=True)) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        total = sum(test_move_memory.has(run).values())
        for times in range(1, 4):
            words = orders(run, 1, 2, how=how)
            here = {core.number: core.cluster for core in test_move.in_force(run)}
            to = 3 - here[5]
            boot, memory = cores.boots_of(run.events.events)[here[5]], live.monitor_memory(run.directory)

            def collect(address: int, word: int, words: list[tuple[int, int]] = words) -> None:
                words.append((address, word))

            cores.order(collect, boot, 5, to, cores.NUMBERING.unused(run.events.events, memory))
            memory_moves.order(collect, boot, 20, to, memory_moves.NUMBERING.unused(run.events.events, memory))
            write(run, words)
            run.wait_for(lambda times=times: restarted(run, 1, times) and restarted(run, 2, times), "both again")
            run.wait_for(lambda: all(core.state == OWNED for core in test_move.in_force(run)), "an owner for each core")
            run.wait_for(lambda: sum(test_move_memory.has(run).values()) == total and not test_move_memory.parked(run), "an owner for each piece")
        assert len(run.events.of("boot", cluster=0)) == 1
