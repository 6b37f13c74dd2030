# SPDX-License-Identifier: BSD-2-Clause
"""Clusters and machines that are started again."""

import contextlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import redis

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.bench.failure.scene import WAYS, end_cluster
from deploy.deployment import Program, Redis, modules
from deploy.deployment.planner import Plan, plan
from deploy.machine import monitor, qemu
from deploy.machine.events import Event
from deploy.machine.run import Run
from tests.boot.machine import client, deployment, machine, machine_booted, machine_serving, order, servers, with_redis
from tests.boot.test_restart_cluster import restarted, write
from topology.maps.separate import separate
from topology.units import KIB, MIB

from . import machine as machines
from .test_machines import devices, exchange, loader_line

pytestmark = pytest.mark.drawn

# ---- Programs that end: what they had is free again, and their policy says whether they are started again ----

OFTEN = 16  # restarts in 60 s: as many as a limit can be


def program(name: str, cpu: int, restart: str, limit: int, *arguments: str, heap: int = 2 * MIB) -> Program:
    """A crash: a fault in the way that its argument names, or, where that is none, exit status 1."""
    return Program("crash", cpu, heap=heap, args=arguments, barrier=False, name=name, restart=restart,
                   restart_limit=limit, restart_delay=0)


def sleeper(name: str, cpu: int, restart: str, limit: int) -> Program:
    """Exit status 0."""
    return replace(program(name, cpu, restart, limit, "1", "1000"), program="sleep")


PROGRAMS = (
    program("faulty", 1, "on-failure", 3, "text"),
    program("failing", 1, "on-failure", 2),
    program("large", 1, "always", OFTEN, "null", heap=64 * MIB),
    sleeper("good", 1, "on-failure", 4),
    sleeper("busy", 1, "always", OFTEN),
    program("never", 1, "never", 5, "null"),
    # in the second cluster, where one of two writes
    program("alone", 3, "always", OFTEN, heap=64 * MIB),
    program("silent", 3, "on-failure", OFTEN, "null", heap=64 * MIB),
)
RESTARTS = {"faulty": 3, "failing": 2, "large": OFTEN, "good": 0, "busy": OFTEN, "never": 0, "alone": OFTEN,
            "silent": OFTEN}


def ends(run: Run, programs: Sequence[Program]) -> bool:
    """Each has ended for the last time: it stays down, or its policy lets it."""
    down = {base(event) for event in run.events.of("stays-down")}
    ended = {base(event) for kind in ("exit", "fault") for event in run.events.of(kind)}
    return all(p.name in (down if p.restart != "never" and RESTARTS[p.name or ""] else ended) for p in programs)


def base(event: Event) -> str:
    return str(event["app"]).partition("@")[0]


def switched_off(programs: Sequence[Program], check: Callable[[Run], None]) -> dict[int, Event]:
    """Returns what each cluster has free when all have ended."""
    with machine(deployment(network=False, programs=tuple(programs))) as run:
        run.wait_for(lambda: ends(run, programs), "the last end of each")
        check(run)
        monitor.human(run.command.monitor, monitor.POWER_BUTTON)
        run.wait_for(lambda: not run.running, "the machine is off")
        assert run.status == qemu.EXIT_SUCCESS
        return {event["cluster"]: event for event in run.events.of("memory")}


def check_restarts(run: Run) -> None:
    restarts = Counter(base(event) for event in run.events.of("restart"))
    starts = Counter(base(event) for event in run.events.of("started"))
    down = {base(event): event["restarts"] for event in run.events.of("stays-down")}
    assert restarts == Counter(RESTARTS)
    assert starts == {name: count + 1 for name, count in RESTARTS.items()}
    assert down == {name: count for name, count in RESTARTS.items() if count}
    assert {event["after_ms"] for event in run.events.of("restart")} == {0}
    for event in run.events.of("restart"):
        assert 1 <= event["restarts"] <= RESTARTS[base(event)]
    assert not run.events.of("failed")


def check_once(run: Run) -> None:
    assert not run.events.of("restart") and not run.events.of("stays-down")
    assert len(run.events.of("started")) == len(PROGRAMS)


@pytest.mark.limit(150)
def test_what_an_ended_program_had_is_free_again() -> None:
    """programs are started again by their policies, and leave as much free after many ends as after one"""
    often = switched_off(PROGRAMS, check_restarts)
    once = switched_off([replace(p, restart="never") for p in PROGRAMS], check_once)
    # what a manager keeps for programs' texts depends on how many write at once
    for cluster, (memory, slots) in enumerate(((64 * KIB, 64), (0, 0))):
        assert abs(often[cluster]["free"] - once[cluster]["free"]) <= memory
        assert abs(often[cluster]["slots"] - once[cluster]["slots"]) <= slots
        assert once[cluster]["total"] - once[cluster]["free"] < 16 * MIB  # the manager's, and what programs share


