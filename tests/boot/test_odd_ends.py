# SPDX-License-Identifier: BSD-2-Clause
"""Programs that end in odd ways, in other ways, and by themselves."""

import os
import random
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
import redis

from deploy.base.paths import ROOT
from deploy.deployment import Deployment, Redis, modules
from deploy.live import cores, kill, ledger as ledger_orders, memory_moves
from deploy.live.cores import OWNED
from deploy.live.lockstat import live
from deploy.machine import gdb_remote, monitor
from deploy.machine.events import boots_of, losses, standing
from deploy.machine.run import Run
from tests.boot import pages, test_move, test_move_memory
from tests.boot.machine import (
    assert_serve,
    client,
    deployment,
    killed,
    machine,
    machine_booted,
    machine_serving,
    order,
    servers,
    waiting_client,
    with_redis,
)
from tests.boot.test_restart_cluster import STATES, control, life as life_of, restarted
from topology.units import MIB

pytestmark = pytest.mark.drawn

# ---- Ends at odd moments: of a cluster that is being started again, of the first one meanwhile, of one ----

RUNNING, DOWN = 1, 5  # enum control_state of cluster_control.h
LATER = 5000          # ms of a restart's delay: the longest there is


def read(run: Run, address: int) -> int:
    """A word of the machine's memory."""
    (answer,) = monitor.human(run.command.monitor, f"xp /1gx {address:#x}")
    return int(answer.strip().replace("\r", "").rpartition(" ")[2], 16)


def await_life(run: Run, cluster: int, life: int) -> None:
    run.wait_for(lambda: life_of(run, cluster) == life, f"life {life} of cluster {cluster}")


@pytest.mark.limit(200)
@pytest.mark.parametrize("how", ["panic", "hang"])
def test_dies_while_it_boots(how: str) -> None:
    """a cluster that was just loaded again is ended before its manager says anything: it is loaded once more"""
    with machine_booted(deployment(network=False, restart="on-failure", restart_limit=0, restart_delay=0)) as run:
        again = orders(run, 1, how=how)
        write(run, orders(run, 1, how="panic"))
        await_life(run, 1, 2)
        write(run, again)
        await_life(run, 1, 3)
        run.wait_for(lambda: watching(run, 1), "cluster 1, in its third life")
        assert len(run.events.of("boot", cluster=0)) == 1 and not run.events.of("cluster-lost", cluster=0)


def watching(run: Run, cluster: int) -> bool:
    """Whether nothing is wrong with it, as far as the others know."""
    run.poll()
    return len(run.events.of("boot", cluster=cluster)) >= 2 and cluster not in losses(run.events.events)


@pytest.mark.limit(300)
@pytest.mark.parametrize("how", ["panic", "hang"])
def test_first_dies_while_another_boots(how: str) -> None:
    """the first cluster ends in the moment in which another one, which it has loaded, begins to boot: both serve again,
    and nobody forgets a program"""
    with machine_serving(with_redis(restart="on-failure", restart_limit=0, restart_delay=0)) as run:
        first = orders(run, 0, how=how)
        write(run, orders(run, 1, how="panic"))
        await_life(run, 1, 2)
        write(run, first)
        await_life(run, 0, 2)
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        for name in servers(run):
            run.wait_for(lambda name=name: len(run.events.of("serving", app=name)) >= 2, f"{name} again")
            assert_serve(run, name)
        assert not run.events.of("failed") and not run.events.of("cluster-stuck")


@pytest.mark.limit(300)
def test_report_is_lost() -> None:
    """a program of a cluster that has started again begins to serve while the first cluster hangs: its next life tells
    it"""
    with machine_serving(with_redis(restart="on-failure", restart_limit=0, restart_delay=0)) as run:
        first, name = orders(run, 0, how="hang"), servers(run)[-1]
        write(run, orders(run, 1, how="panic"))
        # it takes longer to serve than a beat
        run.wait_for(lambda: len(run.events.of("started", app=name)) == 2, f"{name} is started")
        write(run, first)
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: len(run.events.of("serving", app=name)) == 2, f"{name} serves, and that is told")
        assert_serve(run, name)
        assert not run.events.of("failed") and life_of(run, 1) == 2


