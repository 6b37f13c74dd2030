# SPDX-License-Identifier: BSD-2-Clause
"""The first cluster, which has the devices, the switch and the boot processor, is lost and starts again."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
import redis

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.bench.failure.scene import WAYS, end_cluster
from deploy.deployment import modules
from deploy.deployment.planner import plan
from deploy.machine import monitor
from deploy.machine.run import Run
from tests.boot.machine import client, deployment, machine, servers, with_redis
from tests.boot.test_detection import boots
from tests.boot.test_restart_cluster import restarted, write

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
                    if (found := server.get("number")) != str(self.writes).encode():
                        self.wrong.append(f"{found!r} in place of {self.writes}")
                    self.writes += 1
                except redis.RedisError as error:
                    self.wrong.append(str(error))
                    return

    def wrote_since(self, writes: int) -> bool:
        """Or will not any more."""
        return self.writes > writes or bool(self.wrong)


@contextmanager
def surviving(run: Run, name: str) -> Iterator[_Survivor]:
    found = _Survivor(run, name)
    found.start()
    try:
        yield found
    finally:
        found.over.set()
        found.join()


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
    with machine(with_redis(restart="on-failure", restart_limit=0)) as run:
        run.wait_serving()
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
        assert [e["cluster"] for e in run.events.of("cluster-lost")] == [0] * len(WAYS) and not run.events.of("cluster-stuck")
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
    with machine(what) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        for number in (1, 2):
            end_cluster(run, 1, how, core)
            run.wait_for(partial(restarted, run, 1, number), f"cluster 1 again after {how}")
        assert run.running and len(run.events.of("boot", cluster=0)) == 1


@pytest.mark.limit(150)
def test_devices_are_quiet() -> None:
    """all functions are no bus masters any more before the cluster is loaded; the card is one again when it is reset"""
    with machine(with_redis(restart="on-failure")) as run:
        run.wait_serving()
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
    assert others and all(len(values) == 1 and not values[0] & _MASTER for values in others.values()), others  # only the loader does that


@pytest.mark.limit(150)
def test_is_told() -> None:
    """a later life of the first cluster goes on with the run: what serves is not started again, what ended stays so"""
    with machine(deployment(3, 1, network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        for number in (1, 2):
            end_cluster(run, 0, "panic")
            run.wait_for(partial(restarted, run, 0, number), "cluster 0 again")
        end_cluster(run, 2, "panic")  # whose rescue is the new life's
        run.wait_for(lambda: restarted(run, 2, 1), "cluster 2 again")
        assert run.running and len(run.events.of("boot", cluster=1)) == 1


@pytest.mark.limit(150)
def test_stuck() -> None:
    """a boot processor that does not come to the loader: nothing is loaded, and the others say so"""
    with machine(deployment(network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        write(run, Image(BUILD / modules.LOADER).symbol("resident_park").address, _STOPS)
        end_cluster(run, 0, "hang")
        run.wait_for(lambda: "cluster 0 stays down: not all its cores come to the loader" in run.own_console, "the end of three tries")
        assert run.running and run.own_console.count("cluster 0: kernel") == 1 and run.own_console.count("cluster 0 is fenced") == 1
        with pytest.raises(Failure, match="cluster 0, which reports for all, is lost: not all its cores"):
            run.wait_done()