@pytest.mark.limit(150)
def test_run_ends() -> None:
    """a run ends when the programs that count have: one that is always started again keeps none from its end"""
    counted = replace(sleeper("counted", 3, "on-failure", 3), barrier=True)
    always = replace(sleeper("always", 1, "always", 0), barrier=True)
    what = deployment(network=False, programs=(counted, always), shutdown="when-done")
    with machine(what) as run:
        run.wait_done()
        (done,) = run.events.of("done")
        assert done["status"] == 0 and done.get("down") is None
    failing = replace(program("counted", 3, "on-failure", 2), barrier=True)
    with machine(replace(what, programs=(failing, always))) as run:
        run.wait_for(lambda: not run.running, "the end")
        (done,) = run.events.of("done")
        assert done["status"] == 1 and done["why"] == "an application ended too often and stays down"
        assert [name.partition("@")[0] for name in done["down"]] == ["counted"]
        assert len(run.events.of("restart", app=done["down"][0])) == 2


@pytest.mark.limit(150)
def test_run_is_over() -> None:
    """when the programs that count have ended the run is over, also where the machine runs on: nothing is started again
    then"""
    counted = replace(sleeper("counted", 1, "never", 0), args=("1", "3000000"), barrier=True)
    always = replace(sleeper("always", 3, "always", 0), args=("1", "300000"))
    with machine(deployment(network=False, programs=(counted, always), shutdown="never")) as run:
        run.wait_event("restart")
        done = run.wait_event("done")
        assert done["status"] == 0 and run.running
        begun, restarts = time.monotonic(), len(run.events.of("restart"))
        run.wait_for(lambda: time.monotonic() > begun + 3, "three seconds")
        assert restarts >= 1 and len(run.events.of("restart")) == restarts and run.running


def kill(run: Run, name: str, number: int) -> None:
    """Kills it by a write where it must not; returns when it serves again."""
    order(run, name, "DEBUG SEGFAULT")
    run.wait_for(lambda: len(run.events.of("restart", app=name)) == number, "the restart")
    run.wait_for(lambda: len(run.events.of("serving", app=name)) == number + 1, "serving again")


@pytest.mark.limit(200)
@pytest.mark.parametrize("stack", ["inproc", "process"])
def test_redis(stack: str) -> None:
    """a Redis that is killed comes up again, at its address, and the others serve on"""
    what = Redis(heap=64 * MIB, args=(*Redis.args, "--enable-debug-command", "yes"), stack=stack, restart="on-failure")
    with machine_serving(replace(with_redis(), redis=what)) as run:
        names = servers(run)
        for name in names:
            with client(run, name) as server:
                server.set("who", name)
        victims = (names[0], names[-1])  # beside the switch, and in the other cluster
        for number in (1, 2):
            for victim in victims:
                kill(run, victim, number)
                with client(run, victim) as server:
                    assert server.ping() and server.get("who") is None
                    server.set("who", victim)
        for name in names:
            with client(run, name) as server:
                assert server.get("who") == name.encode()
        assert not run.events.of("failed") and not run.events.of("cluster-lost") and run.running


# ---- The first cluster, which has the devices, the switch and the boot processor, is lost and starts again ----

_STOPS = 0xFDEBF4FA  # cli; 1: hlt; jmp 1b
_MASTER = 4  # of a PCI function's command, at offset 4
_WRITTEN = re.compile(r"pci_cfg_write (\S+) \S+ @0x4 <- 0x([0-9a-f]+)")


class _Survivor(threading.Thread):
    """Writes numbers to a Redis, and reads each back."""

    def __init__(self, run: Run, name: str) -> None:
        super().__init__(daemon=True)
        self.run_, self.server, self.writes, self.wrong = run, name, 0, list[str]()
        self.over = threading.Event()

    def run(self) -> None:
        with client(self.run_, self.server) as server:
            while not self.over.is_set():
                try:
                    server.set("number", self.writes)
                    if (value := server.get("number")) != str(self.writes).encode():
                        self.wrong.append(f"{value!r} in place of {self.writes}")
                    self.writes += 1
                except redis.RedisError as error:
                    self.wrong.append(str(error))
                    return

    def wrote_since(self, writes: int) -> bool:
        """Or will not any more."""
        return self.writes > writes or bool(self.wrong)


@contextmanager
def surviving(run: Run, name: str) -> Iterator[_Survivor]:
    survivor = _Survivor(run, name)
    survivor.start()
    try:
        yield survivor
    finally:
        survivor.over.set()
        survivor.join()