@pytest.mark.limit(200)
def test_starts_again_while_the_first_is_lost() -> None:
    """a cluster that the first one has told to be lost starts again while the first one is lost, too: nobody takes it
    for lost afterwards"""
    with machine_booted(deployment(3, network=False, restart="on-failure", restart_delay=LATER)) as run:
        first = orders(run, 0, how="panic")
        write(run, orders(run, 1, how="panic"))
        run.wait_event("cluster-lost", cluster=1)
        write(run, first)
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: watching(run, 1), "cluster 1")
        # which of the two boots first is chance: the report is lost and told again, or is not lost
        assert len(run.events.of("boot", cluster=1)) == 2
        assert not [event for event in standing(run.events.events) if event.kind == "cluster-lost"]
        assert len(run.events.of("boot", cluster=2)) == 1 and life_of(run, 1) == life_of(run, 0) == 2


@pytest.mark.limit(200)
def test_back_to_life() -> None:
    """a manager hangs, counts as lost, and goes on before it is fenced: it is started again all the same, and takes
    nobody for lost"""
    with machine_booted(deployment(network=False, restart="on-failure", restart_delay=LATER)) as run:
        place = physical(run, run.plan.cluster_map.clusters[1].cpus[0], "moves_tick")
        whole = read(run, place)
        write(run, [(place, LOOP)])
        assert run.wait_event("cluster-lost", cluster=1)["reason"] == "manager"
        write(run, [(place, whole)])
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert life_of(run, 1) == 2 and life_of(run, 0) == 1 and len(run.events.of("boot", cluster=0)) == 1
        assert not run.events.of("cluster-lost", cluster=0)


@pytest.mark.limit(200)
@pytest.mark.parametrize("state", [0, DOWN, 99, 0xFF])
def test_spoilt_control_word(state: int) -> None:
    """a cluster's control word holds no state from which it can be started again: the others say so when it is lost,
    and go on"""
    with machine_booted(deployment(network=False, restart="on-failure")) as run:
        write(run, [(control(1), 1 << LIFE_SHIFT | state), *orders(run, 1, how="panic")])
        run.wait_event("cluster-lost", cluster=1)
        assert "control word" in run.wait_event("cluster-stuck", cluster=1)["why"]
        assert run.running and len(run.events.of("cluster-stuck")) == 1


@pytest.mark.limit(200)
def test_wild_life() -> None:
    """a control word counts lives that never were: the cluster is started again, in the life after those"""
    with machine_booted(deployment(network=False, restart="on-failure")) as run:
        write(run, [(control(1), 77 << LIFE_SHIFT | RUNNING), *orders(run, 1, how="panic")])
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert life_of(run, 1) == 78


# ---- Ends that nobody can order: spoilt code, wild writes into what others read, several clusters in one ----

BREAKPOINTS, LOOP = 0xCCCCCCCCCCCCCCCC, 0xFEEB  # INT3 again and again; a jump to itself
DYING = 2  # LEDGER_DYING
STATE, TEXT, ORDER, LIFE, KERNEL_PAGE = 8, 64, 128, 192, 4096  # of struct ledger_kernel
LIFE_SHIFT, CLAIMER_SHIFT, CLAIMED = 32, 8, 2  # of a control word


def write(run: Run, words: list[tuple[int, int]]) -> None:
    """All in one moment of the machine."""
    gdb_remote.write_words(lambda line: monitor.human(run.command.monitor, line)[0], words)


def orders(run: Run, *clusters: int, how: str) -> list[tuple[int, int]]:
    """Returns the words to write that end these clusters."""
    run.poll()
    writes: list[tuple[int, int]] = []
    for cluster in clusters:
        boot = kill.check(run.events.events, cluster, how)
        kill.order(lambda address, word: writes.append((address, word)), boot, how)
    return writes


def physical(run: Run, core: int, function: str) -> int:
    """Returns the physical address of a function of the manager that runs on this core of the machine."""
    vaddr, _ = pages.symbol(modules.module_path("root"), function)
    places: list[int] = []

    def look() -> bool:
        places[:] = [page.paddr + vaddr - page.vaddr for page in pages.of_core(run, core)
                     if page.vaddr <= vaddr < page.vaddr + page.size]
        return bool(places)

    run.wait_for(look, f"the manager of core {core}")
    return places[0]


@pytest.mark.limit(150)
@pytest.mark.parametrize("function,code,reason", [("sign_tick", BREAKPOINTS, "timer"), ("moves_tick", LOOP, "manager")],
                         ids=["timer", "main loop"])
def test_spoilt_manager(function: str, code: int, reason: str) -> None:
    """the manager's timer thread stops, or its main thread loops: the others say which, and it comes back with whole
    code"""
    with machine_booted(deployment(network=False, restart="on-failure")) as run:
        first = run.plan.cluster_map.clusters[1].cpus[0]
        write(run, [(physical(run, first, function), code)])
        assert run.wait_event("cluster-lost", cluster=1)["reason"] == reason
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert life_of(run, 1) == 2 and len(run.events.of("boot", cluster=0)) == 1


