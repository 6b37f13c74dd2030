# SPDX-License-Identifier: BSD-2-Clause
"""Boots: each image, quiet ones, and the way out."""

import socket
from dataclasses import replace

import pytest
import redis

from deploy.base.timeouts import Patience
from deploy.deployment import Load, Subnet
from deploy.machine import qemu
from deploy.machine.run import Run
from deploy.results.snapshots import between
from tests.boot.machine import ANSWER, assert_no_fault, assert_serve, client, machine, servers, with_redis
from topology.maps.clustermap import Network

# ---- From power-on to Redis that answers: on 2, 4 and 8 cores, in 1, 2 and 4 clusters, by every way in ----

SHAPES = [
    (1, 2, "spanning"),
    (2, 1, "per-socket"),
    (2, 2, "per-socket"),
    (2, 2, "spanning"),
    (4, 1, "per-socket"),
    (1, 8, "spanning"),
    (2, 4, "per-socket"),
    (4, 2, "per-socket"),
]


def answers(run: object) -> None:
    run.wait_serving()
    for name in servers(run):
        with client(run, name) as server:
            assert server.ping()
            assert server.set("who", name)
            assert server.get("who") == name.encode()
    assert_no_fault(run)


@pytest.mark.limit(150)
@pytest.mark.parametrize("sockets,cores,layout", SHAPES,
                         ids=[f"{s} sockets of {c}, {layout}" for s, c, layout in SHAPES])
def test_shapes(sockets: int, cores: int, layout: str) -> None:
    """every Redis answers from outside"""
    with machine(with_redis(sockets, cores, layout)) as run:
        answers(run)
        clusters = {event["cluster"]: event["cores"] for event in run.events.of("boot")}
        expected = {0: sockets * cores} if layout == "spanning" else {n: cores for n in range(sockets)}
        assert clusters == expected


@pytest.mark.limit(240)
def test_many_in_one_kernel() -> None:
    """34 Redis in one kernel: more slots than the root CNode has at least (65,536; a Redis takes some 2,050)"""
    with machine(with_redis(1, 35, "spanning")) as run:
        answers(run)


@pytest.mark.limit(180)
@pytest.mark.parametrize("uefi", [False, True], ids=["BIOS", "UEFI"])
def test_grub(uefi: bool) -> None:
    """GRUB's image boots"""
    with machine(with_redis(), medium="iso", uefi=uefi, patience=Patience(120)) as run:
        answers(run)


@pytest.mark.limit(150)
@pytest.mark.parametrize("lock,statistics", [("none", False), ("none", True), ("clh", True)],
                         ids=["none", "none+stat", "clh+stat"])
def test_regimes(lock: str, statistics: bool) -> None:
    """every kernel image runs Redis"""
    cores = 1 if lock == "none" else 2
    with machine(with_redis(2, cores, lock=lock, statistics=statistics)) as run:
        answers(run)
        kernels = {event["kernel"] for event in run.events.of("boot")}
        assert kernels == {lock + ("+stat" if statistics else "")}


# ---- A core whose programs have nothing to do sleeps, while others are measured ----

CORES, LOAD = 4, Load(clients=2, records=50, operations=400)
NETWORK = 0  # the core of the manager, the switch and the driver
FEW = 8      # times fewer entries than a core with a Redis and its clients makes


@pytest.mark.limit(300)
def test_network_core() -> None:
    """lines printed before a load has begun are written before, and frames that go by cable wake no switch"""
    what = with_redis(1, CORES, "spanning", statistics=True, shutdown="when-done", load=LOAD)
    with machine(what, accel=qemu.tcg_for(CORES, counted=True)) as run:
        run.wait_done()
        assert run.events.of("done")[0]["status"] == 0
        entries = [core.entries for core in between(run.events, 0)]
    assert len(entries) == CORES and min(entries[1:]) > LOAD.clients * LOAD.operations, entries
    assert entries[NETWORK] * FEW < min(entries[1:]), entries


# ---- What leaves the machine through QEMU's user network: nothing, unless the deployment asks for a way out ----

TIMEOUT = 5000  # ms that MIGRATE waits for its target
# the host's loopback, its name server, the machine's own, anybody
BEYOND = [Network().gateway, "10.0.2.3", "127.0.0.1", "192.0.2.1"]


def migrate(run: Run, target: str, port: int) -> str:
    """Has a client's Redis connect to the target and write a value there; returns what Redis answers."""
    with client(run, servers(run)[0]) as server:
        server.set("key", "sent by a client of this Redis")
        try:
            return str(server.execute_command("MIGRATE", target, port, "key", 0, TIMEOUT, "COPY"))
        except redis.ResponseError as error:
            return str(error)


@pytest.mark.parametrize("outside", [False, True])
def test_a_client_does_not_reach_the_hosts_loopback(outside: bool) -> None:
    """services of the host's 127.0.0.1 hear nothing of a client's MIGRATE, and everything with `outside = true`"""
    what = replace(with_redis(1, 2), subnet=Subnet(outside=outside))
    with socket.create_server(("127.0.0.1", 0)) as service, machine(what) as run:
        run.wait_serving()
        port = service.getsockname()[1]
        if outside:
            service.settimeout(ANSWER)
            answer = migrate(run, BEYOND[0], port)
            caller, _ = service.accept()
            with caller:
                caller.settimeout(ANSWER)
                received = b""
                while b"sent by a client" not in received:
                    assert (more := caller.recv(4096)), received
                    received += more
            assert "IOERR" in answer, answer  # the service is no Redis
            return
        for target in BEYOND:
            assert "IOERR" in migrate(run, target, port)
        service.settimeout(0)
        with pytest.raises(BlockingIOError):  # the answers have come: what was to come has come
            service.accept()
        assert_serve(run, servers(run)[0])  # forwarded ports lead in all the same