def serves_anew(run: Run, name: str) -> bool:
    """A Redis answers from outside, and keeps what it is given."""
    try:
        with client(run, name, socket_timeout=2, socket_connect_timeout=2) as server:
            return server.get("before") is None and server.set("after", "1") and server.get("after") == b"1"
    except redis.RedisError:
        return False


def split(run: Run) -> tuple[list[str], list[str]]:
    """Servers of the first cluster, and of the second."""
    first = run.plan.cluster_map.clusters[0].cpus
    here = [name for name in servers(run) if run.plan.application(name).cpu in first]
    return here, [name for name in servers(run) if name not in here]


@pytest.mark.limit(900)
def test_ways() -> None:
    """ended in each way, it serves again each time; one connection from outside to the other cluster's Redis lasts"""
    with machine_serving(with_redis(restart="on-failure", restart_limit=0)) as run:
        here, there = split(run)
        with client(run, there[1]) as other, surviving(run, there[0]) as survivor:
            other.set("number", "before")
            for number, how in enumerate(WAYS, 1):
                for name in here:
                    with client(run, name) as server:
                        server.set("before", how)
                end_cluster(run, 0, how, 1 if how in ("panic", "hang-core") else None)
                run.wait_for(partial(restarted, run, 0, number), f"cluster 0 again after {how}")
                for name in here:
                    run.wait_for(partial(serves_anew, run, name), f"{name} again after {how}")
                run.wait_for(partial(survivor.wrote_since, survivor.writes), f"the connection that lasts, after {how}")
                assert not survivor.wrong, survivor.wrong
                assert other.get("number") == b"before"
        assert [e["restarts"] for e in run.events.of("cluster-restarted")] == list(range(1, len(WAYS) + 1))
        assert [e["cluster"]
                for e in run.events.of("cluster-lost")] == [0] * len(WAYS) and not run.events.of("cluster-stuck")
        assert len(run.events.of("boot", cluster=1)) == 1 and not run.events.of("bad-line")
        assert all(len(run.events.of("started", app=name)) == 1 for name in there)


@pytest.mark.limit(300)
@pytest.mark.parametrize("how,core", [("panic", 0), ("panic", 1), ("hang-core", 0), ("hang", None)])
def test_boot_processor(how: str, core: int | None) -> None:
    """a cluster without devices that has the boot processor, whose core an NMI fences, wherever it stands"""
    what = plan(deployment(network=False, restart="on-failure", restart_limit=0))
    first, second = what.cluster_map.clusters
    first.cpus, second.cpus = second.cpus, first.cpus
    first.memory, second.memory = second.memory, first.memory
    with machine_booted(what) as run:
        for number in (1, 2):
            end_cluster(run, 1, how, core)
            run.wait_for(partial(restarted, run, 1, number), f"cluster 1 again after {how}")
        assert run.running and len(run.events.of("boot", cluster=0)) == 1


@pytest.mark.limit(150)
def test_devices_are_quiet() -> None:
    """all functions are no bus masters any more before the cluster is loaded; the card is one again when it is reset"""
    with machine_serving(with_redis(restart="on-failure")) as run:
        here, _ = split(run)
        monitor.human(run.command.monitor, "trace-event pci_cfg_write on")
        before = len(run.command.log.read_text(errors="replace"))
        end_cluster(run, 0, "hang")
        run.wait_for(lambda: restarted(run, 0, 1), "cluster 0 again")
        run.wait_for(lambda: all(serves_anew(run, name) for name in here), "its Redis")
        written = _WRITTEN.findall(run.command.log.read_text(errors="replace")[before:])
    commands = {name: [int(value, 16) for function, value in written if function == name] for name, _ in written}
    card = next(commands[name] for name in commands if name.startswith("virtio-net"))
    others = {name: values for name, values in commands.items() if not name.startswith("virtio-net")}
    assert not card[0] & _MASTER and card[-1] & _MASTER and sum(bool(value & _MASTER) for value in card) == 1, card
    # only the loader does that
    assert others and all(len(values) == 1 and not values[0] & _MASTER for values in others.values()), others


@pytest.mark.limit(150)
def test_is_told() -> None:
    """a later life of the first cluster goes on with the run: what serves is not started again, what ended stays so"""
    with machine_booted(deployment(3, 1, network=False, restart="on-failure")) as run:
        for number in (1, 2):
            end_cluster(run, 0, "panic")
            run.wait_for(partial(restarted, run, 0, number), "cluster 0 again")
        end_cluster(run, 2, "panic")  # whose rescue is the new life's
        run.wait_for(lambda: restarted(run, 2, 1), "cluster 2 again")
        assert run.running and len(run.events.of("boot", cluster=1)) == 1