@pytest.mark.limit(300)
def test_wild_writes_into_the_ledger() -> None:
    """random words where others read a cluster's signs of life, and last words that it never said: at worst that
    cluster starts again"""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    with machine_serving(test_move.deployment()) as run:
        here, there = servers(run)
        with client(run, here) as server:
            for times in range(1, 4):
                ledger = int(boots_of(run.events.events)[1]["ledger"])
                places = [at for at in range(0, KERNEL_PAGE, 8) if not ORDER <= at < LIFE]
                words = [(ledger + at, drawn.randrange(1 << 64)) for at in drawn.sample(places, 40)]
                text = [(ledger + TEXT + 8 * i, drawn.randrange(1 << 64)) for i in range(8)]
                write(run, [*words, *text, (ledger + STATE, drawn.randrange(1 << 32) << 32 | DYING)])
                run.wait_for(lambda times=times: restarted(run, 1, times), "cluster 1 again")
                run.wait_for(lambda times=times: len(run.events.of("serving", app=there)) == times + 1, "its Redis")
                assert server.set("key", str(times)) and server.get("key") == str(times).encode()
            assert server.ping()
        assert_serve(run, there)
        assert life_of(run, 1) == 4 and not run.events.of("cluster-lost",
                                                             cluster=0) and not run.events.of("bad-line")


@pytest.mark.limit(200)
def test_claim_of_nobody() -> None:
    """a cluster's control word says that a cluster claims it that is not there: it goes on, and comes back when it is
    lost"""
    with machine_booted(deployment(3, 1, network=False, restart="on-failure")) as run:
        write(run, [(control(1), 1 << LIFE_SHIFT | 7 << CLAIMER_SHIFT | CLAIMED)])
        write(run, orders(run, 1, how="hang"))
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert life_of(run, 1) == 2


@pytest.mark.limit(200)
@pytest.mark.parametrize("how", ["panic", "hang"])
def test_two_in_one_moment(how: str) -> None:
    """two clusters are ended between two instructions of a third, the first one among them: it starts both again"""
    with machine_booted(deployment(3, 2, network=False, restart="on-failure")) as run:
        write(run, orders(run, 0, 1, how=how))
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: [life_of(run, cluster) for cluster in range(3)] == [2, 2, 1], "the lives")
        run.wait_for(lambda: run.own_console.count("cluster 1: kernel") == 2, "the second one")


@pytest.mark.limit(300)
@pytest.mark.parametrize("state", STATES)
def test_claimer_of_the_first_dies(state: str) -> None:
    """the cluster that fences the first one (the boot processor, by NMI) and starts it again is lost half-way, in each
    of its states"""
    with machine_booted(deployment(3, 1, network=False, restart="on-failure")) as run:
        write(run, [*orders(run, 0, 1, how="hang"),
                    (control(0), 1 << LIFE_SHIFT | 1 << CLAIMER_SHIFT | STATES[state])])
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: [life_of(run, cluster) for cluster in range(3)] == [2, 2, 1], "the lives")


@pytest.mark.limit(300)
@pytest.mark.parametrize("how", ["panic", "init"])
def test_both_sides_of_a_move_die(how: str) -> None:
    """giver and taker of a core, and of memory, end in the moment of the order: a third cluster starts both again, and
    nothing is lost"""
    with machine_booted(deployment(3, 2, network=False, restart="on-failure", restart_delay=0, restart_limit=0,
                                   spare_cores=True)) as run:
        total = sum(test_move_memory.has(run).values())
        for times in range(1, 4):
            words = orders(run, 1, 2, how=how)
            here = {core.number: core.cluster for core in test_move.in_force(run)}
            to = 3 - here[5]
            boot, memory = boots_of(run.events.events)[here[5]], live.monitor_memory(run.directory)

            def collect(address: int, word: int, words: list[tuple[int, int]] = words) -> None:
                words.append((address, word))

            cores.order(collect, boot, 5, to, ledger_orders.CORE.unused(run.events.events, memory))
            memory_moves.order(collect, boot, 20, to, ledger_orders.MEMORY.unused(run.events.events, memory))
            write(run, words)
            run.wait_for(lambda times=times: restarted(run, 1, times) and restarted(run, 2, times), "both again")
            run.wait_for(lambda: all(core.state == OWNED for core in test_move.in_force(run)), "an owner for each core")
            run.wait_for(lambda: sum(test_move_memory.has(run).values()) == total and not test_move_memory.parked(run),
                         "an owner for each piece")
        assert len(run.events.of("boot", cluster=0)) == 1


# ---- Clients of an instance that faults learn of it, and those of others do not; its successor serves new ones ----

PATIENCE = 90  # seconds: only a peer that hears nothing waits so long


def deployed(restart: str = "never") -> Deployment:
    """Two clusters: the network and a Redis in the first, two in the second."""
    what = with_redis()
    assert what.redis
    args = (*what.redis.args, "--enable-debug-command", "yes")
    return replace(what, redis=replace(what.redis, args=args, restart=restart))


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with machine(deployed()) as running:
        running.wait_serving()
        yield running


def is_over(connection: socket.socket) -> bool:
    """Whether the connection ends, in place of silence."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("place", [0, -1], ids=["switch's cluster", "other cluster"])
def test_ended(run: Run, place: int) -> None:
    """a waiting client and new ones of an ended instance are reset; another instance serves on"""
    name = servers(run)[place]
    other = servers(run)[1]
    with waiting_client(run, name) as waiting:
        with socket.create_connection(run.address(name), PATIENCE) as last:
            last.sendall(b"DEBUG SEGFAULT\r\n")
            run.wait_event("fault", app=name)
            assert is_over(waiting), "the client still waits for its answer"
            assert is_over(last)
    for _ in range(3):
        try:
            connection = socket.create_connection(run.address(name), PATIENCE)
        except ConnectionError:
            continue
        with connection:
            assert is_over(connection), "a new client hears nothing"
    assert_serve(run, other)


def test_successors() -> None:
    """an instance that faults again and again is started again, and serves at the same port; another one serves on"""
    with machine_serving(deployed("always")) as run:
        names = servers(run)[0], servers(run)[-1]
        with client(run, servers(run)[1]) as other:
            for life in (2, 3):
                for name in names:
                    with socket.create_connection(run.address(name), PATIENCE) as last:
                        last.sendall(b"DEBUG SEGFAULT\r\n")
                        assert is_over(last)
                    run.wait_for(lambda name=name, life=life: len(run.events.of("serving", app=name)) == life,
                                 "it serves again")
                    with client(run, name) as server:
                        assert server.set("life", life) and server.get("life") == str(life).encode()
                        assert server.info("clients")["connected_clients"] == 1
                    assert other.ping()


# ---- A Redis that gives up ends, and says so ----

ABORTED = 128 + 6  # as a shell has it
SKERRY = (str(ROOT / "skerry"),)
DEBUGGED = Redis(heap=64 * MIB, args=(*Redis.args, "--enable-debug-command", "yes"))


@pytest.mark.limit(150)
@pytest.mark.parametrize("how", ["ASSERT", "PANIC"])
def test_aborts(how: str) -> None:
    """a Redis that aborts ends its background threads, then itself, and nothing else"""
    with machine_serving(replace(with_redis(), redis=DEBUGGED)) as run:
        first, *_, last = servers(run)
        with client(run, last, retry=None) as server, pytest.raises(redis.RedisError):
            server.execute_command("DEBUG", how)
        assert run.wait_event("exit", app=last)["status"] == ABORTED
        for number in range(3):
            assert f"Bio thread for job type #{number} terminated" in run.console
        assert "BUG REPORT END" in run.console
        assert_serve(run, first)
        assert not run.events.of("fault") and run.running


@pytest.mark.limit(150)
def test_faults() -> None:
    """a Redis that writes where it must not is killed"""
    with machine_serving(replace(with_redis(), redis=DEBUGGED)) as run:
        first, *_, last = servers(run)
        order(run, last, "DEBUG SEGFAULT")
        assert "page fault" in str(run.wait_event("fault", app=last)["cause"]).lower()
        assert_serve(run, first)
        assert not run.events.of("exit") and run.running


@pytest.mark.limit(150)
def test_nothing_left() -> None:
    """a Redis whose heap has not even room for the report says so once and ends"""
    unlimited = Redis(heap=32 * MIB, args=(*Redis.args, "--maxmemory", "0"))
    with machine_serving(replace(with_redis(cores=1), redis=unlimited)) as run:
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
    with killed(subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True)) as process:
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
            tail = read_until(process, "posix: ends by signal 6")
            assert "is not true" in tail and all(line.startswith("    ") for line in tail.splitlines()), tail
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


def read_until(process: subprocess.Popen[str], text: str, stream: IO[str] | None = None) -> str:
    """Reads what it prints until a line holds the text; the test's time limit ends a wait that is in vain."""
    stream = stream or process.stdout
    assert stream
    printed = ""
    for line in stream:
        printed += line
        if text in line:
            return printed
    raise AssertionError(f"no {text!r} in {printed}")