@pytest.mark.limit(150)
def test_stuck() -> None:
    """a boot processor that does not come to the loader: nothing is loaded, and the others say so"""
    with machine_booted(deployment(network=False, restart="on-failure")) as run:
        write(run, Image(BUILD / modules.LOADER).symbol("resident_park").address, _STOPS)
        end_cluster(run, 0, "hang")
        run.wait_for(lambda: "cluster 0 stays down: not all its cores come to the loader" in run.own_console,
                     "the end of three tries")
        assert run.running and run.own_console.count("cluster 0: kernel") == 1 and run.own_console.count("cluster 0 is "
            "fenced") == 1
        with pytest.raises(Failure, match="cluster 0, which reports for all, is lost: not all its cores"):
            run.wait_done()


# ---- Of two machines with a cluster each, one is ended and switched on again: it joins the other, which goes on ----

class Machines(contextlib.ExitStack):
    """The machines of a deployment, each of which can be switched on as often as one likes."""

    def __init__(self, what: Plan, folder: Path) -> None:
        super().__init__()
        self.what, self.folder = what, folder
        self.map, self.parts = separate(what.cluster_map, what.machine)

    def start(self, number: int) -> Run:
        own = replace(
            self.what, cluster_map=self.map, machine=self.parts[number], forwards=[] if number else self.what.forwards
        )
        extra = (*devices(self.map, number, self.folder), "-append", f"machine={number}")
        return self.enter_context(machines.machine(own, extra=extra))

    def names(self, cluster: int) -> list[str]:
        whole = self.what.cluster_map
        return [a.name for a in whole.applications if a.program == "redis-server"
                and whole.cluster_of(a.cpu).number == cluster]


def serving(first: Run, name: str, times: int) -> None:
    first.wait_for(lambda: len(first.events.of("serving", app=name)) >= times, f"{name} serves for the {times}th time")


def test_a_machine_that_is_started_again_joins_the_other(tmp_path: Path) -> None:
    """Ended under load, twice in a row, then while it boots. The other's connection lasts through all of it."""
    with Machines(plan(machines.with_redis()), tmp_path) as all_of:
        first, second = all_of.start(0), all_of.start(1)
        first.wait_serving()
        here, there = all_of.names(0)[0], all_of.names(1)[0]
        steady = machines.client(first, here)
        steady.set("kept", "all the time")
        identity = steady.client_id()
        for life in (2, 3):
            machines.client(first, there).set("of", f"life {life - 1}")
            second.stop()
            second = all_of.start(1)
            if life == 3:  # it has said hello, and dies before its kernel says anything
                loader_line(second, "joins cluster 0")
                second.stop()
                second = all_of.start(1)
            serving(first, there, life)
            assert machines.client(first, there).get("of") is None
            exchange(first, there)
        assert steady.get("kept") == b"all the time" and steady.client_id() == identity
        restarted = [(event["cluster"], event["restarts"]) for event in first.events.of("cluster-restarted")]
        assert restarted[0] == (1, 1) and len(restarted) == 2 and restarted[1][1] in (2, 3)


def test_the_machine_with_the_devices_joins_the_other(tmp_path: Path) -> None:
    """The other's Redis keeps what it has; events tell of all that runs, since the new one's reader has seen none."""
    with Machines(plan(machines.with_redis()), tmp_path) as all_of:
        first, second = all_of.start(0), all_of.start(1)
        first.wait_serving()
        here, there = all_of.names(0)[0], all_of.names(1)[0]
        for name in (here, there):
            machines.client(first, name).set("written", "before")
        first.stop()
        first = all_of.start(0)
        first.wait_serving()
        assert machines.client(first, there).get("written") == b"before"
        assert machines.client(first, here).get("written") is None
        exchange(first, here)
        second.poll()
        assert second.running
        assert {event["cluster"] for event in first.events.of("boot")} == {0, 1}


def test_machines_that_are_ended_while_they_meet(tmp_path: Path) -> None:
    """Each waits for the other, is ended, and comes back; they meet once, and nobody joins anybody."""
    with Machines(plan(machines.with_redis()), tmp_path) as all_of:
        for number in (1, 0):
            waiting = all_of.start(number)
            loader_line(waiting, f"waiting for the machine of cluster {1 - number}")
            waiting.stop()
        second, first = all_of.start(1), all_of.start(0)
        first.wait_serving()
        for name in machines.servers(first):
            exchange(first, name)
        machines.assert_no_fault(first)
        assert "joins" not in first.console + second.console
